"""`chaoskit`: verbs, exit codes, errors.

Exit codes: 0 valid, 1 invalid, 2 unknown, 254 bad arguments or bad input, 255 crash.
"""

from __future__ import annotations

import sys
import traceback

import click

from chaoskit.base.errors import BadInput, ChaoskitError
from chaoskit.cli.analyze import analyze
from chaoskit.cli.check import check
from chaoskit.cli.doctor import doctor
from chaoskit.cli.explore import explore
from chaoskit.cli.export import export
from chaoskit.cli.heal import heal
from chaoskit.cli.list import list_runs
from chaoskit.cli.nemeses import nemeses
from chaoskit.cli.replay import replay
from chaoskit.cli.report import report
from chaoskit.cli.run import run
from chaoskit.cli.shrink import shrink
from chaoskit.cli.sweep import sweep
from chaoskit.cli.synthesize import synthesize

BAD_INPUT, CRASH = BadInput.exit_code, ChaoskitError.exit_code


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="chaoskit")
def cli() -> None:
    """Chaos and durability tests for message systems.

    Exit codes: 0 valid, 1 invalid, 2 unknown, 254 bad arguments or input, 255 crash.
    """


for verb in (
    run,
    sweep,
    check,
    replay,
    shrink,
    explore,
    analyze,
    report,
    list_runs,
    nemeses,
    synthesize,
    export,
    doctor,
    heal,
):
    cli.add_command(verb)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    sys.exit(_exit_code())


def _exit_code() -> int:
    try:
        status = cli.main(standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_INPUT
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        click.echo("given up; `chaoskit heal` removes what is left", err=True)
        return CRASH
    except ChaoskitError as error:
        click.echo(f"error: {error}", err=True)
        return error.exit_code
    except Exception:  # noqa: BLE001  # the boundary of the program: a crash is exit code 255, not 1
        traceback.print_exc()
        click.echo("this is a defect of chaoskit; `chaoskit heal` removes what the run left", err=True)
        return CRASH
