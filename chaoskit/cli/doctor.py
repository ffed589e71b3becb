"""`chaoskit doctor`: checks what this machine can do, and how to fix what it cannot."""

from __future__ import annotations

import click
from rich.table import Table

from chaoskit.base import plugins
from chaoskit.base.errors import BadInput
from chaoskit.cli.console import wide_console
from chaoskit.contract.capability import Capability


@click.command("doctor")
def command() -> int:
    """Check every capability that runs on this machine need; exit with 1 if a required one is missing."""
    table = Table("capability", "", "found", "how to fix", box=None, pad_edge=False)
    healthy = True
    for finding in _findings():
        mark = "works" if finding.works else ("MISSING" if finding.required else "not available")
        table.add_row(finding.name, mark, finding.detail, "" if finding.works else finding.remedy)
        healthy &= finding.works or not finding.required
    wide_console().print(table)
    return 0 if healthy else 1


def _findings() -> list[Capability]:
    findings: list[Capability] = []
    for noun in ("host", "cluster"):
        for name in plugins.names(noun):
            try:
                findings += plugins.load(noun, name, noun).diagnose()
            except BadInput as error:
                findings.append(Capability(f"{noun} {name}", False, str(error), "", required=False))
    return findings
