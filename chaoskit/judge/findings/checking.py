"""Runs all installed checkers over a history, partition by partition, and combines their findings.

The steps are separate functions, so that Spark can run the same ones remotely: `check_partition` for
each partition, then `settle_and_conclude` over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.errors import BadInput
from chaoskit.base.memory import keep_freed_memory
from chaoskit.base.quantities import SECOND
from chaoskit.contract.checkers.checker import FINDINGS, Checker, Part, PartitionSetting, Settling, Spanning
from chaoskit.contract.installed import checkers
from chaoskit.history.compacting.drivers import apart_ns
from chaoskit.history.reading.reader import History, read_messages, read_observations
from chaoskit.judge.findings.clocks import certain
from chaoskit.judge.findings.dating import dated
from chaoskit.judge.findings.guard import Guard
from chaoskit.judge.findings.proved import committed, proved
from chaoskit.judge.findings.windows import windows
from chaoskit.judge.timing.models import model_of
from chaoskit.judge.timing.timing import Load
from chaoskit.model.operation import ASKING, CARRYING

_ASKED_EVERY_NS = 10 * SECOND
"""One operation that asks for messages is kept of each process in such an interval."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of one checker in one partition; `extract` is None if the checker is not `Spanning`."""

    findings: pa.Table
    extract: pa.Table | None


_NOTHING = Checked(FINDINGS.empty_table(), None)
_STRICT = Guard(strict=True)

Imposed = Mapping[str, tuple[tuple[str, int], ...]]

Sent = Callable[[Settling, pa.Array], list[pa.Table]]
"""Calls a checker's `sent_here` for every partition."""


def settings(
    history: History, bound_ns: int, load: Load | None = None, imposed: Imposed = MappingProxyType({})
) -> list[PartitionSetting]:
    """Return the context of each partition of a history, in the history's order.

    Args:
        history: the history of the run.
        bound_ns: time after a healing within which the system must serve again.
        load: when sends were due; None if that is not known.
        imposed: by topic, settings of queues and compacted logs that the workload did not declare.
    """
    places = [(partition.topic, partition.partition) for partition in history.partitions]
    faults = windows(history.recorded_faults, history.placements, places, bound_ns)
    known = proved(history)
    clocks = tuple(tuple(driver["clients"]) for driver in history.drivers)
    return [
        PartitionSetting(
            partition.topic,
            partition.partition,
            model_of(history, partition.topic),
            history.audit(partition.topic, partition.partition),
            faults[partition.topic, partition.partition],
            bound_ns,
            load.end_ns if load else None,
            load.stuck_ns if load else None,
            load.begin_ns if load else 0,
            apart_ns(history.drivers),
            imposed.get(partition.topic, ()),
            clocks,
            known,
        )
        for partition in history.partitions
    ]


def find(
    history: History,
    bound_ns: int,
    load: Load | None = None,
    imposed: Imposed = MappingProxyType({}),
    guard: Guard = _STRICT,
) -> pa.Table:
    """Return the findings of all checkers over all partitions (schema `FINDINGS`).

    Args:
        history: the history of the run.
        bound_ns: see `settings`.
        load: see `settings`.
        imposed: see `settings`.
        guard: keeps what a checker raises; without one it is raised here.
    """
    keep_freed_memory()
    operations = history.operations
    checked, known = [], settings(history, bound_ns, load, imposed)
    models = {setting.model for setting in known}
    control = {alarms: controlling(operations, every_ask=alarms) for alarms in {model.alarms for model in models}}
    for setting, partition in zip(known, history.partitions, strict=True):
        messages, observations = read_messages(partition), read_observations(partition)
        needed = relevant((messages, observations), operations, control[setting.model.alarms])
        checked.append(check_partition(Part(setting, messages, needed, observations), guard))

    def sent(checker: Settling, values: pa.Array) -> list[pa.Table]:
        return [checker.sent_here(read_messages(partition), values) for partition in history.partitions]

    return settle_and_conclude(checked, sent, lambda: concluding(operations, known), guard)


def controlling(operations: pa.Table, *, every_ask: bool = False) -> np.ndarray:
    """Return for each operation whether it controls a client, or found its connection gone, or shows that the client
    asked for messages, rather than carrying them; of those that ask, some of each process, or all (`every_ask`)."""
    f = operations["f"].cast(pa.string())
    gone = pc.and_(pc.equal(f, "receive"), pc.equal(operations["outcome"].cast(pa.string()), "fail"))
    chosen = np.array(pc.or_(pc.invert(pc.is_in(f, value_set=pa.array(CARRYING))), gone))
    asks = np.flatnonzero(pc.is_in(f, value_set=pa.array(ASKING)).to_numpy())
    if not every_ask:
        asks = asks[_some_of_each(operations["process"].to_numpy()[asks], operations["start_ns"].to_numpy()[asks])]
    chosen[asks] = True
    return chosen


def _some_of_each(process: np.ndarray, start_ns: np.ndarray) -> np.ndarray:
    """Return the rows of the first operation of each process in each interval of some seconds; rows are in order of
    time."""
    if not process.size:
        return np.zeros(0, np.int64)
    key = (start_ns - start_ns.min()) // _ASKED_EVERY_NS * (int(process.max()) + 1) + process
    first = np.full(int(key.max()) + 1, -1)
    first[key[::-1]] = np.arange(key.size - 1, -1, -1)
    return first[first >= 0]


def relevant(tables: Sequence[pa.Table], operations: pa.Table, control: np.ndarray) -> pa.Table:
    """Return the operations that the rows refer to, and all that control clients.

    Raises:
        BadInput: an operation is missing.
    """
    chosen = control.copy()
    for table in tables:
        named = table["op"].to_numpy()
        if named.max(initial=-1) >= control.size:
            raise BadInput(f"the history refers to operation {named.max()}, but has only {control.size} operations")
        chosen[named] = True
    return operations if 2 * np.count_nonzero(chosen) > chosen.size else operations.filter(pa.array(chosen))


def check_partition(part: Part, guard: Guard = _STRICT) -> list[Checked]:
    """Return the findings of all checkers, in order, in one partition; empty if a checker does not handle its model.

    Args:
        part: the partition.
        guard: see `find`.
    """
    part = replace(part, operations=committed(part.operations, part.setting.proved))
    where = f"{part.setting.topic}/{part.setting.partition}"
    checked = [
        guard.run(
            partial(_check, checker, part), lambda: _NOTHING, name_of(checker), anomalies=names_of(checker), where=where
        )
        for checker in checkers()
    ]
    return [Checked(dated(part, result.findings), result.extract) for result in checked]


def name_of(checker: Checker) -> str:
    """Return a checker as the subject of a sentence."""
    return f"the checker {type(checker).__module__}.{type(checker).__qualname__}"


def names_of(checker: Checker) -> list[str]:
    """Return the names of the anomalies that a checker detects."""
    return [anomaly.name for anomaly in checker.anomalies]


def concluding(operations: pa.Table, known: Sequence[PartitionSetting]) -> pa.Table:
    """Return operations as checks that span partitions need them, given the settings of all partitions."""
    proved_ones, error_ns = (known[0].proved, known[0].apart_ns) if known else ((), 0)
    return _widened(committed(operations, proved_ones), error_ns)


def _widened(operations: pa.Table, error_ns: int) -> pa.Table:
    """Return operations that surely were not running before their start or after their end.

    What is ordered by these times is so in real time, although clients have clocks of their own.

    Args:
        operations: schema `OPERATIONS`.
        error_ns: by how much the times of two clients may be wrong against each other.
    """
    if not error_ns:
        return operations
    for name, shift_ns in (("start_ns", -error_ns), ("end_ns", error_ns)):
        shifted = pc.add(operations[name], pa.scalar(shift_ns, pa.int64()))
        operations = operations.set_column(operations.schema.get_field_index(name), operations.field(name), shifted)
    return operations


def _check(checker: Checker, part: Part) -> Checked:
    if part.setting.model not in checker.models:
        return _NOTHING
    findings = pa.concat_tables([FINDINGS.empty_table(), certain(part, checker.check)])
    if undeclared := sorted(set(pc.unique(findings["anomaly"]).to_pylist()) - set(names_of(checker))):
        raise ValueError(f"it returns findings of {', '.join(undeclared)}, which its `anomalies` do not declare")
    return Checked(findings, checker.extract(part) if isinstance(checker, Spanning) else None)


def settle_and_conclude(
    checked: Sequence[Sequence[Checked]], sent: Sent, operations: Callable[[], pa.Table], guard: Guard = _STRICT
) -> pa.Table:
    """Return all findings, given those of each partition.

    Args:
        checked: for each partition, the findings of each checker.
        sent: looks up the senders of some values in all partitions.
        operations: returns all operations of the run; called only if a checker needs them.
        guard: see `find`.
    """
    tables = []
    for index, checker in enumerate(checkers()):
        of_partitions = [results[index] for results in checked]
        conclude = partial(_conclude, checker, of_partitions, sent, operations)
        of_each = partial(_joined, of_partitions)
        tables.append(guard.run(conclude, of_each, name_of(checker), anomalies=names_of(checker)))
    return pa.concat_tables([FINDINGS.empty_table(), *tables]).unify_dictionaries().combine_chunks()


def found_in(parts: Sequence[Part]) -> pa.Table:
    """Return the findings of all checkers in an in-memory history whose parts have all operations."""
    return pa.concat_tables([FINDINGS.empty_table(), *(found_by(checker, parts) for checker in checkers())])


def found_by(checker: Checker, parts: Sequence[Part]) -> pa.Table:
    """Return the findings of one checker; see `found_in`."""

    def sent(settling: Settling, values: pa.Array) -> list[pa.Table]:
        return [settling.sent_here(part.messages, values) for part in parts]

    return _conclude(checker, [_check(checker, part) for part in parts], sent, lambda: parts[0].operations)


def _conclude(checker: Checker, checked: Sequence[Checked], sent: Sent, operations: Callable[[], pa.Table]) -> pa.Table:
    findings = _joined(checked)
    if isinstance(checker, Settling) and len(values := checker.open_values(findings)):
        findings = checker.settle(findings, pa.concat_tables(sent(checker, values)))
    extracts = [result.extract for result in checked if result.extract is not None and result.extract.num_rows]
    if isinstance(checker, Spanning) and extracts:
        findings = pa.concat_tables([findings, checker.conclude(pa.concat_tables(extracts), operations())])
    return findings


def _joined(checked: Sequence[Checked]) -> pa.Table:
    return pa.concat_tables([FINDINGS.empty_table(), *(result.findings for result in checked)])
