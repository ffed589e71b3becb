"""`chaoskit`: verbs, exit codes, errors. A verb is imported when it is used, which keeps `--help` fast.

Exit codes: 0 valid, 1 invalid, 2 unknown, 254 bad arguments or bad input, 255 crash.
"""

from __future__ import annotations

import sys
import traceback
from importlib import import_module

import click

from chaoskit.base import durable, owner
from chaoskit.base.errors import BadInput, ChaoskitError
from chaoskit.base.journal import entries_left
from chaoskit.base.plain import one_line
from chaoskit.base.shadow import check_packages
from chaoskit.cli.output.saying import complain, say

BAD_INPUT, CRASH = BadInput.exit_code, ChaoskitError.exit_code

VERBS = {
    "run": "Run scenarios on real clusters and judge them.",
    "scenarios": "List the ready-made scenarios and sweeps.",
    "sweep": "Run a scenario in many variants and count the anomalies.",
    "bench": "Run workloads of the OpenMessaging Benchmark; write its results, with a verdict.",
    "check": "Judge a recorded run, or a Jepsen history, again.",
    "compare": "Show runs side by side.",
    "replay": "Repeat a recorded run with the same faults at the same times.",
    "shrink": "Find the smallest set of faults that still makes a failed run fail.",
    "explore": "Test recovery from power cuts at many points of a recorded run.",
    "wire": "Lose, duplicate or delay one message of the protocol at a time.",
    "exposure": "Show what a power cut would have cost at each instant of a recorded run.",
    "analyze": "Compare all runs of a store: what fails, since when, and what it costs.",
    "list": "List the runs of a store.",
    "report": "Write the report of a run as one HTML file.",
    "export": "Write the history of a run for other tools.",
    "nemeses": "List the kinds of faults, or describe one.",
    "systems": "List the systems and what each of them supports.",
    "schema": "Print the JSON Schema of scenario files, for editors.",
    "synthesize": "Generate the history of a simulated system.",
    "doctor": "Check what this machine can do, and how to fix what it cannot.",
    "heal": "Remove what killed runs left behind on this machine.",
}
"""All verbs in the order of `--help`, with their short help. Each has a module and a command of its name."""


class _Verbs(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"chaoskit.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="chaoskit")
def cli() -> None:
    """Chaos and durability tests for messaging systems.

    Exit codes: 0 valid, 1 invalid, 2 unknown, 254 bad arguments or input, 255 crash.
    """


def main() -> None:
    """Run the command line and end the process with its exit code."""
    sys.exit(_exit_code())


def _exit_code() -> int:
    try:
        check_packages()
        status = cli.main(standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        complain(error.format_message())
        return BAD_INPUT
    except click.ClickException as error:
        vars(error)["message"] = one_line(error.message)
        error.show()
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        say(f"aborted{_left()}", err=True)
        return CRASH
    except Exception as error:  # noqa: BLE001  # the boundary of the program: a crash is exit code 255, not 1
        if user_error := _user_error(error):
            complain(f"error: {user_error}")
            return user_error.exit_code
        complain(traceback.format_exc().rstrip())
        say("this is a bug in chaoskit; `chaoskit heal` removes what the run left behind", err=True)
        return CRASH


def _left() -> str:
    """Return what to do about what an aborted run left on this machine; empty if there is nothing."""
    return "; `chaoskit heal` removes what is left" if entries_left() else ""


def _user_error(error: Exception) -> ChaoskitError | None:
    """Return an error that the user can do something about; None if it is a bug."""
    if isinstance(error, PermissionError):
        return owner.refused(error)
    if isinstance(error, OSError):
        return durable.unwritable(error)
    return error if isinstance(error, ChaoskitError) else None
