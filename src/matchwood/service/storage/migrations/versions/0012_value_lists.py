"""The lists that rules look values up in."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "value_lists",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
    )
    op.create_table(
        "list_pieces",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("piece", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("list_pieces")
    op.drop_table("value_lists")
