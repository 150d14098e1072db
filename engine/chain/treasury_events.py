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
class FeesWithdrawn(TreasuryEvent):
    to: str
    amount_units: int


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
    "FeesWithdrawn": (FeesWithdrawn, {"to": "to", "amount": "amount_units"}),
    "FeeChanged": (FeeChanged, {"oldBps": "old_bps", "newBps": "new_bps"}),
}


def read_events(logs: Sequence[Log]) -> list[TreasuryEvent]:
    """Decode logs in their order; events that move neither money nor the fee are left out."""
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
