"""`chaoskit systems`: lists what each system supports."""

from __future__ import annotations

import click

from chaoskit.base import plugins
from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.cli.output.saying import say
from chaoskit.contract.installed import system
from chaoskit.report.support import GIVEN, NO, YES, Support, markdown, support


@click.command("systems")
@click.argument("name", metavar="[SYSTEM]", required=False)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown tables, as in docs/systems.md.")
def command(name: str | None, as_markdown: bool) -> None:
    """List all installed systems and what they support, or describe SYSTEM, including what it cannot do and what is
    not implemented yet."""
    names = plugins.names("cluster") if name is None else [name]
    by_name = {name: support(system(name, "SYSTEM")) for name in names}
    if as_markdown:
        say(*markdown(by_name).splitlines())
    elif name is None:
        _list(by_name)
    else:
        _tell(name, by_name[name])


def _list(by_name: dict[str, Support]) -> None:
    table = Grid("system", "release", "tested", "keeps", "workloads", "powers", "faults")
    for name, supported in by_name.items():
        powers = ", ".join(power.name for power in supported.powers if power.standing in (YES, GIVEN))
        table.add_row(
            name,
            supported.release,
            supported.tested,
            ", ".join(supported.models),
            ", ".join(supported.workloads),
            powers,
            str(len(supported.faults)),
        )
    wide_console().print(table)


def _tell(name: str, supported: Support) -> None:
    console = wide_console()
    if supported.release:
        console.print(f"default release: {supported.release}", soft_wrap=True, highlight=False)
    if supported.tested:
        console.print(f"tested: {supported.tested}", soft_wrap=True, highlight=False)
    for title, listed in (
        ("keeps", supported.models),
        ("roles", supported.roles),
        ("workloads", supported.workloads),
        ("faults", supported.faults),
    ):
        console.print(f"{title}: {', '.join(listed)}", soft_wrap=True, highlight=False)
    table = Grid("power", "meaning", "")
    for power in supported.powers:
        standing = power.standing or NO
        table.add_row(power.name, power.meaning, f"{standing}: {power.why}" if power.why else standing)
    console.print(table)
