"""The data that rules carry."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("rules", sa.Column("data", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("rules", "data")
