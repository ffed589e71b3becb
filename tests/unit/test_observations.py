"""What a checker reads of the observations, a workload of that model writes: otherwise a finding is never found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaoskit.history.schema import KINDS

ROOT = Path(__file__).parents[2]
READERS = {
    "queue": ["queue_view", "queue_activity", "queue_limits", "queue_times", "queue_course", "dead_letters", "queues"],
    "subscription": ["subscriptions", "deliveries"],
    "log": ["groups", "membership", "view", "stuck"],
    "ledger": ["ledgers", "standings", "fencing"],
}
"""By workload, the modules that judge what it records."""

BESIDE = {"ledger": ["log"], "subscription": ["log"]}
"""Workloads whose code a workload uses."""


def words(paths: list[Path]) -> set[str]:
    """Return the kinds that stand in some files; `f"{how}ed"` is every kind that ends so."""
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    found = {kind for kind in KINDS if re.search(rf'"{kind}"', text)}
    if '{how}ed"' in text:
        found |= {f"{how}ed" for how in ("ack", "nack", "reject") if f'"{how}"' in text}
    return found


@pytest.mark.parametrize("workload", READERS)
def test_every_observation_that_is_read_is_written(workload: str) -> None:
    read = words([ROOT / "checkers" / f"{name}.py" for name in READERS[workload]])
    folders = [workload, *BESIDE.get(workload, [])]
    written = words([path for name in folders for path in (ROOT / "workloads" / name).glob("*.py")])

    assert read
    assert read - written == set()


def test_every_kind_is_read_by_somebody() -> None:
    read = words([path for folder in ("checkers", "chaoskit/judge") for path in (ROOT / folder).rglob("*.py")])

    assert set(KINDS) - read == {"cancelled"}, "a cancelled consumer is told for people"
