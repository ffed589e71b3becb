"""What a checker reads of the observations, a workload of that model writes: otherwise a finding is never found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaoskit.model.observations.row import KINDS

ROOT = Path(__file__).parents[2]
READERS = {
    "queue": ["queue/*"],
    "subscription": ["subscription/subscriptions", "delivery/deliveries"],
    "log": ["subscription/groups", "delivery/membership", "arrays/view", "delivery/stuck"],
    "ledger": ["ledger/*"],
}
"""By workload, the modules that judge what it records."""


def words(paths: list[Path]) -> set[str]:
    """Return the kinds that stand in some files; `f"{how}ed"` is every kind that ends so."""
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    found = {kind for kind in KINDS if re.search(rf'"{kind}"', text)}
    if '{how}ed"' in text:
        found |= {f"{how}ed" for how in ("ack", "nack", "reject") if f'"{how}"' in text}
    return found


@pytest.mark.parametrize("workload", READERS)
def test_every_observation_that_is_read_is_written(workload: str) -> None:
    read = words([path for name in READERS[workload] for path in (ROOT / "checkers").glob(f"{name}.py")])
    folders = [ROOT / "workloads" / workload, ROOT / "chaoskit" / "load"]
    written = words([path for folder in folders for path in folder.glob("*.py")])

    assert read
    assert read - written == set()


def test_every_kind_is_read_by_somebody() -> None:
    read = words([path for folder in ("checkers", "chaoskit/judge") for path in (ROOT / folder).rglob("*.py")])

    assert set(KINDS) <= read
