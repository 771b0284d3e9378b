"""What has changed in the rules since a version, for replicas that follow them."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# The version that rules of before have, and below which replicas read all rules.
FLOOR = "(SELECT value FROM marks WHERE name = 'rules')"


def upgrade() -> None:
    op.add_column("rules", sa.Column("version", sa.BigInteger, nullable=False, server_default="0"))
    op.create_index("rules_by_version", "rules", ["version"])
    op.create_table(
        "removed_rules",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("version", sa.BigInteger, nullable=False),
    )
    op.create_index("removed_rules_by_version", "removed_rules", ["version"])
    op.execute(f"UPDATE rules SET version = COALESCE({FLOOR}, 0)")
    op.execute(
        f"INSERT INTO marks (name, value) SELECT 'rules_floor', {FLOOR} "
        "WHERE EXISTS (SELECT 1 FROM marks WHERE name = 'rules')"
    )


def downgrade() -> None:
    op.execute("DELETE FROM marks WHERE name = 'rules_floor'")
    op.drop_table("removed_rules")
    op.drop_index("rules_by_version", "rules")
    op.drop_column("rules", "version")
