"""Wallets: making, proving, emptying and deleting them (Y-06)."""

from __future__ import annotations

from typing import Any

from engine import address_proofs, claiming, commands, transfers, wallet_removal, wallets
from web import auth, outcome, paging, views, waiting
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import wallets as schemas
from web.schemas.accounts import Accepted
from web.schemas.gigs import Success

routes = Routes("wallets", "Wallets, hot and external.")


@routes.route("/wallets", methods=["POST"])
@routes.arguments(schemas.WalletCreate)
@routes.response(201, schemas.WalletAnswer)
def create(body: dict[str, Any]) -> dict[str, Any]:
    """A hot wallet, whose key is kept here encrypted, or an external one by its address (Y-06).

    A hot wallet is proven from the start; an address that another account has proven is refused.
    """
    made = wallets.create(auth.caller(), body["label"], body["is_hot_wallet"], body["evm_address"])
    return {"wallet": views.wallet_view(made)}


@routes.route("/wallets")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.WalletList)
def mine(query: dict[str, Any]) -> dict[str, Any]:
    """The caller's wallets, oldest first; not those that he has deleted."""
    caller = auth.caller()
    found, cursor = paging.page(
        f"wallets:{caller.account_id}",
        query,
        lambda limit, after: wallets.mine(caller, limit, after),
        lambda one: (one.created_at, one.id),
    )
    return {"wallets": [views.wallet_view(one) for one in found], "next_cursor": cursor}


@routes.route("/wallets/<wallet_id>/balances")
@routes.response(200, schemas.Balances)
def balances(wallet_id: str) -> dict[str, Any]:
    """What the wallet holds, by the chain; 503 while that does not answer."""
    wallet = wallets.get(auth.caller(), wallet_id)
    wei, units = wallets.balances(wallet)
    return {
        "evm_address": wallet.evm_address,
        "eth_balance": views.ether(wei),
        "usdc_balance": views.dollars(units),
    }


@routes.route("/wallets/<wallet_id>/challenge", methods=["POST"])
@routes.response(200, schemas.Challenge)
def challenge(wallet_id: str) -> dict[str, Any]:
    """A text of ten minutes, for the wallet's key to sign by `personal_sign` (M-01).

    It has the shape of EIP-4361. A new one replaces the one before.
    """
    message, expires_at = address_proofs.challenge(auth.caller(), wallet_id)
    return {"message": message, "expires_at": expires_at}


@routes.route("/wallets/<wallet_id>/verify", methods=["POST"])
@routes.arguments(schemas.Verify)
@routes.response(200, schemas.WalletAnswer)
def verify(body: dict[str, Any], wallet_id: str) -> dict[str, Any]:
    """Prove that the address is the caller's, by the signature of the newest challenge (M-01)."""
    proven = address_proofs.verify(auth.caller(), wallet_id, body["signature"])
    return {"wallet": views.wallet_view(proven)}


@routes.route("/wallets/<wallet_id>/transfer", methods=["POST"], refuses=[402, 502])
@routes.arguments(schemas.Transfer)
@routes.response(200, schemas.Transferred)
@routes.alt_response(202, schema=Accepted)
def transfer(body: dict[str, Any], wallet_id: str) -> Any:
    """Send USDC out of a hot wallet; 200 once it is final (Y-06)."""
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed() or outcome.recorded(
        transfers.request(auth.caller(), wallet_id, body["to_address"], body["amount_units"])
    )
    return outcome.under_way(command_id, seconds) or commands.result_of(command_id)


@routes.route("/wallets/<wallet_id>/claim", methods=["POST"], refuses=[402, 502])
@routes.response(200, schemas.Transferred)
@routes.alt_response(202, schema=Accepted)
def claim(wallet_id: str) -> Any:
    """Fetch what came back for a hot wallet and what its token refused; 200 once it is final."""
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed() or outcome.recorded(claiming.request(auth.caller(), wallet_id))
    return outcome.under_way(command_id, seconds) or commands.result_of(command_id)


@routes.route("/wallets/<wallet_id>", methods=["DELETE"])
@routes.response(200, Success)
@routes.alt_response(202, schema=Accepted)
def delete(wallet_id: str) -> Any:
    """Delete a wallet that holds nothing and that nothing is to come back or be paid to (Y-06).

    409 `wallet_in_use` says what it is still needed for, in `in_use_for`.
    """
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed() or outcome.recorded(
        wallet_removal.request(auth.caller(), wallet_id)
    )
    return outcome.under_way(command_id, seconds) or commands.result_of(command_id)
