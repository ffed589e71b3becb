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
    assert "kafka/power-all" in _run(installed / "chaoskit", "scenarios", folder=tmp_path)

    printed = _run(installed / "chaoskit", "run", "kafka/power-all:flush-each", "--json", folder=tmp_path)

    verdict = json.loads(printed)
    assert verdict["verdict"] == "valid"
    assert verdict["counts"]["acked"] > 1000
    assert list(tmp_path.glob("chaos-store/*/*/report.html"))


_QUICK = {"mosquitto": "quiet:wildcard", "zenoh": "quiet:block", "cyclonedds": "quiet:reliable"}
"""Scenarios that start no JVM and download nothing, by the extra that they need."""

_DRY = {
    "kafka": "power-all:flush-each",
    "pulsar": "power-all:journal-sync",
    "bookkeeper": "kill:all-journal",
    "rabbitmq": "power-all:quorum",
    "rocketmq": "kill-master:sync",
    **_QUICK,
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", dist, folder=ROOT)
    return next(dist.glob("*.whl"))


@pytest.mark.parametrize("extra", _DRY)
def test_an_extra_alone_has_all_that_its_system_needs(wheel: Path, extra: str, tmp_path: Path) -> None:
    """In an environment that has nothing else, from the machine's index of packages."""
    venv = tmp_path / "venv"
    _run(sys.executable, "-m", "venv", venv, folder=tmp_path)
    _run(venv / "bin" / "python", "-m", "pip", "install", "--quiet", f"{wheel}[{extra}]", folder=tmp_path)
    scenario = f"{extra}/{_DRY[extra]}"

    output = _run(venv / "bin" / "chaoskit", "run", scenario, "--dry-run", folder=tmp_path)
    assert f"cluster: {extra} " in output

    if extra in _QUICK:
        verdict = json.loads(_run(venv / "bin" / "chaoskit", "run", scenario, "--json", folder=tmp_path))
        assert verdict["verdict"] == "valid"


def test_tests_run_with_the_extras_of_their_system_and_of_pytest_alone(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    _run(sys.executable, "-m", "venv", venv, folder=tmp_path)
    _run(venv / "bin" / "python", "-m", "pip", "install", "--quiet", f"{wheel}[mosquitto,pytest]", folder=tmp_path)
    (tmp_path / "test_mine.py").write_text(
        "import pytest\n\n\n@pytest.mark.chaos\ndef test_nothing_is_lost(chaos):\n"
        "    chaos(cluster={'system': 'mosquitto', 'hosts': 1}, workload={'kind': 'feed', 'duration': '3s'})"
        ".assert_valid()\n"
    )

    assert "1 passed" in _run(venv / "bin" / "python", "-m", "pytest", "-m", "chaos", folder=tmp_path)
