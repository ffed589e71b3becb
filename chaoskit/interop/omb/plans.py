"""What `chaoskit bench` runs: every workload with every driver, as OMB does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chaoskit.base import plugins
from chaoskit.base.errors import BadInput, nearest
from chaoskit.contract import installed
from chaoskit.contract.systems.attach import Attaching
from chaoskit.contract.systems.benchmark import Benchmarked, Driven
from chaoskit.interop.omb.workload import OmbWorkload, parse_workload, scenario_of
from chaoskit.scenario.files import ready_made_sweeps
from chaoskit.scenario.plan import Plan, read_plan
from chaoskit.scenario.reading import load_mapping

_CLASS = "driverClass"
_OURS = "chaoskit"
"""Key of a driver for settings of a lab's cluster, which OMB ignores."""

_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class OmbDriver:
    """A driver's file.

    Attributes:
        stem: name of the file without its ending.
        name: its `name`.
        system: name of its system.
        driven: what it says.
    """

    stem: str
    name: str
    system: str
    driven: Driven


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What the command line says instead of the files.

    Attributes:
        lab: run on a local cluster.
        hosts: number of brokers; None: as many as there are replicas.
        warm_up_ns, length_ns: durations; None: as the workload says.
        backlog_bytes: size of the backlogs that are built; None: as the workload says.
        java: use the system's own (Java) client.
        p99_ns: the highest rate is looked for at which p99 stays below; None: the workload's rate is kept.
    """

    lab: bool
    hosts: int | None
    warm_up_ns: int | None
    length_ns: int | None
    p99_ns: int | None = None
    backlog_bytes: int | None = None
    java: bool = False


@dataclass(frozen=True, slots=True)
class Bench:
    """A workload with a driver.

    Attributes:
        stem: name of the workload's file without its ending.
        workload: the workload.
        driver: the driver.
        warm_up_ns, length_ns: what does not count, and what does.
        wishes: what the command line says.
        plan: how it is run.
    """

    stem: str
    workload: OmbWorkload
    driver: OmbDriver
    warm_up_ns: int
    length_ns: int
    wishes: BenchOptions
    plan: Plan

    def at(self, rate: int, warm_up_ns: int, length_ns: int) -> Bench:
        """Return it with another rate, messages per second, and other durations."""
        workload = self.workload.model_copy(update={"producerRate": rate})
        return _planned(self.stem, workload, self.driver, (warm_up_ns, length_ns), self.wishes, self.plan.source)


def read_benches(files: Sequence[Path], wishes: BenchOptions) -> list[Bench]:
    """Read workloads and drivers; return each pair, by the workload's file, then in the order of the drivers.

    Raises:
        BadInput: names the file, the key and the remedy.
    """
    sweeps = ready_made_sweeps()
    if given := next((file for file in files if str(file) in sweeps), None):
        raise BadInput(f"{given}: is a sweep; run it with `chaoskit sweep {given}`")
    contents = {file: load_mapping(file, "a workload or a driver of the OpenMessaging Benchmark") for file in files}
    drivers = [_driver(content, file, wishes) for file, content in contents.items() if _CLASS in content]
    workloads = {
        file: parse_workload(content, str(file)) for file, content in contents.items() if _CLASS not in content
    }
    if not drivers or not workloads:
        missing = "driver (with driverClass)" if not drivers else "workload"
        raise BadInput(f"no {missing} among {', '.join(map(str, files))}; name at least one of each")
    ordered = sorted(workloads, key=lambda file: file.stem)
    return [_bench(file, workloads[file], driver, wishes) for file in ordered for driver in drivers]


def _bench(file: Path, workload: OmbWorkload, driver: OmbDriver, wishes: BenchOptions) -> Bench:
    minutes = workload.warmupDurationMinutes, workload.testDurationMinutes
    given = wishes.warm_up_ns, wishes.length_ns
    if workload.backlog_bytes and wishes.p99_ns is not None:
        raise BadInput(
            f"{file}: consumerBacklogSizeGB: the highest rate cannot be searched with a backlog; leave out --p99"
        )
    if workload.backlog_bytes and wishes.backlog_bytes is not None:
        workload = workload.model_copy(update={"consumerBacklogSizeGB": wishes.backlog_bytes / 2**30})
    warm_up_ns, length_ns = (
        int(length * 60e9) if wish is None else wish for length, wish in zip(minutes, given, strict=True)
    )
    return _planned(file.stem, workload, driver, (warm_up_ns, length_ns), wishes, str(file))


def _planned(  # noqa: PLR0917 - what a bench is
    stem: str,
    workload: OmbWorkload,
    driver: OmbDriver,
    durations_ns: tuple[int, int],
    wishes: BenchOptions,
    source: str,
) -> Bench:
    name = _NO_NAME.sub("-", f"{stem}-{driver.name}").strip("-.")
    hosts = wishes.hosts or driver.driven.hosts
    content = scenario_of(
        name, workload, driver.system, driver.driven, lab=wishes.lab, hosts=hosts, durations_ns=durations_ns
    )
    return Bench(stem, workload, driver, *durations_ns, wishes, read_plan(content, source))


def _driver(content: Mapping[str, Any], file: Path, wishes: BenchOptions) -> OmbDriver:
    source = str(file)
    wanted = str(content[_CLASS]).rpartition(".")[2]
    systems = {name: installed.system(name, source) for name in plugins.names("cluster")}
    known = {system.driver_class: name for name, system in systems.items() if isinstance(system, Benchmarked)}
    if wanted not in known:
        raise BadInput(f"{source}: {_CLASS}: {wanted} is not supported; {nearest(wanted, known)}")
    system = systems[known[wanted]]
    assert isinstance(system, Benchmarked)
    if not wishes.lab and not isinstance(system, Attaching):
        raise BadInput(f"{source}: {_CLASS}: {known[wanted]} is supported in a lab only; add --lab")
    own, lab = {key: value for key, value in content.items() if key != _OURS}, content.get(_OURS, {})
    if not isinstance(lab, Mapping):
        raise BadInput(f"{source}: {_OURS}: write keys of `cluster` below it, such as config: {{...}}")
    try:
        driven = system.driven(own, java=wishes.java)
        driven = replace(driven, lab={**driven.lab, **lab})
    except BadInput as error:
        raise BadInput(f"{source}: {error}") from error
    return OmbDriver(file.stem, str(content.get("name", known[wanted])), known[wanted], driven)
