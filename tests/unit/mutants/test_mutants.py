"""Whatever a user gets wrong, and whatever happens to files: a result, or one clear error; no stack trace, no hang.

`make nightly` tries thousands of mutants with another seed each night.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType

import mutate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaoskit.base import plugins, yaml
from chaoskit.base.errors import BadInput
from chaoskit.cli.main import cli
from chaoskit.history.manifest import FILE
from chaoskit.judge.judging import check_run
from chaoskit.scenario.files import find, plan_all, ready_made

ROOT = Path(__file__).parents[3]
NOBODY = 65534
_LIMIT_S = 60
_ENDS = {0, 1, 2, 254}
"""The declared exit codes, but for that of a crash."""

seeds = st.integers(0, 2**32)


def _at_most(nightly: int) -> settings:
    """Return how many examples to try: as many as the profile says, but nightly only this many."""
    profile = settings()
    return settings(max_examples=nightly if profile.max_examples > nightly else profile.max_examples)


def _few(nightly: int) -> settings:
    """The same for tests that start processes: few in every run of the tests."""
    return settings(max_examples=nightly if settings().max_examples > nightly else 6)


@contextmanager
def _in_time() -> Iterator[None]:
    def too_long(_: int, __: FrameType | None) -> None:
        raise AssertionError(f"still not done after {_LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, _LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _check_told(error: BadInput, path: Path) -> None:
    said = str(error)
    assert said.strip()
    assert "Traceback" not in said
    assert path.name in said, "the error does not name the file"


@_at_most(1000)
@given(name=st.sampled_from(sorted(ready_made())), seed=seeds)
def test_a_scenario_with_mistakes_is_planned_or_refused(
    name: str, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    draw = Random(seed)
    path = tmp_path_factory.mktemp("scenario") / "mutant.yaml"
    content = yaml.dump(mutate.scenario(yaml.load(ready_made()[name].read_text()), draw)).encode()
    path.write_bytes(content if draw.random() < 0.8 else mutate.text(content, draw))

    with _in_time():
        try:
            plan_all(find(str(path)), seed=1)
        except BadInput as error:
            _check_told(error, path)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judged run with anomalies and faults."""
    folder = tmp_path_factory.mktemp("mutants") / "run" / "20260101T000000-aaaaaa"
    (folder / "wal").mkdir(parents=True)
    synthesizer = plugins.load("synthesizer", "log", "test")
    given = {"messages": 3_000, "faults": 2, "inject": {"lost-message": 2, "stall": 1}}
    synthesizer.write(synthesizer.parameters(given), "run", folder, lambda *_: None)
    check_run(folder)
    return folder


@pytest.fixture(scope="session")
def history(run: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The same history as Jepsen writes it."""
    path = tmp_path_factory.mktemp("edn") / "history.edn"
    cli.main(["export", "--jepsen", "--out", str(path), str(run)], standalone_mode=False)
    return path.read_bytes()[:60_000].rpartition(b"\n")[0]


@_few(300)
@given(seed=seeds)
def test_a_history_with_mistakes_is_judged_or_refused(
    seed: int, history: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("history")
    path = folder / "mutant.edn"
    path.write_bytes(mutate.text(history, Random(seed)))

    with _in_time():
        try:
            ended = cli.main(["check", str(path), "--json", "--store", str(folder / "store")], standalone_mode=False)
            assert ended in _ENDS
        except BadInput as error:
            _check_told(error, path)


_VERBS = ("check", "list", "report", "export")
_NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody, and mount a full disk")

_FULL_DISK = """
mount -t tmpfs -o size=8M none "$1" && cp -a "$2" "$1/run" && { dd if=/dev/zero of="$1/fill" bs=4k; } 2>/dev/null
shift 2; exec "$@"
"""
"""Copies a run to a file system of its own, which nobody else sees, fills that, and executes a command."""


def _copied(run: Path, store: Path, draw: Random) -> Path:
    folder = store / "run" / run.name
    shutil.copytree(run, folder)
    if draw.random() < 0.5:
        (folder / FILE).unlink()
    if draw.random() < 0.7:
        mutate.folder(folder, draw)
    return folder


def _ended(prefix: list[str], arguments: list[str], **environment: str) -> None:
    """Run the program; it must end by itself, with a declared exit code and without a stack trace."""
    program = [sys.executable, "-c", "from chaoskit.cli.main import main; main()"]
    done = subprocess.run(
        [*prefix, *program, *arguments],
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", **environment},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=2 * _LIMIT_S,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in _ENDS, (done.returncode, done.stderr)
    assert done.returncode != BadInput.exit_code or done.stderr.strip()


def _arguments(draw: Random, folder: Path) -> list[str]:
    verb = draw.choice(_VERBS)
    return [verb, "--store", str(folder.parents[1])] if verb == "list" else [verb, str(folder)]


@_NEEDS_ROOT
@_few(100)
@given(seed=seeds)
def test_a_damaged_store_as_another_user(seed: int, run: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    draw = Random(seed)
    store = tmp_path_factory.mktemp("store")
    folder = _copied(run, store, draw)
    for each in (store, store.parent, store.parent.parent):
        each.chmod(each.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    entries = [each for each in folder.rglob("*") if not each.is_symlink()]
    for each in draw.sample(entries, draw.randint(0, 3)):
        each.chmod(draw.choice((0o000, 0o400, 0o600, 0o700)))

    _ended(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"], _arguments(draw, folder))


@_NEEDS_ROOT
@_few(100)
@given(seed=seeds)
def test_a_damaged_store_on_a_full_disk(seed: int, run: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    draw = Random(seed)
    folder = _copied(run, tmp_path_factory.mktemp("store"), draw)
    disk = tmp_path_factory.mktemp("disk")

    _ended(
        ["unshare", "--mount", "bash", "-c", _FULL_DISK, "full", str(disk), str(folder)],
        _arguments(draw, disk / "run"),
    )


@_few(100)
@given(seed=seeds)
def test_a_damaged_store_without_any_tool(seed: int, run: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    draw = Random(seed)
    folder = _copied(run, tmp_path_factory.mktemp("store"), draw)
    arguments = draw.choice((_arguments(draw, folder), ["analyze", str(folder.parents[1])], ["systems"], ["nemeses"]))

    _ended([], arguments, PATH="/nonexistent", JAVA_HOME="")
