"""What a harness that was killed left is removed after a while; what it closed, and what it kept, is not."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaoskit.base.journal import Journal
from chaoskit.run.warden import Warden, watched

_HARNESS = """
import sys, time
from chaoskit.base.journal import Journal
from chaoskit.run.warden import Warden
journal = Journal("killed")
journal.record("process", mark="nobody-has-this-mark")
Warden(journal.path, grace_s=1)
print(journal.path, flush=True)
time.sleep(600)
"""


@pytest.mark.usefixtures("own_state")
def test_what_a_killed_harness_left_is_removed() -> None:
    with subprocess.Popen([sys.executable, "-c", _HARNESS], stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        journal = Path(harness.stdout.readline().strip())
        time.sleep(2.5)
        assert journal.exists(), "its harness lives"
        harness.kill()
    deadline = time.monotonic() + 60
    while journal.exists() and time.monotonic() < deadline:
        time.sleep(0.1)

    assert not journal.exists()


@pytest.mark.usefixtures("own_state")
def test_it_ends_with_its_journal() -> None:
    journal = Journal("closed")
    warden = Warden(journal.path, grace_s=600)
    journal.close()

    warden.wait()
    assert not journal.path.exists(), "waiting for its lock did not make it again"


@pytest.mark.usefixtures("own_state")
def test_an_error_leaves_the_journal_to_heal() -> None:
    with pytest.raises(ValueError, match="nothing works"), watched("left") as journal:
        raise ValueError("nothing works")

    assert journal.path.exists()
