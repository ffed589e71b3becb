"""Any events of any clients, interleaved in any way, in segments of any size, come back as written."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import read_origin, write_origin
from chaoskit.history.format.record import HEADER_BYTES, RECORD_BYTES
from chaoskit.history.reading.reader import History, read_observations
from chaoskit.history.recording.wal import NO_DELIVERY, WalWriter
from chaoskit.model.message import NO_POSITION, PAYLOADS
from chaoskit.model.observations.row import KINDS
from chaoskit.model.outcome import OUTCOMES

CLIENTS = 3
int64 = st.integers(-(1 << 63) + 1, (1 << 63) - 1)
TOPICS = ["a", "b", "topic with ü"]
topics = st.sampled_from(TOPICS)
partitions = st.integers(0, 2)
keys = st.none() | st.sampled_from(["k", "", "ключ"])
steps = st.tuples(
    st.integers(0, CLIENTS - 1),
    st.integers(0, 3),  # time passed: often none, so that starts are equal
    st.one_of(
        st.tuples(st.just("send"), topics, partitions, keys, int64),
        st.tuples(st.just("invoke"), st.sampled_from(["poll", "seek"])),
        st.tuples(
            st.just("complete"), st.integers(0, 5), st.integers(0, 2), st.none() | st.integers(0, 9), keys
        ),
        st.tuples(
            st.just("received"), topics, partitions, keys, int64, st.none() | int64, st.integers(0, 2),
            st.none() | st.integers(0, 9),
        ),
        st.tuples(
            st.just("observed"), st.sampled_from(KINDS), topics, partitions, keys, st.none() | int64, st.none() | int64
        ),
    ),
)  # fmt: skip


@dataclass
class Model:
    """What the history must be: plain lists, filled event by event."""

    operations: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    messages: list[tuple[tuple[int, int], dict[str, Any]]] = field(default_factory=list)
    observations: list[tuple[tuple[int, int], dict[str, Any]]] = field(default_factory=list)

    def ranked(self) -> list[tuple[int, int]]:
        return sorted(self.operations, key=lambda place: (self.operations[place]["start_ns"], place))


def _open(model: Model, client: int) -> list[int]:
    """The client's operations that have not completed, oldest first."""
    return [op for (c, op), row in model.operations.items() if c == client and row["end_ns"] is None]


def _name(log: WalWriter, text: str | None) -> int:
    return 0 if text is None else log.name(text)


def _step(model: Model, log: WalWriter, event: tuple[Any, ...], *, client: int, origin: int, now: int) -> None:
    kind, *rest = event
    if kind == "send":
        topic, partition, key, value = rest
        op = log.send(log.name(topic), partition, _name(log, key), value, origin + now - 1, origin + now)
        model.operations[client, op] = _operation(client, "send", now)
        row = {"direction": "sent", "topic": topic, "partition": partition, "key": key, "value": value,
               "position": None, "intended_ns": now - 1, "sent_ns": now, "received_ns": None,
               "delivery": None, "payload": "ok"}  # fmt: skip
        model.messages.append(((client, op), row))
    elif kind == "invoke":
        op = log.invoke(log.name(rest[0]), origin + now)
        model.operations[client, op] = _operation(client, rest[0], now)
    elif pending := _open(model, client):
        if kind == "complete":
            choice, outcome, position, error = rest
            op = pending[choice % len(pending)]
            known = NO_POSITION if position is None else position
            log.complete(op, origin + now, outcome, _name(log, error), known)
            model.operations[client, op].update(end_ns=now, outcome=OUTCOMES[outcome], error=error)
            for place, row in model.messages:
                if place == (client, op) and row["direction"] == "sent" and OUTCOMES[outcome] == "ok":
                    row["position"] = position
        elif kind == "observed":
            observed_kind, topic, partition, key, value, position = rest
            known = [NO_POSITION if number is None else number for number in (value, position)]
            log.observed(pending[-1], KINDS.index(observed_kind), log.name(topic), partition, _name(log, key), *known)
            row = {"kind": observed_kind, "topic": topic, "partition": partition, "name": key, "value": value,
                   "position": position}  # fmt: skip
            model.observations.append(((client, pending[-1]), row))
        else:
            topic, partition, key, value, position, payload, delivery = rest
            known = NO_POSITION if position is None else position
            count = NO_DELIVERY if delivery is None else delivery
            ids = log.name(topic), partition, _name(log, key)
            log.received(pending[-1], *ids, value, known, origin + 1, origin + 2, origin + now, payload, count)
            row = {"direction": "received", "topic": topic, "partition": partition, "key": key,
                   "value": value, "position": position, "intended_ns": 1, "sent_ns": 2,
                   "received_ns": now, "delivery": delivery, "payload": PAYLOADS[payload]}  # fmt: skip
            model.messages.append(((client, pending[-1]), row))


def _operation(client: int, f: str, now: int) -> dict[str, Any]:
    return {"process": client, "client": f"client-{client}", "f": f, "start_ns": now, "end_ns": None,
            "outcome": "info", "error": None, "txn": None}  # fmt: skip


@given(st.lists(steps, max_size=60), st.integers(1, 20), st.booleans())
def test_what_is_written_is_read(events: list[Any], records: int, compact_before_end: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as logs:
        run = Path(folder)
        (run / "wal").mkdir()
        origin = write_origin(run / "wal")
        write_topics(run / "wal", dict.fromkeys(TOPICS, LOG.name))
        assert origin == read_origin(run / "wal")
        # Up to 71 bytes at the end of a segment hold no record.
        size = HEADER_BYTES + records * RECORD_BYTES + records * 3
        writers = [logs.enter_context(WalWriter(run / "wal", f"client-{c}", c, size)) for c in range(CLIENTS)]
        model, now = Model(), 10
        for client, passed, event in events:
            now += passed
            _step(model, writers[client], event, client=client, origin=origin, now=now)
        if not compact_before_end:
            logs.close()
        compacted = compact(run)
        assert (compacted.torn, compacted.orphans) == (0, 0)
        _assert_same(model, History.open(run))


def _assert_same(model: Model, history: History) -> None:
    order = model.ranked()
    assert history.operations.to_pylist() == [
        {"op": rank, **model.operations[place]} for rank, place in enumerate(order)
    ]
    rank = {place: index for index, place in enumerate(order)}

    def ranked(rows: list[tuple[tuple[int, int], dict[str, Any]]]) -> list[dict[str, Any]]:
        return sorted(({"op": rank[place], **row} for place, row in rows), key=lambda row: row["op"])

    rows, observations = ranked(model.messages), ranked(model.observations)
    places = {(row["topic"], row["partition"]) for row in (*rows, *observations)}
    assert [(p.topic, p.partition) for p in history.partitions] == sorted(places)
    for partition in history.partitions:
        place = partition.topic, partition.partition
        expected = [row for row in rows if (row["topic"], row["partition"]) == place]
        assert history.messages(*place).to_pylist() == expected
        observed = [row for row in observations if (row["topic"], row["partition"]) == place]
        assert read_observations(partition).to_pylist() == observed
        assert partition.rows == len(expected) + len(observed)
        stored = [(piece.file, group) for piece in (partition.messages,) if piece for group in piece.row_groups]
        for file, group in stored:
            table = pq.ParquetFile(file).read_row_group(group)
            assert {place} == set(zip(*(table[name].to_pylist() for name in ("topic", "partition")), strict=True))
