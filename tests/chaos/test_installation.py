"""chaoskit as pip installs it, from a wheel and from a source distribution, away from the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.long]

ROOT = Path(__file__).parents[2]


def _run(*argv: object, folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, argv)), cwd=folder, env=environment, text=True, capture_output=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(params=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The `bin` of a fresh virtual environment; it borrows the packages that chaoskit depends on from this one."""
    dist, venv = tmp_path / "dist", tmp_path / "venv"
    _run(sys.executable, "-m", "hatchling", "build", "-t", request.param, "-d", dist, folder=ROOT)
    _run(sys.executable, "-m", "venv", venv, folder=tmp_path)
    own = next(venv.glob("lib/python*/site-packages"))
    (own / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (built,) = dist.iterdir()
    argv = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", built]
    _run(venv / "bin" / "python", "-m", "pip", *argv, folder=tmp_path)
    return venv / "bin"


def test_an_installed_chaoskit_has_its_scenarios_and_runs_them(installed: Path, tmp_path: Path) -> None:
    assert "kafka/power-all" in _run(installed / "chaoskit", "list", "--scenarios", folder=tmp_path)

    printed = _run(installed / "chaoskit", "run", "kafka/power-all:flush-each", "--json", folder=tmp_path)

    verdict = json.loads(printed)
    assert verdict["verdict"] == "valid"
    assert verdict["counts"]["acked"] > 1000
    assert list(tmp_path.glob("chaos-store/*/*/report.html"))
