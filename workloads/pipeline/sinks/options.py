"""The options of a sink: where the application writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.quantities import SECOND, Duration
from chaoskit.contract.workloads.application import APPLICATION
from workloads.pipeline.stored import StoredOptions

STDOUT = "stdout"
"""The standard output of instances, as a source of lines; others are files."""

INSTANCE, POSTGRESQL = "{instance}", "postgresql"

_OF: Mapping[str, frozenset[str]] = {
    "topic": frozenset({"partitions", "replication"}),
    "queue": frozenset({"type", "replication"}),
    "http": frozenset({"key", "answers"}),
    "lines": frozenset(),
    "sql": frozenset({"url", "postgresql", "tables"}),
}
"""The kinds of sinks, and which further keys each has."""

STORED = ("topic", "queue")
"""The kinds that the system stores."""


_MEANT = {
    "http": "http (the path of an endpoint, such as /pay)",
    "lines": "lines (stdout, or a file)",
    "sql": "sql (a query)",
}


def check_kind(given: BaseModel, keys: Mapping[str, frozenset[str]]) -> None:
    """Reject what is not of one kind, or has keys that are not of its kind; `keys` has those of each."""
    kinds = [kind for kind in keys if getattr(given, kind) is not None]
    if len(kinds) != 1:
        *first, last = (_MEANT.get(kind, kind) for kind in keys)
        raise ValueError(f"write one of {', '.join(first)} and {last}")
    fields = type(given).model_fields
    for name in sorted(frozenset().union(*keys.values()) - keys[kinds[0]]):
        if getattr(given, name) != fields[name].default:
            owner = next(kind for kind in keys if name in keys[kind])
            raise ValueError(f"{name} belongs to {f'a {owner}' if owner in STORED else owner}; remove it")


def _source(text: str) -> str:
    path = PurePosixPath(text)
    if not path.name or (not path.is_absolute() and len(path.parts) > 1):
        raise ValueError(f"{text!r} is no file; write {STDOUT}, a name such as paid.log, or a full path")
    if text.startswith(f"{APPLICATION}-"):
        raise ValueError(f"{text!r} is a name of chaoskit's own logs in the folder of a run; choose another one")
    return text


class Answering(BaseModel):
    """How an HTTP endpoint answers for a while.

    Attributes:
        start, to: from when until when, from the start of the load.
        do: `drop`: it takes the request and closes the connection without an answer; `refuse`: it answers with status
            500 and takes nothing; `slow`: it takes the request, and answers after `by`.
        by: how slow.
        every: only every so many requests.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    start: Duration = Field(alias="from")
    to: Duration
    do: Literal["drop", "refuse", "slow"]
    by: Duration = SECOND
    every: int = Field(default=1, ge=1)


class SinkOptions(StoredOptions):
    """Where the application writes: a topic, a queue, an HTTP endpoint that chaoskit serves, lines, or rows of a
    database.

    Attributes:
        topic, queue, partitions, type, replication: as of what it reads.
        http: the path of the endpoint; its URL is `{writes}`, or `{http}`.
        key: a header by which calls are made only once: a call with a value that was taken before counts as the same.
        answers: how the endpoint answers meanwhile, if not at once and with 200.
        lines: `stdout` of the instances, or a file that they write, in which `{instance}` is replaced: a name is of a
            new file in the folder of each run, for which `{writes}` stands; others are full paths. Each whole line with
            an id is an output; others are ignored.
        sql: a query, each of whose rows is an output. It is executed in a read-only transaction.
        url: the database, an SQLAlchemy URL; one with a password is a reference, `{env: NAME}` or `{file: PATH}`.
        postgresql: instead of a URL: chaoskit runs a PostgreSQL with these settings on a host of its own; its URL is
            `{url}`.
        tables: the statements that make its tables.
        promise: whether an input may have more outputs here; default: as the whole application promises.
    """

    http: Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/-]*$")] | None = None
    key: str = ""
    answers: list[Answering] = Field(default=[])
    lines: Annotated[str, AfterValidator(_source)] | None = None
    sql: Annotated[str, Field(min_length=1)] | None = None
    url: str | dict[str, str] = ""
    postgresql: dict[str, str | int | float | bool] | None = None
    tables: str = ""
    promise: Literal["at-least-once", "exactly-once"] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        check_kind(self, _OF)
        if self.sql is not None:
            self._has_one_database()
        return self

    def _has_one_database(self) -> None:
        if bool(self.url) == (self.postgresql is not None):
            raise ValueError(
                "sql needs a database: write url (of one that runs), or postgresql: {} (chaoskit runs one)"
            )
        if self.tables and self.url:
            raise ValueError("tables are made in the postgresql that chaoskit runs; make those of url yourself")

    @property
    def name(self) -> str:
        """Its name in the history."""
        if stored := super().name:
            return stored
        kind = next(kind for kind in ("http", "lines", "sql") if getattr(self, kind) is not None)
        return f"{kind}:{' '.join(getattr(self, kind).split())}"

    @property
    def placed(self) -> bool:
        """Whether instances are told where it is, by `{writes}`."""
        return self.sql is None and self.lines != STDOUT

    @property
    def shared(self) -> bool:
        """Whether all instances write the same lines."""
        return self.lines != STDOUT and INSTANCE not in (self.lines or "")
