"""Why a rule or a subscription is not matched."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("rules", sa.Column("suspended", sa.Text))
    op.add_column("subscriptions", sa.Column("suspended", sa.Text))


def downgrade() -> None:
    op.drop_column("subscriptions", "suspended")
    op.drop_column("rules", "suspended")
