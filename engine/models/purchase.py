"""What a buyer has bought: one row for each time that an order was funded, or sent for free."""

from __future__ import annotations

import peewee

from engine.models.base import Table, references


class Purchase(Table):
    """A deposit for an order, from the moment that it is attempted; without one the order was free.

    What became of the deposit its escrow says. `minimum_units` is the shop's price at that time
    (10⁻⁶ USDC); `withdrawn_at` is only set for a free order.
    """

    number = peewee.BigAutoField()
    client_id = peewee.TextField(constraints=[references("account")])
    gig_id = peewee.TextField(constraints=[references("gig")])
    task_id = peewee.TextField(constraints=[references("task")])
    deposit_id = peewee.TextField(null=True, unique=True, constraints=[references("escrow")])
    minimum_units = peewee.BigIntegerField()
    created_at = peewee.BigIntegerField()
    withdrawn_at = peewee.BigIntegerField(null=True)

    class Meta:
        indexes = (
            (("client_id", "created_at", "number"), False),
            (("gig_id", "created_at", "number"), False),
            (("task_id",), False),
        )
