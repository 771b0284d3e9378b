"""What is wrong with the database, as far as its errors say."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from matchwood.service.problems import RequestProblem

# Seconds after which a client should try again if the database cannot be reached.
OUTAGE_RETRY_SECONDS = 2
# Seconds after which a client should try again if the disk is full.
FULL_RETRY_SECONDS = 30
# PostgreSQL's code of the error that its disk is full.
POSTGRES_DISK_FULL = "53100"
# What SQLite says if its disk, or the file at its largest, is full.
SQLITE_DISK_FULL = "database or disk is full"


def is_disk_full(error: BaseException) -> bool:
    """Whether an error of the database says that there is no room to write."""
    original = getattr(error, "orig", None)
    if getattr(original, "sqlstate", None) == POSTGRES_DISK_FULL:
        return True
    return SQLITE_DISK_FULL in str(original or error)


def problem_of_database(error: DBAPIError) -> RequestProblem:
    """The problem of a request during which the database failed."""
    if is_disk_full(error):
        detail = "the disk of the database is full: nothing can be written until there is room"
        return RequestProblem("storage-full", detail, retry_after=FULL_RETRY_SECONDS)
    detail = "the database failed"
    return RequestProblem("database-unavailable", detail, retry_after=OUTAGE_RETRY_SECONDS)
