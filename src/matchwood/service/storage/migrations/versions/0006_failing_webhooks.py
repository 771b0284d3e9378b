"""The last error of a webhook, and since when it has failed."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("subscriptions", sa.Column("last_error", sa.Text))
    op.add_column(
        "subscriptions", sa.Column("failing_since", sa.Double, nullable=False, server_default="0")
    )


def downgrade() -> None:
    op.drop_column("subscriptions", "failing_since")
    op.drop_column("subscriptions", "last_error")
