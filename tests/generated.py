"""Runs of a simulated system, for tests that need any run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaoskit.base import plugins


def generated(folder: Path, **given: Any) -> Path:
    """Write the folder STORE/SCENARIO/RUN of a run that is not judged yet; return it."""
    (folder / "wal").mkdir(parents=True)
    synthesizer = plugins.load("synthesizer", "log", "test")
    synthesizer.write(synthesizer.parameters(given), folder.parent.name, folder, lambda *_: None)
    return folder
