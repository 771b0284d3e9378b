"""Dead letters: events that a webhook did not accept."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "dead_letters",
        sa.Column("number", Number, primary_key=True, autoincrement=False),
        sa.Column("subscription", sa.BigInteger, nullable=False),
        sa.Column("event", sa.BigInteger, nullable=False),
        sa.Column("published", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("replay", sa.Boolean, nullable=False),
    )
    op.create_index("dead_letters_by_subscription", "dead_letters", ["subscription", "number"])
    # The number of events that were dropped because they were not fetched in time.
    op.add_column(
        "subscriptions", sa.Column("missed", sa.BigInteger, nullable=False, server_default="0")
    )


def downgrade() -> None:
    op.drop_column("subscriptions", "missed")
    op.drop_table("dead_letters")
