"""Installed plug-ins by kind, our own and third-party ones alike, found through entry points."""

from __future__ import annotations

from functools import cache

from chaoskit.base import plugins
from chaoskit.contract.checkers.anomaly import CRASHED, Anomaly, Gone
from chaoskit.contract.checkers.checker import Checker
from chaoskit.contract.checkers.synthesizer import Synthesizer
from chaoskit.contract.faults.nemesis import Nemesis
from chaoskit.contract.hosts.host import HostProvider
from chaoskit.contract.systems.database import Database
from chaoskit.contract.systems.system import Apart, System
from chaoskit.contract.workloads.workload import Workload


@cache
def checkers() -> tuple[Checker, ...]:
    """Return all checkers, by name."""
    return tuple(checker(name, "checker") for name in plugins.names("checker"))


@cache
def anomalies() -> dict[str, Anomaly]:
    """Return all anomalies by name: those of the checkers, in their order, and the harness's own."""
    declared = (anomaly for checker in checkers() for anomaly in checker.anomalies)
    return {anomaly.name: anomaly for anomaly in (*declared, CRASHED)}


@cache
def gone(*kinds: Gone) -> tuple[str, ...]:
    """Return the names of the anomalies that say this of messages that are gone: kind by kind, and of each kind those
    first that occur in more data models."""
    known = anomalies().values()
    return tuple(
        anomaly.name
        for kind in kinds
        for anomaly in sorted(
            (anomaly for anomaly in known if anomaly.gone is kind), key=lambda anomaly: -len(anomaly.models)
        )
    )


def checker(name: str, key: str) -> Checker:
    """Return the checker of this name; raises like `provider`."""
    instance: Checker = plugins.load("checker", name, key)
    return instance


def provider(name: str, key: str) -> HostProvider:
    """Return the host provider of this name.

    Raises:
        BadInput: there is none; the message names `key`.
    """
    instance: HostProvider = plugins.load("host", name, key)
    return instance


def system(name: str, key: str) -> System:
    """Return the system of this name; raises like `provider`."""
    instance: System = plugins.load("cluster", name, key)
    return instance


def ready_system(name: str, key: str) -> System:
    """Return the system of this name once everything that runs of it need is imported; raises like `provider`."""
    instance = system(name, key)
    for path in instance.for_runs if isinstance(instance, Apart) else ():
        plugins.module("cluster", name, key, path)
    return instance


def database(name: str, key: str) -> Database:
    """Return the database of this name; raises like `provider`."""
    instance: Database = plugins.load("database", name, key)
    return instance


def workload(name: str, key: str) -> Workload:
    """Return the workload of this name; raises like `provider`."""
    instance: Workload = plugins.load("workload", name, key)
    return instance


def nemesis(kind: str, key: str = "faults.inject") -> Nemesis:
    """Return the nemesis for a kind of fault; raises like `provider`."""
    instance: Nemesis = plugins.load("nemesis", kind, key)
    return instance


def taken_by_others() -> dict[str, Nemesis]:
    """Return the kinds of faults that hosts of others take, by name; see `Nemesis.held`."""
    kinds = {name: nemesis(name) for name in plugins.names("nemesis")}
    return {name: fault_kind for name, fault_kind in kinds.items() if fault_kind.held and fault_kind.on_hosts}


def synthesizer(name: str, key: str) -> Synthesizer:
    """Return the synthesizer of this name; raises like `provider`."""
    instance: Synthesizer = plugins.load("synthesizer", name, key)
    return instance
