"""A dead man's switch of a lab: what a harness made is removed a while after the harness has gone without a word.

A shell waits for the lock of the harness's journal, which it has for as long as it lives. Nothing but the shell runs
until then. It tries several times: what is healed may not answer yet, and somebody else may look at the journal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from chaoskit.base.journal import Journal

GRACE_S = 60
"""How long after the end of the harness its lab is left as it is, for who looks at it or heals it."""

_NAME = "warden"
"""Name of the shell in its command line."""

_WAIT = """
exec 9< "$1" || exit
flock 9
exec 9<&-
left=$2 tries=6
while [ -e "$1" ] && [ "$tries" -gt 0 ]; do
    if [ "$left" -le 0 ]; then
        "$3" -m chaoskit.run.heal "$1"
        tries=$((tries - 1)) left=10
    fi
    left=$((left - 1))
    sleep 1
done
"""


_WATCHING: list[Warden] = []
"""Those whose shells are not waited for: one that is forgotten would be complained about."""


class Warden:
    """Watches over one journal until that is closed, which deletes it.

    Args:
        journal: path of the locked journal.
        grace_s: see `GRACE_S`.
    """

    def __init__(self, journal: Path, grace_s: int = GRACE_S) -> None:
        # The name alone: the folder in a command line would make it one of the lab's own processes.
        command = ["sh", "-c", _WAIT, _NAME, journal.name, str(grace_s), sys.executable]
        nothing = subprocess.DEVNULL
        self._shell = subprocess.Popen(
            command, cwd=journal.parent, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
        _WATCHING.append(self)

    def wait(self) -> None:
        """Wait until it has seen that its journal was closed."""
        self._shell.wait()
        _WATCHING.remove(self)


@contextmanager
def watched(name: str) -> Iterator[Journal]:
    """Give a watched journal. Who does not close it leaves it to heal, at the end of the block."""
    with Journal(name) as journal:
        warden = Warden(journal.path)
        yield journal
    if not journal.path.exists():
        warden.wait()


def dismiss(journal: Path) -> None:
    """End the shell that waits to heal a journal, of whatever harness, with its `sleep`."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if words[:1] == ["sh"] and _NAME in words and journal.name in words:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
