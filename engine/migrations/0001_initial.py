"""The first schema. The models below are frozen: later ones are changed, never these."""

import peewee


def references(table, column="id"):
    return peewee.SQL(f'REFERENCES "{table}" ("{column}")')


def in_states(field, *names):
    return field.in_([peewee.SQL(f"'{name}'") for name in names])


def up(migrator, db):
    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False

    class Meta(Table):
        key = peewee.TextField(primary_key=True)
        value = peewee.TextField()

    class Lease(Table):
        name = peewee.TextField(primary_key=True)
        holder = peewee.TextField()
        fence = peewee.BigIntegerField()
        until = peewee.BigIntegerField()

    class JobRun(Table):
        job = peewee.TextField()
        slot = peewee.BigIntegerField()
        rung_at = peewee.BigIntegerField()

        class Meta:
            primary_key = peewee.CompositeKey("job", "slot")

    class StoredAnswer(Table):
        id = peewee.TextField(primary_key=True)
        fingerprint = peewee.TextField()
        command_id = peewee.TextField(null=True)
        encrypted_answer = peewee.TextField(null=True)
        created_at = peewee.BigIntegerField(index=True)

    class Counter(Table):
        key = peewee.TextField(primary_key=True)
        count = peewee.BigIntegerField()
        until = peewee.BigIntegerField(index=True)

    class OneTimePassword(Table):
        email = peewee.TextField(primary_key=True)
        hash = peewee.TextField()
        tries = peewee.BigIntegerField()
        expires_at = peewee.BigIntegerField()

    class Account(Table):
        number = peewee.BigAutoField()
        id = peewee.TextField(unique=True)
        email = peewee.TextField(unique=True)
        display_name = peewee.TextField()
        status = peewee.TextField()
        created_at = peewee.BigIntegerField()

    class ApiKey(Table):
        id = peewee.TextField(primary_key=True)
        account_id = peewee.TextField(index=True, constraints=[references("account")])
        hash = peewee.TextField(unique=True)
        label = peewee.TextField()
        scopes = peewee.TextField()
        expires_at = peewee.BigIntegerField(null=True)
        revoked_at = peewee.BigIntegerField(null=True)
        created_at = peewee.BigIntegerField()

    class Wallet(Table):
        id = peewee.TextField(primary_key=True)
        account_id = peewee.TextField(index=True, constraints=[references("account")])
        label = peewee.TextField()
        evm_address = peewee.TextField(index=True)
        is_hot_wallet = peewee.BooleanField()
        encrypted_key = peewee.TextField(null=True)
        created_at = peewee.BigIntegerField()

    class Gig(Table):
        id = peewee.TextField(primary_key=True)
        owner_id = peewee.TextField(index=True, constraints=[references("account")])
        status = peewee.TextField()
        title = peewee.TextField()
        terms = peewee.TextField()
        notes = peewee.TextField()
        price_units = peewee.BigIntegerField()
        distribution = peewee.TextField()
        queue_order = peewee.TextField()
        join_policy = peewee.TextField()
        requires_approval = peewee.BooleanField()
        tags = peewee.TextField()
        review_timeout_seconds = peewee.BigIntegerField()
        min_payout_units = peewee.BigIntegerField()
        location = peewee.TextField()
        icon_url = peewee.TextField()
        owner_wallet = peewee.TextField(null=True)
        proof_webhook_url = peewee.TextField(null=True)
        join_webhook_url = peewee.TextField(null=True)
        webhook_secret = peewee.TextField()
        old_webhook_secrets = peewee.TextField(null=True)
        token = peewee.TextField()
        created_at = peewee.BigIntegerField()

    class Invite(Table):
        token = peewee.TextField(primary_key=True)
        gig_id = peewee.TextField(index=True, constraints=[references("gig")])
        label = peewee.TextField()
        email = peewee.TextField(null=True)
        max_uses = peewee.BigIntegerField(null=True)
        used = peewee.BigIntegerField()
        revoked_at = peewee.BigIntegerField(null=True)
        created_at = peewee.BigIntegerField()

    class Mailbox(Table):
        id = peewee.TextField(primary_key=True)
        gig_id = peewee.TextField(constraints=[references("gig")])
        account_id = peewee.TextField(index=True, constraints=[references("account")])
        status = peewee.TextField()
        name = peewee.TextField()
        email = peewee.TextField()
        wallet_address = peewee.TextField()
        webhook = peewee.TextField(null=True)
        events_webhook_url = peewee.TextField(null=True)
        webhook_secret = peewee.TextField()
        old_webhook_secrets = peewee.TextField(null=True)
        notes = peewee.TextField()
        tags = peewee.TextField()
        ordinal = peewee.BigIntegerField()
        joined_at = peewee.BigIntegerField()

        class Meta:
            indexes = ((("gig_id", "account_id", "ordinal"), True),)

    class Task(Table):
        number = peewee.BigAutoField()
        id = peewee.TextField(unique=True)
        gig_id = peewee.TextField(constraints=[references("gig")])
        status = peewee.TextField()
        subject = peewee.TextField()
        payload = peewee.TextField()
        content_type = peewee.TextField()
        tags = peewee.TextField()
        price_units = peewee.BigIntegerField(null=True)
        price_tbd = peewee.BooleanField()
        priority = peewee.BigIntegerField()
        external_id = peewee.TextField(null=True)
        fingerprint = peewee.TextField(null=True)
        mailbox_id = peewee.TextField(null=True, constraints=[references("mailbox")])
        claimed_at = peewee.BigIntegerField(null=True)
        held_price_units = peewee.BigIntegerField(null=True)
        created_at = peewee.BigIntegerField()

        class Meta:
            indexes = (
                (("gig_id", "external_id"), True),
                (("gig_id", "created_at", "id"), False),
                (("mailbox_id", "status"), False),
            )

    class QueueEntry(Table):
        gig_id = peewee.TextField()
        sort_key = peewee.BigIntegerField()
        task_number = peewee.BigIntegerField(
            unique=True, constraints=[references("task", "number")]
        )

        class Meta:
            primary_key = peewee.CompositeKey("gig_id", "sort_key", "task_number")

    class Exclusion(Table):
        mailbox_id = peewee.TextField(constraints=[references("mailbox")])
        task_number = peewee.BigIntegerField(index=True, constraints=[references("task", "number")])
        reason = peewee.TextField()
        at = peewee.BigIntegerField()

        class Meta:
            primary_key = peewee.CompositeKey("mailbox_id", "task_number")

    class Command(Table):
        id = peewee.TextField(primary_key=True)
        kind = peewee.TextField()
        status = peewee.TextField()
        account_id = peewee.TextField(null=True)
        gig_id = peewee.TextField(null=True)
        arguments = peewee.TextField()
        result = peewee.TextField(null=True)
        error = peewee.TextField(null=True)
        attempts = peewee.BigIntegerField()
        failures = peewee.BigIntegerField()
        run_after = peewee.BigIntegerField()
        lease_until = peewee.BigIntegerField(null=True)
        created_at = peewee.BigIntegerField()
        finished_at = peewee.BigIntegerField(null=True)

    UNFINISHED = in_states(Command.status, "pending", "running", "waiting")
    Command.add_index(Command.index(Command.run_after, name="command_due", where=UNFINISHED))

    class Rollup(Table):
        id = peewee.TextField(primary_key=True)
        gig_id = peewee.TextField(constraints=[references("gig")])
        mailbox_id = peewee.TextField(index=True, constraints=[references("mailbox")])
        command_id = peewee.TextField(index=True, constraints=[references("command")])
        status = peewee.TextField()
        wallet_address = peewee.TextField()
        gross_units = peewee.BigIntegerField()
        fee_units = peewee.BigIntegerField()
        fee_bps = peewee.BigIntegerField()
        payout_key = peewee.TextField(unique=True)
        chain_transaction_id = peewee.TextField(null=True, index=True)
        tx_hash = peewee.TextField(null=True)
        failure = peewee.TextField(null=True)
        settled_by_reconciliation = peewee.BooleanField(default=False)
        created_at = peewee.BigIntegerField()
        paid_at = peewee.BigIntegerField(null=True)

        class Meta:
            indexes = ((("gig_id", "created_at", "id"), False),)

    UNPAID = in_states(Rollup.status, "pending", "sent", "failed")
    Rollup.add_index(
        Rollup.index(
            Rollup.gig_id,
            name="rollup_unpaid",
            where=UNPAID,
        )
    )

    class Proof(Table):
        id = peewee.TextField(primary_key=True)
        gig_id = peewee.TextField(constraints=[references("gig")])
        mailbox_id = peewee.TextField(index=True, constraints=[references("mailbox")])
        task_id = peewee.TextField(constraints=[references("task")])
        status = peewee.TextField()
        evidence = peewee.TextField()
        tags = peewee.TextField()
        private_note = peewee.TextField()
        locked_price_units = peewee.BigIntegerField(null=True)
        price_source = peewee.TextField()
        feedback = peewee.TextField()
        rejection_tag = peewee.TextField(null=True)
        returned = peewee.BooleanField()
        submitted_at = peewee.BigIntegerField()
        timeout_at = peewee.BigIntegerField(null=True)
        reviewed_at = peewee.BigIntegerField(null=True)
        rollup_id = peewee.TextField(null=True, index=True, constraints=[references("rollup")])
        paid_out_at = peewee.BigIntegerField(null=True)

        class Meta:
            indexes = ((("gig_id", "submitted_at", "id"), False),)

    PAYABLE = ("approved", "timeout_approved")
    UNDECIDED = in_states(Proof.status, "pending")
    UNCARRIED = Proof.rollup_id.is_null() & in_states(Proof.status, *PAYABLE)

    Proof.add_index(
        Proof.index(
            Proof.task_id,
            unique=True,
            name="proof_one_live_per_task",
            where=in_states(Proof.status, "pending", *PAYABLE),
        )
    )
    Proof.add_index(Proof.index(Proof.timeout_at, name="proof_due", where=UNDECIDED))
    Proof.add_index(Proof.index(Proof.gig_id, name="proof_payable", where=UNCARRIED))

    class Event(Table):
        seq = peewee.BigIntegerField(primary_key=True)
        id = peewee.TextField(unique=True)
        type = peewee.TextField()
        at = peewee.BigIntegerField()
        actor = peewee.TextField()
        gig_id = peewee.TextField(null=True)
        subject_kind = peewee.TextField()
        subject_id = peewee.TextField()
        mailbox_id = peewee.TextField(null=True)
        data = peewee.TextField()

        class Meta:
            indexes = (
                (("gig_id", "seq"), False),
                (("subject_id", "seq"), False),
            )

    class Endpoint(Table):
        id = peewee.TextField(primary_key=True)
        kind = peewee.TextField()
        owner_id = peewee.TextField()
        account_id = peewee.TextField(constraints=[references("account")])
        url = peewee.TextField(null=True)
        status = peewee.TextField()
        reason = peewee.TextField(null=True)
        disabled_at = peewee.BigIntegerField(null=True)
        enabled_at = peewee.BigIntegerField()
        created_at = peewee.BigIntegerField()

        class Meta:
            indexes = (
                (("kind", "owner_id"), True),
                (("account_id", "created_at", "id"), False),
            )

    class Delivery(Table):
        id = peewee.TextField(primary_key=True)
        endpoint_id = peewee.TextField(constraints=[references("endpoint")])
        account_id = peewee.TextField(constraints=[references("account")])
        event = peewee.TextField()
        status = peewee.TextField()
        body = peewee.TextField()
        attempts = peewee.BigIntegerField()
        tries_before = peewee.BigIntegerField()
        next_attempt_at = peewee.BigIntegerField(null=True)
        lease_until = peewee.BigIntegerField(null=True)
        created_at = peewee.BigIntegerField()

        class Meta:
            indexes = (
                (("endpoint_id", "created_at", "id"), False),
                (("account_id", "created_at", "id"), False),
            )

    class Attempt(Table):
        delivery_id = peewee.TextField(constraints=[references("delivery")])
        number = peewee.BigIntegerField()
        at = peewee.BigIntegerField()
        status_code = peewee.BigIntegerField(null=True)
        error = peewee.TextField(null=True)
        latency_ms = peewee.BigIntegerField()
        response_excerpt = peewee.TextField()

        class Meta:
            primary_key = peewee.CompositeKey("delivery_id", "number")

    OPEN = in_states(Delivery.status, "pending", "delivering")
    Delivery.add_index(
        Delivery.index(
            Delivery.next_attempt_at,
            name="delivery_due",
            where=OPEN,
        )
    )

    WAITING = in_states(Delivery.status, "pending", "delivering", "paused")
    Delivery.add_index(
        Delivery.index(
            Delivery.endpoint_id,
            name="delivery_waiting",
            where=WAITING,
        )
    )

    class LedgerTransaction(Table):
        id = peewee.TextField(primary_key=True)
        reference = peewee.TextField(unique=True)
        kind = peewee.TextField()
        block_number = peewee.BigIntegerField()
        tx_hash = peewee.TextField()
        booked_at = peewee.BigIntegerField()

    class LedgerEntry(Table):
        transaction_id = peewee.TextField(constraints=[references("ledger_transaction")])
        line = peewee.BigIntegerField()
        account = peewee.TextField()
        gig_key = peewee.TextField(null=True)
        units = peewee.BigIntegerField()

        class Meta:
            primary_key = peewee.CompositeKey("transaction_id", "line")
            indexes = ((("account", "gig_key"), False),)

    class Signer(Table):
        address = peewee.TextField(primary_key=True)
        next_nonce = peewee.BigIntegerField()

    class ChainTransaction(Table):
        id = peewee.TextField(primary_key=True)
        intent = peewee.TextField(unique=True)
        signer = peewee.TextField(constraints=[references("signer", "address")])
        nonce = peewee.BigIntegerField()
        status = peewee.TextField()
        to_address = peewee.TextField()
        data = peewee.TextField()
        gas = peewee.BigIntegerField()
        block_number = peewee.BigIntegerField(null=True)
        failure = peewee.TextField(null=True)
        created_at = peewee.BigIntegerField()
        finished_at = peewee.BigIntegerField(null=True)

        class Meta:
            indexes = ((("signer", "nonce"), True),)

    class ChainAttempt(Table):
        tx_hash = peewee.TextField(primary_key=True)
        transaction_id = peewee.TextField(index=True, constraints=[references("chain_transaction")])
        raw_hex = peewee.TextField()
        max_fee_wei = peewee.TextField()
        priority_fee_wei = peewee.TextField()
        created_at = peewee.BigIntegerField()

    UNDERWAY = in_states(ChainTransaction.status, "sent")
    ChainTransaction.add_index(
        ChainTransaction.index(
            ChainTransaction.created_at,
            name="chain_transaction_open",
            where=UNDERWAY,
        )
    )

    # In this order: a table comes after those that it refers to.
    for table in (
        Meta,
        Lease,
        JobRun,
        StoredAnswer,
        Counter,
        OneTimePassword,
        Account,
        ApiKey,
        Wallet,
        Gig,
        Invite,
        Mailbox,
        Task,
        QueueEntry,
        Exclusion,
        Command,
        Rollup,
        Proof,
        Event,
        Endpoint,
        Delivery,
        Attempt,
        LedgerTransaction,
        LedgerEntry,
        Signer,
        ChainTransaction,
        ChainAttempt,
    ):
        table.create_table()
