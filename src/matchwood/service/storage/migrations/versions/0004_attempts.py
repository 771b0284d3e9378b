"""The number of failed calls of a webhook, and the time of the next one."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "subscriptions", sa.Column("attempts", sa.Integer, nullable=False, server_default="0")
    )
    op.add_column(
        "subscriptions", sa.Column("retry_at", sa.Double, nullable=False, server_default="0")
    )


def downgrade() -> None:
    op.drop_column("subscriptions", "retry_at")
    op.drop_column("subscriptions", "attempts")
