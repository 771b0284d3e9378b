"""The format in which a webhook gets its events."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "subscriptions", sa.Column("format", sa.String(20), nullable=False, server_default="json")
    )


def downgrade() -> None:
    op.drop_column("subscriptions", "format")
