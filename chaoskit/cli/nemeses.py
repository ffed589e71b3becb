"""`chaoskit nemeses`: the catalogue of faults."""

from __future__ import annotations

import inspect
import re
from itertools import groupby
from typing import Any

import click
from pydantic import BaseModel

from chaoskit.base import plugins
from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.contract.faults.nemesis import Nemesis
from chaoskit.contract.faults.part import EVERYTHING
from chaoskit.contract.installed import nemesis
from chaoskit.contract.systems.installation import Installation


@click.command("nemeses")
@click.argument("kind", required=False)
def command(kind: str | None) -> None:
    """List all installed kinds of faults, or describe KIND: what it does, what it needs, and its parameters."""
    if kind is not None:
        _tell(kind, nemesis(kind, "KIND"))
        return
    known = sorted((nemesis(name).family, name) for name in plugins.names("nemesis"))
    table = Grid("family", "kind", "what it does", "keys", "needs")
    for family, members in groupby(known, key=lambda pair: pair[0]):
        for index, (_, name) in enumerate(members):
            fault_kind = nemesis(name)
            keys = ", ".join(field.alias or key for key, field in fault_kind.parameters.model_fields.items())
            table.add_row("" if index else family, name, fault_kind.summary, keys, _needs(fault_kind))
    wide_console().print(table)


def _tell(kind: str, fault_kind: Nemesis) -> None:
    console = wide_console()
    console.print(f"{kind} ({fault_kind.family}): {fault_kind.summary}\n", soft_wrap=True, highlight=False)
    console.print(inspect.getdoc(fault_kind) or "", soft_wrap=True, highlight=False)
    console.print(f"\ntargets: {fault_kind.hits}\nneeds: {_needs(fault_kind) or 'nothing special'}", highlight=False)
    console.print(f"for: {'duration' if fault_kind.lasts else 'not accepted; it is instantaneous'}", highlight=False)
    console.print(f"occupies: {_occupied(fault_kind)}", highlight=False)
    if fields := fault_kind.parameters.model_fields:
        described, meanings = _documented(fault_kind.parameters)
        console.print(f"\n{described}\n", soft_wrap=True, highlight=False)
        table = Grid("key", "default", "meaning")
        shown = fault_kind.parameters.model_construct().model_dump(mode="json", by_alias=True, warnings=False)
        for name, field in fields.items():
            key = field.alias or name
            default = "required" if field.is_required() else _in_words(shown[key])
            table.add_row(key, default, meanings.get(name, ""))
        console.print(table)


def _in_words(default: Any) -> str:
    """Return a default about as it is written in YAML; nothing where there is none."""
    if default is None or default == []:
        return ""
    return f"[{', '.join(map(str, default))}]" if isinstance(default, list) else str(default)


def _documented(parameters: type[BaseModel]) -> tuple[str, dict[str, str]]:
    """Return what the docstring of parameters says of all, and of each by its name."""
    text, _, attributes = (inspect.getdoc(parameters) or "").partition("Attributes:")
    meanings: dict[str, str] = {}
    names: list[str] = []
    for line in attributes.splitlines():
        if begun := re.match(r" {4}([\w, ]+): (.*)", line):
            names = begun[1].split(", ")
            meanings |= dict.fromkeys(names, begun[2])
        elif line.startswith(" " * 8):
            meanings |= {name: f"{meanings[name]} {line.strip()}" for name in names}
    return text.strip(), meanings


def _occupied(fault_kind: Nemesis) -> str:
    """Return what it occupies with its default parameters; two faults that share nothing may hold on one host."""
    parts = frozenset(fault_kind.occupies(fault_kind.parameters.model_construct()))
    if parts == EVERYTHING:
        return "everything"
    names = ", ".join(sorted(parts)) or "nothing"
    return names if fault_kind.renews else f"{names}; not together with a fault that boots the host"


def _needs(fault_kind: Nemesis) -> str:
    return ", ".join(
        power.__name__
        for power in (*fault_kind.host_powers, *fault_kind.disk_powers, *fault_kind.service_powers)
        if power is not Installation
    )
