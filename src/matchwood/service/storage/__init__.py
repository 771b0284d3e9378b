"""The service's database: its tables, the lock on it, and the threads that read and write.

One process at a time serves a database. Within it, one thread writes: it commits everything that
is waiting in one transaction, then updates what is in memory, in the same order.

    any thread ── submit ──▶ writer thread ── one transaction ──▶ database
                                  │                                  │
                                  └── applied(result) ──▶ memory     └──▶ reader threads

database         tables, and how SQLite and PostgreSQL are opened
migrations/      changes to the tables, one file per revision (alembic)
database_lock    makes sure that one process serves a database, and notices if the lock is lost
writer           the writing thread: group commit, and numbers that are never reused
failures         what errors of the database mean: it cannot be reached, or its disk is full
row_pages        rows a page at a time, within a limit of bytes
readers          threads for queries and other work that must not block the event loop
storage_parts    all of these, opened and closed together
"""
