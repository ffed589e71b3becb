"""What is found does not depend on what says nothing: names, numbers, the clock's origin, how tables are laid out.

Each change of a history comes with its undoing in the findings; both histories must then give the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from changes import CHANGES, TIES, Case, Draw, Rows, Sheet, changed_by, pieces, replaced, unrelated, untied
from gallery import FEEDS, GALLERY, QUEUES
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from notation import History as Notated
from story import Story
from test_log_reference import arbitrary_histories, broker_histories
from test_queue_reference import orderly_stories, queue_stories
from test_spanning_reference import group_stories, transactional_stories

from chaoskit.base import durable
from chaoskit.contract.checkers.checker import PartitionSetting
from chaoskit.contract.installed import anomalies
from chaoskit.history.compacting import dataset
from chaoskit.history.reading.reader import History
from chaoskit.judge.findings.checking import find
from chaoskit.judge.timing.timing import Load
from chaoskit.model.operation import AUDITOR
from chaoskit.model.tables import FAULTS, MESSAGES, OBSERVATIONS, OPERATIONS
from chaoskit.testing.synthetic.memory import Generated
from chaoskit.testing.synthetic.strategies import anomalous_histories, histories

Data = st.DataObject
PATIENT = settings(suppress_health_check=list(HealthCheck))
PRODUCING = {"send", "add", "txn", "init", "begin", "end"}


def of_story(story: Story) -> Case:
    """Return a story's tables."""
    return Case.of(story.parts(), pa.Table.from_pylist(story.operations, OPERATIONS))


def of_notation(history: Notated) -> Case:
    """Return the tables of a history of one partition."""
    messages, operations = history.tables()
    return Case((Sheet(history.setting, messages, OBSERVATIONS.empty_table()),), operations)


def of_generated(history: Generated) -> Case:
    """Return a synthetic history's tables."""
    return Case.of(history.parts, history.operations)


STORIES = st.one_of(
    st.builds(
        lambda make, broken: of_story(make(broken)),
        st.sampled_from([*GALLERY.values(), *QUEUES.values()]),
        st.booleans(),
    ),
    st.one_of(transactional_stories(), group_stories()).map(of_story),
    st.one_of(queue_stories(), orderly_stories()).map(of_story),
    st.one_of(arbitrary_histories(), broker_histories()).map(of_notation),
)
SYNTHETIC = st.one_of(histories(), anomalous_histories()).map(of_generated)


SEVERAL = st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=3, unique=True)


def canonical(rows: Rows) -> Rows:
    """Return findings in an order of their own, without the times that judging adds."""
    rows = [
        {name: value for name, value in row.items() if not name.endswith(("written_ns", "acked_ns"))} for row in rows
    ]
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row.values()])


def assert_same(case: Case, names: list[str], draw: Draw) -> None:
    """Compare what is found in a history and in a changed one."""
    changed, undo = changed_by(names, draw, case)
    ties = {anomaly: columns for name in names for anomaly, columns in TIES.get(name, {}).items()}
    rows = [untied(undo(row), ties) for row in changed.findings()]
    expected = [untied(row, ties) for row in case.findings()]
    for anomaly in {row["anomaly"] for row in expected}:
        event(anomaly)
    related = [row for row in rows if not unrelated(row)]

    assert [row for row in related if row not in expected] == []
    assert canonical(related) == canonical(expected)
    assert all(anomalies()[row["anomaly"]].measured for row in rows if unrelated(row))


@PATIENT
@given(STORIES, SEVERAL, st.data())
def test_findings_in_small_histories_do_not_depend_on_changes(case: Case, names: list[str], data: Data) -> None:
    assert_same(case, names, data.draw)


@PATIENT
@given(SYNTHETIC, SEVERAL, st.data())
def test_findings_in_synthetic_histories_do_not_depend_on_changes(case: Case, names: list[str], data: Data) -> None:
    assert_same(case, names, data.draw)


@PATIENT
@given(st.one_of(STORIES, STORIES, SYNTHETIC), st.integers(1, 50), st.booleans(), st.data())
def test_findings_do_not_depend_on_files(case: Case, rows: int, shuffled: bool, data: Data) -> None:
    """Row groups of any size, partitions together or in files of their own, rows not in `op` order."""
    rows = max(rows, max((sheet.messages.num_rows for sheet in case.parts), default=1) // 8)
    seed = data.draw(st.integers(0, 2**32))
    mixed = case.mapped(lambda table: out_of_order(table, seed), lambda table: out_of_order(table, seed))
    with patch.object(dataset, "ROW_GROUP_ROWS", rows):
        findings = found_in_files(mixed if shuffled else case, data.draw)

    assert canonical(findings) == canonical(case.findings())


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in (GALLERY | QUEUES | FEEDS).items()])
@settings(max_examples=1)
@given(data=st.data())
def test_each_anomaly_of_the_gallery_is_found_in_files(make: Callable[[bool], Story], data: Data) -> None:
    case = of_story(make(True))

    assert canonical(found_in_files(case, data.draw)) == canonical(case.findings())


def found_in_files(case: Case, draw: Draw) -> Rows:
    """Write a run folder's files, and return what is found in them."""
    with tempfile.TemporaryDirectory() as folder, patch.object(durable, "sync"):
        write(case, Path(folder), draw)
        setting = case.parts[0].setting if case.parts else PartitionSetting("t", 0)
        imposed = {part.setting.topic: part.setting.imposed for part in case.parts}
        history = History.open(Path(folder))
        findings: Rows = find(history, setting.bound_ns, load_of(setting), imposed).to_pylist()
    return findings


def load_of(setting: PartitionSetting) -> Load | None:
    """Return the load that a setting speaks of."""
    end_ns, stuck_ns = setting.load_end_ns, setting.stuck_ns
    if end_ns is None:
        return None
    last_ns, every_ns = (end_ns, None) if stuck_ns is None else (stuck_ns, 0)
    return Load(setting.load_start_ns, end_ns, last_ns, every_ns)


def out_of_order(table: pa.Table, seed: int) -> pa.Table:
    """Return a table with the rows of any one operation in their order, but all operations mixed."""
    random = np.random.default_rng(seed)
    op = table["op"].to_numpy()
    places = random.permutation(op.size)
    order = np.empty(op.size, np.int64)
    # Where the rows of an operation come to lie is random; they fill those places in their order.
    by_op, by_place = np.argsort(op, kind="stable"), np.lexsort((places, op[np.argsort(op, kind="stable")]))
    order[places[by_place]] = by_op
    return table.take(pa.array(order))


def write(case: Case, folder: Path, draw: Draw) -> None:
    """Write a run folder's files."""
    for name, schema in (("messages", MESSAGES), ("observations", OBSERVATIONS)):
        with dataset.PartitionsWriter(folder / f"{name}.parquet", schema) as writer:
            for sheet in case.parts:
                table = getattr(sheet, name)
                writer.write(table.num_rows, pieces(draw, table))
    known = [sheet.setting for sheet in case.parts]
    audits = {(setting.topic, setting.partition): setting.audit for setting in known if setting.audit is not None}
    models = {setting.topic: setting.model.name for setting in known}
    dataset.write_operations(folder / "operations.parquet", pieces(draw, case.operations), audits, models)
    windows = known[0].faults if known else ()
    rows = [
        {"fault": window.number, "kind": window.kind, "targets": [], "parameters": "{}", "evidence": ""}
        | {"start_ns": window.start_ns, "effective_ns": window.effective_ns, "healed_ns": window.healed_ns}
        for window in windows
    ]
    pq.write_table(pa.Table.from_pylist(rows, FAULTS), folder / "faults.parquet")


@PATIENT
@given(st.one_of(STORIES, SYNTHETIC), st.data())
def test_what_is_lost_stays_lost_without_a_consumer(case: Case, data: Data) -> None:
    """What a complete final read did not find is lost, whoever else read it."""
    parts = tuple(sheet for sheet in case.parts if sheet.setting.bounds and sheet.setting.bounds.complete)
    case = replace(case, parts=parts)
    senders = {client for client, f in clients(case.operations) if f in PRODUCING}
    consumers = sorted({client for client, _ in clients(case.operations)} - senders - {AUDITOR})
    if not parts or not consumers:
        return
    gone = data.draw(st.sampled_from(consumers))
    keep = np.asarray(pc.not_equal(case.operations["client"].cast(pa.string()), gone))
    number = np.cumsum(keep) - 1

    def kept(table: pa.Table) -> pa.Table:
        chosen = table.filter(pa.array(keep[table["op"].to_numpy()]))
        columns = {"op": number[chosen["op"].to_numpy()]}
        if "txn" in chosen.schema.names:
            columns["txn"] = [None if txn is None else int(number[txn]) for txn in chosen["txn"].to_pylist()]
        return replaced(chosen, **columns)

    assert lost(case) <= lost(case.mapped(kept, kept))


def clients(operations: pa.Table) -> set[tuple[str, str]]:
    """Return each client with whatever it does."""
    pairs = operations.select(["client", "f"])
    return set(zip(pairs["client"].to_pylist(), pairs["f"].to_pylist(), strict=True))


def lost(case: Case) -> set[tuple[str, int, int, str]]:
    """Return what is lost and where."""
    return {
        (row["topic"], row["partition"], row["value"], row["anomaly"])
        for row in case.findings()
        if row["anomaly"] in {"lost", "dropped-as-duplicate"}
    }
