"""Faults that begin once something is true, instead of at a time: what they wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.errors import BadInput, nearest
from chaoskit.base.quantities import Duration, format_duration
from chaoskit.scenario.expected import KNOWN_LATER, ExpectedConsequence

ANY = "any"
"""Any host, where a trigger names one."""


class After(BaseModel):
    """Another fault has come so far.

    Attributes:
        fault: the `id` of the other fault.
        reached: `effective`: its effect was proved; `consequence`: it changed something in the system or for its
            clients; `healed`: its healing was proved.
        delay: how long to wait then.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    fault: str
    reached: Literal["effective", "consequence", "healed"] = Field(default="effective", alias="is")
    delay: Duration = 0


class When(BaseModel):
    """The system or its clients have come so far: one of the following.

    Attributes:
        out_of_sync: this host (or `any`) was in sync with a partition and is so no more.
        in_sync: this host was out of sync with a partition and is in sync with all of its partitions again.
        leader: this host leads a partition.
        acked: so many sends of the load were acknowledged.
        lag: so many acknowledged messages have not been received yet by the consumers.
        log: a line that the system has written to a log since the load began matches this regular expression.
        on: the host with that log; without it, any host.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    out_of_sync: str | None = None
    in_sync: str | None = None
    leader: str | None = None
    acked: int | None = Field(default=None, ge=1)
    lag: int | None = Field(default=None, ge=1)
    log: str | None = None
    on: str | None = None

    @model_validator(mode="after")
    def _one_condition(self) -> When:
        given = [self.out_of_sync, self.in_sync, self.leader, self.acked, self.lag, self.log]
        if sum(condition is not None for condition in given) != 1:
            raise ValueError("specify one of out_of_sync, in_sync, leader, acked, lag and log")
        if self.on is not None and self.log is None:
            raise ValueError("on is for log only")
        if self.log is not None:
            try:
                re.compile(self.log)
            except re.error as error:
                raise ValueError(f"log: {error}") from None
        return self

    @property
    def hosts(self) -> Iterator[tuple[str, str]]:
        """The keys that name a host, and the names."""
        for key in ("out_of_sync", "in_sync", "leader", "on"):
            name = getattr(self, key)
            if name is not None and not (key == "out_of_sync" and name == ANY):
                yield key, name


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a fault waits for.

    Attributes:
        after, when: the condition; one of both is None.
        within_ns: how long it waits at most, from the start of the load, or from when the other fault began; None: as
            long as the load lasts.
    """

    after: After | None
    when: When | None
    within_ns: int | None = None

    def as_spec(self) -> dict[str, Any]:
        """Return the keys of a fault that has this trigger."""
        spec: dict[str, Any] = {}
        if self.after is not None:
            spec["after"] = {"fault": self.after.fault, "is": self.after.reached}
            if self.after.delay:
                spec["after"]["delay"] = format_duration(self.after.delay)
        if self.when is not None:
            spec["when"] = self.when.model_dump(exclude_none=True)
        if self.within_ns is not None:
            spec["within"] = format_duration(self.within_ns)
        return spec

    def __str__(self) -> str:
        if self.after is not None:
            delay = f"{format_duration(self.after.delay)} " if self.after.delay else ""
            return f"{delay}after {self.after.fault} {_REACHED[self.after.reached]}"
        assert self.when is not None
        return "when " + ", ".join(f"{key}: {value}" for key, value in self.when.model_dump(exclude_none=True).items())


_REACHED = {"effective": "took effect", "consequence": "had a consequence", "healed": "was healed"}


class Triggered(Protocol):
    """A fault as in a scenario."""

    @property
    def id(self) -> str: ...
    @property
    def after(self) -> After | None: ...
    @property
    def when(self) -> When | None: ...
    @property
    def expect(self) -> ExpectedConsequence | None: ...


def check_triggers(faults: Sequence[Triggered], hosts: Sequence[str]) -> Iterator[BadInput]:
    """Yield what is wrong with the triggers of a scenario.

    Args:
        faults: its faults.
        hosts: the names of all hosts.
    """
    known: dict[str, int] = {}
    for number, fault in enumerate(faults):
        if fault.id in known:
            yield BadInput(
                f"faults.{number}.id: {fault.id!r} is the id of faults.{known[fault.id]}, too; choose another"
            )
        elif fault.id:
            known[fault.id] = number
    for number, fault in enumerate(faults):
        if fault.after is not None:
            yield from _check_after(number, fault.after, faults, known)
        for key, name in fault.when.hosts if fault.when is not None else ():
            if name not in hosts:
                yield BadInput(f"faults.{number}.when.{key}: there is no host {name!r}; {nearest(name, hosts)}")


def _check_after(
    number: int, after: After, faults: Sequence[Triggered], known: Mapping[str, int]
) -> Iterator[BadInput]:
    key = f"faults.{number}.after"
    if after.fault not in known:
        remedy = nearest(after.fault, known) if known else "give that fault an `id:`"
        yield BadInput(f"{key}.fault: no fault has the id {after.fault!r}; {remedy}")
        return
    if _waits_for_itself(faults[number], faults, known):
        yield BadInput(f"{key}.fault: {after.fault!r} waits for this fault, which waits for it")
    expect = faults[known[after.fault]].expect
    if after.reached == "consequence" and expect is not None and expect.consequence in KNOWN_LATER:
        yield BadInput(
            f"{key}.is: whether {after.fault!r} had the consequence that it expects, {expect.consequence}, is only "
            "known after the run; write `is: effective`"
        )


def _waits_for_itself(fault: Triggered, faults: Sequence[Triggered], known: Mapping[str, int]) -> bool:
    seen: list[Triggered] = []
    predecessor: Triggered = fault
    while predecessor.after is not None and predecessor.after.fault in known:
        predecessor = faults[known[predecessor.after.fault]]
        if predecessor is fault:
            return True
        if predecessor in seen:
            return False
        seen.append(predecessor)
    return False
