"""Ctrl-C, SIGTERM and a closed terminal end a program that has something to remove."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dispositions import DEFAULT_SIGNALS, default_signals

from chaoskit.base.ending import SIGNALS
from chaoskit.base.journal import Journal

_PROGRAM = """
import sys, time
from pathlib import Path
from chaoskit.base.journal import Journal
journal = Journal("held")
try:
    print("begun", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    print("this goes to a terminal that may be gone", flush=True)
    journal.close()
    Path(sys.argv[1]).write_text("removed")
"""


@pytest.fixture(autouse=True)
def _not_ignored() -> Iterator[None]:
    """The tests may run in the background, or under nohup."""
    with default_signals():
        yield


@pytest.mark.usefixtures("own_state")
def test_a_closed_terminal_ends_it_as_ctrl_c_does(tmp_path: Path) -> None:
    mine, its = pty.openpty()
    program = subprocess.Popen(
        ["setsid", "--ctty", *DEFAULT_SIGNALS, sys.executable, "-c", _PROGRAM, tmp_path / "told"],
        stdin=its,
        stdout=its,
        stderr=its,
    )
    os.close(its)
    assert os.read(mine, 100).startswith(b"begun")
    os.close(mine)

    assert program.wait(60) == 0
    assert (tmp_path / "told").read_text() == "removed"


@pytest.mark.usefixtures("own_state")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_each_signal_interrupts_while_a_journal_is_open(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    journal = Journal("open")
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    journal.release()
    journal.release()

    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("own_state")
def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        journal = Journal("open")
        signal.raise_signal(signal.SIGHUP)
        journal.close()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
