"""`chaoskit bench`: runs workloads of the OpenMessaging Benchmark (OMB) and writes its results."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from chaoskit.base import durable, owner
from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import parse_duration
from chaoskit.cli.console import wide_console
from chaoskit.cli.options import PATH, store_option
from chaoskit.cli.planned import show_plans
from chaoskit.cli.progress import LiveProgress
from chaoskit.cli.summary import worst_exit_code
from chaoskit.judge.timing import load_of
from chaoskit.judge.verdict import Verdict
from chaoskit.omb.plans import Bench, Wishes, read_benches
from chaoskit.omb.result import measured, result
from chaoskit.run.site import Site

_COLUMNS = ("workload", "driver", "acked/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "end to end p50 / p99 ms",
    "acked", "lost", "verdict")  # fmt: skip
_SHORT = 0.99


@click.command("bench")
@click.argument("files", nargs=-1, required=True, type=PATH)
@click.option("--lab", is_flag=True, help="Run on a local cluster instead of the one that the driver names.")
@click.option("--hosts", type=click.IntRange(min=1), help="Number of brokers.  [default: replicationFactor]")
@click.option("--duration", help="How long to measure, such as 30s; overrides testDurationMinutes.")
@click.option("--warm-up", help="How long to warm up before; overrides warmupDurationMinutes.")
@click.option("--out", type=PATH, default=Path(), help="Folder for the results.  [default: this one]")
@store_option
@click.option("--dry-run", is_flag=True, help="Check files and machine, print what would be done, and start nothing.")
def command(
    files: tuple[Path, ...],
    *,
    lab: bool,
    hosts: int | None,
    duration: str | None,
    warm_up: str | None,
    out: Path,
    store: Path,
    dry_run: bool,
) -> int:
    """Run every workload of FILES with every driver of FILES, unchanged files of the OpenMessaging Benchmark.

    Each pair writes WORKLOAD-DRIVER-TIME.json as OMB does, and a run folder with the history, which says whether
    messages were lost. What cannot be done as OMB does it is said.
    """
    wishes = Wishes(lab, hosts, _duration("--warm-up", warm_up), _duration("--duration", duration))
    benches = read_benches(files, wishes)
    _tell_differences(benches)
    if dry_run:
        show_plans([each.plan for each in benches], drawn=False)
        return 0
    owner.make_folder(out)
    verdicts, told = [], []
    with Site(store) as site:
        for bench in benches:
            with LiveProgress(bench.plan.scenario.name, bench.plan.scenario.workload.duration / 1e9) as progress:
                folder, verdict = site.run(bench.plan, progress)
            found = measured(folder, load_of(folder).begin_ns, bench.warm_up_ns, bench.length_ns)
            document = result(found, bench.workload, bench.driver.name)
            path = out / f"{bench.stem}-{bench.driver.name}-{datetime.now().astimezone():%Y-%m-%d-%H-%M-%S}.json"
            durable.write(path, json.dumps(document, indent=2).encode())
            owner.give([path])
            click.echo(f"{path}  run folder: {folder}", err=True)
            verdicts.append(verdict)
            told.append((bench, found.done_ns.size / (bench.length_ns / 1e9), document, verdict))
    _show(told)
    return worst_exit_code(verdicts)


def _duration(option: str, given: str | None) -> int | None:
    if given is None:
        return None
    try:
        return parse_duration(given)
    except ValueError as error:
        raise BadInput(f"{option}: {error}") from error


def _tell_differences(benches: list[Bench]) -> None:
    told = [remark for each in benches for remark in (*each.workload.remarks(), *each.driver.driven.ignored)]
    for remark in dict.fromkeys(told):
        click.echo(f"unlike OMB: {remark}", err=True)


def _show(told: list[tuple[Bench, float, dict[str, Any], Verdict]]) -> None:
    table = Table(box=None, pad_edge=False)
    for index, column in enumerate(_COLUMNS):
        table.add_column(column, justify="left" if index < 2 else "right", no_wrap=True)
    short = []
    for bench, rate, document, verdict in told:
        publish = [document[f"aggregatedPublishLatency{point}"] for point in ("50pct", "99pct", "999pct", "Max")]
        travel = [document[f"aggregatedEndToEndLatency{point}"] for point in ("50pct", "99pct")]
        table.add_row(
            bench.stem,
            bench.driver.stem,
            f"{rate:,.0f}",
            *(f"{each:,.2f}" for each in publish),
            " / ".join(f"{each:,.2f}" for each in travel),
            f"{verdict.counts['acked']:,}",
            f"{verdict.lost:,}",
            verdict.verdict,
        )
        wanted = bench.plan.workload_options.rate
        if isinstance(wanted, int) and rate < _SHORT * wanted:
            short.append(f"{bench.stem} with {bench.driver.stem}: {rate:,.0f}/s of {wanted:,}/s were acknowledged")
    wide_console().print(table)
    click.echo("\nLatencies are from the call of send to its acknowledgement; the warm-up does not count.")
    for line in short:
        click.echo(f"NOT a measurement of the system at its rate: {line}")
