"""`chaoskit heal`: removes what a killed run left on this machine, or on hosts of an inventory."""

from __future__ import annotations

from pathlib import Path

import click

from chaoskit.cli.arguments.options import PATH
from chaoskit.cli.output.saying import say
from chaoskit.run.heal import heal as heal_machine
from chaoskit.run.heal import heal_hosts


@click.command("heal")
@click.option(
    "--hosts",
    "inventory",
    type=PATH,
    help="Clean up the hosts of this inventory instead, after all runs, including active ones.",
)
def command(inventory: Path | None) -> None:
    """Stop the hosts and processes, and remove the bridges, disks and folders, of runs whose harness has died.

    Active runs are left alone. On a clean machine this does nothing.
    """
    removed = heal_machine() if inventory is None else heal_hosts(inventory)
    for item in removed:
        say(f"removed {item}")
    if not removed:
        say("nothing to heal")
