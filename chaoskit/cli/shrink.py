"""`chaoskit shrink`: finds the smallest timeline that still makes a failed run fail."""

from __future__ import annotations

from pathlib import Path

import click

from chaoskit.base import store as stores
from chaoskit.base import yaml
from chaoskit.cli.arguments.chosen import chosen
from chaoskit.cli.arguments.options import PATH, store_option
from chaoskit.cli.output.progress import SeriesProgress
from chaoskit.cli.output.saying import say
from chaoskit.contract.event import Event
from chaoskit.search.shrink import CandidateJudged, RateMeasured
from chaoskit.search.shrink import shrink as shrink_run


class ShrinkProgress(SeriesProgress):
    """Reports the outcome of each candidate."""

    def on(self, event: Event) -> None:
        match event:
            case CandidateJudged(faults, runs, failed):
                outcome = f"fails (run {runs})" if failed else f"no failure in {runs} runs"
                self._print(f"{len(faults)} faults: {'; '.join(map(str, faults))}: {outcome}")
            case RateMeasured(rate, tries):
                self._print(
                    f"fails in {rate:.0%} of runs: a candidate counts as harmless after {tries} runs without one"
                )
            case _:
                super().on(event)


@click.command("shrink")
@click.argument("run", type=PATH)
@click.option(
    "--tries", type=click.IntRange(min=1), default=3, show_default=True,
    help="Initial number of runs without the failure after which a candidate counts as harmless.",
)  # fmt: skip
@click.option(
    "--confirm",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Number of runs that confirm the result.",
)
@click.option("--out", type=PATH, help="Also write the scenario to this file.")
@store_option
def command(run: Path, tries: int, confirm: int, out: Path | None, store: Path) -> int:
    """Find a minimal timeline that still makes RUN fail, and print it as a scenario. RUN's verdict must be invalid.

    Each candidate is run on a real cluster, faults near the anomaly first. Pauses between faults are shortened, so
    candidates with few faults run quickly. The exit code is 0 if the result failed again when
    confirmed, 2 if it did not, and 255 if not even the whole timeline failed again.
    """
    folder = chosen(run)
    name = stores.read_yaml(folder / stores.SCENARIO)["name"]
    with ShrinkProgress(f"shrink {name}") as progress:
        shrunk = shrink_run(folder, store, progress, tries, confirm)
    text = yaml.dump(shrunk.scenario)
    if out is not None:
        stores.write_yaml(out, shrunk.scenario)
    say(
        f"# {len(shrunk.faults)} faults: {'; '.join(map(str, shrunk.faults))}",
        f"# failed in {shrunk.failed} of {shrunk.confirmed} confirming runs; {shrunk.runs} runs in total",
        *text.splitlines(),
    )
    return 0 if shrunk.failed else 2
