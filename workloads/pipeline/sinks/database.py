"""A database that an application writes: connecting, and reading the rows of a query.

Nothing is changed: PostgreSQL and SQLite are read-only meanwhile, and of others every transaction is rolled back.
"""

from __future__ import annotations

import json
import sqlite3
from functools import partial
from typing import Any
from urllib.parse import quote

from chaoskit.base.errors import BadInput
from workloads.pipeline.sinks.urls import library

_LIBPQ = ("psycopg", "psycopg2")
_TIMEOUTS = {"connect_timeout": 3, "keepalives_idle": 2, "keepalives_interval": 1, "keepalives_count": 3}
"""Parameters of libpq: a host without power is noticed within seconds."""

_UNACKNOWLEDGED_MS = 5000
_FORGETTING = ("fsync", "synchronous_commit", "full_page_writes")
"""Settings of PostgreSQL that decide whether what it has committed outlives a power cut, in order of gravity."""


class DatabaseUnreachable(Exception):
    """The database did not answer, or could not."""


class SinkDatabase:
    """Reads one query.

    Args:
        url: the database, an SQLAlchemy URL.
        query: the query.
        key: where the query is written, for messages.
    """

    def __init__(self, url: Any, query: str, key: str) -> None:
        self._alchemy = library()
        self._query = query
        self._key = key
        given: dict[str, Any] = {}
        if url.get_driver_name() in _LIBPQ:
            given = {"connect_args": {**_TIMEOUTS, "tcp_user_timeout": _UNACKNOWLEDGED_MS}}
        elif url.get_dialect().name == "sqlite":
            given = {"creator": partial(_open_sqlite, url.database or "")}
        self._engine = self._alchemy.create_engine(url, pool_pre_ping=True, **given)

    def rows(self, *, whole: bool) -> list[bytes]:
        """Return the rows: the first column of each, or all as a JSON object.

        Raises:
            DatabaseUnreachable: the database does not answer.
            BadInput: it refuses the query.
        """
        rows = self._ask(self._query)
        if whole:
            return [json.dumps(dict(row._mapping), default=str, sort_keys=True).encode() for row in rows]
        return [str(row[0]).encode() for row in rows]

    def forgets(self) -> str:
        """Return the setting by which a PostgreSQL loses in a power cut what it has committed; empty if it has none, or
        another system does not say."""
        if self._engine.dialect.name != "postgresql":
            return ""
        for name in _FORGETTING:
            (value,) = self._ask(f"SHOW {name}")[0]
            if value == "off":
                return f"{name}: off"
        return ""

    def close(self) -> None:
        """Disconnect."""
        self._engine.dispose()

    def _ask(self, query: str) -> Any:
        errors, text = self._alchemy.exc, self._alchemy.text
        dialect = self._engine.dialect.name
        try:
            with self._engine.connect() as connection:
                if dialect == "postgresql":
                    connection.execute(text("SET TRANSACTION READ ONLY"))
                rows = connection.execute(text(query)).fetchall()
                connection.rollback()
        except errors.OperationalError as error:
            if dialect == "sqlite" and "no such" in str(error.orig):
                raise self._refusal(error) from error
            raise DatabaseUnreachable(_words(error)) from error
        except errors.ResourceClosedError as error:
            raise BadInput(f"{self._key}: {query!r} returns no rows; write a query that does") from error
        except errors.SQLAlchemyError as error:
            raise self._refusal(error) from error
        return rows

    def _refusal(self, error: Exception) -> BadInput:
        return BadInput(f"{self._key}: the database refuses {self._query!r}: {_words(error)}")


def _open_sqlite(path: str) -> sqlite3.Connection:
    """Open a file that is there, for reading."""
    return sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)


def _words(error: Exception) -> str:
    """Return the first line of what the driver said."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
