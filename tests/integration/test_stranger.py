"""A plug-in of a stranger, all in one folder: a system, its clients, a workload, an anomaly. It passes the conformance
suites, and a run of it is judged, without a line of chaoskit that knows it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "stranger"


def test_a_stranger_passes_the_suites_and_runs_a_trial(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "chaos", "-p", "no:cacheprovider", "--rootdir", FOLDER,
         "--chaos-store", tmp_path, FOLDER / "suite.py"],
        env={**os.environ, "PYTHONPATH": str(FOLDER)}, cwd=FOLDER, text=True, capture_output=True, check=False,
        timeout=300,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_its_support_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from chaoskit.cli.main import main; main()", "systems", "tinyqueue"],
        env={**os.environ, "PYTHONPATH": str(FOLDER)}, text=True, capture_output=True, check=True,
    )  # fmt: skip

    assert "it has queues alone" in done.stdout
