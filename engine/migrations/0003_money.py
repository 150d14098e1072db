"""Named deposits, pot refunds, kept balances, blocks to notice a reorg by; a ledger that stays."""

import peewee
from eth_utils.crypto import keccak
from playhouse.migrate import PostgresqlMigrator


def references(table, column="id"):
    return peewee.SQL(f'REFERENCES "{table}" ("{column}")')


def in_states(field, *names):
    return field.in_([peewee.SQL(f"'{name}'") for name in names])


# What is booked stays: neither a person nor a fault of ours changes it afterwards.
LEDGER = ("ledger_transaction", "ledger_entry")

# A gig's lines sum to zero from now on: what came in for its pot was booked to no gig before.
OPENINGS = """
INSERT INTO ledger_transaction (id, reference, kind, block_number, tx_hash, booked_at)
SELECT 'LEDGER_opening_' || gig_key, 'opening:' || gig_key, 'Opening', 0, '', {now}
FROM ledger_entry WHERE gig_key IS NOT NULL GROUP BY gig_key HAVING SUM(units) <> 0
"""
OPENING_LINES = """
INSERT INTO ledger_entry (transaction_id, line, account, gig_key, units)
SELECT 'LEDGER_opening_' || gig_key, {line}, 'outside', {key}, {sign} CAST(SUM(units) AS BIGINT)
FROM ledger_entry
WHERE gig_key IS NOT NULL
AND transaction_id NOT IN (SELECT id FROM ledger_transaction WHERE kind = 'Opening')
GROUP BY gig_key HAVING SUM(units) <> 0
"""
# What rollups that are not paid will take is set aside, as it is for new ones.
UNPAID = """
FROM rollup JOIN gig ON gig.id = rollup.gig_id
WHERE rollup.status IN ('pending', 'sent', 'failed') AND gross_units + fee_units > 0
"""
RESERVATIONS = (
    """
INSERT INTO ledger_transaction (id, reference, kind, block_number, tx_hash, booked_at)
SELECT 'LEDGER_reserve_' || rollup.id, 'reserve:' || rollup.id, 'Reserved', 0, '', {now}
"""
    + UNPAID
)
RESERVATION_LINES = (
    """
INSERT INTO ledger_entry (transaction_id, line, account, gig_key, units)
SELECT 'LEDGER_reserve_' || rollup.id, {line}, '{account}', chain_key,
{sign} (gross_units + fee_units)
"""
    + UNPAID
)

POSTGRES_REFUSAL = """
CREATE FUNCTION ledger_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is only ever added to';
END $$
"""


def up(migrator, db):
    is_postgres = isinstance(migrator, PostgresqlMigrator)

    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False

    class ChainBlock(Table):
        number = peewee.BigIntegerField(primary_key=True)
        hash = peewee.TextField()

    class LedgerBalance(Table):
        account = peewee.TextField()
        gig_key = peewee.TextField()
        units = peewee.BigIntegerField()

        class Meta:
            primary_key = peewee.CompositeKey("account", "gig_key")

    class Escrow(Table):
        id = peewee.TextField(primary_key=True)
        gig_id = peewee.TextField(constraints=[references("gig")])
        task_id = peewee.TextField(constraints=[references("task")])
        attempt = peewee.BigIntegerField()
        status = peewee.TextField()
        depositor = peewee.TextField()
        payee = peewee.TextField()
        amount_units = peewee.BigIntegerField()
        fee_bps = peewee.BigIntegerField()
        reclaimer = peewee.TextField()
        salt = peewee.TextField()
        expires_at = peewee.BigIntegerField()
        wallet_id = peewee.TextField(null=True, constraints=[references("wallet")])
        command_id = peewee.TextField(index=True, constraints=[references("command")])
        chain_transaction_id = peewee.TextField(null=True, index=True)
        tx_hash = peewee.TextField(null=True)
        failure = peewee.TextField(null=True)
        created_at = peewee.BigIntegerField()
        opened_at = peewee.BigIntegerField(null=True)
        ended_at = peewee.BigIntegerField(null=True)

        class Meta:
            indexes = (
                (("task_id", "attempt"), True),
                (("gig_id", "created_at", "id"), False),
            )

    Escrow.add_index(
        Escrow.index(
            Escrow.created_at,
            name="escrow_live",
            where=in_states(Escrow.status, "planned", "open", "refunding"),
        )
    )

    class PotRefund(Table):
        id = peewee.TextField(primary_key=True)
        gig_id = peewee.TextField(index=True, constraints=[references("gig")])
        command_id = peewee.TextField(index=True, constraints=[references("command")])
        status = peewee.TextField()
        funder = peewee.TextField()
        amount_units = peewee.BigIntegerField()
        refund_key = peewee.TextField(unique=True)
        chain_transaction_id = peewee.TextField(null=True, index=True)
        tx_hash = peewee.TextField(null=True)
        failure = peewee.TextField(null=True)
        created_at = peewee.BigIntegerField()
        paid_at = peewee.BigIntegerField(null=True)

    class WalletChallenge(Table):
        wallet_id = peewee.TextField(primary_key=True, constraints=[references("wallet")])
        message = peewee.TextField()
        expires_at = peewee.BigIntegerField()

    for table in (ChainBlock, LedgerBalance, Escrow, PotRefund, WalletChallenge):
        table.create_table()

    for table, column, kind in (
        ("chain_transaction", "block_hash", "TEXT"),
        ("chain_transaction", "tx_hash", "TEXT"),
        ("chain_attempt", "head_block", "BIGINT"),
        ("signer", "balance_wei", "TEXT"),
        ("signer", "balance_at", "BIGINT"),
        ("rollup", "deposit_id", "TEXT"),
        ("rollup", "retry_at", "BIGINT"),
        ("wallet", "verified_at", "BIGINT"),
        ("wallet", "deleted_at", "BIGINT"),
        ("task", "deposit_id", "TEXT"),
        ("task", "escrow_units", "BIGINT"),
        ("task", "escrow_fee_bps", "BIGINT"),
        ("task", "escrowed_at", "BIGINT"),
        ("task", "command_id", "TEXT"),
        ("task", "counted_on", "BIGINT"),
        ("gig", "webhook_max_price_units", "BIGINT"),
        ("gig", "webhook_daily_spend_units", "BIGINT"),
        ("gig", "chain_key", "TEXT"),
        ("ledger_transaction", "data", "TEXT"),
    ):
        declared = kind if is_postgres else kind.replace("BIGINT", "INTEGER")
        db.execute_sql(f'ALTER TABLE "{table}" ADD COLUMN "{column}" {declared}')
    # With a default in the database: processes of the version before can still write, and SQLite
    # need not build the table anew, which references to it would not allow.
    task_escrow = peewee.BooleanField(constraints=[peewee.SQL("DEFAULT FALSE")])
    failures = peewee.BigIntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    migrator.migrate(
        migrator.add_column("gig", "task_escrow", task_escrow, allow_not_null=True),
        migrator.add_column("rollup", "failures", failures, allow_not_null=True),
    )
    db.execute_sql(
        'CREATE INDEX "gig_cancelled" ON "gig" ("id") WHERE ("status" IN (\'cancelled\'))'
    )
    db.execute_sql(
        'CREATE INDEX "task_unfunded" ON "task" ("gig_id") WHERE ("status" IN (\'unfunded\'))'
    )
    db.execute_sql('CREATE INDEX "task_deposit_id" ON "task" ("deposit_id")')
    db.execute_sql('CREATE INDEX "rollup_deposit_id" ON "rollup" ("deposit_id")')
    db.execute_sql(
        'CREATE INDEX "rollup_retry" ON "rollup" ("retry_at") WHERE ("status" IN (\'failed\'))'
    )
    db.execute_sql(
        'CREATE INDEX "proof_unclosed" ON "proof" ("gig_id") '
        'WHERE (("rollup_id" IS NULL) AND ("status" IN (\'rejected\')))'
    )
    # A hot wallet's key was made here and was never anybody else's.
    db.execute_sql('UPDATE "wallet" SET "verified_at" = "created_at" WHERE "is_hot_wallet"')
    db.execute_sql(
        'CREATE UNIQUE INDEX "wallet_proven" ON "wallet" ("evm_address") '
        'WHERE (("verified_at" IS NOT NULL) AND ("deleted_at" IS NULL))'
    )
    mark = "%s" if is_postgres else "?"
    for (gig_id,) in db.execute_sql("SELECT id FROM gig").fetchall():
        db.execute_sql(
            f"UPDATE gig SET chain_key = {mark} WHERE id = {mark}",
            ("0x" + keccak(text=gig_id).hex(), gig_id),
        )
    db.execute_sql('CREATE UNIQUE INDEX "gig_chain_key" ON "gig" ("chain_key")')
    db.execute_sql(
        'CREATE INDEX "ledger_transaction_block_number" ON "ledger_transaction" ("block_number")'
    )
    now = "extract(epoch FROM now())" if is_postgres else "strftime('%s', 'now')"
    for statement in (OPENINGS, RESERVATIONS):
        db.execute_sql(statement.format(now=f"CAST({now} AS BIGINT) * 1000"))
    for line, key, sign in ((0, "gig_key", "-"), (1, "NULL", "")):
        db.execute_sql(OPENING_LINES.format(line=line, key=key, sign=sign))
    for line, account, sign in ((0, "owed", ""), (1, "pot", "-")):
        db.execute_sql(RESERVATION_LINES.format(line=line, account=account, sign=sign))
    db.execute_sql(
        "INSERT INTO ledger_balance (account, gig_key, units) "
        "SELECT account, COALESCE(gig_key, ''), CAST(SUM(units) AS BIGINT) "
        "FROM ledger_entry GROUP BY account, COALESCE(gig_key, '')"
    )
    if is_postgres:
        db.execute_sql(POSTGRES_REFUSAL)
    for table in LEDGER:
        for what in ("UPDATE", "DELETE", "TRUNCATE") if is_postgres else ("UPDATE", "DELETE"):
            name = f"{table}_no_{what.lower()}"
            if is_postgres:
                act = "FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays()"
            else:
                act = "BEGIN SELECT RAISE(ABORT, 'the ledger is only ever added to'); END"
            db.execute_sql(f"CREATE TRIGGER {name} BEFORE {what} ON {table} {act}")
