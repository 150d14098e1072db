"""Revert data turned into sentences (Y-04: whoever is not paid is told a readable reason)."""

from __future__ import annotations

from engine.chain.abi import Item, artifact, readable
from engine.chain.deposit_terms import STATES
from engine.chain.errors import CallReverted

_STRING = bytes.fromhex("08c379a0")  # Error(string)
_PANIC = bytes.fromhex("4e487b71")  # Panic(uint256)

_PANICS = {
    0x01: "an assertion failed",
    0x11: "an amount overflowed",
    0x12: "a division by zero",
    0x32: "an index out of bounds",
    0x41: "too much memory",
}

# The contract's enumerations: what an argument of this name is called.
SPELLED = {"role": ("settler", "refunder", "guardian"), "state": STATES}

# Custom error: sentence. Names in braces are the error's own arguments; {role} and {state} are
# spelled out and {reason} is the token's reason as a sentence.
SENTENCES = {
    "ZeroAddress": "An address is missing.",
    "ZeroAmount": "The amount is zero.",
    "NotAContract": "There is no token contract at {token}.",
    "MissingRole": "{account} is not a {role} of the Treasury; its owner can make it one.",
    "FeeTooHigh": "The fee of {bps} bps is above the highest allowed, {maxBps}.",
    "FeesShort": "Only {due} base units of fees and residue are due, {wanted} were asked for.",
    "NotCovered": "The Treasury would hold {held} base units and owe {owed}.",
    "PayoutsPaused": "Payouts are paused until {until} (seconds since 1970).",
    "PauseNotYet": "The next pause may not begin before {notBefore} (seconds since 1970).",
    "NotPaused": "Payouts are not paused.",
    "OwnerIsNeeded": "The Treasury cannot be left without an owner.",
    "BatchEmpty": "The batch has no payout in it.",
    "BatchTooLong": "The batch has {length} payouts; {max} are allowed.",
    "PayoutSpent": "Payout {payoutId} was paid before; an id is spent once for ever.",
    "PayoutOfNothing": "Payout {payoutId} has the amount zero.",
    "PayeeUnfit": "Payout {payoutId} goes to {to}, which cannot be paid.",
    "PotShort": "The pot holds {held} base units; payout {payoutId} needs {needed} with its fee.",
    "OverDailyCap": "Payout {payoutId} needs {needed} base units; today's cap leaves {left}.",
    "PayoutRefused": "The token refused to pay {to}: {reason}",
    "RefundSpent": "Refund {refundId} was paid before; an id is spent once for ever.",
    "RefundAboveFunding": "The funder has {funded} base units in the pot; {wanted} were asked for.",
    "RefundAbovePot": "The pot holds {held} base units; {wanted} were asked for.",
    "RefundRefused": "The token refused to refund {funder}: {reason}",
    "DepositExists": "Deposit {depositId} was made before; it is {state}.",
    "DepositorOnly": "Only the depositor of its terms can make deposit {depositId}.",
    "DepositTooLarge": "Deposit {depositId} is of {amount} base units; {max} are the most allowed.",
    "DepositPayeeUnfit": "Deposit {depositId} is for {payee}, which cannot be paid.",
    "DepositShort": "Deposit {depositId} is of {wanted} base units, but {received} arrived.",
    "FeeMoved": "The fee is {presentBps} bps now; deposit {depositId} was made for {termsBps}.",
    "SettleNotOpen": "Payout {payoutId} is out of deposit {depositId}, which is {state}.",
    "SettlePayeeFixed": "Payout {payoutId} goes to {to}, but its deposit is for {payee}.",
    "SettleShort": "The deposit holds {held} base units; payout {payoutId} needs {needed} in all.",
    "SettleResidue": (
        "Payout {payoutId} would leave {residue} base units of its deposit; "
        "it must be less than {below}."
    ),
    "DepositNotOpen": "Deposit {depositId} is {state}; only an open one can be given back.",
    "ReclaimNotYours": "{account} is neither depositor nor reclaimer of deposit {depositId}.",
    "ReclaimTooEarly": "Try again from {notBefore} on (seconds since 1970).",
    "ReclaimRequestedBefore": (
        "The reclaim of deposit {depositId} is announced for {reclaimAt} (seconds since 1970)."
    ),
    "ReclaimNotRequested": "Announce the reclaim of deposit {depositId} first.",
    "NothingToClaim": "{account} has nothing to claim.",
    "ClaimRefused": "The token refused to pay {account}: {reason}",
    "OwnableUnauthorizedAccount": "{account} is not the owner of the contract.",
    "ERC20InsufficientBalance": "{sender} holds {balance} base units; {needed} are needed.",
    "ERC20InsufficientAllowance": "{spender} is allowed {allowance} base units; it needs {needed}.",
    "ERC20InvalidReceiver": "The token cannot be sent to {receiver}.",
    "ERC3009InvalidSignature": "The authorization is not signed by its sender.",
    "ERC3009UsedAuthorization": "The authorization was used or cancelled before.",
    "ERC3009InvalidAuthorizationTime": "The authorization is not valid yet, or no longer.",
    "ReentrancyGuardReentrantCall": "The Treasury was entered while it was already at work.",
}


def explain(data: bytes, message: str = "") -> CallReverted:
    """The refusal in words. `data` is what the call returned; `message` what the node said."""
    if data[:4] == _STRING:
        return CallReverted(_text(data) or "The call reverted without a reason.")
    if data[:4] == _PANIC and len(data) == 36:
        code = int.from_bytes(data[4:], "big")
        what = _PANICS.get(code, f"panic {code:#x}")
        return CallReverted(f"The contract broke off: {what}.", "Panic", {"code": code})
    item = _known(data[:4])
    values = _values(item, data) if item else None
    if item and values is not None:
        words = dict(values)
        for name, spelled in SPELLED.items():
            number = words.get(name)
            if isinstance(number, int):
                words[name] = spelled[number] if number < len(spelled) else str(number)
        listed = ", ".join(f"{name} {value}" for name, value in values.items())
        sentence = SENTENCES.get(item.name, f"The contract refused: {item.name} ({listed}).")
        return CallReverted(sentence.format(**words), item.name, values)
    if data:
        return CallReverted(f"The contract refused with an unknown error, 0x{data[:36].hex()}.")
    return CallReverted(_sentence(message) or "The call reverted without a reason.")


def _known(selector: bytes) -> Item | None:
    for name in ("Treasury", "MockUSDC"):
        item = artifact(name).errors.get(selector)
        if item is not None:
            return item
    return None


def _values(item: Item, data: bytes) -> dict[str, object] | None:
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError

    try:
        decoded = decode(item.types, data[4:])
    except DecodingError:
        return None
    values: dict[str, object] = {}
    for name, kind, value in zip(item.names, item.types, decoded, strict=True):
        # `bytes` is always a reason handed on from the token.
        values[name] = explain(value).reason if kind == "bytes" else readable(kind, value)
    return values


def _text(data: bytes) -> str:
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError

    try:
        (text,) = decode(["string"], data[4:])
    except (DecodingError, UnicodeDecodeError):
        return ""
    return _sentence(str(text))


def _sentence(message: str) -> str:
    """A node's or token's words, ended like a sentence."""
    message = message.strip()
    return message if not message or message[-1] in ".!?" else message + "."
