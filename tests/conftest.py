"""For all tests: pytest's own plugin that runs pytest, a machine without leftovers, and how many examples Hypothesis
tries: few and always the same ones, or (`make nightly`) thousands of new ones, whose failures are kept and tried first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import private
import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

from chaoskit.base import state
from chaoskit.run.heal import heal

pytest_plugins = ["pytester"]

_KEPT = DirectoryBasedExampleDatabase(state.cache_folder() / "hypothesis")

settings.register_profile("fast", max_examples=40, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=5000, deadline=None, database=_KEPT)
settings.load_profile("fast")


_LONGEST = (
    "test_spark_check", "test_stranger", "test_mutants", "test_spark_analyze", "test_known_settings",
    "test_network_packets", "test_metamorphic", "test_disk_faults", "test_deadman", "test_spark_source",
)  # fmt: skip
"""Files that take longest. Distributed last, one of them would keep one process busy while the others have ended."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest files where files are distributed."""
    if hasattr(config, "workerinput"):
        places = {name: place for place, name in enumerate(_LONGEST)}
        items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@pytest.fixture(scope="session", autouse=True)
def _healed() -> None:
    """Tests that need room on the machine must not find what a killed run left."""
    if os.geteuid() == 0:
        heal()
        with pytest.MonkeyPatch.context() as patch:
            private.heal_left(patch)


@pytest.fixture
def own_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder that only this test and what it starts use; see `private`."""
    with private.state(monkeypatch) as folder:
        yield folder
