"""Whatever a user gets wrong, and whatever happens to files: a result, or one clear error; no stack trace, no hang.

`make nightly` tries thousands of mutants with another seed each night.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType

import mutate
import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from nobody import BECOME, chaoskit, needs_root, open_folder, skip_unless_reachable
from profiles import examples

from chaoskit.base import yaml
from chaoskit.base.errors import BadInput
from chaoskit.cli.main import cli
from chaoskit.history.compacting.manifest import FILE
from chaoskit.judge.verdict.check import check_run
from chaoskit.scenario.files import find, plan_all, ready_made

_LIMIT_S = 60
_ENDS = {0, 1, 2, 254}
"""The declared exit codes, but for that of a crash."""

seeds = st.integers(0, 2**32)


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


@examples(fast=40, nightly=1000)
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
    generated(folder, messages=3_000, faults=2, inject={"lost-message": 2, "stall": 1})
    check_run(folder)
    return folder


@pytest.fixture(scope="session")
def history(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the beginning of the same history, as Jepsen writes it."""
    path = tmp_path_factory.mktemp("edn") / "history.edn"
    cli.main(["export", "--jepsen", "--out", str(path), str(run)], standalone_mode=False)
    path.write_bytes(path.read_bytes()[:60_000].rpartition(b"\n")[0])
    return path


@examples(fast=6, nightly=300)
@given(seed=seeds)
def test_a_history_with_mistakes_is_judged_or_refused(
    seed: int, history: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("history")
    path = folder / "mutant.edn"
    path.write_bytes(mutate.text(history.read_bytes(), Random(seed)))

    with _in_time():
        try:
            ended = cli.main(["check", str(path), "--json", "--store", str(folder / "store")], standalone_mode=False)
            assert ended in _ENDS
        except BadInput as error:
            _check_told(error, path)


_VERBS = ("check", "list", "report", "export")

_FULL_DISK = """
mount -t tmpfs -o size=8M none "$1" && cp -a "$2" "$1/run" || exit 99
dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null && exit 99
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


def _check_ended(done: subprocess.CompletedProcess[str]) -> None:
    """The program ended with a declared exit code and without a stack trace."""
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in _ENDS, (done.returncode, done.stderr)
    assert done.returncode != BadInput.exit_code or done.stderr.strip()


def _arguments(draw: Random, folder: Path) -> list[str]:
    verb = draw.choice(_VERBS)
    return [verb, "--store", str(folder.parents[1])] if verb == "list" else [verb, str(folder)]


@pytest.fixture(scope="session")
def _reachable() -> None:
    skip_unless_reachable()


@needs_root
@pytest.mark.usefixtures("_reachable")
@examples(fast=3, nightly=100)
@given(seed=seeds)
def test_a_damaged_store_as_another_user(seed: int, run: Path) -> None:
    draw = Random(seed)
    with open_folder() as store:
        folder = _copied(run, store, draw)
        entries = [path for path in folder.rglob("*") if not path.is_symlink()]
        for entry in draw.sample(entries, draw.randint(0, 3)):
            entry.chmod(draw.choice((0o000, 0o400, 0o600, 0o700)))

        _check_ended(chaoskit(BECOME, *_arguments(draw, folder)))


@needs_root
@examples(fast=3, nightly=100)
@given(seed=seeds)
def test_a_damaged_store_on_a_full_disk(seed: int, run: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    draw = Random(seed)
    folder = _copied(run, tmp_path_factory.mktemp("store"), draw)
    disk = tmp_path_factory.mktemp("disk")

    full = ["unshare", "--mount", "bash", "-c", _FULL_DISK, "full", str(disk), str(folder)]
    _check_ended(chaoskit(full, *_arguments(draw, disk / "run")))


@examples(fast=3, nightly=100)
@given(seed=seeds)
def test_a_damaged_store_without_any_tool(seed: int, run: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    draw = Random(seed)
    folder = _copied(run, tmp_path_factory.mktemp("store"), draw)
    arguments = draw.choice((_arguments(draw, folder), ["analyze", str(folder.parents[1])], ["systems"], ["nemeses"]))

    _check_ended(chaoskit([], *arguments, PATH="/nonexistent", JAVA_HOME=""))
