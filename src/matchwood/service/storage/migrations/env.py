"""Runs alembic's migrations on the connection that the caller provides, in its transaction."""

from alembic import context

from matchwood.service.storage.database import metadata


def run() -> None:
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        transactional_ddl=True,
    )
    context.run_migrations()


if hasattr(
    context, "config"
):  # absent if this module is only imported, for instance by a type checker
    run()
