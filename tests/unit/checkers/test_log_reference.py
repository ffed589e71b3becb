"""The checker agrees with the definitions, on histories that broken brokers might leave behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from notation import History, Row, Step, check, history, poll, send
from reference import CASES, Reference
from reference_evidence import sort_key

from chaoskit.base.errors import BadInput
from chaoskit.contract.checkers.checker import FINDINGS, PartitionSetting
from chaoskit.model.audit import Audit, Bounds
from chaoskit.model.compaction import Compaction
from chaoskit.model.operation import AUDITOR
from chaoskit.model.tables import MESSAGES, OPERATIONS
from checkers.log.logs import LogChecker

POSITIONS = st.one_of(st.none(), st.integers(0, 7))
SPARSE_POSITIONS = st.sampled_from([None, 0, 1 << 20, (1 << 20) + 1, 1 << 45, 1 << 50])
CONSUMERS = st.sampled_from(["c", "d", AUDITOR])


@st.composite
def sends(draw: st.DrawFn, positions: st.SearchStrategy[int | None]) -> Step:
    return send(
        draw(st.integers(0, 5)),
        draw(st.sampled_from(["ok", "ok", "fail", "info"])),
        at=draw(positions),
        producer=draw(st.sampled_from([0, 1, 5])),
        key=draw(st.sampled_from([None, "a", "b"])),
        lasts=draw(st.integers(0, 2)),
        error=draw(st.sampled_from([None, None, "duplicate"])),
    )


@st.composite
def polls(draw: st.DrawFn, positions: st.SearchStrategy[int | None]) -> Step:
    payloads = st.sampled_from(["ok", "ok", "ok", "ok", "corrupt", "foreign"])
    values = st.builds(
        lambda sequence, producer: producer << 40 | sequence, st.integers(0, 5), st.sampled_from([0, 0, 1, 5])
    )
    received = draw(st.lists(st.tuples(positions, values, payloads), max_size=4))
    return poll(draw(CONSUMERS), *received, lasts=draw(st.integers(0, 1)), completes=draw(st.integers(0, 9)) > 0)


@st.composite
def audits(draw: st.DrawFn) -> Audit | None:
    low = draw(st.sampled_from([0, 0, 0, 2]))
    local = st.sampled_from([None, None, 0, 3, 8])
    bounds = st.builds(Bounds, st.just(low), st.integers(low, 8), st.booleans(), local=local)
    return draw(st.one_of(st.none(), bounds))


@st.composite
def arbitrary_histories(draw: st.DrawFn) -> History:
    """Anything that the schema allows."""
    positions = draw(st.sampled_from([POSITIONS, SPARSE_POSITIONS]))
    moves = st.builds(Step, CONSUMERS, st.sampled_from(["assign", "subscribe", "seek", "commit"]))
    steps = draw(st.lists(st.one_of(sends(positions), polls(positions), moves), max_size=12))
    return history(*steps, audit=draw(audits()))


@st.composite
def broker_histories(draw: st.DrawFn) -> History:
    """A log with cursors that drops, repeats, inverts, truncates and slips now and then."""
    log: list[int] = []
    cursors = {"c": 0, "d": 0}
    steps = []
    for sequence in range(draw(st.integers(1, 14))):
        action = draw(st.sampled_from(["send", "send", "poll", "poll", "seek", "truncate"]))
        client = draw(st.sampled_from(["c", "d"]))
        if action == "send":
            outcome = draw(st.sampled_from(["ok", "ok", "ok", "info", "fail"]))
            at = draw(st.sampled_from([len(log), len(log), None]))
            key = draw(st.sampled_from([None, None, "a"]))
            steps.append(send(sequence, outcome, at=at, key=key, lasts=draw(st.integers(0, 1))))
            place = max(0, len(log) - draw(st.sampled_from([0, 0, 0, 1])))
            log[place:place] = [sequence] * draw(st.sampled_from([1, 1, 1, 1, 0, 2]))
        elif action == "poll":
            start = max(0, cursors[client] + draw(st.sampled_from([0, 0, 0, 0, 1, -1])))
            received = list(enumerate(log))[start : start + draw(st.integers(0, 4))]
            steps.append(poll(client, *received))
            cursors[client] = start + len(received)
        elif action == "seek":
            cursors[client] = draw(st.integers(0, len(log)))
            steps.append(Step(client, "seek"))
        else:
            del log[len(log) - draw(st.integers(0, min(2, len(log)))) :]
    low = draw(st.sampled_from([0, 0, min(2, len(log))]))
    read = list(enumerate(log))[low : draw(st.sampled_from([len(log), len(log) // 2]))]
    steps.append(poll(AUDITOR, *read))
    return history(*steps, audit=Bounds(low, len(log), complete=low + len(read) == len(log)))


@st.composite
def compacted_histories(draw: st.DrawFn) -> History:
    """A log that is compacted now and then, by the rules or not, and that loses its end."""
    log: dict[int, tuple[int, str, bool]] = {}
    end = 0
    cursors = {"c": 0, "d": 0}
    steps = []
    for sequence in range(draw(st.integers(1, 16))):
        action = draw(st.sampled_from(["send", "send", "send", "poll", "compact", "compact", "forget", "break"]))
        if action == "send":
            outcome = draw(st.sampled_from(["ok", "ok", "ok", "ok", "info", "fail"]))
            at = end if outcome == "ok" and draw(st.integers(0, 5)) else None
            key, deletes = draw(st.sampled_from(["a", "a", "b"])), draw(st.integers(0, 3)) == 0
            lasts = draw(st.sampled_from([0, 0, 0, 2]))
            steps.append(send(sequence, outcome, at=at, key=key, lasts=lasts, deletes=deletes))
            if outcome == "ok" or (outcome == "info" and draw(st.booleans())):
                log[end] = sequence, key, deletes
                end += 1
        elif action == "poll":
            client = draw(st.sampled_from(["c", "d"]))
            read = [(position, log[position][0]) for position in sorted(log) if position >= cursors[client]]
            read = read[: draw(st.integers(0, 5))]
            steps.append(poll(client, *read))
            cursors[client] = read[-1][0] + 1 if read else cursors[client]
        elif action == "compact":
            last = {key: position for position, (_, key, _) in sorted(log.items())}
            deletions = draw(st.booleans())
            log = {
                position: message
                for position, message in log.items()
                if last[message[1]] == position and not (deletions and message[2])
            }
        elif action == "forget":
            last = {key: position for position, (_, key, _) in sorted(log.items())}
            log = {position: message for position, message in log.items() if last[message[1]] != position}
        elif log:
            lost = draw(st.sampled_from(sorted(log)))
            log = {position: message for position, message in log.items() if position < lost or draw(st.booleans())}
            end = draw(st.sampled_from([end, max(log, default=-1) + 1]))
    read = [(position, log[position][0]) for position in sorted(log)]
    complete = draw(st.integers(0, 4)) > 0
    steps.append(Step(AUDITOR, "audit"))
    steps.append(poll(AUDITOR, *(read if complete else read[: len(read) // 2])))
    compaction = Compaction(draw(st.sampled_from([0, 40, 10**6])), draw(st.sampled_from([0, 0, 0, 30, 10**6])))
    return history(*steps, audit=Bounds(0, end, complete=complete), compaction=compaction)


@st.composite
def arbitrary_compacted(draw: st.DrawFn) -> History:
    """Anything that the schema allows, of a compacted log."""
    run = draw(arbitrary_histories())
    compaction = Compaction(draw(st.integers(0, 100)), draw(st.integers(0, 50)))
    setting = replace(run.setting, imposed=tuple(compaction.settings.items()))
    for row in run.operations:
        if row["f"] == "send" and draw(st.integers(0, 3)) == 0:
            row["f"] = "delete"
    return History(run.messages, run.operations, setting)


HISTORIES = st.one_of(arbitrary_histories(), broker_histories(), compacted_histories(), arbitrary_compacted())


def by_anomaly(rows: list[Row]) -> dict[str, list[Row]]:
    """Return evidence as `Reference.findings` gives it."""
    rows_of: dict[str, list[Row]] = {}
    for row in rows:
        evidence = {
            name: value
            for name, value in row.items()
            if value is not None and name not in ("anomaly", "topic", "partition")
        }
        rows_of.setdefault(row["anomaly"], []).append(evidence)
    return {name: sorted(rows, key=sort_key) for name, rows in rows_of.items()}


@given(HISTORIES)
def test_findings_are_those_of_the_definitions(run: History) -> None:
    expected = Reference(run).findings()
    for name in expected:
        event(name)

    assert by_anomaly(run.check()) == expected


@given(HISTORIES, st.data())
def test_findings_do_not_depend_on_how_tables_are_split(run: History, data: st.DataObject) -> None:
    messages = split(run.messages, MESSAGES, data)
    operations = split(run.operations, OPERATIONS, data)
    findings = check(messages, operations, run.setting)

    assert findings.equals(check(*run.tables(), run.setting))


@given(HISTORIES, st.integers(2, 5), st.integers(0, 100))
def test_operations_may_be_a_sparse_part_of_the_history(run: History, step: int, start: int) -> None:
    """The findings are the same, but for the numbers of the operations."""

    def renumbered(rows: list[Row], *names: str) -> list[Row]:
        return [
            {key: value * step + start if key in names and value is not None else value for key, value in row.items()}
            for row in rows
        ]

    sparse = History(renumbered(run.messages, "op"), renumbered(run.operations, "op"), run.setting)

    assert sparse.check() == renumbered(run.check(), "op", "other_op")


def split(rows: list[Row], schema: pa.Schema, data: st.DataObject) -> pa.Table:
    """Build a table in chunks, each with dictionaries of its own, or with plain strings."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(rows)))))
    parts = [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    table = pa.concat_tables(pa.Table.from_pylist(part, schema) for part in parts)
    if data.draw(st.booleans()):
        plain = [field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field for field in schema]
        table = table.cast(pa.schema(plain))
    return table


def test_findings_are_in_order_of_anomaly_and_position() -> None:
    """Not in that of the producers' sequence or of the operations."""
    run = history(send(2, at=4), send(1, at=3), send(3, "info"), poll("c", (9, 8, "corrupt"), (7, 3)))

    assert [(row["anomaly"], row["position"]) for row in run.check()] == [
        ("lost", 3),
        ("lost", 4),
        ("order-violation", 3),
        ("rewound", 7),
        ("corrupt", 9),
    ]


def test_every_anomaly_has_a_definition() -> None:
    assert [anomaly.name for anomaly in LogChecker.anomalies] == [*CASES, "misrouted", "stuck"]


def test_empty_history_has_no_findings() -> None:
    findings = check(MESSAGES.empty_table(), OPERATIONS.empty_table(), PartitionSetting("t", 0))

    assert findings.equals(FINDINGS.empty_table())


def test_findings_have_the_schema_and_name_the_partition() -> None:
    run = history(send(1, at=0), send(2, at=0))
    findings = check(*run.tables(), PartitionSetting("orders", 7))

    assert findings.schema == FINDINGS
    assert findings["detail"].num_chunks == 1, "readers of a dictionary column want one dictionary"
    assert {(row["topic"], row["partition"]) for row in findings.to_pylist()} == {("orders", 7)}


@pytest.mark.parametrize(
    ("column", "wrong", "message"),
    [
        ("op", 7, "messages of missing operations"),
        ("payload", "fine", "has the value 'fine'; expected one of ok, corrupt, foreign"),
        ("value", -3, "negative message value"),
    ],
)
def test_malformed_history_is_refused(column: str, wrong: Any, message: str) -> None:
    run = history(send(1, at=0), poll("c", (0, 1)))
    run.messages[-1][column] = wrong

    with pytest.raises(BadInput, match=message):
        run.check()
