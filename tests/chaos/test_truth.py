"""Whether latencies are true: what a broker is known to have taken shows in the record, in full and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from chaoskit.history.reading.reader import History

pytestmark = [pytest.mark.chaos, pytest.mark.long]

MS, SECOND = 1e6, 10**9
RATE = 100
"""With 20 ms of delay two requests are in flight: fewer than the five that one connection may have, so none waits."""


def _measured(run: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return when each send of the load was due, ns, and how long after that it was acknowledged, ms."""
    history = History.open(run.folder)
    (partition,) = history.partitions
    table = history.messages(partition.topic, partition.partition)
    sent = table.filter(pc.equal(table["direction"].cast(pa.string()), "sent"))
    operations = history.operations.take(sent["op"])
    own = np.asarray(pc.equal(operations["client"].cast(pa.string()), "producer-0"))
    own &= sent["intended_ns"].to_numpy() >= run.verdict.load_start_s * SECOND
    due_ns = sent["intended_ns"].to_numpy()[own]
    return due_ns, (operations["end_ns"].to_numpy()[own] - due_ns) / MS


def _run(chaos: Any, fault: dict[str, Any]) -> Any:
    load = {"kind": "log", "rate": RATE, "duration": "12s", "consumers": 0, "producer": {"linger.ms": 0}}
    run = chaos(cluster={"system": "kafka", "hosts": 1}, workload=load, faults=[fault])
    run.assert_valid()
    return run


def test_a_delay_of_the_network_shows_as_long_as_it_is(chaos: Any) -> None:
    run = _run(chaos, {"at": "4s", "inject": "packet-delay", "on": "n1", "delay": "20ms", "for": "6s"})

    due_ns, took_ms = _measured(run)
    (fault,) = run.verdict.faults
    load_ns = run.verdict.load_start_s * SECOND
    before = took_ms[(due_ns > load_ns + SECOND) & (due_ns < fault["at_ms"] * MS - SECOND // 10)]
    during = took_ms[(due_ns > fault["at_ms"] * MS + SECOND) & (due_ns < fault["undone_at_ms"] * MS - SECOND // 2)]
    assert before.size > RATE
    assert during.size > 3 * RATE
    added = {level: np.percentile(during, level) - np.percentile(before, level) for level in (10, 25, 50, 75)}
    assert all(value == pytest.approx(20, abs=1.5) for value in added.values()), added
    assert during.min() >= 20, "nothing can be faster than the network"


def test_a_pause_is_seen_by_every_message_that_was_due(chaos: Any) -> None:
    run = _run(chaos, {"at": "5s", "inject": "pause", "on": "n1", "for": "2s"})

    due_ns, took_ms = _measured(run)
    longest = float(took_ms.max())
    (fault,) = History.open(run.folder).faults.to_pylist()
    # The processes stopped between the beginning of the injection and its proof, and went on while it was healed.
    held_ns = fault["heal_ns"] - fault["effective_ns"]
    assert held_ns >= SECOND
    assert held_ns <= longest * MS <= fault["healed_ns"] - fault["start_ns"] + SECOND // 20
    paused_from_ns = due_ns[int(np.argmax(took_ms))]
    after = (due_ns >= paused_from_ns) & (due_ns < paused_from_ns + longest * MS)
    expected = longest - (due_ns[after] - paused_from_ns) / MS
    assert after.sum() == pytest.approx(RATE * longest / 1000, abs=2), "sends went on being due"
    # Each waited until the end of the pause, not only the one that was being sent when it began.
    assert np.percentile(np.abs(took_ms[after] - expected), 90) < 50
