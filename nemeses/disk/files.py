"""Chooses files on data disks, and places in them, for a fault: random, and optionally disjoint across targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated

from pydantic import Field, model_validator

from chaoskit.contract.faults.nemesis import NemesisError, OnDisk, Strike
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.power import optional
from chaoskit.contract.systems.service import DataFiles
from nemeses.disk.chosen import chosen

_BY_GLOB = 'find "$1" -type f -size +0 -not -path "$1/.chaoskit/*" -path "$1/$2" -printf "%s %p\\n"'
_BY_NAME = 'for file; do [ ! -s "$file" ] || stat -c "%s %n" "$file"; done'


class FileChoice(OnDisk):
    """Which files to damage; empty files are skipped.

    Attributes:
        files: shell pattern relative to the disk's mount point, such as `*.log`; `*` also matches slashes.
        what: instead of `files`: a type of file that the system knows, such as `segment`, of a `topic` and `partition`;
            on whichever disk it is.
        count: number of places on each host.
        disjoint: no two targets are damaged in the same place, so a correct system can repair each from another.
    """

    files: Annotated[str, Field(min_length=1)] | None = None
    what: str | None = None
    topic: str = "log-0"
    partition: Annotated[int, Field(ge=0)] = 0
    count: Annotated[int, Field(ge=1, le=1000)] = 1
    disjoint: bool = False

    @model_validator(mode="after")
    def _names_files(self) -> FileChoice:
        if (self.files is None) == (self.what is None):
            raise ValueError("specify either files (a pattern relative to the disk) or what (such as segment)")
        return self


@dataclass(frozen=True, slots=True)
class Place:
    """A byte of a file on a host."""

    path: str
    size: int
    offset: int


def draw_places(strike: Strike) -> dict[str, list[Place]]:
    """Return `count` random places for each target, by name.

    Raises:
        NemesisError: a target has no such file.
    """
    choice: FileChoice = strike.parameters
    candidates = {host.name: _candidates(host, strike) for host in strike.hosts}
    for name, files in candidates.items():
        if not files:
            raise NemesisError(f"{name} has no non-empty file {choice.files or choice.what}")
    return {name: _draw(candidates, index, strike) for index, name in enumerate(candidates)}


def _draw(candidates: dict[str, dict[str, int]], index: int, strike: Strike) -> list[Place]:
    """Draw places on one target. If disjoint, a file that several targets have is divided among them."""
    name = list(candidates)[index]
    draw = Random(f"{strike.seed}:{name}")  # noqa: S311
    places = []
    for _ in range(strike.parameters.count):
        path = draw.choice(sorted(candidates[name]))
        low, high = 0, candidates[name][path]
        if strike.parameters.disjoint:
            shared = min(files[path] for files in candidates.values() if path in files)
            low, high = shared * index // len(candidates), shared * (index + 1) // len(candidates)
        if low >= high:
            raise NemesisError(f"{path} on {name} is too short for disjoint places: {candidates[name][path]} bytes")
        places.append(Place(path, candidates[name][path], draw.randrange(low, high)))
    return places


def _candidates(host: ServiceHost, strike: Strike) -> dict[str, int]:
    choice: FileChoice = strike.parameters
    if choice.what is None:
        return _sizes(bash(host, _BY_GLOB, chosen(host, strike).path, choice.files or "*").out.splitlines())
    files = optional(strike.service, DataFiles)
    if files is None:
        raise NemesisError("this system does not support `what`; use files instead of what")
    paths = files.files(host, choice.what, strike.in_system(choice.topic), choice.partition)
    return _sizes(bash(host, _BY_NAME, *paths).out.splitlines())


def _sizes(lines: Sequence[str]) -> dict[str, int]:
    return {path: int(size) for size, path in (line.split(" ", maxsplit=1) for line in lines)}
