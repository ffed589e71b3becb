"""The user's own program under test: how its instances are started, and what its owner promises of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from chaoskit.base.quantities import SECOND

APPLICATION, APPLICATIONS, DATABASE = "application", "applications", "database"
"""Targets of faults: the host of one instance, drawn; those of all of them; that of the database to which they write.
The first is also the role of its clients in the history, which are `application-0`, `application-1`, ..."""


BROKERS = "brokers"
"""The hosts of the system, for those who want to part the application from them."""


@dataclass(frozen=True, slots=True)
class DatabaseUse:
    """A database that is run for an application, on a host of its own.

    Attributes:
        kind: a plug-in of `chaoskit.databases`.
        settings: its settings, in its own terms.
        tables: statements that make its tables.
        key: where the settings are written.
    """

    kind: str
    settings: Mapping[str, Any]
    tables: str
    key: str


@dataclass(frozen=True, slots=True)
class Application:
    """How the instances of an application are run, each on a host of its own.

    Attributes:
        run: the command of an instance. In its parts, and in the values of `env`, names in braces are replaced:
            `{endpoints}`, `{jars}` (the system's), `{instance}`, `{host}`, `{python}` (which runs chaoskit), and those
            of `names`.
        instances: how many; 0: its owner runs it, elsewhere.
        restart_ns: how long after its end an instance is started again, as by a supervisor; None: never.
        env: environment variables in addition to those of chaoskit.
        names: further names in braces; the values are names of topics in the workload; empty: it has none, such as a
            query.
        partitions: how many partitions its instances own together once they are ready.
        ready_ns: how long that may take.
        database: the database that is run for it, whose URL is `{url}`; None: none.
        files: of names that are files: their paths. One that is not absolute is in `Job.logs`.
        keeps_stdout: whether clients read what instances write to standard output.
    """

    run: Sequence[str]
    instances: int
    restart_ns: int | None
    env: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    partitions: int = 1
    ready_ns: int = 60 * SECOND
    keeps_stdout: bool = False
    database: DatabaseUse | None = None
    files: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class Applying(Protocol):
    """Optional power of a workload: an application of the user's works during the load."""

    def application(self, options: Any) -> Application | None:
        """Return how its instances are run; None: there are none."""
        ...

    def fed(self, options: Any, feeder: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Any:
        """Return the options in which the producer of inputs has the settings that a system's `feeder` makes of those
        that are given."""
        ...


def stdout_name(instance: int) -> str:
    """Return the name of the file in `Job.logs` with the lines that an instance wrote to standard output."""
    return f"{APPLICATION}-{instance}.stdout"
