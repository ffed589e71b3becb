"""`chaoskit systems`: lists what each system supports."""

from __future__ import annotations

import click

from chaoskit.base import plugins
from chaoskit.cli.console import Grid, wide_console
from chaoskit.cli.saying import say
from chaoskit.contract.installed import system
from chaoskit.report.support import GIVEN, NO, YES, Support, markdown, support


@click.command("systems")
@click.argument("name", metavar="[SYSTEM]", required=False)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown tables, as in docs/systems.md.")
def command(name: str | None, as_markdown: bool) -> None:
    """List all installed systems and what they support, or describe SYSTEM, including what it cannot do and what is
    not implemented yet."""
    names = plugins.names("cluster") if name is None else [name]
    told = {name: support(system(name, "SYSTEM")) for name in names}
    if as_markdown:
        say(*markdown(told).splitlines())
    elif name is None:
        _list(told)
    else:
        _tell(name, told[name])


def _list(told: dict[str, Support]) -> None:
    table = Grid("system", "release", "keeps", "workloads", "powers", "faults")
    for name, each in told.items():
        powers = ", ".join(power.name for power in each.powers if power.standing in (YES, GIVEN))
        table.add_row(
            name, each.release, ", ".join(each.models), ", ".join(each.workloads), powers, str(len(each.faults))
        )
    wide_console().print(table)


def _tell(name: str, told: Support) -> None:
    console = wide_console()
    if told.release:
        console.print(f"default release: {told.release}", soft_wrap=True, highlight=False)
    for title, listed in (
        ("keeps", told.models),
        ("roles", told.roles),
        ("workloads", told.workloads),
        ("faults", told.faults),
    ):
        console.print(f"{title}: {', '.join(listed)}", soft_wrap=True, highlight=False)
    table = Grid("power", "meaning", "")
    for power in told.powers:
        standing = power.standing or NO
        table.add_row(power.name, power.meaning, f"{standing}: {power.why}" if power.why else standing)
    console.print(table)
