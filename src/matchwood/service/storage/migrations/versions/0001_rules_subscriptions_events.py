"""Rules, subscriptions and the outbox."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "marks",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "rules",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("priority", sa.Double, nullable=False),
    )
    op.create_table(
        "rule_versions",
        sa.Column("version", Number, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("added", sa.Integer, nullable=False),
        sa.Column("changed", sa.Integer, nullable=False),
        sa.Column("removed", sa.Integer, nullable=False),
    )
    op.create_table(
        "subscriptions",
        sa.Column("number", Number, primary_key=True, autoincrement=False),
        sa.Column("subscriber", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("expires", sa.Double, nullable=False),
        sa.Column("ticket", sa.LargeBinary(32), nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("url", sa.Text),
        sa.Column("secret", sa.Text),
        sa.Column("change", sa.BigInteger, nullable=False),
        sa.Column("cursor", sa.BigInteger, nullable=False),
    )
    op.create_index("subscriptions_by_change", "subscriptions", ["change"])
    op.create_table(
        "events",
        sa.Column("number", Number, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("matches", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    for table in ("events", "subscriptions", "rule_versions", "rules", "marks"):
        op.drop_table(table)
