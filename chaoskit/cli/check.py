"""`chaoskit check`: judges a recorded run again, including one that was killed, or a Jepsen history."""

from __future__ import annotations

import json
from pathlib import Path

import click

from chaoskit.base import owner
from chaoskit.base.errors import BadInput
from chaoskit.base.store import VERDICT
from chaoskit.cli.arguments.chosen import chosen
from chaoskit.cli.arguments.options import PATH, json_option, store_option
from chaoskit.cli.output.pipes import to_stdout
from chaoskit.cli.output.saying import say
from chaoskit.cli.output.summary import details_option, show_summary
from chaoskit.history.compacting.manifest import JUDGED, damaged
from chaoskit.interop.jepsen.importing import import_edn
from chaoskit.judge.verdict.check import check_run
from chaoskit.judge.verdict.verdict import EXIT_CODES
from chaoskit.report.run_page import REPORT, is_quick, try_report


@click.command("check")
@click.argument("run", type=PATH)
@store_option
@json_option
@click.option("--report/--no-report", default=None, help="Write the report.  [default: for up to a million operations]")
@details_option
def command(run: Path, *, store: Path, as_json: bool, report: bool | None, details: bool) -> int:
    """Judge RUN, a run folder or a store (its latest run), from its recorded history.

    RUN may also be an EDN file with a history of Jepsen's Kafka workload. It is imported into the --store and
    judged; no anomaly is allowed.
    """
    folder = import_edn(run, store) if _is_history(run) else chosen(run)
    if damage := damaged(folder, JUDGED):
        say(f"{damage}; it is rebuilt", err=True)
    before = _verdict_file(folder)
    verdict = check_run(folder)
    if is_quick(folder) if report is None else report:
        if why_not := try_report(folder):
            say(why_not, err=True)
    elif (folder / REPORT).exists() and _verdict_file(folder) != before:
        (folder / REPORT).unlink()
        say(
            f"{folder / REPORT} showed an earlier verdict and was deleted; `chaoskit report {folder}` writes a new one",
            err=True,
        )
    owner.give_all(folder)
    with to_stdout():
        if as_json:
            click.echo(json.dumps(verdict.as_json(), indent=2))
        else:
            show_summary(verdict, folder, details=details)
    return EXIT_CODES[verdict.verdict]


def _verdict_file(folder: Path) -> bytes:
    path = folder / VERDICT
    return path.read_bytes() if path.exists() else b""


def _is_history(path: Path) -> bool:
    if path.suffix == ".edn" and not path.exists():
        raise BadInput(f"{path}: no such file")
    return path.is_file()
