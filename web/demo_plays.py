"""What `muster demo` plays: one task, or order, or piece of work, of a mode.

`step(side, what, method, path, body, headers)` is one request of one side, and answers what that
was answered. Each play ends with what the wallets of both sides, or the worker's alone, held before
and after.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

PRICE = "2.50"
DEPOSIT = "10"
NOTE = "hello, and nobody has said it before"
PLANNED_START = "2030-01-07T14:00:00"


@dataclass(frozen=True)
class Play:
    """Who plays: the side that pays, and the side that works; and how."""

    sides: tuple[str, str]
    run: Any


def of(mode: Mapping[str, Any]) -> Play | None:
    """What shows off a mode, as `GET /modes` lists it; None for one that is none of these."""
    workers, refuses, settings = ("owner", "worker"), mode["refuses"], mode["settings"]
    if "list_price" in settings:
        return Play(("buyer", "vendor"), _shop)
    if "queue_order" in settings:
        return Play(workers, _queue)
    if "task.send" in refuses:
        return Play(workers, _own_work)
    if mode["desk"] and {"plan", "complete"} <= {verb["name"] for verb in mode["verbs"]}:
        return Play(workers, partial(_planned, desk=mode["desk"]))
    if "queue.poll" in refuses and "accept_timeout" in settings:
        return Play(workers, partial(_pushed, others=mode["names"][1:]))
    return None


@dataclass(frozen=True)
class _Gig:
    """An open gig with a filled pot and one worker, and what his wallet held then."""

    path: str
    webhook: str
    mailbox_id: str
    wallet_id: str
    held: dict[str, Any]


def _queue(step: Any, mode: str, owner: Any, worker: Any, wallet_id: str) -> dict[str, Any]:
    """A queue; in a solo gig the task that is polled is the worker's own copy."""
    gig = _open(step, mode, owner, worker, wallet_id)
    step(owner, "sends a task", "POST", gig.webhook, {"say": "hello"})
    polled = step(worker, "polls", "POST", f"{gig.path}/queue/poll", {"count": 1})
    return _prove(step, gig, owner, worker, polled["tasks"][0]["id"])


def _own_work(step: Any, mode: str, owner: Any, worker: Any, wallet_id: str) -> dict[str, Any]:
    """Nothing is sent: the worker names what he did."""
    gig = _open(step, mode, owner, worker, wallet_id)
    return _prove(step, gig, owner, worker, "a greeting, said today")


def _pushed(
    step: Any, mode: str, owner: Any, worker: Any, wallet_id: str, others: list[str]
) -> dict[str, Any]:
    """The task comes to the worker by itself; and what a gig of another strategy answers."""
    gig = _open(step, mode, owner, worker, wallet_id)
    step(owner, "sends a task", "POST", gig.webhook, {"say": "hello"})
    inbound = f"/mailboxes/{gig.mailbox_id}/inbound"
    (task,) = step(worker, "looks at what came in", "GET", inbound)["tasks"]
    ends = _prove(step, gig, owner, worker, task["id"])
    answers = {}
    for other in others[-1:]:
        made = _gig(step, other, owner)
        _join(step, made, worker)
        told = f"sends a task to a gig of {other}"
        answers[other] = step(owner, told, "POST", made["webhook"], {"say": "hello"})
    return {**ends, "answers": answers}


def _planned(
    step: Any, mode: str, owner: Any, worker: Any, wallet_id: str, desk: Mapping[str, Any]
) -> dict[str, Any]:
    """The task is on the worker's desk: he plans it, and says what came of it."""
    gig = _open(step, mode, owner, worker, wallet_id)
    title = f"Say hello ({gig.mailbox_id})"
    step(owner, "sends a task", "POST", gig.webhook, {"title": title, "estimated_minutes": 15})
    path = str(desk["path"]).removeprefix("/api")
    everything = "&".join(f"{flag}=true" for flag in desk["flags"])

    def act(what: str, verb: str, body: dict[str, str]) -> None:
        listed = step(worker, "looks at his desk", "GET", f"{path}?{everything}")
        (item,) = [one for one in listed if one["title"] == title]
        sure = {"if-match": item["etag"], "idempotency-key": secrets.token_hex(16)}
        step(worker, what, "POST", f"{path}/{item['id']}/{verb}", body, sure)

    act("plans it", "plan", {"plannedStart": PLANNED_START})
    act("completes it", "complete", {"response": "hello"})
    (proof,) = step(owner, "reads the response", "GET", f"{gig.path}/proofs")["proofs"]
    return _settle(step, gig, owner, worker, proof["id"])


def _shop(step: Any, mode: str, buyer: Any, vendor: Any, wallet_id: str) -> dict[str, Any]:
    """A shop: its buyer pays for an order, and what was delivered opens once the vendor is paid."""
    gig_body = {"title": f"Demo of {mode}", "list_price": PRICE, "distribution": mode}
    opened = step(vendor, "opens a shop", "POST", "/gigs", gig_body)
    made, own = opened["gig"], opened["vendor_mailbox_id"]
    gig = f"/gigs/{made['id']}"
    places = step(vendor, "looks at the place of the shop", "GET", "/mailboxes/mine")["mailboxes"]
    address = next(one["wallet_address"] for one in places if one["id"] == own)
    wallet = _wallet_of(step, vendor, address)
    _join(step, made, buyer)
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


def _open(step: Any, mode: str, owner: Any, worker: Any, wallet_id: str) -> _Gig:
    made = _gig(step, mode, owner)
    gig = f"/gigs/{made['id']}"
    joined = _join(step, made, worker)
    wallet = _wallet_of(step, worker, joined["wallet_address"])
    held = _held(step, worker, wallet)
    deposit = {"wallet_alias_id": wallet_id, "amount": DEPOSIT}
    step(owner, f"deposits ${DEPOSIT}", "POST", f"{gig}/deposit", deposit)
    return _Gig(gig, made["webhook"], joined["id"], wallet, held)


def _gig(step: Any, mode: str, owner: Any) -> dict[str, Any]:
    gig_body = {"title": f"Demo of {mode}", "price": PRICE, "distribution": mode}
    made: dict[str, Any] = step(owner, "opens a gig", "POST", "/gigs", gig_body)["gig"]
    return made


def _join(step: Any, made: Mapping[str, Any], member: Any) -> dict[str, Any]:
    invite = {"invite": made["invite_url"].rpartition("=")[2]}
    joined = step(member, "joins it", "POST", f"/gigs/{made['id']}/mailboxes", invite)
    mailbox: dict[str, Any] = joined["mailbox"]
    return mailbox


def _prove(step: Any, gig: _Gig, owner: Any, worker: Any, name: str) -> dict[str, Any]:
    proof = {"task_identifier": name, "proofs": ["hello"]}
    proof_id = step(worker, "hands in a proof", "POST", f"{gig.path}/proofs", proof)["proof"]["id"]
    return _settle(step, gig, owner, worker, proof_id)


def _settle(step: Any, gig: _Gig, owner: Any, worker: Any, proof_id: str) -> dict[str, Any]:
    approval = {"action": "approve"}
    step(owner, "approves it", "PATCH", f"{gig.path}/proofs/{proof_id}", approval)
    step(owner, "settles", "POST", f"{gig.path}/rollups")
    (rollup,) = step(owner, "reads the payout", "GET", f"{gig.path}/rollups")["rollups"]
    return _ends(rollup, worker=(gig.held, _held(step, worker, gig.wallet_id)))


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
