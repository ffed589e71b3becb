"""tests/typing/plugins.py names every plug-in and every stranger with each protocol that it says it satisfies.

`mypy` reads that file (`make check`), and this test that nothing is missing in it. Write it again:
`python tests/unit/test_typing.py`.
"""

from __future__ import annotations

import configparser
import importlib
import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from typing_extensions import get_protocol_members

from chaoskit.contract.checkers import digesting
from chaoskit.contract.checkers.checker import Checker, Settling, Spanning
from chaoskit.contract.checkers.synthesizer import Synthesizer
from chaoskit.contract.faults import exploring, nemesis
from chaoskit.contract.hosts.host import HostProvider
from chaoskit.contract.systems import attach, benchmark, database, system
from chaoskit.contract.systems.wire import Decoding
from chaoskit.contract.workloads import workload

ROOT = Path(__file__).parents[2]
PATH = ROOT / "tests" / "typing" / "plugins.py"
STRANGERS = ROOT / "tests" / "integration" / "stranger"

OPTIONAL: dict[str, tuple[type, ...]] = {
    "chaoskit.clusters": (
        system.Positions, system.Fetching, system.Rooted, system.Apart, system.Varied, system.Typed, system.Queues,
        system.Imposing, system.Naming, attach.Attaching, benchmark.Driven, Decoding,
    ),
    "chaoskit.workloads": (workload.SideTopics, workload.Measuring, workload.Checking),
    "chaoskit.nemeses": (nemesis.Preparing, exploring.Exploring, nemesis.Preceding),
    "chaoskit.checkers": (Settling, Spanning, digesting.Sampling),
}  # fmt: skip
"""The optional powers of each kind of plug-in."""

REQUIRED: dict[str, type] = {
    "chaoskit.clusters": system.System,
    "chaoskit.databases": database.Database,
    "chaoskit.hosts": HostProvider,
    "chaoskit.workloads": workload.Workload,
    "chaoskit.nemeses": nemesis.Nemesis,
    "chaoskit.checkers": Checker,
    "chaoskit.synthesizers": Synthesizer,
}

HEAD = '''"""Every plug-in and every stranger is what it says: a line each, which the type checker reads.

Written by `python tests/unit/test_typing.py` from the entry points.
"""

'''


def _entry_points() -> Iterator[tuple[str, str, str]]:
    """Yield group, module and class of every plug-in of ours, and of every stranger."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        ours: dict[str, dict[str, str]] = tomllib.load(file)["project"]["entry-points"]
    paths = [ours]
    for path in sorted(STRANGERS.rglob("entry_points.txt")):
        theirs = configparser.ConfigParser()
        theirs.read_string(path.read_text(encoding="utf-8"))
        paths.append({group: dict(theirs[group]) for group in theirs.sections()})
        sys.path.insert(0, str(path.parents[1]))
    for groups in paths:
        for group, points in groups.items():
            if group in REQUIRED:
                for value in points.values():
                    module, _, kind = value.partition(":")
                    yield group, module, kind


def _clients(plugin: Any) -> Iterator[type]:
    """Yield the classes of a system's clients, which its method `clients` names."""
    module = importlib.import_module(type(plugin).__module__)
    text = inspect.get_annotations(type(plugin).clients)["return"]
    named = eval(text, vars(module))  # an annotation of our own
    yield from get_args(named) or (named,)


def written() -> str:
    """Return what the file has to hold."""
    imports: set[tuple[str, str]] = set()
    lines: list[str] = []

    def name(kind: type) -> str:
        alias = f"{kind.__module__.replace('.', '_')}_{kind.__qualname__}"
        imports.add((kind.__module__, kind.__qualname__))
        return alias

    def holds(protocol: type, value: str) -> None:
        lines.append(f"_{len(lines)}: {name(protocol)} = {value}")

    for group, module, qualname in _entry_points():
        kind = getattr(importlib.import_module(module), qualname)
        plugin = kind()
        holds(REQUIRED[group], f"{name(kind)}()")
        for power in OPTIONAL.get(group, ()):
            if isinstance(plugin, power):
                holds(power, f"{name(kind)}()")
        if group == "chaoskit.clusters":
            for clients in _clients(plugin):
                held = [power for power in system.CLIENT_POWERS if _implements(clients, power)]
                for power in dict.fromkeys(held):
                    holds(power, f"{name(clients)}({{}})")
    heads = [f"from {module} import {kind} as {module.replace('.', '_')}_{kind}" for module, kind in sorted(imports)]
    return HEAD + "\n".join(heads) + "\n\n" + "\n".join(lines) + "\n"


def _implements(clients: type, power: type) -> bool:
    return all(hasattr(clients, member) for member in get_protocol_members(power))


def test_every_plugin_is_named_with_all_that_it_says() -> None:
    assert PATH.read_text(encoding="utf-8") == written(), "write it again: python tests/unit/test_typing.py"


if __name__ == "__main__":
    PATH.write_text(written(), encoding="utf-8")
