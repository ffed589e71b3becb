"""What an object store has is recorded as the run goes on, and read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.history.compacting.tiers import Tiered, TierLog, read_tiers


def test_looks_are_read_as_they_were_recorded(tmp_path: Path) -> None:
    log = TierLog(tmp_path)
    assert read_tiers(tmp_path) == {}

    log.record(5, {})
    assert not list(tmp_path.iterdir()), "a system without an object store has no file"

    log.record(10, {("log-0", 0): 0, ("log-0", 1): 7})
    log.record(20, {("log-0", 1): 9})
    assert read_tiers(tmp_path) == {("log-0", 0): [Tiered(10, 0)], ("log-0", 1): [Tiered(10, 7), Tiered(20, 9)]}


def test_a_line_that_was_not_finished_is_skipped(tmp_path: Path) -> None:
    TierLog(tmp_path).record(10, {("log-0", 0): 3})
    path = tmp_path / "tiers.jsonl"
    path.write_bytes(path.read_bytes() + b'{"at_ns": 20, "topi')

    assert read_tiers(tmp_path) == {("log-0", 0): [Tiered(10, 3)]}


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "tiers.jsonl").write_bytes(b'{"at_ns": 20}\n')

    with pytest.raises(BadInput, match=r"tiers\.jsonl"):
        read_tiers(tmp_path)
