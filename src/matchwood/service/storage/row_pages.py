"""Rows a page at a time, where a page has a limit in bytes as well."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, Row, Select

# The most rows that PostgreSQL sends at a time, and that are in memory while rows are fetched.
ROWS_AT_ONCE = 16
# Options of queries whose rows are fetched one by one, as far as they are needed. Of the rows that
# PostgreSQL sends, the first is fetched alone.
ONE_BY_ONE = {"stream_results": True, "max_row_buffer": ROWS_AT_ONCE}
# Bytes of the texts of a page: no further row is fetched once there are as many.
PAGE_BYTES = 4 << 20


def page_of(engine: Engine, query: Select[Any], limit: int) -> tuple[list[Row[Any]], bool]:
    """The first rows of a query, and whether there are more.

    They are at most `limit` rows, and no more than it takes to have `PAGE_BYTES`.
    """
    page: list[Row[Any]] = []
    size = 0
    with engine.connect().execution_options(**ONE_BY_ONE) as connection:
        rows = connection.execute(query.limit(limit + 1))
        for row in rows:
            if len(page) == limit or size >= PAGE_BYTES:
                rows.close()
                return page, True
            page.append(row)
            size += sum(len(value) for value in row if isinstance(value, str))
    return page, False
