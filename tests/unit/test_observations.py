"""What a checker reads of the observations, a workload writes, and the other way round: otherwise a finding is never
found."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

from chaoskit.model import observations
from chaoskit.model.observations.row import KINDS

ROOT = Path(__file__).parents[2]
MODULES = [
    importlib.import_module(f"{observations.__name__}.{module.name}")
    for module in pkgutil.iter_modules(observations.__path__)
    if module.name != "row"
]


def imported(*folders: str) -> set[str]:
    """Return the names of the records that some code imports."""
    names = set()
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(observations.__name__):
                    names |= {alias.name for alias in node.names}
    return names


def records() -> list[type]:
    """Return the records that write themselves into rows."""
    return [
        kind
        for module in MODULES
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and hasattr(kind, "rows")
    ]


@pytest.mark.parametrize("record", records())
def test_every_record_is_written_by_a_workload_or_the_harness(record: type) -> None:
    assert record.__name__ in imported("workloads", "chaoskit/load", "chaoskit/run")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_every_room_of_records_is_read(module: object) -> None:
    readers = imported("checkers", "chaoskit/judge")

    assert any(hasattr(module, name) for name in readers)


def test_every_kind_that_a_log_has_a_code_for_is_that_of_a_record() -> None:
    own = {value for module in MODULES for value in vars(module).values() if isinstance(value, str)}

    assert set(KINDS) <= own
