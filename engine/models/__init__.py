"""The tables, one file an entity. `ALL` lists every model for migrations and tests."""

from __future__ import annotations

from engine.models.access import Counter, OneTimePassword, StoredAnswer
from engine.models.account import Account, ApiKey
from engine.models.chain import ChainAttempt, ChainBlock, ChainTransaction, Signer
from engine.models.command import Command
from engine.models.comment import Comment
from engine.models.delivery import Attempt, Delivery, Endpoint
from engine.models.escrow import Escrow, PotRefund
from engine.models.event import Event
from engine.models.gig import Gig, Invite
from engine.models.ledger import LedgerBalance, LedgerEntry, LedgerTransaction
from engine.models.mailbox import Mailbox
from engine.models.meta import JobRun, Lease, Meta
from engine.models.mode_item import ModeItem, Rotation
from engine.models.notification import Notification
from engine.models.proof import Proof, ProofAlias
from engine.models.purchase import Purchase
from engine.models.reputation import ReputationEvent
from engine.models.rollup import Rollup
from engine.models.task import (
    CopyHolder,
    Exclusion,
    Facet,
    QueueEntry,
    Take,
    Task,
    TaskAlias,
)
from engine.models.upload import Upload, UploadUse
from engine.models.wallet import Wallet, WalletChallenge

ALL = [
    Meta,
    Lease,
    JobRun,
    StoredAnswer,
    Counter,
    OneTimePassword,
    Account,
    ApiKey,
    Wallet,
    Gig,
    Invite,
    Mailbox,
    Task,
    QueueEntry,
    Exclusion,
    Facet,
    Take,
    CopyHolder,
    TaskAlias,
    Command,
    Rollup,
    Proof,
    Event,
    Endpoint,
    Delivery,
    Attempt,
    LedgerTransaction,
    LedgerEntry,
    LedgerBalance,
    Signer,
    ChainTransaction,
    ChainAttempt,
    ChainBlock,
    Escrow,
    PotRefund,
    WalletChallenge,
    ProofAlias,
    Comment,
    Notification,
    ReputationEvent,
    Purchase,
    ModeItem,
    Rotation,
    Upload,
    UploadUse,
]
