"""For all tests: pytest's own plugin that runs pytest, a machine without leftovers, which tests run at once, and how
many examples Hypothesis tries: few and always the same ones, or (`make nightly`) thousands of new ones, whose failures
are kept and tried first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import private
import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from chaoskit.base import state
from chaoskit.run.heal import heal

pytest_plugins = ["pytester"]

_KEPT = DirectoryBasedExampleDatabase(state.cache_folder() / "hypothesis")

settings.register_profile("fast", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=5000, deadline=None, database=_KEPT)
settings.load_profile("fast")


_TOGETHER = {
    "clusters": "tests/chaos/",
    "harness": "tests/chaos/test_harness.py",
    "spark": "tests/unit/spark/",
}
"""Tests that one process runs, one after the other, by the beginning of their ids; the last that fits counts. They wait
for brokers most of the time, or share one JVM. Of all others, each file is run by one process."""

_FIRST = (
    "test_scenarios", "test_harness", "test_spark_check", "test_stranger", "test_mutants", "test_known_settings",
    "test_network_packets", "test_metamorphic", "test_disk_faults", "test_deadman",
)  # fmt: skip
"""Files that take longest. Distributed last, one of them would keep one process busy while the others have ended."""


class _Together(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Distributes what runs together to one process."""

    def _split_scope(self, nodeid: str) -> str:
        fitting = [name for name, beginning in _TOGETHER.items() if nodeid.startswith(beginning)]
        return fitting[-1] if fitting else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """With `--dist loadfile`, distribute tests by file, or by what they share."""
    return _Together(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest files where files are distributed."""
    if hasattr(config, "workerinput"):
        places = {name: place for place, name in enumerate(_FIRST)}
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
