"""The ledger by itself: every transaction balances, kept balances are sums, gigs add up (Y-05)."""

from __future__ import annotations

from collections import defaultdict

from engine.db import db

# (account, gig key or '') and the sum of its lines.
Sums = dict[tuple[str, str], int]

# One gig's may be below zero: what is fetched and withdrawn belongs to no gig any more.
_OF_ALL = ("fees", "residue", "claimable", "outside", "pot")
_MOST_NAMED = 100


def sums() -> Sums:
    """Every account by its lines, whatever balances are kept."""
    found = db.rows(
        "SELECT account, COALESCE(gig_key, ''), SUM(units) FROM ledger_entry "
        "GROUP BY account, COALESCE(gig_key, '')"
    )
    return {(account, key): int(units) for account, key, units in found}


def by_account(sums: Sums) -> dict[str, int]:
    totals: dict[str, int] = defaultdict(int)
    for (account, _), units in sums.items():
        totals[account] += units
    return totals


def faults(sums: Sums) -> list[str]:
    """What is wrong in the ledger, as sentences."""
    unbalanced = db.rows(
        "SELECT transaction_id FROM ledger_entry GROUP BY transaction_id HAVING SUM(units) <> 0 "
        f"ORDER BY transaction_id LIMIT {_MOST_NAMED}"
    )
    found = [f"ledger {transaction_id} does not balance" for (transaction_id,) in unbalanced]
    kept = {
        (account, key): int(units)
        for account, key, units in db.rows("SELECT account, gig_key, units FROM ledger_balance")
    }
    for place in sorted(kept.keys() | sums.keys()):
        if kept.get(place, 0) != sums.get(place, 0):
            name = _name(*place)
            found.append(f"{name}: {kept.get(place, 0)} is kept, {sums.get(place, 0)} is its sum")
    of_gig: dict[str, int] = defaultdict(int)
    for (account, key), units in sums.items():
        of_gig[key] += units
        if units < 0 and account not in _OF_ALL:
            found.append(f"{_name(account, key)} is {units}")
    found += [
        f"the lines of {key or 'no gig'} sum to {units}" for key, units in of_gig.items() if units
    ]
    totals = by_account(sums)
    # After a reorg pots may lack what they have set aside; together both are what there is.
    totals["pot"] += totals["owed"]
    for account, units in totals.items():
        if units < 0 and account != "outside":
            found.append(f"{account} is {units} in all")
    return found


def warnings(sums: Sums) -> list[str]:
    """Pots that owe more than they hold: a deposit was undone, or another copy of us paid."""
    return [
        f"pot {key} is short of {-units} for what it owes; deposit that much"
        for (account, key), units in sorted(sums.items())
        if account == "pot" and units < 0
    ]


def _name(account: str, key: str) -> str:
    return f"{account} of {key}" if key else account
