"""Sending and receiving in C does what the reference in Python does, record for record."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaoskit.history.format.record import HEADER_BYTES, RECORD_BYTES
from chaoskit.history.format.segment import HistoryFull
from chaoskit.history.recording import hot, lane, wal
from chaoskit.history.recording.recover import recover
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model import payload

_RUN = 2**63 + 5
_LANES = sorted({lane.Lane, hot.Lane}, key=lambda kind: kind.__module__)
_SMALL = HEADER_BYTES + 7 * RECORD_BYTES
"""Segments that are full after a few records."""


class _Broker:
    """Accepts messages, and tells of deliveries when it is polled."""

    def __init__(self, answers: list[tuple[Any, int | None]], full_every: int = 0) -> None:
        self.payloads: list[tuple[str, int, bytes | None, bytes]] = []
        self.reports: list[Any] = []
        self.slow: list[tuple[int, Any]] = []
        self.waited = 0
        self._answers = answers
        self._full_every = full_every

    def send(self, topic: str, partition: int, key: bytes | None, content: bytes, report: Any) -> bool:
        if self._full_every and len(self.payloads) % self._full_every == self.waited % 2:
            return False
        self.payloads.append((topic, partition, key, content))
        self.reports.append(report)
        return True

    def full(self) -> None:
        self.waited += 1
        self.poll()

    def poll(self) -> None:
        reports, self.reports = self.reports, []
        for report in reports:
            error, position = self._answers[report.op % len(self._answers)]
            report(error, _Told(position))

    def late(self, op: int, due_ns: int, error: Any, message: Any) -> None:
        assert due_ns > 0
        self.slow.append((op, error))


class _Told:
    def __init__(self, position: int | None) -> None:
        self._position = position

    def offset(self) -> int | None:
        return self._position


def _lane(kind: Any, log: WalWriter, late: Any, keys: list[bytes] | None = None) -> Any:
    names = [] if keys is None else keys

    def named(key: bytes) -> int:
        names.append(key)
        return log.name(key.decode())

    return kind(log, _RUN, late, log.name, named)


def _written(folder: Path) -> list[tuple[Any, ...]]:
    """Everything but the times."""
    (log,) = recover(folder)
    rows = np.concatenate(log.segments)
    fields = ("kind", "code", "partition", "name", "key", "op", "value", "position", "delivery")
    return [tuple(int(row[field]) for field in fields) for row in rows]


_ANSWERS = st.lists(
    st.tuples(st.sampled_from([None, None, "refused"]), st.sampled_from([0, 7, 2**40, -1, None])),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(
    answers=_ANSWERS,
    counts=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    size=st.sampled_from([40, 41, 47, 48, 100, 1000]),
    interval=st.sampled_from([0.0, 1e6 / 3]),
    full_every=st.sampled_from([0, 3]),
)
def test_bursts_are_recorded_alike(  # noqa: PLR0917 - hypothesis gives them
    tmp_path_factory: pytest.TempPathFactory,
    answers: list[tuple[Any, int | None]],
    counts: list[int],
    size: int,
    interval: float,
    full_every: int,
) -> None:
    records = []
    for kind in _LANES:
        folder, broker = tmp_path_factory.mktemp("wal"), _Broker(answers, full_every)
        with WalWriter(folder, "producer-0", 0, _SMALL) as log:
            made = _lane(kind, log, broker.late)
            routes = (("a", log.name("a"), 0, 0, None), ("b", log.name("b"), 5, log.name("k"), b"k"))
            sequence = 0
            for count in counts:
                filler = b"\7" * (size - payload.SIZE_MIN)
                made.burst(
                    broker.send, broker.full, routes, filler, 3 << 40, sequence, count, 10**12, 0, interval
                )  # fmt: skip
                sequence += count
                broker.poll()
            sent, acked, latencies = made.drain()
            assert made.drain() == (0, 0, b"")
        read = [payload.read(content, _RUN) for *_, content in broker.payloads]
        assert {code for code, *_ in read} <= {payload.OK}
        assert [value for _, value, *_ in read] == [(3 << 40) | number for number in range(sequence)]
        if interval:
            assert [due for _, _, due, _ in read] == [10**12 + int(number * interval) for number in range(sequence)]
        assert len(latencies) == 8 * acked
        places = [content[:3] for content in broker.payloads]
        records.append(
            (_written(folder), sent, acked, broker.slow, places, [len(content[3]) for content in broker.payloads])
        )
    assert records[0] == records[-1]


_CONTENTS = st.one_of(
    st.none(),
    st.binary(max_size=120),
    st.builds(
        lambda value, extra, run: payload.build(run, value, 5, 6, extra),
        st.integers(0, 2**62),
        st.binary(max_size=70),
        st.sampled_from([_RUN, 1]),
    ),
)


@settings(max_examples=60, deadline=None)
@given(
    contents=st.lists(st.tuples(_CONTENTS, st.sampled_from([None, b"k", b"\xc3\xa9"]), st.booleans()), max_size=12),
    damage=st.integers(0, 400),
)
def test_deliveries_are_recorded_alike(
    tmp_path_factory: pytest.TempPathFactory, contents: list[tuple[bytes | None, bytes | None, bool]], damage: int
) -> None:
    records = []
    for kind in _LANES:
        folder = tmp_path_factory.mktemp("wal")
        keys: list[bytes] = []
        deliveries = []
        for number, (content, key, again) in enumerate(contents):
            changed = content
            if content and number % 2:
                at = damage % len(content)
                changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
            deliveries.append(("t" if again else "u", number, key, changed, 2**40 + number, 3 if again else None))
        with WalWriter(folder, "consumer-0", 0, _SMALL) as log:
            made = _lane(kind, log, None, keys)
            values = made.deliveries(log.invoke(log.name("poll"), 1), deliveries, 10)
        records.append((_written(folder), values, keys))
    assert records[0] == records[-1]


@pytest.mark.parametrize("kind", _LANES)
def test_nothing_is_sent_that_cannot_be_recorded(tmp_path: Path, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = _Broker([(None, 1)])

    def no_space(*_: Any) -> None:
        raise HistoryFull("full")

    with WalWriter(tmp_path, "producer-0", 0, _SMALL) as log:
        made = _lane(kind, log, broker.late)
        monkeypatch.setattr(wal, "create", no_space)
        with pytest.raises(HistoryFull):
            made.burst(broker.send, broker.full, (("a", log.name("a"), 0, 0, None),), b"", 0, 0, 50, 0, 0, 0.0)
        broker.poll()

    written = _written(tmp_path)
    assert len(broker.payloads) == 7, "the first segment is full; the second is for completions"
    assert [row[0] for row in written] == [1] * 7 + [3] * 7


@pytest.mark.parametrize("kind", _LANES)
def test_errors_of_the_client_pass(tmp_path: Path, kind: Any) -> None:
    def broken(*_: Any) -> bool:
        raise OSError("broken")

    with WalWriter(tmp_path, "producer-0", 0) as log:
        made = _lane(kind, log, None)
        route = ("a", log.name("a"), 0, 0, None)
        with pytest.raises(OSError, match="broken"):
            made.burst(broken, None, (route,), b"", 0, 0, 1, 0, 0, 0.0)
        with pytest.raises((ValueError, TypeError)):
            made.burst(lambda *_: True, None, (("a", 1),), b"", 0, 0, 1, 0, 0, 0.0)
        with pytest.raises((ValueError, TypeError)):
            made.deliveries(0, [("t", 0, None)], 1)
    with pytest.raises((ValueError, TypeError)):
        made.burst(lambda *_: True, None, (route,), b"", 0, 0, 1, 0, 0, 0.0)


def test_a_lane_without_a_log_is_an_error() -> None:
    made = hot.Lane.__new__(hot.Lane)

    with pytest.raises((ValueError, AttributeError)):
        made.burst(lambda *_: True, lambda: False, (("a", 1, 0, 0, None),), b"", 0, 0, 1, 0, 0, 0.0)
    with pytest.raises((ValueError, AttributeError)):
        made.deliveries(0, [("t", 0, None, b"", 0, None)], 1)


def test_memory_is_freed(tmp_path: Path) -> None:
    """A lane that refers to itself, its reports and what they keep alive are collected."""

    def count() -> int:
        gc.collect()
        return sum(isinstance(content, WalWriter) for content in gc.get_objects())

    before = count()
    for number in range(20):
        broker = _Broker([(None, 1)])
        with WalWriter(tmp_path, f"producer-{number}", 0) as log:
            made = _lane(hot.Lane, log, broker.late)
            broker.made = made  # type: ignore[attr-defined]
            made.burst(broker.send, broker.full, (("a", log.name("a"), 0, 0, None),), b"", 0, 0, 100, 0, 0, 0.0)
            broker.poll()
        del broker, made, log
    assert count() == before


def test_the_reference_records_without_a_compiler() -> None:
    tests = [str(Path(__file__).with_name(name)) for name in ("test_lane.py", "test_wal.py", "test_recorder.py")]
    script = (
        "import sys; sys.modules['chaoskit.history.recording._hot'] = None; import pytest\n"
        f"status = pytest.main(['-q', '-p', 'no:cacheprovider', '-k', 'not compile', *{tests!r}])\n"
        "from chaoskit.history.recording import hot; sys.exit(status or hot.COMPILED)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_it_is_compiled_here() -> None:
    assert hot.COMPILED, "run `make setup`: it compiles chaoskit/history/recording/hot.c"
