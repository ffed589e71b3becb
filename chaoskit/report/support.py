"""What each system supports, derived from its declarations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chaoskit.base import plugins
from chaoskit.contract import installed
from chaoskit.contract.systems.explaining import explanations
from chaoskit.contract.systems.releasing import Releasing
from chaoskit.contract.systems.system import CLIENT_POWERS, SERVICE_POWERS, System
from chaoskit.contract.workloads.workload import Alternating, Workload, example_options, powers_needed
from chaoskit.report.markdown import table

YES, GIVEN, NEVER, NOT_YET = "yes", "with", "never", "not yet"
NO = "no"


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
        release: the release that it has by default; empty if it has none.
        tested: the releases that it was tested with, and when; empty if it does not say so.
        models: its data models.
        roles: role names that a fault may use in `on:`.
        powers: all powers that chaoskit knows, those of clients first.
        workloads: the workloads that can run on it.
        faults: the kinds of faults that can be injected, on suitable hosts.
    """

    release: str
    tested: str
    models: tuple[str, ...]
    roles: tuple[str, ...]
    powers: tuple[Power, ...]
    workloads: tuple[str, ...]
    faults: tuple[str, ...]


def support(system: System) -> Support:
    """Return what a system supports."""
    options = system.options()
    given = explanations(system).given
    has = {*system.service_powers(options), *system.client_powers(options), *given}
    return Support(
        str(getattr(options, "version", "")),
        str(system.tested) if isinstance(system, Releasing) else "",
        tuple(model.name for model in system.models),
        tuple(system.roles),
        tuple(_power(system, power, has) for power in (*CLIENT_POWERS, *SERVICE_POWERS)),
        tuple(name for name in plugins.names("workload") if _runs(installed.workload(name, name), system, has)),
        tuple(name for name in plugins.names("nemesis") if {*installed.nemesis(name).service_powers} <= has),
    )


def markdown(supports: dict[str, Support]) -> str:
    """Return Markdown tables of releases, powers of clients and clusters, workloads and faults by system."""
    names, columns = list(supports), list(supports.values())
    powers = [_row(same) for same in zip(*(column.powers for column in columns), strict=True)]
    of_clients, of_clusters = powers[: len(CLIENT_POWERS)], powers[len(CLIENT_POWERS) :]
    workloads = sorted({name for column in columns for name in column.workloads})
    faults = plugins.names("nemesis")
    return "\n".join(
        (
            _table(
                ["release", *names],
                [
                    ["default", *(column.release for column in columns)],
                    ["tested, and when", *(column.tested for column in columns)],
                ],
            ),
            _table(["power of clients", *names], of_clients),
            _table(["power of the cluster", *names], of_clusters),
            _table(
                ["workload", *names], [_marks(name, [column.workloads for column in columns]) for name in workloads]
            ),
            _table(["fault", *names], [_marks(name, [column.faults for column in columns]) for name in faults]),
        )
    )


def _power(system: System, power: type, has: set[type]) -> Power:
    declared = dict(zip((GIVEN, NEVER, NOT_YET), explanations(system), strict=True))
    standing = next((word for word, reasons in declared.items() if power in reasons), YES if power in has else "")
    return Power(power.__name__, _meaning(power), standing, declared.get(standing, {}).get(power, ""))


def _meaning(power: type) -> str:
    """Return the first sentence of a power's docstring, without `Optional power:` and the like."""
    paragraph = " ".join((inspect.getdoc(power) or "").partition("\n\n")[0].split())
    return paragraph.partition(": ")[2].partition(". ")[0].removesuffix(".")


def _runs(workload: Workload, system: System, has: set[type]) -> bool:
    others = workload.others if isinstance(workload, Alternating) else ()
    examples = [example_options(workload), *map(workload.options.model_validate, others)]
    return any(
        {*powers_needed(workload, options)} <= has
        and {topic.model for topic in workload.topics(options, 3)} <= {*system.models}
        for options in examples
    )


def _row(same: Sequence[Power]) -> list[str]:
    """Return what all systems say of one power."""
    return [f"`{same[0].name}`: {same[0].meaning}", *(_cell(power) for power in same)]


def _cell(power: Power) -> str:
    """Return the standing of a power, and behind it the reason, if there is one, as a sentence."""
    if power.standing == GIVEN:
        return f"only with `{power.why}`"
    return f"{_sentence(power.standing)} {_sentence(power.why)}" if power.why else power.standing or NO


def _sentence(words: str) -> str:
    """Return words with a capital letter and a full stop; names such as `fs-client` stay as they are."""
    first = re.match(r"[a-z]+(?=[ ,]|$)", words)
    return (words[0].upper() + words[1:] if first else words).removesuffix(".") + "."


def _marks(name: str, held: Iterable[Sequence[str]]) -> list[str]:
    return [f"`{name}`", *(YES if name in names else NO for names in held)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"{line}\n" for line in table(head, rows))
