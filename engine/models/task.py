"""Tasks, the narrow queue that they wait in, and who is not to be offered one again."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, in_states, references


class Task(Table):
    # The order of arrival; the queue's key is built from it.
    number = peewee.BigAutoField()
    id = peewee.TextField(unique=True)
    gig_id = peewee.TextField(constraints=[references("gig")])
    status = peewee.TextField()
    subject = peewee.TextField()
    payload = peewee.TextField()
    content_type = peewee.TextField()
    tags = JsonField()
    # NULL means the gig's price, unless it is to be decided.
    price_units = peewee.BigIntegerField(null=True)
    price_tbd = peewee.BooleanField()
    priority = peewee.BigIntegerField()
    external_id = peewee.TextField(null=True)
    # SHA-256 of what came with the external id, to tell a repeat from another task.
    fingerprint = peewee.TextField(null=True)
    mailbox_id = peewee.TextField(null=True, constraints=[references("mailbox")])
    claimed_at = peewee.BigIntegerField(null=True)
    # What the holder saw when he claimed: NULL while nobody holds it or it is TBD.
    held_price_units = peewee.BigIntegerField(null=True)
    created_at = peewee.BigIntegerField()
    # Its named deposit, in a gig that funds each task by itself (Y-07).
    deposit_id = peewee.TextField(null=True, index=True)
    escrow_units = peewee.BigIntegerField(null=True)
    escrow_fee_bps = peewee.BigIntegerField(null=True)
    escrowed_at = peewee.BigIntegerField(null=True)
    # The newest command that puts that deposit in.
    command_id = peewee.TextField(null=True)
    # The day (UTC, counted from 1970) whose spending limit its price was counted against.
    counted_on = peewee.BigIntegerField(null=True)
    # `open`, `reserved` (for one mailbox, or for whoever opens its link) or `view_only` (T-06).
    availability = peewee.TextField(default="open", constraints=[peewee.SQL("DEFAULT 'open'")])
    reserved_for = peewee.TextField(null=True, constraints=[references("mailbox")])
    # The mailbox that the owner has given it to, or will once it is funded.
    assignee_id = peewee.TextField(null=True, constraints=[references("mailbox")])
    # No poll is offered it before (T-04).
    not_before = peewee.BigIntegerField(null=True)
    # When its holder loses it. NULL: never.
    expires_at = peewee.BigIntegerField(null=True)
    # The gig's times when it was claimed: what its holder's heartbeats go by (F28).
    held_timeout_seconds = peewee.BigIntegerField(null=True)
    held_most_seconds = peewee.BigIntegerField(null=True)
    # The part of the brief that only its holder and the owner read.
    private_details = peewee.TextField(null=True)
    # A copy's template, and how many copies of a template count against its gig's maximum (S-01).
    template_number = peewee.BigIntegerField(null=True, constraints=[references("task", "number")])
    source_task_id = peewee.TextField(null=True)
    copies = peewee.BigIntegerField(default=0, constraints=[peewee.SQL("DEFAULT 0")])
    draft_saved_at = peewee.BigIntegerField(null=True)
    # Who may read and write comments (T-09). NULL: as the gig has it.
    comments_policy = peewee.TextField(null=True)
    # Work that a worker names himself, where the mode hands out none (U-03): whose, and how.
    named_by = peewee.TextField(null=True, constraints=[references("mailbox")])
    named_as = peewee.TextField(null=True)
    # Whose order it is, where members order: who funds and approves it.
    client_id = peewee.TextField(null=True, constraints=[references("account")])
    # The shop's price when it was funded last; the tip is what was paid beyond that.
    funded_minimum_units = peewee.BigIntegerField(null=True)
    # It was sent to a shop that takes no money.
    order_free = peewee.BooleanField(default=False, constraints=[peewee.SQL("DEFAULT FALSE")])
    order_withdrawn_at = peewee.BigIntegerField(null=True)
    # `participant`, `vendor`, `reconciler` or `operator`; and why, where nobody asked for it.
    order_withdrawn_by = peewee.TextField(null=True)
    order_withdrawn_reason = peewee.TextField(null=True)
    # Opens the order to whoever holds the link, while its policy is `public`.
    public_token = peewee.TextField(null=True, unique=True)
    # What signs the order's webhook; sealed. The buyer chose it.
    order_webhook_secret = peewee.TextField(null=True)
    # What its sender said under its mode's own names.
    mode_fields = JsonField(null=True)
    # Until when its holder has to accept it, which is also when it expires. NULL: it is his.
    accept_by = peewee.BigIntegerField(null=True)
    # How much that day's spending has of it. Of what is copied to each worker of a gig: what no
    # copy has used yet.
    counted_units = peewee.BigIntegerField(null=True)

    class Meta:
        indexes = (
            (("gig_id", "external_id"), True),
            (("named_by", "named_as"), True),
            (("gig_id", "created_at", "id"), False),
            (("mailbox_id", "status"), False),
        )


UNFUNDED = in_states(Task.status, "unfunded")
Task.add_index(Task.index(Task.gig_id, name="task_unfunded", where=UNFUNDED))
UNDOING = in_states(Task.status, "undoing")
Task.add_index(Task.index(Task.number, name="task_undoing", where=UNDOING))


# What the sweeps look for: claims that have run out, and what was to wait and is due.
HELD = in_states(Task.status, "claimed")
WAITING = in_states(Task.status, "queued")
DRAFTS = in_states(Task.status, "draft")
Task.add_index(Task.index(Task.expires_at, name="task_expiring", where=HELD))
Task.add_index(
    Task.index(
        Task.not_before, name="task_not_before", where=WAITING & Task.not_before.is_null(False)
    )
)
Task.add_index(Task.index(Task.gig_id, Task.created_at, Task.id, name="task_draft", where=DRAFTS))
# Orders that wait for their buyer, or for his deposit.
UNSENT_ORDERS = Task.client_id.is_null(False) & in_states(
    Task.status, "draft", "unfunded", "withdrawn"
)
Task.add_index(
    Task.index(Task.gig_id, Task.created_at, Task.id, name="task_unsent_order", where=UNSENT_ORDERS)
)
Task.add_index(
    Task.index(Task.client_id, Task.gig_id, name="task_client", where=Task.client_id.is_null(False))
)
Task.add_index(
    Task.index(Task.template_number, name="task_copy", where=Task.template_number.is_null(False))
)
# What is kept back from the shared queue, for its owner and for whom it is reserved.
KEPT_BACK = in_states(Task.status, "queued", "unassigned") & (
    in_states(Task.availability, "reserved", "view_only") | in_states(Task.status, "unassigned")
)
Task.add_index(
    Task.index(Task.gig_id, Task.created_at, Task.id, name="task_kept_back", where=KEPT_BACK)
)


class QueueEntry(Table):
    """A task that may be taken. The row is deleted by the claim, so the table stays narrow.

    `shelf` is the gig's id, or a mailbox's for what is reserved for it.
    """

    shelf = peewee.TextField()
    sort_key = peewee.BigIntegerField()
    task_number = peewee.BigIntegerField(unique=True, constraints=[references("task", "number")])
    # The position of the transaction that put it here; see engine/events.py.
    enqueued = peewee.BigIntegerField()
    # A random number, by which a `random` gig is drawn from.
    draw = peewee.BigIntegerField()
    # Its class of tags and price, and its own price: what filters look at. 0: no tags, the gig's.
    facet_id = peewee.BigIntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    price_units = peewee.BigIntegerField(null=True)

    class Meta:
        primary_key = peewee.CompositeKey("shelf", "sort_key", "task_number")
        indexes = (
            (("shelf", "enqueued", "sort_key"), False),
            (("shelf", "draw"), False),
            (("shelf", "facet_id", "sort_key", "task_number"), False),
        )


class Facet(Table):
    """A distinct set of tags and band of prices among a gig's tasks, so that a filter is
    evaluated once for each of them and not for each task."""

    id = peewee.BigAutoField()
    gig_id = peewee.TextField(constraints=[references("gig")])
    key = peewee.TextField()
    # Each tag with a line break before and after it.
    tags_text = peewee.TextField()
    # `gig`, `tbd` or `fixed`, and then the band's borders, both within it.
    price_kind = peewee.TextField()
    low_units = peewee.BigIntegerField(null=True)
    high_units = peewee.BigIntegerField(null=True)

    class Meta:
        indexes = ((("gig_id", "key"), True),)


class Take(Table):
    """A task came into a mailbox's hands: by its own `claim`, or `assigned` by the owner.

    Claims count against the rate limit (M-05). What the owner took back is `excused`: it does not
    count against the worker (M-06).
    """

    mailbox_id = peewee.TextField(constraints=[references("mailbox")])
    at = peewee.BigIntegerField()
    task_number = peewee.BigIntegerField(constraints=[references("task", "number")])
    kind = peewee.TextField()
    excused = peewee.BooleanField(default=False, constraints=[peewee.SQL("DEFAULT FALSE")])

    class Meta:
        primary_key = peewee.CompositeKey("mailbox_id", "at", "task_number")


class CopyHolder(Table):
    """An account that has had its copy of a template, whatever became of it: never a second one."""

    template_number = peewee.BigIntegerField(constraints=[references("task", "number")])
    account_id = peewee.TextField(constraints=[references("account")])
    copy_number = peewee.BigIntegerField(constraints=[references("task", "number")])

    class Meta:
        primary_key = peewee.CompositeKey("account_id", "template_number")
        indexes = ((("template_number",), False),)


class TaskAlias(Table):
    """An account's own name for a task."""

    account_id = peewee.TextField(constraints=[references("account")])
    task_id = peewee.TextField(constraints=[references("task")])
    name = peewee.TextField()

    class Meta:
        primary_key = peewee.CompositeKey("account_id", "task_id")


class Exclusion(Table):
    """A task that this mailbox is not offered again; it declined it, handed it in, or lost it.

    `reason` is `declined`, `violation` (declined, and reported to the owner), `proven`, `expired`
    or `recycled`; the latest one.
    """

    mailbox_id = peewee.TextField(constraints=[references("mailbox")])
    task_number = peewee.BigIntegerField(index=True, constraints=[references("task", "number")])
    reason = peewee.TextField()
    at = peewee.BigIntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("mailbox_id", "task_number")
