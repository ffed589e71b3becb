"""What to run: one model, the same from YAML, pytest and Python.

The engine validates the keys that it knows; the rest of `cluster`, `workload` and each fault belongs
to the plug-in that it names, whose own model validates it (see `chaoskit.scenario.plan`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from chaoskit.base.errors import BadInput, nearest
from chaoskit.base.quantities import MILLISECOND, SECOND, Duration, DurationRange

Model = TypeVar("Model", bound=BaseModel)
Expected = Literal["none", "some"] | Annotated[int, Field(ge=0, strict=True)]

Names = Annotated[list[str], Field(min_length=1)]


class ClusterSpec(BaseModel):
    """Which system, on how many hosts; further keys are the system's options."""

    model_config = ConfigDict(extra="allow", frozen=True)

    system: str
    hosts: int = Field(default=3, ge=1)
    provider: str = "local"
    disk: dict[str, Any] = {}
    ready_within: Duration = 60 * SECOND
    sync: bool = True


class WorkloadSpec(BaseModel):
    """Which load, for how long; further keys are the workload's options."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    duration: Duration = 20 * SECOND


class FaultSpec(BaseModel):
    """One fault at a time, or faults drawn by the seed at intervals; further keys are its parameters.

    `hit`, `began` and `pick` stand in recorded timelines: which targets and when exactly, for readers, and
    the draw that chooses among the holders of a role.

    Attributes:
        inject: a kind, or several of which one is drawn each time; a kind may be a mapping of its name to
            `Choice` and further keys.
        on: hosts, roles, clients or counts.
        at: when a single fault begins, or a range that it is drawn from.
        start, to, every: of a series: from when, until when, and the gap, or range of gaps, between beginnings.
        quiet: in which times no fault of a series begins.
        duration: how long it holds, or a range.
        at_most: how many hosts may be under faults at once, this one included; it waits until it may begin.
    """

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    inject: str | Annotated[list[str | dict[str, dict[str, Any]]], Field(min_length=1)]
    on: str | Names = "one"
    at: DurationRange | None = None
    start: Duration | None = Field(default=None, alias="from")
    to: Duration | None = None
    every: DurationRange | None = None
    quiet: list[tuple[Duration, Duration]] = []
    duration: DurationRange | None = Field(default=None, alias="for")
    at_most: int | None = Field(default=None, ge=1)
    hit: list[str] = []
    began: str = ""
    pick: float | None = Field(default=None, ge=0, lt=1)

    @model_validator(mode="after")
    def _one_kind_of_time(self) -> FaultSpec:
        repeating = [self.start, self.to, self.every]
        if (self.at is None) == (repeating == [None] * 3) or (self.at is None and None in repeating):
            raise ValueError("say either at, or from, to and every")
        if self.every is not None and self.every[0] < MILLISECOND:
            raise ValueError("every must be at least 1ms")
        if self.start is not None and self.to is not None and self.to <= self.start:
            raise ValueError("to must be later than from")
        if self.quiet and self.at is not None:
            raise ValueError("quiet is for a series (from, to, every)")
        return self

    @model_validator(mode="after")
    def _one_kind_a_mapping(self) -> FaultSpec:
        for each in [] if isinstance(self.inject, str) else self.inject:
            if isinstance(each, dict) and len(each) != 1:
                raise ValueError("each of inject is a kind, or a mapping of one kind to its keys")
        return self

    def kinds(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the kinds that are drawn from, each with the keys that it does not share, as they were written."""
        given = [self.inject] if isinstance(self.inject, str) else self.inject
        return [(each, {}) if isinstance(each, str) else next(iter(each.items())) for each in given]

    def choices(self) -> list[Choice]:
        """Return the same, validated."""
        return [Choice.model_validate({"kind": kind, **keys}) for kind, keys in self.kinds()]


class Choice(BaseModel):
    """One kind of a series that draws among several; its keys go before those of the series.

    Attributes:
        kind: entry point of the nemesis.
        weight: how often it is drawn, against the others' weights.
        on, duration: as in `FaultSpec`.
    """

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    kind: str
    weight: float = Field(default=1, gt=0)
    on: str | Names | None = None
    duration: DurationRange | None = Field(default=None, alias="for")


class Scenario(BaseModel):
    """A scenario; see docs/scenarios.md for every key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    seed: int | None = Field(default=None, ge=0)
    cluster: ClusterSpec
    workload: WorkloadSpec
    faults: list[FaultSpec] = []
    expect: dict[str, Expected] = {}
    recovery: Duration = 60 * SECOND


def parse_scenario(content: Mapping[str, Any], source: str) -> Scenario:
    """Return the validated scenario.

    Raises:
        BadInput: naming the source, the key and the remedy.
    """
    return validated(Scenario, content, source, "")


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with another laid over it: mappings within are merged, everything else is replaced.

    >>> merge({"a": {"b": 1, "c": [1]}, "d": 2}, {"a": {"c": [2]}, "e": 3})
    {'a': {'b': 1, 'c': [2]}, 'd': 2, 'e': 3}
    """
    merged = dict(base)
    for key, value in changes.items():
        before = merged.get(key)
        merged[key] = merge(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return merged


def validated(
    model: type[Model], content: Mapping[str, Any], source: str, prefix: str, also_known: Iterable[str] = ()
) -> Model:
    """Return `content` as a model, its errors turned into one `BadInput`.

    Args:
        model: what it must be.
        content: as the user wrote it.
        source: file or place, for the error.
        prefix: key under which the content stands, such as `cluster.`.
        also_known: keys that are valid there besides the model's own, for the remedy.

    Raises:
        BadInput: naming the source, every wrong key and the remedy.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        lines = [_explain(model, detail, prefix, also_known) for detail in error.errors()]
        raise BadInput("\n".join(f"{source}: {line}" for line in dict.fromkeys(lines))) from None


def _explain(model: type[BaseModel], detail: Any, prefix: str, also_known: Iterable[str]) -> str:
    location = [part for part in detail["loc"] if not _is_branch(part)]
    key = prefix + ".".join(str(part) for part in location)
    if detail["type"] == "extra_forbidden":
        known = [field.alias or name for name, field in model.model_fields.items()]
        return f"{key}: unknown key; {nearest(str(location[-1]), [*known, *also_known])}"
    if detail["type"] == "missing":
        return f"{key}: is missing"
    message = detail["msg"].removeprefix("Value error, ")
    given = detail["input"] if isinstance(detail["input"], str | int | float) else ""
    return f"{key or 'scenario'}: {message}" + (
        f" (given: {given!r})" if given != "" and repr(given) not in message else ""
    )


def _is_branch(part: Any) -> bool:
    """Return whether pydantic put the name of a type, not a key, into a location."""
    types = ("str", "int", "float", "bool")
    return isinstance(part, str) and (part.removeprefix("constrained-") in types or "[" in part or part.endswith("()"))
