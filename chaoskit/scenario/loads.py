"""Whether a system can carry a workload: its data models, types of topics and queues, and powers of clients."""

from __future__ import annotations

from typing import Any

from chaoskit.base.errors import BadInput, nearest
from chaoskit.base.quantities import format_duration
from chaoskit.contract import installed
from chaoskit.contract.clients.client import SeekingClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.systems.explaining import explanations
from chaoskit.contract.systems.system import Imposing, Queues, System, Typed
from chaoskit.contract.workloads.traits import Backlog, Queueing, Replays, Resends, Routed, Transactions
from chaoskit.contract.workloads.workload import Workload, powers_needed
from chaoskit.model.compaction import Compaction
from chaoskit.scenario.expected import bounds
from chaoskit.scenario.model import Scenario


def check_workload(
    scenario: Scenario, system: System, options: Any, workload: tuple[Workload, Any], declared: Declared
) -> None:
    """Check that a system keeps, and its clients can do, what a workload with its options needs.

    Raises:
        BadInput: names the key and the remedy.
    """
    kind, name = scenario.workload.kind, scenario.cluster.system
    for topic in declared.topics:
        if topic.model not in system.models:
            kept = ", ".join(model.name for model in system.models)
            raise BadInput(f"workload.kind: {kind} needs a {topic.model.name}; {name} has these data models: {kept}")
        types = system.types.get(topic.model, ()) if isinstance(system, Typed) else ()
        if topic.kind and topic.kind not in types:
            remedy = f"write one of {', '.join(types)}" if types else "remove it"
            raise BadInput(f"workload.type: {name} has no {topic.model.name} of type {topic.kind!r}; {remedy}")
    _check_queues(system, declared)
    offered = system.client_powers(options)
    for power in powers_needed(*workload):
        if power not in offered:
            why = missing_powers(system).get(power, "not supported")
            raise BadInput(f"workload.kind: {kind} needs {power.__name__}, which clients of {name} lack: {why}")
    if (replays := declared.get(Replays)) is not None:
        why = "" if SeekingClients in offered else missing_powers(system).get(SeekingClients, "not supported")
        _check_replays(scenario, replays, why)


def check_copies(system: System, load: Any, declared: Declared) -> None:
    """Reject copies of what a system keeps once.

    Args:
        system: the system.
        load: the workload's options.
        declared: what was declared, in which topics of such a type have one copy, whatever the load says.

    Raises:
        BadInput: names the remedy.
    """
    if not isinstance(system, Typed) or (getattr(load, "replication", None) or 1) == 1:
        return
    for topic in declared.topics:
        if topic.kind in system.unreplicated:
            replicated = [kind for kind in system.types[topic.model] if kind not in system.unreplicated]
            raise BadInput(
                f"workload.replication: a {topic.model.name} of type {topic.kind!r} has one copy only; remove it, or "
                f"set workload.type to one of {', '.join(replicated)}"
            )


def check_record(scenario: Scenario, system: System, declared: Declared) -> None:
    """Reject a record of latencies only of a workload whose losses cannot be told from sequences.

    Raises:
        BadInput: names the remedy.
    """
    if scenario.record == "history":
        return
    if declared.get(Routed) is None or declared.get(Transactions) is not None or declared.get(Resends) is not None:
        kind = scenario.workload.kind
        raise BadInput(f"record: latency: loss cannot be determined for workload {kind}; write history")
    if scenario.workload.drivers:
        raise BadInput("record: latency: is not supported on drivers; write history, or remove workload.drivers")
    known, bounded = installed.anomalies(), bounds(scenario.expect)
    for name in scenario.expect.keys() & known.keys():
        if known[name].one_by_one or (name in bounded and known[name].lasting):
            raise BadInput(f"expect.{name}: cannot be measured without the history; write record: history")
    if isinstance(system, Imposing):
        for topic in declared.topics:
            if Compaction.of(system.imposed(declared.options, topic).items()) is not None:
                raise BadInput("record: latency: what compaction may remove is not told without values; write history")


def check_backlog(scenario: Scenario, declared: Declared) -> None:
    """Reject a backlog that would begin after the load.

    Raises:
        BadInput: names the key.
    """
    backlog, lasts_ns = declared.get(Backlog), scenario.workload.duration
    if backlog is not None and backlog.after_ns >= lasts_ns:
        raise BadInput(f"workload.backlog.after: must be before the end of the load, {format_duration(lasts_ns)}")


def _check_replays(scenario: Scenario, replays: Replays, why_not: str) -> None:
    if why_not:
        name = scenario.cluster.system
        raise BadInput(f"workload.replay needs SeekingClients, which clients of {name} lack: {why_not}")
    if replays.after_ns >= scenario.workload.duration:
        lasts = format_duration(scenario.workload.duration)
        raise BadInput(f"workload.replay.after: must be before the end of the load, {lasts}")
    if scenario.record == "latency":
        raise BadInput(
            "workload.replay: replayed messages cannot be recognized without the history; write record: history"
        )
    if replays.by_time and scenario.workload.drivers:
        raise BadInput("workload.replay.by: drivers have clocks of their own, which cannot be compared; write position")


def _check_queues(system: System, declared: Declared) -> None:
    queueing = declared.get(Queueing)
    if queueing is None:
        return
    has, exchanges = (system.queue_features, system.exchanges) if isinstance(system, Queues) else ((), ())
    for key, feature in queueing.features:
        if feature not in has:
            raise BadInput(f"workload.{key}: queues of this system have no {feature}; remove it")
    if queueing.exchange and queueing.exchange not in exchanges:
        known = ["default", *exchanges]
        raise BadInput(f"workload.exchange: no such exchange: {nearest(queueing.exchange, known)}")


def missing_powers(system: System) -> dict[type, str]:
    """Return why powers are missing, or which options they require."""
    given, never, notyet = explanations(system)
    return {**{power: f"set cluster.{needed}" for power, needed in given.items()}, **never, **notyet}
