"""One way to send a transaction: intent, nonce, signature and bytes are rows before they leave.

A crash after any line leaves a row from which the next step follows: what was stored and perhaps
never sent is sent again, byte for byte, and the chain's own record decides what became of it.
`confirmer.py` looks what did, and `repair.py` helps along what is stuck.

Nonces come from the signer's row, under its lock, and any number may be on their way. When somebody
sends by hand from the same key, the node's pending count shows it and ours go behind his, which
only shifts nonces: taking a nonce that waits in the pool already would put two against each other,
and either could lose. Should his disappear again, the gap it leaves is filled.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.chain import gas, outbox
from engine.chain.client import Call, Chain
from engine.chain.confirmer import follow, unmine
from engine.chain.fees import first_bid, market
from engine.chain.keys import Key, unsigned
from engine.db import db
from engine.models.chain import UNDERWAY, ChainAttempt, ChainTransaction, Signer
from engine.moves import take

__all__ = [
    "Key",
    "Stored",
    "find",
    "find_last",
    "follow",
    "has_open",
    "hash_of",
    "send",
    "send_again",
    "times_sent",
    "unmine",
]

# The estimate is of the state as it is; a fifth more leaves room for what comes in between.
GAS_PERCENT = 120
# No block takes a transaction above this (EIP-7825).
GAS_MOST = 16_777_216

Stored = Callable[[ChainTransaction], None]


def find(intent: str) -> ChainTransaction | None:
    with db.reading():
        return ChainTransaction.get_or_none(ChainTransaction.intent == intent)


def find_last(intent: str, most: int) -> ChainTransaction | None:
    """The same; or what an older version sent again for it, under numbered intents up to `most`."""
    intents = [f"{intent}:{number}" for number in range(most, 1, -1)]
    return next(filter(None, map(find, [*intents, intent])), None)


def times_sent(transaction: ChainTransaction) -> int:
    """In how many places (nonces) it was ever sent."""
    return len(outbox.places(transaction.id))


def hash_of(transaction: ChainTransaction) -> str:
    """The hash to show: the mined one, before that the newest signed form's."""
    return str(transaction.tx_hash or outbox.attempts(transaction.id)[0].tx_hash)


def has_open() -> bool:
    """Is anything of ours on its way?"""
    with db.reading():
        return bool(ChainTransaction.select().where(UNDERWAY).exists())


def send(chain: Chain, key: Key, intent: str, call: Call, stored: Stored) -> ChainTransaction:
    """Send a call once for its intent, however often this is called.

    `stored` runs in the transaction that stores the signed bytes, so what it writes is true
    exactly if the bytes exist. CallReverted when the call would revert; OutOfGas when the signer
    cannot pay for it; FeesTooHigh when gas costs more than is allowed; ChainUnavailable (which the
    last two are as well) when the node does not answer. Nothing was stored then.
    """
    known = find(intent)
    if known is not None:
        return known
    plan, taken = _plan(chain, key, call)

    def write() -> tuple[ChainTransaction, ChainAttempt | None]:
        signer = outbox.lock(key.address)
        # Under the signer's lock nobody else can have stored this intent since the look above.
        again = ChainTransaction.get_or_none(ChainTransaction.intent == intent)
        if again is not None:
            return again, None
        nonce = max(signer.next_nonce, taken)
        row, attempt = outbox.store(chain, key, intent, nonce, plan)
        Signer.update(next_nonce=nonce + 1).where(Signer.address == key.address).execute()
        stored(row)
        return row, attempt

    row, attempt = db.write(write)
    if attempt is not None:
        outbox.broadcast(chain, attempt)
    return row


def send_again(
    chain: Chain, key: Key, replaced: ChainTransaction, stored: Stored
) -> ChainTransaction:
    """Send what another transaction has `replaced` once more, behind all others of its signer.

    It stays one row, whose old place is given up: of what the chain itself would do twice, never
    two are on their way, not even when a reorg makes the old place free again. Otherwise as `send`;
    unchanged is what a reorg has revived meanwhile, or another process has sent again.
    """
    call = unsigned(outbox.attempts(replaced.id)[0].raw_hex).call
    plan, taken = _plan(chain, key, call)
    anew = dict.fromkeys(("block_number", "block_hash", "tx_hash", "failure", "finished_at"))

    def write() -> tuple[ChainTransaction, ChainAttempt | None]:
        signer = outbox.lock(key.address)
        nonce = max(signer.next_nonce, taken)
        mine = ChainTransaction.nonce == replaced.nonce
        sets = {"nonce": nonce, "gas": plan.gas, **anew}
        renewed = take(ChainTransaction, replaced.id, "renew", mine, **sets)
        row = ChainTransaction.get(ChainTransaction.id == replaced.id)
        if not renewed:
            return row, None
        attempt = outbox.store_in(chain, key, row, nonce, plan)
        Signer.update(next_nonce=nonce + 1).where(Signer.address == key.address).execute()
        stored(row)
        return row, attempt

    row, attempt = db.write(write)
    if attempt is not None:
        outbox.broadcast(chain, attempt)
    return row


def _plan(chain: Chain, key: Key, call: Call) -> tuple[outbox.Plan, int]:
    """What to send, and the lowest nonce that nobody has used or waits with in the pool."""
    estimate = chain.estimate_gas(key.address, call)
    plan = outbox.Plan(
        chain_id=chain.chain_id(),
        call=call,
        gas=max(estimate, min(estimate * GAS_PERCENT // 100, GAS_MOST)),
        bid=first_bid(market(chain)),
        head_block=chain.block_number(),
    )
    mined = chain.nonce(key.address)
    gas.require(chain, key.address, plan, mined)
    return plan, max(mined, chain.nonce(key.address, "pending"))
