"""Conformance suite for checkers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.checkers.checker import FINDINGS, Checker, Part, PartitionSetting, Settling, Spanning
from chaoskit.contract.installed import anomalies
from chaoskit.contract.installed import checker as installed
from chaoskit.contract.workloads.datamodel import DataModel
from chaoskit.judge.findings.checking import found_by
from chaoskit.model.audit import Audit, Bounds, Drained
from chaoskit.model.operation import AUDITOR
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS
from chaoskit.testing.conformance.wants import Wants

_MESSAGES = 5


def check_checker(
    checker: str | Checker,
    broken: Mapping[str, Sequence[Part]] | None = None,
    sound: Mapping[str, Sequence[Part]] | None = None,
) -> None:
    """Check a checker.

    Args:
        checker: the checker, or the name of its entry point.
        broken: by anomaly, a history in which it must be found: its parts, each with all operations.
        sound: by anomaly, a similar history in which it must not be found. If either is given, every anomaly needs
            both.

    Raises:
        AssertionError: lists what is missing.
    """
    instance = installed(checker, "checker") if isinstance(checker, str) else checker
    with Wants(f"checker {checker if isinstance(checker, str) else type(checker).__name__}") as wants:
        if not wants.attributes(instance, "anomalies", "models", "check"):
            return
        _check_anomalies(instance, wants)
        for model in instance.models:
            with wants.step(f"a correct {model.name}"):
                _check_quiet(instance, plain_part(model), wants)
            with wants.step(f"an empty {model.name}"):
                _check_quiet(instance, _empty(model), wants)
        if broken is not None or sound is not None:
            _check_histories(instance, broken or {}, sound or {}, wants)


def plain_part(model: DataModel) -> Part:
    """Return a correct partition: messages sent, acknowledged, received in order, and audited."""
    rows, operations = [], []
    common = {"topic": "t", "partition": 0, "payload": "ok"}
    for number in range(_MESSAGES):
        times = {"start_ns": 10 * number, "end_ns": 10 * number + 5}
        operations.append({"op": number, "process": 0, "client": "producer-0", "f": "send", "outcome": "ok", **times})
        rows.append({"op": number, "direction": "sent", "value": number, "position": number, **common})
    for op, client in ((_MESSAGES, "consumer-0"), (_MESSAGES + 1, AUDITOR)):
        if client == AUDITOR and not model.bounded:
            continue  # these are drained, and empty
        times = {"start_ns": 1000 * op, "end_ns": 1000 * op + 5}
        f = "receive" if model.gives_back else "poll"
        operations.append({"op": op, "process": op, "client": client, "f": f, "outcome": "ok", **times})
        received = {"direction": "received", "received_ns": times["end_ns"]}
        rows += [{"op": op, "value": number, "position": number, **received, **common} for number in range(_MESSAGES)]
    observations = _settled(operations) if model.gives_back else []
    return Part(
        PartitionSetting("t", 0, model, _audit(model, _MESSAGES)),
        pa.Table.from_pylist(rows, MESSAGES),
        pa.Table.from_pylist(operations, OPERATIONS),
        pa.Table.from_pylist(observations, OBSERVATIONS),
    )


def _settled(operations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the operation in which the consumer acknowledges all messages; return its observations."""
    op, times = len(operations), {"start_ns": 1000 * len(operations), "end_ns": 1000 * len(operations) + 5}
    operations.append({**operations[-1], "op": op, "f": "ack", **times})
    common = {"op": op, "kind": "acked", "topic": "t", "partition": 0}
    return [{**common, "value": number} for number in range(_MESSAGES)]


def _empty(model: DataModel) -> Part:
    setting = PartitionSetting("t", 0, model, _audit(model, 0))
    return Part(setting, MESSAGES.empty_table(), OPERATIONS.empty_table(), OBSERVATIONS.empty_table())


def _audit(model: DataModel, end: int) -> Audit:
    return Bounds(0, end, complete=True) if model.bounded else Drained(complete=True)


def _check_anomalies(checker: Checker, wants: Wants) -> None:
    wants.that(checker.anomalies, "it declares no anomalies")
    wants.that(checker.models, "it declares no models")
    for anomaly in checker.anomalies:
        if not wants.that(isinstance(anomaly, Anomaly), f"{anomaly!r} is not an Anomaly"):
            continue
        wants.that(anomaly.meaning, f"{anomaly.name} has no meaning")
        wants.that(set(anomaly.models) & set(checker.models), f"{anomaly.name} has no model that the checker declares")
        known = {*anomalies(), *(anomaly.name for anomaly in checker.anomalies)}
        for implied in set(anomaly.implies) - known:
            wants.that(False, f"{anomaly.name} implies {implied}, which no checker finds")
    names = [anomaly.name for anomaly in checker.anomalies if isinstance(anomaly, Anomaly)]
    wants.that(len(set(names)) == len(names), "two anomalies have the same name")
    settling, spanning = isinstance(checker, Settling), isinstance(checker, Spanning)
    wants.that(settling or not hasattr(checker, "settle"), "it has `settle` but does not implement Settling")
    wants.that(spanning or not hasattr(checker, "conclude"), "it has `conclude` but does not implement Spanning")


def _check_quiet(checker: Checker, part: Part, wants: Wants) -> None:
    findings = checker.check(part)
    if wants.that(findings.schema.equals(FINDINGS), "its findings do not have the schema FINDINGS"):
        measured = {anomaly.name for anomaly in checker.anomalies if anomaly.measured}
        seen = {name: count for name, count in _counts(findings).items() if name not in measured}
        wants.that(not seen, f"it finds {seen} in a correct {part.setting.model.name}")
    again = checker.check(Part(part.setting, part.messages, part.operations, part.observations))
    wants.that(findings.equals(again), "its findings differ when it is called again")


def _check_histories(
    checker: Checker, broken: Mapping[str, Sequence[Part]], sound: Mapping[str, Sequence[Part]], wants: Wants
) -> None:
    for anomaly in checker.anomalies:
        name = anomaly.name
        if wants.that(name in broken, f"no history shows {name}, so it is untested"):
            wants.that(
                name in _counts(found_by(checker, broken[name])), f"{name} is not found in the history that has it"
            )
        if wants.that(name in sound, f"no sound history for {name}"):
            wants.that(name not in _counts(found_by(checker, sound[name])), f"{name} is found in its sound history")


def _counts(findings: pa.Table) -> dict[str, int]:
    return dict(Counter(findings["anomaly"].to_pylist()))
