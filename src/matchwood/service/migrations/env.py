"""How alembic is run here: on the connection that it is given, in its transaction."""

from alembic import context

from matchwood.service.database import metadata


def run() -> None:
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        transactional_ddl=True,
    )
    context.run_migrations()


if hasattr(context, "config"):  # else somebody only looks at this module
    run()
