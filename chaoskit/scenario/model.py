"""The model of a scenario, shared by YAML, pytest and Python.

The engine validates the keys that it knows. The other keys of `cluster`, `workload` and each fault
belong to the plug-in named there, whose own model validates them (see `chaoskit.scenario.plan`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
    model_validator,
)

from chaoskit.base.quantities import MILLISECOND, SECOND, Duration, DurationRange, SizeOrBytes, format_duration
from chaoskit.contract.mistakes import right_keys, validated
from chaoskit.scenario.expected import Expected, ExpectedConsequence
from chaoskit.scenario.inventory import with_defaults
from chaoskit.scenario.layout import HostLayout
from chaoskit.scenario.stopping import StopWhen
from chaoskit.scenario.triggers import After, Trigger, When

Names = Annotated[list[str], Field(min_length=1)]


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, dict) else given


Kinds = Annotated[
    str | Annotated[list[str | dict[str, dict[str, Any]]], Field(min_length=1)], BeforeValidator(_as_list)
]
"""A kind of fault, a mapping of one kind to its keys, or several of both."""


def _not_nothing(duration_ns: int) -> int:
    if duration_ns < SECOND:
        raise ValueError("must be at least 1s")
    return duration_ns


LOCAL, ATTACHED, REMOTE = "local", "attached", "ssh"
"""The providers of hosts on this machine; of none, for systems that run already; and of hosts of an inventory."""


class ClusterSpec(HostLayout):
    """Which system, on how many hosts; further keys are the system's options.

    Attributes:
        zones: hosts by zone, such as a rack; targets are `zone:<name>`. A system whose options have the field `zones`
            is told.
        attach: how clients reach a system that runs already; then `hosts` is the number of its nodes, and nothing is
            deployed.
        inventory: the hosts of the nodes, which faults may then hit; see docs/attach.md.
        prefix: how the names of all topics begin that are made in a system that runs already.
        max_rate: the highest rate that a load may declare, in messages per second.
        max_bytes: the same in bytes of payloads per second.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", frozen=True)

    system: str
    attach: dict[str, Any] = Field(default={})
    inventory: dict[str, Any] = Field(default={})
    prefix: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+$")] = "chaoskit-"
    max_rate: float | None = Field(default=None, gt=0)
    max_bytes: Annotated[SizeOrBytes, Field(gt=0)] | None = None
    zones: dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")], Names] = Field(default={})
    provider: str = LOCAL
    disk: dict[str, Any] = Field(default={})
    ready_within: Duration = 60 * SECOND
    sync: bool = True

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_named(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not given.get("inventory"):
            return given
        inventory = with_defaults(given["inventory"])
        if not inventory:
            raise ValueError("inventory: is empty; add hosts or drivers")
        named = inventory.get("hosts") if isinstance(inventory, dict) else None
        count = {"hosts": len(named)} if isinstance(named, dict) and named else {}
        return {**count, **given, "inventory": inventory}

    @model_validator(mode="after")
    def _nothing_is_deployed(self) -> ClusterSpec:
        if self.attach and (self.disk or self.provider != LOCAL):
            raise ValueError("attach deploys nothing; remove provider and disk")
        if self.inventory and not self.attach:
            raise ValueError("an inventory is for an existing cluster; add attach")
        if self.attach and self.seats:
            raise ValueError("seats are hosts of a lab; with attach, clients run here or on workload.drivers")
        return self

    @property
    def names_hosts(self) -> bool:
        """Whether an inventory names the hosts of the nodes; it may name drivers only."""
        return bool(self.inventory.get("hosts"))

    @property
    def host_provider(self) -> str:
        """The provider of the hosts."""
        return REMOTE if self.inventory else ATTACHED if self.attach else self.provider

    @property
    def host_options(self) -> tuple[str, dict[str, Any]]:
        """The key with the options of the provider, and its content."""
        return ("inventory", self.inventory) if self.inventory else ("disk", self.disk)

    @property
    def host_names(self) -> list[str]:
        """The names of all hosts: those of the inventory, or those of the lab."""
        return [str(name) for name in self.inventory["hosts"]] if self.names_hosts else super().host_names


class WorkloadSpec(BaseModel):
    """Which load, for how long; further keys are the workload's options.

    Attributes:
        drivers: the machines that run its producers and consumers, as the inventory names them; by default the
            harness runs them.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", frozen=True)

    kind: str
    duration: Annotated[Duration, AfterValidator(_not_nothing)] = 20 * SECOND
    drivers: Names | None = None


ONE_KIND_OF_TIME = "specify either at, after or when, or from, to and every"

OF_KINDS_TOO = {"within", "from", "every"}
"""Keys of faults that a kind may have for itself, where the fault has no use for them."""

_SINGLE = {"at", "after", "when"}
_OWN = "its "
"""Prefix of the keys of a single fault's kind that are keys of a series otherwise."""


class FaultSpec(BaseModel):
    """A single fault at a given time or once something is true, or a series of random faults; further keys are its
    parameters.

    `hit`, `began` and `pick` are set in recorded timelines: the targets and the exact time, and the random number that
    chooses among the holders of a role. A fault with `began` repeats one that happened, and must not be dropped.

    Attributes:
        inject: a kind, or several kinds, one of which is drawn each time; a kind may be a mapping of its name to
            `KindChoice` and further keys.
        on: hosts, roles, clients or counts.
        id: a name by which another fault may wait for it.
        at: start of a single fault, or a range to draw it from.
        after, when: what a single fault waits for instead; see `chaoskit.scenario.triggers`.
        within: how long it waits for that at most; without `after` and `when`, a key of the kind of fault.
        start, to, every: start and end of a series, and the interval, or range of intervals, between fault starts;
            of a single fault, `from` and `every` are keys of its kind.
        quiet: intervals in which no fault of a series starts.
        duration: how long the fault lasts, or a range.
        at_most: maximum number of hosts under faults at the same time, including this fault's; the fault waits
            until it may start.
        overlap: whether it may hit a target that is under another fault which occupies other parts of it; by default
            a single fault may, and those of a series may not.
        expect: the consequence that it must have; without it the run is `unknown`.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    inject: Kinds
    id: str = ""
    on: str | Names = "one"
    after: After | None = None
    when: When | None = None
    within: Duration | None = None
    expect: ExpectedConsequence | None = None
    at: DurationRange | None = None
    start: Duration | None = Field(default=None, alias="from")
    to: Duration | None = None
    every: DurationRange | None = None
    quiet: list[tuple[Duration, Duration]] = []
    duration: DurationRange | None = Field(default=None, alias="for")
    at_most: int | None = Field(default=None, ge=1)
    overlap: bool | None = None
    hit: list[str] = []
    began: str = ""
    pick: float | None = Field(default=None, ge=0, lt=1)

    @model_validator(mode="before")
    @classmethod
    def _of_single_fault(cls, given: Any) -> Any:
        """Leave `from` and `every` of a single fault, without `to`, to its kind."""
        if not isinstance(given, dict) or "to" in given or not _SINGLE & given.keys():
            return given
        own = {key: given[key] for key in ("from", "every") if key in given}
        rest = {key: value for key, value in given.items() if key not in own}
        return {**rest, **{f"{_OWN}{key}": value for key, value in own.items()}}

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key.removeprefix(_OWN): value for key, value in handler(self).items()}

    @model_validator(mode="after")
    def _one_kind_of_time(self) -> FaultSpec:
        repeating = [self.start, self.to, self.every]
        series = repeating != [None] * 3
        single = [moment for moment in (self.at, self.after, self.when) if moment is not None]
        if len(single) + series != 1 or (series and None in repeating):
            raise ValueError(ONE_KIND_OF_TIME)
        if self.id and series:
            raise ValueError("id is for single faults only (at, after or when)")
        if self.every is not None and self.every[0] < MILLISECOND:
            raise ValueError("every must be at least 1ms")
        if self.start is not None and self.to is not None and self.to <= self.start:
            raise ValueError("to must be later than from")
        if self.quiet and not series:
            raise ValueError("quiet requires a series (from, to, every)")
        return self

    @model_validator(mode="after")
    def _one_kind_a_mapping(self) -> FaultSpec:
        for choice in [] if isinstance(self.inject, str) else self.inject:
            if isinstance(choice, dict) and len(choice) != 1:
                raise ValueError("each entry of inject must be a kind, or a mapping of one kind to its keys")
        return self

    @property
    def trigger(self) -> Trigger | None:
        """What it waits for; None if it begins at a time."""
        waits = self.after is not None or self.when is not None
        return Trigger(self.after, self.when, self.within) if waits else None

    @property
    def own(self) -> dict[str, Any]:
        """The keys of its kind, as written."""
        within = self.trigger is None and self.within is not None
        extra = {key.removeprefix(_OWN): value for key, value in (self.model_extra or {}).items()}
        return {**extra, **({"within": format_duration(self.within or 0)} if within else {})}

    def kinds(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the kinds to draw from, each with its own keys, as written."""
        given = [self.inject] if isinstance(self.inject, str) else self.inject
        return [(choice, {}) if isinstance(choice, str) else next(iter(choice.items())) for choice in given]

    def choices(self) -> list[KindChoice]:
        """Return the kinds to draw from, validated."""
        return [KindChoice.model_validate({"kind": kind, **keys}) for kind, keys in self.kinds()]


_TIMES = {"at", "from", "to", "every", "after", "when"}


class KindChoice(BaseModel):
    """One of several kinds of a series; its keys override those of the series.

    Attributes:
        kind: entry point of the nemesis.
        weight: how often it is drawn, relative to the other weights.
        on, duration: as in `FaultSpec`.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    kind: str
    weight: float = Field(default=1, gt=0)
    on: str | Names | None = None
    duration: DurationRange | None = Field(default=None, alias="for")


class Scenario(BaseModel):
    """A scenario; see docs/scenarios.md for every key.

    Attributes:
        record: `history`: every message. `latency`: histograms, counts and sets of sequences, in bounded memory.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    seed: int | None = Field(default=None, ge=0)
    cluster: ClusterSpec
    workload: WorkloadSpec
    faults: list[FaultSpec] = []
    expect: dict[str, Expected] = {}
    accept: list[str] = []
    recovery: Duration = 60 * SECOND
    stop_when: StopWhen | None = None
    record: Literal["history", "latency"] = "history"


def parse_scenario(content: Mapping[str, Any], source: str) -> Scenario:
    """Return the validated scenario.

    Raises:
        BadInput: names the source, the key and the remedy.
    """
    return validated(Scenario, content, source, "")


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What remains of a scenario without the parts that are wrong.

    Attributes:
        scenario: the rest of it.
        numbers: the place of each remaining fault in the list that was written.
    """

    scenario: Scenario
    numbers: list[int]


def salvage(content: Mapping[str, Any]) -> Salvaged | None:
    """Return the rest of a scenario that is wrong in parts, so that it can be checked too; None if too much is."""
    rest = {key: dict(value) if isinstance(value, dict) else value for key, value in content.items()}
    written = rest.get("faults")
    faults = [_salvaged_fault(fault) for fault in written] if isinstance(written, list) else []
    numbers = list(range(len(faults)))
    try:
        Scenario.model_validate({**content, "faults": faults} if isinstance(written, list) else content)
    except ValidationError as error:
        for top, *below in (detail["loc"] for detail in error.errors()):
            if top == "faults" and below and below[0] in numbers:
                numbers.remove(int(below[0]))
            elif top in ("cluster", "workload") and below:
                rest[str(top)].pop(below[0], None)
            elif top != "faults" or not below:
                rest.pop(str(top), None)
    rest["faults"] = [faults[number] for number in numbers]
    try:
        return Salvaged(Scenario.model_validate({**rest, "name": "rest"}), numbers)
    except ValidationError:
        return None


def _salvaged_fault(fault: Any) -> Any:
    """Return a fault without the keys that are wrong; at the start of the load, if its time is."""
    if not isinstance(fault, dict):
        return fault
    kept = right_keys(FaultSpec, fault)
    return kept if _TIMES.intersection(kept) else {**kept, "at": "0s"}


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two mappings: nested mappings are merged, null removes what there is, everything else is replaced.

    A mapping with another `kind` than that in the base has other keys, and replaces it.

    >>> merge({"a": {"b": 1, "c": [1]}, "d": 2}, {"a": {"c": [2]}, "d": None, "e": None})
    {'a': {'b': 1, 'c': [2]}, 'e': None}
    >>> merge({"workload": {"kind": "log", "keys": 3}}, {"workload": {"kind": "queue"}})
    {'workload': {'kind': 'queue'}}
    """
    merged = dict(base)
    for key, value in changes.items():
        before = merged.get(key)
        if value is None and key in merged:
            del merged[key]
        elif isinstance(before, dict) and isinstance(value, dict) and not _of_another_kind(before, value):
            merged[key] = merge(before, value)
        else:
            merged[key] = value
    return merged


def _of_another_kind(before: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    return "kind" in before and value.get("kind", before["kind"]) != before["kind"]
