"""Times of clients on other machines: they become those of the harness, as well as its clock and theirs are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from chaoskit.base.errors import RunFailed
from chaoskit.history.compacting.compact import compact
from chaoskit.history.compacting.drivers import Comparison, DriverLog, apart_ns
from chaoskit.history.format.origin import read_origin
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.payload import CORRUPT, OK

_MS = 1_000_000
_SECOND = 1000 * _MS


def _compared(run: Path, driver: str, ahead_ns: int, *, drift: float = 0.0, error_ns: int = 100_000) -> None:
    log, origin_ns = DriverLog(run / "wal"), read_origin(run / "wal")
    for second in range(11):
        at_ns = origin_ns + second * _SECOND
        comparison = Comparison(at_ns, ahead_ns + int(drift * second * _SECOND), error_ns, ahead_ns)
        log.compared(driver, comparison)


def test_times_become_those_of_the_harness(run: Path) -> None:
    origin_ns, log = read_origin(run / "wal"), DriverLog(run / "wal")
    ahead = {"producer-1": 3 * _SECOND, "consumer-0": -86_400 * _SECOND}
    for client, driver in (("producer-1", "d1"), ("consumer-0", "d2")):
        log.runs(client, driver)
        _compared(run, driver, ahead[client], drift=20e-6)
        log.gathered(driver)
    value = 1 << PRODUCER_SHIFT

    def shows(client: str, run_s: float) -> int:
        """What a client's clock shows at a time of the run."""
        return origin_ns + int(run_s * _SECOND) + ahead.get(client, 0) + int(20e-6 * run_s * _SECOND)

    with WalWriter(run / "wal", "producer-1", 0) as wal:
        due_ns, sent_ns = shows("producer-1", 5), shows("producer-1", 5.001)
        op = wal.send(wal.name("t"), 0, 0, value, due_ns, sent_ns)
        wal.complete(op, shows("producer-1", 5.002), 0, position=0)
    with WalWriter(run / "wal", "consumer-0", 1) as wal:
        op = wal.invoke(wal.name("poll"), shows("consumer-0", 5.003))
        wal.received(op, wal.name("t"), 0, 0, value, 0, due_ns, sent_ns, shows("consumer-0", 5.004), OK)
        wal.received(op, wal.name("t"), 0, 0, -1, 1, -1, -1, shows("consumer-0", 5.004), CORRUPT)
        wal.complete(op, shows("consumer-0", 5.005), 0)
    compact(run)

    history = History.open(run)
    operations, messages = history.operations, history.messages("t", 0)
    assert _ms(operations["start_ns"]) == pytest.approx([5001, 5003], abs=0.01)
    assert _ms(operations["end_ns"]) == pytest.approx([5002, 5005], abs=0.01)
    assert _ms(messages["intended_ns"][:2]) == pytest.approx([5000, 5000], abs=0.01)
    assert _ms(messages["sent_ns"][:2]) == pytest.approx([5001, 5001], abs=0.01)
    assert _ms(messages["received_ns"][1:]) == pytest.approx([5004, 5004], abs=0.01)
    assert messages["sent_ns"][2].as_py() == -1 - origin_ns, "what is unknown is not converted"
    first, second = history.drivers
    assert (first["driver"], first["clients"], first["ahead_s"], first["wall_ahead_s"]) == ("d1", ["producer-1"], 3, 3)
    assert second["ahead_s"] == -86_400
    assert 0.1 <= first["uncertainty_ms"] < 0.25


def test_slow_comparisons_do_not_count(run: Path) -> None:
    log = DriverLog(run / "wal")
    log.runs("producer-0", "d1")
    _compared(run, "d1", 0)
    log.compared("d1", Comparison(read_origin(run / "wal") + 11 * _SECOND, 40 * _MS, 50 * _MS, 0))
    log.gathered("d1")
    compact(run)

    (driver,) = History.open(run).drivers
    assert driver["uncertainty_ms"] < 0.5
    assert apart_ns([driver]) == 2 * driver["uncertainty_ms"] * _MS


def test_nothing_is_judged_before_the_logs_are_here(run: Path) -> None:
    log = DriverLog(run / "wal")
    log.runs("producer-0", "d1")
    _compared(run, "d1", 0)
    with (run / "wal" / "drivers.jsonl").open("a") as torn:
        torn.write('{"gathe')

    with pytest.raises(RunFailed, match=r"recorded on d1 is still there: `chaoskit heal` fetches it"):
        compact(run)
    assert not (run / "operations.parquet").exists()


def _ms(column: object) -> list[float]:
    return list(np.asarray(column, np.float64) / _MS)
