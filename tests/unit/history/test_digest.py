"""The digest of a client's records: what the records say, however they are cut into segments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.history.digesting.digest import DUPLICATE, REORDERED, SERIES, Digest, Portion, digest
from chaoskit.history.digesting.routes import Routes
from chaoskit.history.format.record import COMPLETE, RECEIVED, RECORD, SEND, Records
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.outcome import FAIL, INFO, OK, Outcome

MS, SECOND = 1_000_000, 1_000_000_000
ROUTES = Routes(3)


def _record(kind: int, **fields: int) -> Records:
    record = np.zeros(1, RECORD)
    record["kind"] = kind
    record["name"] = 1
    for name, value in fields.items():
        record[name] = value
    return record


def _sent(op: int, value: int, due_ns: int, took_ns: int | None, outcome: Outcome = OK) -> list[Records]:
    sent = _record(SEND, op=op, value=value, partition=value % 3, intended_ns=due_ns, start_ns=due_ns + MS)
    if took_ns is None:
        return [sent]
    return [sent, _record(COMPLETE, op=op, code=outcome, end_ns=due_ns + took_ns)]


def _read(value: int, position: int, at_ns: int = 0, partition: int | None = None) -> Records:
    place = value % 3 if partition is None else partition
    return _record(RECEIVED, value=value, position=position, end_ns=at_ns, intended_ns=0, partition=place)


def _digested(pieces: Sequence[Records], *, audits: bool = False) -> tuple[Digest, list[Portion]]:
    into = Digest("client")
    return into, [digest(into, piece, ROUTES, 0, audits=audits) for piece in pieces]


_ROUTES_MAX = 1000
_LAST = (1 << PRODUCER_SHIFT) - _ROUTES_MAX


@given(st.lists(st.integers(0, _LAST), max_size=20), st.integers(1, _ROUTES_MAX), st.integers(0, 4000))
def test_places_are_those_of_values(sequences: list[int], count: int, producer: int) -> None:
    values, routes = np.array(sequences, np.int64) | (producer << PRODUCER_SHIFT), Routes(count)

    places = routes.places(values)

    assert routes.values(places).tolist() == values.tolist()
    assert len(set(places.tolist())) == len(set(sequences))
    assert {place >> PRODUCER_SHIFT for place in places.tolist()} <= {producer}


def test_messages_of_a_route_are_consecutive() -> None:
    places = ROUTES.places(np.arange(3, 60, 3))

    assert set(np.diff(places).tolist()) == {1}


@given(st.sets(st.integers(1, 11)), st.lists(st.sampled_from([OK, FAIL, INFO, None]), min_size=4, max_size=4))
def test_sends_are_the_same_in_any_segments(cuts: set[int], outcomes: list[Outcome | None]) -> None:
    records = [
        event
        for op, outcome in enumerate(outcomes)
        for event in _sent(op, op, op * SECOND, None if outcome is None else 5 * MS, outcome or OK)
    ]
    whole = np.concatenate(records)

    into, portions = _digested(np.split(whole, sorted(cuts)))

    counts = {name: into.counted.get(name, 0) for name in ("sent", "ok", "fail", "info")}
    assert counts == {"sent": 4, "ok": outcomes.count(OK), "fail": outcomes.count(FAIL), "info": outcomes.count(INFO)}
    acked = [op for op, outcome in enumerate(outcomes) if outcome == OK]
    assert ROUTES.values(into.acked.values()).tolist() == sorted(acked, key=lambda op: (op % 3, op))
    assert into.open["op"].tolist() == [op for op, outcome in enumerate(outcomes) if outcome is None]
    rows = np.concatenate([portion.counts for portion in portions])
    took = rows[rows[:, 0] == SERIES.index("took")]
    assert sorted(took[:, 1].tolist()) == acked, "each in the second in which it was due"
    assert took[:, 3].sum() == len(acked)


def test_it_survives_a_file(tmp_path: Path) -> None:
    into, _ = _digested([np.concatenate([*_sent(0, 0, 0, MS), *_sent(1, 1, 0, None)])])
    (tmp_path / "one.npz").write_bytes(into.saved())

    with np.load(tmp_path / "one.npz") as content:
        again = Digest.loaded(content)

    assert again.counted == into.counted
    assert again.open.tobytes() == into.open.tobytes()
    assert again.acked.values().tolist() == into.acked.values().tolist()
    digest(again, _record(COMPLETE, op=1, end_ns=MS), ROUTES, 0, audits=False)
    assert again.counted["ok"] == 2


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
def test_what_the_final_read_must_not_see(cut: int) -> None:
    read = np.concatenate([_read(0, 0), _read(6, 1), _read(3, 2), _read(6, 3), _read(4, 0)])

    into, _ = _digested([read[:cut], read[cut:]], audits=True)

    odd = [(int(row["kind"]), int(row["value"]), int(row["position"])) for row in into.odd]
    assert sorted(odd) == [(DUPLICATE, 6, 3), (REORDERED, 3, 2)]
    assert "received" not in into.counted


def test_what_consumers_have_again_is_no_delivery() -> None:
    read = [_read(0, 0, 7 * MS), _read(3, 1, 7 * MS), _read(0, 0, 9 * MS)]

    into, (portion, again) = _digested([np.concatenate(read[:2]), read[2]])

    assert portion.counts[:, 3].sum() == 2
    assert again.counts.size == 0
    assert into.counted["received"] == 3
    assert not into.odd.size, "consumers may read again"


def test_times_without_an_acknowledgement() -> None:
    ends_ms = [0, 50, 400, 450, 2000]
    pieces = [np.concatenate(_sent(op, 0, 0, end * MS)) for op, end in enumerate(ends_ms)]

    into, _ = _digested(pieces)

    assert (into.gaps[:, 2:] // MS).tolist() == [[50, 400, 50], [450, 2000, 450]]
    assert into.acks.tolist() == [[1, 0, 0, 2000 * MS]]
