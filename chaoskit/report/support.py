"""What each system supports, derived from its declarations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chaoskit.base import plugins
from chaoskit.contract import installed
from chaoskit.contract.cluster import CLIENT_POWERS, CLUSTER_POWERS, System
from chaoskit.contract.power import words
from chaoskit.contract.workload import Workload

YES, GIVEN, NEVER, NOT_YET = "yes", "with", "never", "not yet"


@dataclass(frozen=True, slots=True)
class Power:
    """Support of one power: `standing` is `yes`, `with`, `never`, `not yet` or empty; `why` names the options
    that it requires, or says why it is missing."""

    name: str
    meaning: str
    standing: str
    why: str


@dataclass(frozen=True, slots=True)
class Support:
    """What a system supports.

    Attributes:
        release: the release that it has by default, on which its tests were run; empty if it has none.
        models: its data models.
        roles: role names that a fault may use in `on:`.
        powers: all powers that chaoskit knows, those of clients first.
        workloads: the workloads that can run on it.
        faults: the kinds of faults that can be injected, on suitable hosts.
    """

    release: str
    models: tuple[str, ...]
    roles: tuple[str, ...]
    powers: tuple[Power, ...]
    workloads: tuple[str, ...]
    faults: tuple[str, ...]


def support(system: System) -> Support:
    """Return what a system supports."""
    options = system.options()
    has = {*system.cluster_powers(options), *system.client_powers(options), *system.given}
    return Support(
        str(getattr(options, "version", "")),
        tuple(model.name for model in system.models),
        tuple(system.roles),
        tuple(_power(system, power, has) for power in (*CLIENT_POWERS, *CLUSTER_POWERS)),
        tuple(name for name in plugins.names("workload") if _runs(installed.workload(name, name), system, has)),
        tuple(name for name in plugins.names("nemesis") if {*installed.nemesis(name).cluster_powers} <= has),
    )


def markdown(told: dict[str, Support]) -> str:
    """Return Markdown tables of releases, powers, workloads and faults by system."""
    names = list(told)
    powers = zip(*(each.powers for each in told.values()), strict=True)
    workloads = sorted({name for each in told.values() for name in each.workloads})
    faults = plugins.names("nemesis")
    rows = [[f"`{row[0].name}`: {row[0].meaning}", *(_cell(power) for power in row)] for row in powers]
    supports = list(told.values())
    return "\n".join(
        (
            _table(["release", *names], [["by default, and tested", *(each.release for each in supports)]]),
            _table(["power", *names], rows),
            _table(["workload", *names], [_marks(name, [each.workloads for each in supports]) for name in workloads]),
            _table(["fault", *names], [_marks(name, [each.faults for each in supports]) for name in faults]),
        )
    )


def _power(system: System, power: type, has: set[type]) -> Power:
    name, _, meaning = words(power).partition(" (")
    declared = {GIVEN: system.given, NEVER: system.never, NOT_YET: system.notyet}
    standing = next((each for each, reasons in declared.items() if power in reasons), YES if power in has else "")
    return Power(name, meaning.removesuffix(")"), standing, declared.get(standing, {}).get(power, ""))


def _runs(workload: Workload, system: System, has: set[type]) -> bool:
    options = workload.options()
    models = {topic.model for topic in workload.topics(options, 3)}
    return {*workload.client_powers} <= has and models <= {*system.models}


def _cell(power: Power) -> str:
    if power.standing == GIVEN:
        return f"with `{power.why}`"
    return ": ".join(filter(None, (power.standing, power.why)))


def _marks(name: str, held: Iterable[Sequence[str]]) -> list[str]:
    return [f"`{name}`", *(YES if name in each else "" for each in held)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
