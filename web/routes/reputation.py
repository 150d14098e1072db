"""What anybody may know of the work done for a wallet."""

from __future__ import annotations

from typing import Any

from engine import reputation
from web import limits, paging
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import reputation as schemas

routes = Routes("reputation", "What became of the work paid to a wallet. No key is needed.")


@routes.route("/reputation/<wallet>/events", key=None, refuses=[429])
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.ReputationList)
def list_events(query: dict[str, Any], wallet: str) -> dict[str, Any]:
    """Verdicts and payouts of a wallet, newest first (R-09); none for one that is unknown.

    The wallet is an address with its checksum or in lower case. Rows are only ever added: where a
    verdict was revised or a payout taken back, the newer row is what stands.
    """
    limits.count(limits.PUBLIC_ADDRESS, limits.address())
    found, cursor = paging.page(
        f"reputation:{wallet.lower()}",
        query,
        lambda limit, before: reputation.listed(wallet, limit, before),
        lambda one: (one.number,),
    )
    return {"events": found, "next_cursor": cursor}
