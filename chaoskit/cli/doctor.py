"""`chaoskit doctor`: checks what this machine, or hosts of an inventory, can do, and how to fix what they cannot."""

from __future__ import annotations

from pathlib import Path

import click

from chaoskit.base import plugins
from chaoskit.base.errors import BadInput
from chaoskit.cli.arguments.options import PATH
from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.contract import installed
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import Equipped
from chaoskit.contract.installed import taken_by_others
from chaoskit.scenario.remote import named_in


@click.command("doctor")
@click.option("--hosts", "inventory", type=PATH, help="Check the hosts of this inventory instead of this machine.")
def command(inventory: Path | None) -> int:
    """Check every capability that runs on this machine need; exit with 1 if a required one is missing."""
    table = Grid("capability", "", "found", "how to fix")
    healthy = True
    for finding in _findings() if inventory is None else _of_hosts(inventory):
        mark = "works" if finding.works else ("MISSING" if finding.required else "not available")
        table.add_row(finding.name, mark, finding.detail, "" if finding.works else finding.remedy)
        healthy &= finding.works or not finding.required
    wide_console().print(table)
    return 0 if healthy else 1


def _of_hosts(inventory: Path) -> list[Capability]:
    hosts, options = named_in(inventory)
    assert isinstance(hosts, Equipped)
    return hosts.survey(options, {name: kind.tools for name, kind in taken_by_others().items()})


def _findings() -> list[Capability]:
    findings: list[Capability] = []
    lookups = ("host", installed.provider), ("cluster", installed.ready_system), ("database", installed.database)
    for noun, lookup in lookups:
        for name in plugins.names(noun):
            try:
                findings += lookup(name, noun).diagnose()
            except BadInput as error:
                findings.append(Capability(f"{noun} {name}", False, str(error), "", required=False))
    return findings
