"""State folders of tests that compare the machine, or kill a harness: nobody else heals what is in them."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from chaoskit.base.state import state_folder
from chaoskit.run.heal import heal

USUAL = state_folder()
FOLDER = "private"


@contextmanager
def state(patch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give this process, and those that it starts, a state folder that nobody else heals or looks into."""
    folder = USUAL / FOLDER / f"{os.getpid()}-{time.monotonic_ns()}"
    folder.mkdir(parents=True)
    patch.setenv("CHAOSKIT_STATE", str(folder))
    yield folder
    heal()
    shutil.rmtree(folder)


def heal_left(patch: pytest.MonkeyPatch) -> None:
    """Remove what tests that were killed left in their own state folders."""
    for folder in (USUAL / FOLDER).glob("*-*"):
        if not psutil.pid_exists(int(folder.name.partition("-")[0])):
            patch.setenv("CHAOSKIT_STATE", str(folder))
            heal()
            shutil.rmtree(folder, ignore_errors=True)
