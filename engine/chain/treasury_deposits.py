"""Named deposits as the engine speaks of them (Y-07). `Treasury` has all of this.

Builders answer a Call and touch no network. Reads take a block number; None means the newest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.chain import deposit_terms
from engine.chain.client import Call, checksum
from engine.chain.deposit_terms import (
    STATES,
    DepositOnChain,
    Settlement,
    Terms,
    bytes_of,
    key_of,
    signature_parts,
)
from engine.chain.treasury_calls import TreasuryCalls


class TreasuryDeposits(TreasuryCalls):
    # ------------------------------------------------------------ what a deposit is called

    def deposit_id(self, terms: Terms) -> str:
        """The deposit's id, 0x hex. Asks the node at most for its chain id, once."""
        return deposit_terms.deposit_id(self.chain.chain_id(), self.address, terms)

    def deposit_typed_data(
        self, terms: Terms, valid_after: int, valid_before: int
    ) -> dict[str, Any]:
        """What the depositor signs, with the token's own domain. Times are seconds since 1970.

        The contract takes it while `valid_after` < now < `valid_before`.
        """
        domain = {
            "name": self._ask_usdc("name", block=None),
            "version": self._ask_usdc("version", block=None),
            "chainId": self.chain.chain_id(),
            "verifyingContract": self.usdc_address,
        }
        nonce = self.deposit_id(terms)
        return deposit_terms.typed_data(
            domain, self.address, terms, nonce, valid_after, valid_before
        )

    # ------------------------------------------------------------ calls to send

    def deposit_for(self, terms: Terms) -> Call:
        """Puts the sender's USDC in, who must be the depositor. Needs an allowance.

        Reverts as FeeMoved when the contract's rate is not the terms' any more.
        """
        return self._call("depositFor", terms.row())

    def deposit_with_authorization(
        self, terms: Terms, valid_after: int, valid_before: int, signature: str
    ) -> Call:
        """The same with the depositor's signature of `deposit_typed_data`; anyone may send it.

        Raises ValueError when the signature is not 65 bytes of hexadecimal.
        """
        v, r, s = signature_parts(signature)
        row = terms.row()
        return self._call("depositWithAuthorization", row, valid_after, valid_before, v, r, s)

    def settle(self, settlements: Sequence[Settlement]) -> Call:
        """Settles up to MAX_BATCH deposits, all or none. The sender must be a settler (Y-03)."""
        rows = [
            (key_of(one.rollup_id), bytes_of(one.deposit_id), one.to, one.units)
            for one in settlements
        ]
        return self._call("settle", rows)

    def refund(self, deposit_id: str) -> Call:
        """Gives an open deposit back to its depositor. The sender must be a refunder."""
        return self._call("refund", bytes_of(deposit_id))

    def claim(self) -> Call:
        """Takes what the token once refused to give back to the sender."""
        return self._call("claim")

    def request_reclaim(self, deposit_id: str) -> Call:
        """Announces a reclaim. The sender must be the depositor or the reclaimer."""
        return self._call("requestReclaim", bytes_of(deposit_id))

    def reclaim(self, deposit_id: str) -> Call:
        """Gives a deposit back once its announced time has come; the sender as before."""
        return self._call("reclaim", bytes_of(deposit_id))

    # ------------------------------------------------------------ numbers to read

    def deposit_on_chain(self, deposit_id: str, block: int | None = None) -> DepositOnChain:
        """What the contract knows of this id; all zero and state `none` when nothing."""
        (depositor, opened, fee_bps, state, payee, reclaim, _, units, gig) = self._row(
            "deposits", bytes_of(deposit_id), block=block
        )
        return DepositOnChain(
            state=STATES[state],
            depositor=checksum(depositor),
            payee=checksum(payee),
            gig_key="0x" + gig.hex(),
            units=units,
            fee_bps=fee_bps,
            opened_at=opened * 1000,
            reclaim_at=reclaim * 1000,
        )

    def authorization_used(self, address: str, deposit_id: str) -> bool:
        """Does the token take no more authorization for this deposit: used, or cancelled?"""
        used = self._ask_usdc(
            "authorizationState", checksum(address), bytes_of(deposit_id), block=None
        )
        return bool(used)

    def claimable_units(self, address: str, block: int | None = None) -> int:
        return int(self._ask("claimable", checksum(address), block=block))

    def claimable_total_units(self, block: int | None = None) -> int:
        return int(self._ask("claimableTotal", block=block))

    def deposits_total_units(self, block: int | None = None) -> int:
        """What all open deposits hold together."""
        return int(self._ask("depositsTotal", block=block))

    def residue_due_units(self, block: int | None = None) -> int:
        """What settlements left of their deposits, not yet withdrawn."""
        return int(self._ask("residueDue", block=block))
