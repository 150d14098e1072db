"""What `muster demo` plays: a task of a queue, and an order in a shop.

`step(side, what, method, path, body)` is one request of one side, and answers what that was
answered. Each play ends with what the wallets of both sides, or the worker's alone, held before and
after.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

PRICE = "2.50"
DEPOSIT = "10"
NOTE = "hello, and nobody has said it before"


@dataclass(frozen=True)
class Play:
    """Who plays: the side that pays, and the side that works; and how."""

    sides: tuple[str, str]
    run: Any


def of(settings: Container[str]) -> Play | None:
    """What shows off a mode with these settings; None for one that is neither queue nor shop."""
    if "queue_order" in settings:
        return Play(("owner", "worker"), _queue)
    if "list_price" in settings:
        return Play(("buyer", "vendor"), _shop)
    return None


def _queue(step: Any, mode: str, owner: Any, worker: Any, wallet_id: str) -> dict[str, Any]:
    """A queue, played through; in a solo gig the task that is polled is the worker's own copy."""
    gig_body = {"title": f"Demo of {mode}", "price": PRICE, "distribution": mode}
    made = step(owner, "opens a gig", "POST", "/gigs", gig_body)["gig"]
    gig = f"/gigs/{made['id']}"
    invite = made["invite_url"].rpartition("=")[2]
    joined = step(worker, "joins it", "POST", f"{gig}/mailboxes", {"invite": invite})["mailbox"]
    wallet = _wallet_of(step, worker, joined["wallet_address"])
    before = _held(step, worker, wallet)
    deposit = {"wallet_alias_id": wallet_id, "amount": DEPOSIT}
    step(owner, f"deposits ${DEPOSIT}", "POST", f"{gig}/deposit", deposit)
    step(owner, "sends a task", "POST", made["webhook"], {"say": "hello"})
    (task,) = step(worker, "polls", "POST", f"{gig}/queue/poll", {"count": 1})["tasks"]
    proof = {"task_identifier": task["id"], "proofs": ["hello"]}
    proof_id = step(worker, "hands in a proof", "POST", f"{gig}/proofs", proof)["proof"]["id"]
    step(owner, "approves it", "PATCH", f"{gig}/proofs/{proof_id}", {"action": "approve"})
    step(owner, "settles", "POST", f"{gig}/rollups")
    (rollup,) = step(owner, "reads the payout", "GET", f"{gig}/rollups")["rollups"]
    after = _held(step, worker, wallet)
    return _ends(rollup, worker=(before, after))


def _shop(step: Any, mode: str, buyer: Any, vendor: Any, wallet_id: str) -> dict[str, Any]:
    """A shop: its buyer pays for an order, and what was delivered opens once the vendor is paid."""
    gig_body = {"title": f"Demo of {mode}", "list_price": PRICE, "distribution": mode}
    opened = step(vendor, "opens a shop", "POST", "/gigs", gig_body)
    made, own = opened["gig"], opened["vendor_mailbox_id"]
    gig = f"/gigs/{made['id']}"
    places = step(vendor, "looks at the place of the shop", "GET", "/mailboxes/mine")["mailboxes"]
    address = next(one["wallet_address"] for one in places if one["id"] == own)
    wallet = _wallet_of(step, vendor, address)
    invite = made["invite_url"].rpartition("=")[2]
    step(buyer, "joins it", "POST", f"{gig}/mailboxes", {"invite": invite})
    held = (_held(step, buyer, wallet_id), _held(step, vendor, wallet))
    draft = step(buyer, "writes an order", "POST", f"{made['webhook']}&draft=true", {"order": "hi"})
    order = f"{gig}/tasks/{draft['message_id']}"
    payment = {"wallet_alias_id": wallet_id, "amount": PRICE}
    paid = step(buyer, f"pays ${PRICE} and sends it", "POST", f"{order}/publish", payment)
    proof = {
        "task_identifier": paid["message_id"],
        "proofs": ["a greeting of seven words"],
        "private_note": NOTE,
    }
    proof_id = step(vendor, "delivers", "POST", f"{gig}/proofs", proof)["proof"]["id"]
    delivery = f"{gig}/proofs/{proof_id}"
    locked = step(buyer, "reads what may be read of it", "GET", delivery)["proof"]
    step(buyer, "approves it", "PATCH", delivery, {"action": "approve"})
    step(buyer, "settles", "POST", f"{gig}/rollups")
    (rollup,) = step(vendor, "reads the payout", "GET", f"{gig}/rollups")["rollups"]
    note = step(buyer, "reads the note, now that it is paid", "GET", delivery)["proof"]
    after = (_held(step, buyer, wallet_id), _held(step, vendor, wallet))
    return {
        **_ends(rollup, buyer=(held[0], after[0]), vendor=(held[1], after[1])),
        "order": draft["message_id"],
        "note_before": locked["private_note"],
        "note_after": note["private_note"],
    }


def _held(step: Any, side: Any, wallet_id: str) -> dict[str, Any]:
    found: dict[str, Any] = step(
        side, "looks at the wallet", "GET", f"/wallets/{wallet_id}/balances"
    )
    return found


def _wallet_of(step: Any, side: Any, address: str) -> str:
    found = step(side, "lists the wallets", "GET", "/wallets")["wallets"]
    return next(str(one["id"]) for one in found if one["evm_address"] == address)


def _ends(rollup: dict[str, Any], **sides: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """The payout, and what each wallet held in dollars."""
    wallets = {
        who: {
            "address": after["evm_address"],
            "before": before["usdc_balance"],
            "after": after["usdc_balance"],
        }
        for who, (before, after) in sides.items()
    }
    return {"wallets": wallets, "paid": rollup["net_amount"], "tx_hash": rollup["tx_hash"]}
