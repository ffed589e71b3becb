"""A run folder whose clients can be written and compacted."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskit.contract.workloads.datamodel import LEDGER, LOG
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder that has just begun."""
    (tmp_path / "wal").mkdir()
    write_origin(tmp_path / "wal")
    write_topics(tmp_path / "wal", {"t": LOG.name, "ledger": LEDGER.name})
    return tmp_path
