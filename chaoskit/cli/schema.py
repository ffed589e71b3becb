"""`chaoskit schema`: prints the JSON Schema of scenario files, for editors."""

from __future__ import annotations

import json
from pathlib import Path

import click

from chaoskit.base import durable, owner
from chaoskit.base.errors import BadInput
from chaoskit.cli.arguments.options import PATH
from chaoskit.cli.output.pipes import to_stdout
from chaoskit.cli.output.saying import say
from chaoskit.scenario.schema import scenario_schema

_LINE = "# yaml-language-server: $schema="


@click.command("schema")
@click.option("--out", type=PATH, help="Write it to this file.  [default: standard output]")
def command(*, out: Path | None) -> int:
    """Print the JSON Schema of scenario files: keys, types and names of everything that is installed.

    An editor with a YAML server checks and completes a scenario whose first line names the file:
    `# yaml-language-server: $schema=scenario.schema.json`
    """
    if out is None:
        with to_stdout():
            click.echo(json.dumps(scenario_schema(), indent=2))
        return 0
    try:
        durable.write(out, json.dumps(scenario_schema()).encode() + b"\n")
        owner.give([out])
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written: {error.strerror}; choose another file") from error
    say(f"{out} written; begin scenarios in the same folder with: {_LINE}{out.name}")
    return 0
