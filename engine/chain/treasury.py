"""The Treasury contract as the engine speaks of it: calls to send, numbers to read, events.

Builders answer a Call and touch no network. Reads take a block number; None means the newest.
Amounts are integer base units of USDC (10^-6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.chain.client import Call, checksum
from engine.chain.deposit_terms import DepositOnChain, Settlement, Terms, key_of
from engine.chain.treasury_deposits import TreasuryDeposits
from engine.chain.treasury_events import (
    Claimed,
    DepositOpened,
    DepositReclaimed,
    DepositRefunded,
    DepositSettled,
    FeeChanged,
    FeesWithdrawn,
    PaidOut,
    PotDeposited,
    PotRefunded,
    ReclaimRequested,
    TreasuryEvent,
    read_events,
)

__all__ = [
    "MAX_BATCH",
    "Claimed",
    "DepositOnChain",
    "DepositOpened",
    "DepositReclaimed",
    "DepositRefunded",
    "DepositSettled",
    "FeeChanged",
    "FeesWithdrawn",
    "PaidOut",
    "PotDeposited",
    "PotPayout",
    "PotRefunded",
    "ReclaimRequested",
    "Settlement",
    "Terms",
    "Treasury",
    "TreasuryEvent",
    "key_of",
]

MAX_BATCH = 100  # the contract's ceiling, as MAX_BATCH there
_UNLIMITED = 2**256 - 1


@dataclass(frozen=True)
class PotPayout:
    """`gross_units` to `to` out of a gig's pot; the contract takes the fee on top (Y-01)."""

    rollup_id: str
    gig_id: str
    to: str
    gross_units: int


class Treasury(TreasuryDeposits):
    """Pots, fees and the token; named deposits come from the class below it."""

    # ------------------------------------------------------------ keys

    def gig_key(self, gig_id: str) -> bytes:
        return key_of(gig_id)

    def payout_key(self, rollup_id: str) -> bytes:
        return key_of(rollup_id)

    # ------------------------------------------------------------ calls to send

    def approve(self, units: int) -> Call:
        """Lets the Treasury take that much USDC from the sender, for a pot or a named deposit."""
        return self._usdc_call("approve", self.address, units)

    def deposit(self, gig_id: str, units: int) -> Call:
        """Moves USDC from the sender into the gig's pot. Needs an allowance."""
        return self._call("deposit", key_of(gig_id), units)

    def pay_from_pots(self, payouts: Sequence[PotPayout]) -> Call:
        """Pays up to MAX_BATCH workers, all or none. The sender must be a settler (Y-03)."""
        rows = [
            (key_of(payout.rollup_id), key_of(payout.gig_id), payout.to, payout.gross_units)
            for payout in payouts
        ]
        return self._call("payFromPots", rows)

    def refund_pot(self, refund_id: str, gig_id: str, funder: str, units: int) -> Call:
        """Gives a funder back what he put in. The sender must be a refunder."""
        return self._call("refundPot", key_of(refund_id), key_of(gig_id), funder, units)

    def withdraw_fees(self, to: str, units: int) -> Call:
        """Takes fees out and, once they are gone, residue. The sender must be the owner."""
        return self._call("withdrawFees", to, units)

    def transfer_usdc(self, to: str, units: int) -> Call:
        return self._usdc_call("transfer", to, units)

    def mint(self, to: str, units: int) -> Call:
        """USDC out of nothing: the token of a local chain only, sent by its owner."""
        return self._usdc_call("mint", to, units)

    # ------------------------------------------------------------ numbers to read

    def pot_units(self, gig_id: str, block: int | None = None) -> int:
        return int(self._ask("pots", key_of(gig_id), block=block))

    def pot_units_of_key(self, gig_key: str, block: int | None = None) -> int:
        """The same by the key that the contract's events name it by, as 0x hex."""
        return int(self._ask("pots", bytes.fromhex(gig_key.removeprefix("0x")), block=block))

    def pots_total_units(self, block: int | None = None) -> int:
        """The sum of all pots."""
        return int(self._ask("potsTotal", block=block))

    def funded_units(self, gig_id: str, funder: str, block: int | None = None) -> int:
        """What this funder put into the pot and did not get back: the most a refund can be."""
        return int(self._ask("fundedBy", key_of(gig_id), funder, block=block))

    def accounted_units(self, block: int | None = None) -> int:
        """What the contract owes: pots, open deposits, fees, residue, and claims (Y-05)."""
        return int(self._ask("accounted", block=block))

    def fee_bps(self, block: int | None = None) -> int:
        """The rate of the next payout (Y-01: read from the contract, never a constant)."""
        return int(self._ask("feeBps", block=block))

    def fees_due_units(self, block: int | None = None) -> int:
        return int(self._ask("feesDue", block=block))

    def payout_spent(self, rollup_id: str, block: int | None = None) -> bool:
        """The chain's own word on whether this rollup was paid (Y-03)."""
        return bool(self._ask("payoutSpent", key_of(rollup_id), block=block))

    def refund_spent(self, refund_id: str, block: int | None = None) -> bool:
        return bool(self._ask("refundSpent", key_of(refund_id), block=block))

    def left_today_units(self, block: int | None = None) -> int | None:
        """What the daily cap still lets out today, of pots and to payees that the settler names.

        None when there is no cap.
        """
        if int(self._ask("dailyCap", block=block)) == _UNLIMITED:
            return None
        return int(self._ask("leftToday", block=block))

    def paused_until(self, block: int | None = None) -> int:
        """Payouts are stopped before this time (seconds since 1970); 0 when never paused."""
        return int(self._ask("pausedUntil", block=block))

    def usdc_units(self, address: str, block: int | None = None) -> int:
        return int(self._ask_usdc("balanceOf", checksum(address), block=block))

    def held_units(self, block: int | None = None) -> int:
        """The Treasury's token balance; what is above `accounted_units` came unasked (Y-05)."""
        return self.usdc_units(self.address, block)

    def allowance_units(self, owner: str, block: int | None = None) -> int:
        """How much the Treasury may still take from `owner` for deposits."""
        return int(self._ask_usdc("allowance", checksum(owner), self.address, block=block))

    # ------------------------------------------------------------ events

    def events(self, from_block: int, to_block: int) -> list[TreasuryEvent]:
        """What moved money or the fee in these blocks, both ends included, in chain order."""
        return read_events(self.chain.logs(self.address, from_block, to_block))
