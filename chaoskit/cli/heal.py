"""`chaoskit heal`: removes what a killed run left on this machine."""

from __future__ import annotations

import click

from chaoskit.run.heal import heal as heal_machine


@click.command("heal")
def command() -> None:
    """Stop the hosts and processes, and remove the bridges, disks and folders, of runs whose harness has died.

    Active runs are left alone. On a clean machine this does nothing.
    """
    removed = heal_machine()
    for item in removed:
        click.echo(f"removed {item}")
    if not removed:
        click.echo("nothing to heal")
