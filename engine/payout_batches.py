"""Sending a settlement's rollups, many to a call, around whoever cannot be paid (Y-04)."""

from __future__ import annotations

from collections.abc import Sequence

from engine import payouts, signers
from engine.chain import sender
from engine.chain.client import Call
from engine.chain.errors import CallReverted
from engine.chain.treasury import PotPayout, Settlement, Treasury
from engine.db import db
from engine.errors import Refused
from engine.ids import new_id
from engine.models.chain import ChainTransaction
from engine.models.rollup import Rollup
from engine.moves import move

# The contract's ceiling of items in one call.
BATCH = 100
# Refusals that have nothing to do with the item that met them: none of the call can be paid now.
NOBODY_NOW = frozenset({"PayoutsPaused", "OverDailyCap", "MissingRole"})
STANDSTILL = "Pausable: paused"


def send(treasury: Treasury, pending: Sequence[Rollup]) -> None:
    """Send every rollup that can be paid; the others fail with their reason and stay owed.

    ChainUnavailable (OutOfGas among them) when the node or our own gas is away: what was not sent
    by then is still pending.
    """
    from_pots = [rollup for rollup in pending if rollup.deposit_id is None]
    from_deposits = [rollup for rollup in pending if rollup.deposit_id is not None]
    for rollups in (from_pots, from_deposits):
        for first in range(0, len(rollups), BATCH):
            _send_batch(treasury, list(rollups[first : first + BATCH]))


def _send_batch(treasury: Treasury, rollups: list[Rollup]) -> None:
    """One call for all of them; whoever it names as refused is left out, and it is tried again."""
    while rollups:
        try:
            _send_call(treasury, rollups)
        except CallReverted as error:
            if error.name in NOBODY_NOW or STANDSTILL in error.reason:
                _fail(treasury, rollups, error.reason)
                return
            index = error.values.get("index")
            if len(rollups) > 1 and not isinstance(index, int):
                half = len(rollups) // 2
                _send_batch(treasury, rollups[:half])
                _send_batch(treasury, rollups[half:])
                return
            bad = index if isinstance(index, int) and index < len(rollups) else 0
            _fail(treasury, [rollups.pop(bad)], error.reason)
        else:
            return


def _fail(treasury: Treasury, rollups: list[Rollup], reason: str) -> None:
    for rollup in rollups:
        # Paid by a transaction that we lost sight of: the chain's event will say so.
        if not treasury.payout_spent(rollup.id):
            db.write(lambda row_id=rollup.id: payouts.refused(row_id, reason))  # type: ignore[misc]


def _send_call(treasury: Treasury, rollups: list[Rollup]) -> None:
    def stored(row: ChainTransaction) -> None:
        for rollup in rollups:
            # Fails, and takes the signed bytes with it, if another process was quicker with one.
            move(rollup, "send", chain_transaction_id=row.id)

    call = _call(treasury, rollups)
    try:
        # A try has an intent of its own; that a rollup is paid once is the contract's to keep.
        sender.send(treasury.chain, signers.settler(), f"payout:{new_id('TRY')}", call, stored)
    except Refused as refusal:
        if refusal.code == "no_operator_key":
            raise


def _call(treasury: Treasury, rollups: list[Rollup]) -> Call:
    if rollups[0].deposit_id is None:
        return treasury.pay_from_pots(
            [PotPayout(one.id, one.gig_id, one.wallet_address, one.gross_units) for one in rollups]
        )
    return treasury.settle(
        [
            Settlement(one.id, str(one.deposit_id), one.wallet_address, one.gross_units)
            for one in rollups
        ]
    )
