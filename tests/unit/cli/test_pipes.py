"""What is written to stdout or --out: readers that leave early, full disks, devices, links."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-c", "from chaoskit.cli.main import main; main()"]
BAD_INPUT = 254


def chaoskit(*arguments: str, stdout: int) -> tuple[int, str]:
    """Run the program with this stdout; return its exit code and what it said on stderr."""
    done = subprocess.run(
        [*PROGRAM, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=300, check=False
    )
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run folder of an invalid run."""
    store = str(tmp_path_factory.mktemp("store"))
    made = ["synthesize", "--store", store, "--messages", "4k", "--inject", "lost-tail=1"]
    return subprocess.run([*PROGRAM, *made], capture_output=True, text=True, timeout=300, check=True).stdout.strip()


@pytest.mark.parametrize(("verb", "code"), [("check", 1), ("export", 0)])
def test_a_reader_that_leaves_early_is_no_failure(run: str, verb: str, code: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert chaoskit(verb, run, stdout=writing) == (code, "")
    finally:
        os.close(writing)


@pytest.mark.parametrize("verb", ["check", "export"])
def test_a_full_disk_is_told(run: str, verb: str) -> None:
    with Path("/dev/full").open("w") as full:
        code, said = chaoskit(verb, run, stdout=full.fileno())

    assert code == BAD_INPUT
    assert said == "error: stdout: cannot be written: No space left on device\n"


def test_an_export_replaces_files_and_nothing_else(run: str, tmp_path: Path) -> None:
    fifo, link, file = tmp_path / "fifo", tmp_path / "link", tmp_path / "file"
    os.mkfifo(fifo)
    link.symlink_to(file)
    file.write_text("old")
    with (tmp_path / "read").open("wb") as read, subprocess.Popen(["cat", str(fifo)], stdout=read):
        assert chaoskit("export", run, "--out", str(fifo), stdout=subprocess.DEVNULL)[0] == 0
    streamed = (tmp_path / "read").read_bytes()

    assert chaoskit("export", run, "--out", str(link), stdout=subprocess.DEVNULL)[0] == 0

    assert fifo.is_fifo()
    assert link.is_symlink()
    assert file.read_bytes() == streamed
    assert streamed.startswith(b"{:index 0,")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "file", "link", "read"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mode", "transactions", "--messages", "7"], "--messages: not applicable in mode transactions"),
        (["--transactions", "7"], "--transactions: not applicable in mode log; use --messages"),
        (["--messages", "many"], "--messages: 'many' is not a number"),
        (["--name", "a\nb"], "printable"),
    ],
)
def test_what_synthesize_refuses(tmp_path: Path, options: list[str], said: str) -> None:
    code, error = chaoskit("synthesize", "--store", str(tmp_path), *options, stdout=subprocess.DEVNULL)

    assert code == BAD_INPUT
    assert said in error
    assert list(tmp_path.iterdir()) == []
