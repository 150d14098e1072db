"""What an account can be to a gig. Which operations each may do: `engine/operations.py`."""

from __future__ import annotations

OWNER = "owner"
MEMBER = "member"
# A member whose mailbox is active: neither waiting for approval, nor closed, nor left.
ACTIVE = "active member"
ANYONE = "anyone"
# Who has sent an order, or saved one to send: only where members order. His rights in that order
# outlast his mailbox, since his money may be in it.
BUYER = "buyer"
