"""recovery.json: how the load went, and how the system was after everything was healed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, ConfigDict, Field, with_config
from typing_extensions import TypedDict

from chaoskit.base import store

Nanoseconds = Annotated[int, Field(ge=-(2**60), le=2**60)]
_Seconds = Annotated[float, Field(allow_inf_nan=False)]


class RecordedPace(TypedDict):
    """The declared rate of a load, and the number of clients that share it."""

    clients: Annotated[int, Field(ge=1, lt=2**31)]
    per_second: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class BuiltBacklog(TypedDict):
    """When consumers paused, went on, and had read what waited for them; None: they never did.

    Attributes:
        messages: how many messages waited when they went on, each copy counted.
    """

    paused_ns: Nanoseconds
    resumed_ns: Nanoseconds | None
    read_ns: Nanoseconds | None
    messages: int


class PlannedLoad(TypedDict):
    """When the last send was due; `paced` is None for a load that cannot be."""

    end_ns: Nanoseconds
    paced: RecordedPace | None
    backlog: NotRequired[BuiltBacklog | None]


@with_config(ConfigDict(extra="allow"))
class Crash(TypedDict):
    """A service that exited or hung by itself."""

    host: str
    service: str
    needs: list[str]
    at_ns: Nanoseconds
    why: str


@with_config(ConfigDict(extra="allow"))
class ServedGroup(TypedDict):
    """What a group received after the final read."""

    behind: list[str]
    took_s: _Seconds


@with_config(ConfigDict(extra="allow"))
class Recovery(TypedDict):
    """The content of recovery.json; that of a run that was killed is empty but for `recovered`."""

    recovered: bool | None
    bound_s: NotRequired[_Seconds]
    took_s: NotRequired[_Seconds]
    why: NotRequired[str]
    group: NotRequired[ServedGroup | None]
    dropped_faults: NotRequired[int]
    crashed: NotRequired[list[Crash]]
    load_start_ns: NotRequired[Nanoseconds]
    load: NotRequired[PlannedLoad]
    load_held_s: NotRequired[_Seconds]
    problems: NotRequired[list[str]]
    answered: NotRequired[list[tuple[Nanoseconds, Nanoseconds]]]


def _timed(recovery: Any) -> Any:
    if recovery["recovered"] is not None and not {"bound_s", "took_s"} <= recovery.keys():
        raise ValueError("recovered without bound_s and took_s")
    return recovery


def read_recovery(folder: Path) -> Recovery:
    """Return recovery.json of a run folder; `recovered` is None if the run ended before that was known.

    Raises:
        BadInput: it is damaged.
    """
    path = folder / store.RECOVERY
    if not path.exists():
        return {"recovered": None}
    recovery: Recovery = store.read_json(path, Annotated[Recovery, AfterValidator(_timed)])
    return recovery
