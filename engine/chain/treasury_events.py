"""The Treasury's events as frozen rows, for the books (Y-05)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.chain.abi import Item, artifact, readable
from engine.chain.client import Log


@dataclass(frozen=True, kw_only=True)
class TreasuryEvent:
    """Where it stands on chain. (tx_hash, log_index) names it once and for all."""

    block_number: int
    block_hash: str
    tx_hash: str
    log_index: int


@dataclass(frozen=True, kw_only=True)
class PotDeposited(TreasuryEvent):
    """Keys are 0x hex, as `Treasury.gig_key` and `payout_key` in bytes."""

    gig_key: str
    funder: str
    amount_units: int


@dataclass(frozen=True, kw_only=True)
class PaidOut(TreasuryEvent):
    payout_key: str
    gig_key: str
    to: str
    gross_units: int
    fee_units: int


@dataclass(frozen=True, kw_only=True)
class PotRefunded(TreasuryEvent):
    refund_key: str
    gig_key: str
    funder: str
    amount_units: int


@dataclass(frozen=True, kw_only=True)
class DepositOpened(TreasuryEvent):
    """`payee` is the zero address when the settler is to name him."""

    deposit_key: str
    gig_key: str
    depositor: str
    payee: str
    amount_units: int
    fee_bps: int


@dataclass(frozen=True, kw_only=True)
class DepositSettled(TreasuryEvent):
    payout_key: str
    deposit_key: str
    gig_key: str
    to: str
    amount_units: int
    fee_units: int
    residue_units: int


@dataclass(frozen=True, kw_only=True)
class DepositRefunded(TreasuryEvent):
    """`claimable`: the token refused to send it, so it waits for the depositor's claim."""

    deposit_key: str
    gig_key: str
    depositor: str
    amount_units: int
    claimable: bool


@dataclass(frozen=True, kw_only=True)
class DepositReclaimed(TreasuryEvent):
    deposit_key: str
    gig_key: str
    depositor: str
    amount_units: int
    claimable: bool


@dataclass(frozen=True, kw_only=True)
class ReclaimRequested(TreasuryEvent):
    """Moves nothing yet: what is approved can be settled until then (seconds since 1970)."""

    deposit_key: str
    gig_key: str
    reclaim_at_seconds: int


@dataclass(frozen=True, kw_only=True)
class Claimed(TreasuryEvent):
    account: str
    amount_units: int


@dataclass(frozen=True, kw_only=True)
class FeesWithdrawn(TreasuryEvent):
    to: str
    fees_units: int
    residue_units: int


@dataclass(frozen=True, kw_only=True)
class FeeChanged(TreasuryEvent):
    old_bps: int
    new_bps: int


# The contract's event name: our row, and our name of each argument.
_ROWS: dict[str, tuple[type[TreasuryEvent], dict[str, str]]] = {
    "PotDeposited": (
        PotDeposited,
        {"gigId": "gig_key", "funder": "funder", "amount": "amount_units"},
    ),
    "PaidOut": (
        PaidOut,
        {
            "payoutId": "payout_key",
            "gigId": "gig_key",
            "to": "to",
            "gross": "gross_units",
            "fee": "fee_units",
        },
    ),
    "PotRefunded": (
        PotRefunded,
        {
            "refundId": "refund_key",
            "gigId": "gig_key",
            "funder": "funder",
            "amount": "amount_units",
        },
    ),
    "DepositOpened": (
        DepositOpened,
        {
            "depositId": "deposit_key",
            "gigId": "gig_key",
            "depositor": "depositor",
            "payee": "payee",
            "amount": "amount_units",
            "feeBps": "fee_bps",
        },
    ),
    "DepositSettled": (
        DepositSettled,
        {
            "payoutId": "payout_key",
            "depositId": "deposit_key",
            "gigId": "gig_key",
            "to": "to",
            "amount": "amount_units",
            "fee": "fee_units",
            "residue": "residue_units",
        },
    ),
    "DepositRefunded": (
        DepositRefunded,
        {
            "depositId": "deposit_key",
            "gigId": "gig_key",
            "depositor": "depositor",
            "amount": "amount_units",
            "kept": "claimable",
        },
    ),
    "DepositReclaimed": (
        DepositReclaimed,
        {
            "depositId": "deposit_key",
            "gigId": "gig_key",
            "depositor": "depositor",
            "amount": "amount_units",
            "kept": "claimable",
        },
    ),
    "ReclaimRequested": (
        ReclaimRequested,
        {
            "depositId": "deposit_key",
            "gigId": "gig_key",
            "reclaimAt": "reclaim_at_seconds",
        },
    ),
    "Claimed": (Claimed, {"account": "account", "amount": "amount_units"}),
    "FeesWithdrawn": (
        FeesWithdrawn,
        {"to": "to", "fees": "fees_units", "residue": "residue_units"},
    ),
    "FeeChanged": (FeeChanged, {"oldBps": "old_bps", "newBps": "new_bps"}),
}


def read_events(logs: Sequence[Log]) -> list[TreasuryEvent]:
    """Decode logs in their order; what concerns neither money nor the fee is left out."""
    known = artifact("Treasury").events
    found = []
    for log in logs:
        item = known.get(log.topics[0]) if log.topics else None
        if item is not None and item.name in _ROWS:
            found.append(_row(item, log))
    return found


def _row(item: Item, log: Log) -> TreasuryEvent:
    row, names = _ROWS[item.name]
    fields = {names[name]: value for name, value in _arguments(item, log).items()}
    return row(
        block_number=log.block_number,
        block_hash=log.block_hash,
        tx_hash=log.tx_hash,
        log_index=log.log_index,
        **fields,
    )


def _arguments(item: Item, log: Log) -> dict[str, object]:
    from eth_abi.abi import decode

    in_data = [kind for kind, indexed in zip(item.types, item.indexed, strict=True) if not indexed]
    from_topics = iter(log.topics[1:])
    from_data = iter(decode(in_data, log.data))
    values: dict[str, object] = {}
    for name, kind, indexed in zip(item.names, item.types, item.indexed, strict=True):
        value = decode([kind], next(from_topics))[0] if indexed else next(from_data)
        values[name] = readable(kind, value)
    return values
