"""Publications with a key of the client's, so that one that is repeated is accepted once."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "publications",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("matched", sa.Text, nullable=False),
    )
    op.create_index("publications_by_time", "publications", ["at"])


def downgrade() -> None:
    op.drop_table("publications")
