"""The data that subscriptions carry."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("subscriptions", sa.Column("data", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("subscriptions", "data")
