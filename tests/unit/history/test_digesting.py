"""Logs that are digested while clients write them, and what is found in the digests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.finish import finish
from chaoskit.history.digesting.live import begin, digests, portions, require_history, take
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import read_origin, write_origin
from chaoskit.history.format.record import HEADER_BYTES, RECORD_BYTES
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.wal import WalWriter
from chaoskit.judge.digested.messages import Digested
from chaoskit.judge.timing.timing import Load, Timing
from chaoskit.model.audit import Bounds
from chaoskit.model.message import NO_POSITION
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OK

MS, SECOND = 1_000_000, 1_000_000_000
PLACES = [("log-0", 0), ("log-0", 1)]
SMALL = HEADER_BYTES + 20 * RECORD_BYTES
"""A segment of 20 records."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "wal").mkdir()
    write_topics(tmp_path / "wal", {"log-0": LOG.name})
    origin_ns = write_origin(tmp_path / "wal")
    begin(tmp_path, len(PLACES), origin_ns)
    return tmp_path


def _produce(run: Path, start_ns: int, count: int, *, positions: bool = True) -> WalWriter:
    """Send and acknowledge messages, one each millisecond; return the open log."""
    wal = WalWriter(run / "wal", "producer-0", 0, SMALL)
    topic = wal.name("log-0")
    for value in range(count):
        due_ns = start_ns + value * MS
        op = wal.send(topic, value % 2, 0, value, due_ns, due_ns)
        wal.complete(op, due_ns + 5 * MS, OK, 0, value // 2 if positions else NO_POSITION)
    return wal


def _read(run: Path, client: str, values: Sequence[int], audit: Bounds | None = None) -> None:
    with WalWriter(run / "wal", client, 1, SMALL) as wal:
        topic = wal.name("log-0")
        op = wal.invoke(wal.name("poll"), 0)
        for value in values:
            wal.received(op, topic, value % 2, 0, value, value // 2, 0, 0, 1, 0)
        if audit:
            for _, partition in PLACES:
                wal.audit(topic, partition, audit)


def test_segments_that_are_finished_are_digested_and_deleted(run: Path) -> None:
    start_ns = read_origin(run / "wal")
    with _produce(run, start_ns, 100):
        take(run, all_segments=False)
        left = sorted(path.name for path in (run / "wal").glob("*.wal"))
        (before,) = digests(run)
        take(run, all_segments=False)
        (again,) = digests(run)
    take(run, all_segments=True)

    (after,) = digests(run)
    assert len(left) == 2, "what is written, and its reserve"
    assert before.counted == again.counted, "nothing counts twice"
    assert before.counted["ok"] < after.counted["ok"] == after.counted["sent"] == 100
    assert not list((run / "wal").glob("*.wal"))
    assert sum(int(portion.counts[:, 3].sum()) for portion in portions(run)) == 3 * 100


def test_a_crash_between_digest_and_deletion_counts_nothing_twice(run: Path) -> None:
    with _produce(run, read_origin(run / "wal"), 100):
        kept = {path: path.read_bytes() for path in (run / "wal").glob("*.wal")}
        take(run, all_segments=False)
        for path, content in kept.items():
            path.write_bytes(content)
    take(run, all_segments=True)

    (digest,) = digests(run)
    assert digest.counted["ok"] == 100
    assert sum(int(portion.counts[:, 3].sum()) for portion in portions(run)) == 3 * 100


def test_what_is_nowhere_is_lost_and_what_the_log_dropped_has_expired(run: Path) -> None:
    with _produce(run, read_origin(run / "wal"), 4_000):
        pass
    low = 1_200
    kept = [value for value in range(2 * low, 4_000) if value not in (3_000, 3_002, 3_999)]
    _read(run, "consumer-0", range(100))
    _read(run, AUDITOR, kept, Bounds(low, 2_000, complete=True))
    finish(run)

    history = History.open(run)
    audits = {place: audit for place in PLACES if (audit := history.audit(*place)) is not None}
    digested = Digested(run, PLACES)
    findings = digested.told(audits)
    incomplete = digested.told({place: replace(audit, complete=False) for place, audit in audits.items()})

    rows = digested.expanded(findings.findings, findings).to_pylist()
    lost = {(row["value"], row["partition"]) for row in rows if row["anomaly"] == "lost"}
    expired = sum(row["anomaly"] == "expired" for row in rows)
    assert lost == {(3_000, 0), (3_002, 0), (3_999, 1)}
    assert expired == 2 * low, "what a consumer read is gone, too"
    assert findings.count.sum() == len(rows)
    assert "unseen" in set(incomplete.findings["anomaly"].to_pylist())
    (at_ns,) = {row["at_ns"] for row in rows if row["value"] == 3_000}
    assert at_ns == pytest.approx(3_000 * MS + 5 * MS, abs=SECOND // 4)


def test_without_positions_it_is_not_known_what_has_expired(run: Path) -> None:
    with _produce(run, read_origin(run / "wal"), 1000, positions=False):
        pass
    finish(run)

    findings = Digested(run, PLACES).told(dict.fromkeys(PLACES, Bounds(500, 500, complete=True)))

    assert set(findings.findings["anomaly"].to_pylist()) == {"unseen"}
    assert findings.count.sum() == 1000


def test_counts_and_waits(run: Path) -> None:
    with _produce(run, read_origin(run / "wal"), 2000):
        pass
    _read(run, "consumer-0", range(2000))
    finish(run)
    timing = Timing(Load(0, 2 * SECOND, 2 * SECOND, MS))

    figures = Digested(run, PLACES).figures
    counts, waits = figures.counts(timing).to_pylist(), figures.waits(timing).to_pylist()

    total = {name: sum(row["count"] for row in counts if row["series"] == name) for name in ("took", "due", "received")}
    assert total == {"took": 2000, "due": 2000, "received": 2000}
    assert {(row["topic"], row["partition"]) for row in waits} == set(PLACES)
    assert max(row["end_ns"] - row["begin_ns"] for row in waits if row["of"] == "load") < 100 * MS


def test_what_needs_a_history_says_that_there_is_none(run: Path) -> None:
    with pytest.raises(BadInput, match="recorded with `record: latency`; run it without"):
        require_history(run)
