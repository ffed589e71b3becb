"""Plug-ins of strangers, each all in one folder. They pass the conformance suites, and runs of them are judged, without
a line of chaoskit that knows them: a queue with a workload and an anomaly of its own, a log, a mesh without servers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STRANGERS = Path(__file__).parent / "stranger"


def _run(folder: Path, *argv: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, argv)],
        env={**os.environ, "PYTHONPATH": str(folder)}, cwd=folder, text=True, capture_output=True, check=False,
        timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


_LONG = [pytest.mark.chaos, pytest.mark.long]
"""`make chaos` runs these; each takes one or two minutes."""


@pytest.mark.parametrize(
    ("name", "chosen", "tests"),
    [
        pytest.param("tinyqueue", "test", 6, marks=_LONG),
        pytest.param("tinylog", "test", 5, marks=_LONG),
        pytest.param("tinymesh", "test", 7, marks=_LONG),
        ("tinymesh", "test_the_system_is_whole[settings0] or test_what_is_sent_into_a_cut", 3),
    ],
)
def test_a_stranger_passes_its_suite(name: str, chosen: str, tests: int, tmp_path: Path) -> None:
    folder = STRANGERS / name
    output = _run(
        folder, "-m", "pytest", "-m", "chaos", "-k", chosen, "-p", "no:cacheprovider", "--rootdir", folder,
        "--chaos-store", tmp_path, folder / "suite.py",
    )  # fmt: skip

    assert f"{tests} passed" in output


@pytest.mark.parametrize(
    ("name", "workload", "power"),
    [
        ("tinyqueue", "tinyqueue", "Installation"),
        ("tinylog", "log", "LogClients"),
        ("tinymesh", "feed", "FeedClients"),
    ],
)
def test_its_support_is_told(name: str, workload: str, power: str) -> None:
    output = _run(STRANGERS / name, "-c", "from chaoskit.cli.main import main; main()", "systems", name)

    (runs,) = (line for line in output.splitlines() if line.startswith("workloads: "))
    assert workload in runs.removeprefix("workloads: ").split(", ")
    (row,) = (line for line in output.splitlines() if line.startswith(power))
    assert row.rstrip().endswith("yes")
