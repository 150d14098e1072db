"""Whether a signer can pay for its transactions, and the alarm before it no longer can."""

from __future__ import annotations

import structlog

from engine import clock, install, signers
from engine.chain.client import Chain
from engine.chain.errors import ChainUnavailable, OutOfGas
from engine.chain.outbox import Plan
from engine.db import db
from engine.models.chain import Signer

# How often the operator's balances are looked at, at most.
WATCH_MS = 30_000

_OPEN = """
SELECT sent.id, sent.gas, attempt.max_fee_wei
FROM chain_transaction AS sent JOIN chain_attempt AS attempt ON attempt.transaction_id = sent.id
WHERE sent.status IN ('sent') AND sent.signer = ? AND sent.nonce >= ?
"""

log = structlog.get_logger()


def require(chain: Chain, address: str, plan: Plan, mined: int) -> None:
    """OutOfGas unless the address can pay for this beside all of its own that is not mined yet.

    A node would refuse it otherwise, or drop it later, with the nonce given out already.
    """
    cost = plan.gas * plan.bid.max_fee_wei + plan.call.value_wei
    balance = chain.eth_balance_wei(address)
    free = balance - _promised_wei(address, mined)
    if free < cost:
        log.warning("signer.gas_low", signer=address, balance_wei=balance, short_wei=cost - free)
        raise OutOfGas(
            f"{address} has too little ether to pay for gas. Send it {cost - free} wei or more; "
            "what waits goes on by itself then."
        )


def _promised_wei(address: str, mined: int) -> int:
    """The most that open transactions may still cost in gas."""
    most: dict[str, int] = {}
    for row_id, limit, max_fee_wei in db.rows(_OPEN, [address, mined]):
        most[row_id] = max(most.get(row_id, 0), limit * int(max_fee_wei))
    return sum(most.values())


def watch(chain: Chain) -> None:
    """Note what the settler and the refunder have, for the graphs, and warn when it is little.

    Never raises for a node that does not answer: nothing else waits for this.
    """
    alarm = install.current().settings.GAS_ALARM_WEI
    for address, role in signers.roles().items():
        if role == signers.FAUCET or not _is_due(address):
            continue
        try:
            balance = chain.eth_balance_wei(address)
        except ChainUnavailable as error:
            log.warning("signer.balance_unknown", signer=address, role=role, error=str(error))
            continue
        _note(address, balance)
        if balance < alarm:
            log.warning("signer.gas_low", signer=address, role=role, balance_wei=balance)


def _is_due(address: str) -> bool:
    with db.reading():
        signer = Signer.get_or_none(Signer.address == address)
        known = None if signer is None else signer.balance_at
        return known is None or clock.now() - known >= WATCH_MS


def _note(address: str, balance_wei: int) -> None:
    noted = {"balance_wei": str(balance_wei), "balance_at": clock.now()}

    def write() -> None:
        Signer.insert(address=address, next_nonce=0).on_conflict_ignore().execute()
        Signer.update(**noted).where(Signer.address == address).execute()

    db.write(write)
