"""A missing part of a run's record is an error or a doubt, and never makes the verdict kinder."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from runs import StoryRun

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.history.compacting.finish import finish
from chaoskit.history.recording.wal import WalWriter
from chaoskit.judge.verdict.check import check_run

LOAD = {"kind": "log", "producers": 1, "consumers": 1, "rate": 10, "duration": "10s"}


def _run(folder: Path, *, faults: bool = True) -> Path:
    """Return the folder of a run that kept everything, of which nothing was made yet."""
    run = StoryRun(folder, LOAD)
    run.led("n1")
    if faults:
        run.fault("kill", ("n3",), 2, 4)
    for value in range(100):
        run.send("producer-0", value, value / 10, value)
    run.poll("consumer-0", 10, [(value, value) for value in range(100)])
    run.read_back(12, {value: value for value in range(100)})
    run.ended(10, 10)
    return run.folder


def test_a_whole_record_is_valid(tmp_path: Path) -> None:
    verdict = check_run(_run(tmp_path))

    assert (verdict.verdict, verdict.reasons) == ("valid", ())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("faults.jsonl", "faults.jsonl is missing: without it the faults are unknown"),
        ("producer-0-0.wal", "producer-0-0.wal is missing, though producer-0.names has the names"),
        ("producer-0.names", "producer-0.names is missing: the topics in its logs are unknown"),
    ],
)
def test_what_no_crash_leaves_is_an_error_that_names_the_file(name: str, words: str, tmp_path: Path) -> None:
    folder = _run(tmp_path)
    (folder / "wal" / name).unlink()

    with pytest.raises(BadInput, match=f"{re.escape(words)}.*(Restore|run the scenario again)"):
        check_run(folder)


def test_faults_that_nobody_can_read_back_are_a_doubt(tmp_path: Path) -> None:
    folder = _run(tmp_path)
    with (folder / "wal" / "faults.jsonl").open("ab") as log:
        log.write(b'{"fault": 1, "kind"')

    verdict = check_run(folder)

    assert verdict.verdict == "unknown"
    assert verdict.reasons == ("the last line of faults.jsonl is torn: the last fault is unknown",)
    assert verdict.headline.startswith("UNKNOWN: the last line of faults.jsonl is torn")


@pytest.mark.parametrize(("faults", "expected"), [(True, "unknown"), (False, "valid")])
@pytest.mark.parametrize("compacted", [False, True])
def test_placements_that_are_missing_are_a_doubt_if_a_fault_may_have_moved_them(
    tmp_path: Path, *, faults: bool, expected: str, compacted: bool
) -> None:
    folder = _run(tmp_path, faults=faults)
    if compacted:
        finish(folder)
        (folder / "manifest.json").unlink()
    (folder / ("placements.parquet" if compacted else "wal/placements.jsonl")).unlink()

    verdict = check_run(folder)

    assert verdict.verdict == expected
    assert all("is missing: leaders and replicas under the faults are unknown" in reason for reason in verdict.reasons)


def test_messages_that_are_missing_are_an_error(tmp_path: Path) -> None:
    folder = _run(tmp_path)
    finish(folder)
    (folder / "manifest.json").unlink()
    (path,) = (folder / "messages.parquet").iterdir()
    table = pq.read_table(path)
    pq.write_table(table.filter(pq.read_table(path)["direction"].cast("string").to_numpy() != "sent"), path)

    with pytest.raises(BadInput, match=r"messages.parquet has the messages of 0 of 100 sends. Restore it"):
        check_run(folder)


def test_a_run_that_ended_before_its_load_is_unknown(tmp_path: Path) -> None:
    folder = _run(tmp_path)
    for name in ("wal/faults.jsonl", "wal/placements.jsonl", store.RECOVERY):
        (folder / name).unlink()

    verdict = check_run(folder)

    assert verdict.verdict == "unknown"
    assert "faults.jsonl is missing: the faults are unknown" in verdict.reasons
    assert "the run ended before the cluster's recovery was observed" in verdict.reasons


def test_a_client_that_died_before_it_recorded_anything_is_not_missed(tmp_path: Path) -> None:
    folder = _run(tmp_path)
    WalWriter(folder / "wal", "consumer-9", 9).close()
    for path in (folder / "wal").glob("consumer-9-*.wal"):
        path.unlink()

    assert check_run(folder).verdict == "valid"
