"""`chaoskit synthesize`: generates histories of a simulated system, of any size."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from chaoskit.base import owner, store
from chaoskit.base.errors import BadInput
from chaoskit.cli.arguments.options import store_option
from chaoskit.cli.output.saying import say
from chaoskit.contract import installed
from chaoskit.contract.checkers.synthesizer import Synthesizer

_TOLD_FROM = 2_000_000
"""Progress is shown only for histories with at least this many messages; smaller ones take no time."""


@click.command("synthesize")
@store_option
@click.option(
    "--name", default="synthetic", show_default=True, help="Name of the scenario, and of its folder in the store."
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same options and seed give the same history.")
@click.option(
    "--mode",
    default="log",
    show_default=True,
    help="`log`, `group` (consumer groups), `transactions`, `ledgers` or `queue`.",
)
@click.option(
    "--messages",
    help="Number of rows of messages. Each message is sent once and received twice: by a consumer and by the final "
    "read (which reads `ledgers` twice), in a `queue` once in all. Not for mode `transactions`.  [default: 100k]",
)
@click.option("--transactions", help="Number of transactions in mode `transactions`.  [default: 10k]")
@click.option("--topics", type=int, default=1, show_default=True, help="Number of topics.")
@click.option("--partitions", type=int, default=4, show_default=True, help="Partitions of each topic.")
@click.option("--producers", type=int, default=4, show_default=True, help="Number of producers.")
@click.option("--consumers", type=int, default=2, show_default=True, help="Number of consumers.")
@click.option("--keys", type=int, default=0, show_default=True, help="Number of distinct keys; 0: none.")
@click.option("--rate", type=int, help="Sends per second of all producers together.  [default: 20000]")
@click.option("--skew", type=float, help="Fraction of all messages in one partition, such as 0.95.")
@click.option("--faults", type=int, default=2, show_default=True, help="Number of faults.")
@click.option("--crashes", type=int, default=4, show_default=True, help="Number of consumer crashes or rebalances.")
@click.option("--errors", type=float, help="Fraction of sends that fail or stay unknown.  [default: 0.001]")
@click.option("--inject", multiple=True, metavar="CAUSE=N", help="Inject N anomalies of this cause; repeatable.")
@click.option("--list-causes", is_flag=True, help="List the causes that can be injected, and exit.")
@click.option("--synthesizer", default="log", show_default=True, help="Name of an installed synthesizer.")
def command(
    store: Path, name: str, inject: tuple[str, ...], list_causes: bool, synthesizer: str, **given: Any
) -> int:  # fmt: skip
    """Generate the history of a simulated system that is correct except for injected anomalies.

    Prints the new run folder; `chaoskit check` judges it. Its truth.parquet lists the anomalies that must be found.
    """
    chosen = installed.synthesizer(synthesizer, "--synthesizer")
    if list_causes:
        width = max((len(cause) for cause in chosen.causes), default=0)
        for cause, words in chosen.causes.items():
            say(f"{cause:{width}}  {words}")
        return 0
    options = {key: value for key, value in given.items() if value is not None}
    size, other = ("transactions", "messages") if given["mode"] == "transactions" else ("messages", "transactions")
    if other in options:
        raise BadInput(f"--{other}: not applicable in mode {given['mode']}; use --{size}")
    parameters = chosen.parameters({**options, "inject": _injections(inject)})
    say(str(_write(chosen, parameters, name, store)))
    return 0


def _write(synthesizer: Synthesizer, parameters: Any, name: str, where: Path) -> Path:
    if Path(name).name != name or name in {"", ".", ".."} or not name.isprintable():
        raise BadInput(f"--name {name!r}: must be a folder name, printable and without slashes")
    folder = store.new_run_folder(where, name)
    try:
        synthesizer.write(parameters, name, folder, _progress)
    except BaseException:
        store.discard(folder)
        raise
    owner.give_all(folder)
    return folder


def _progress(done: int, total: int) -> None:
    if total >= _TOLD_FROM and sys.stderr.isatty():
        click.echo(f"\r{done / 1e6:.1f} M of {total / 1e6:.1f} M messages", err=True, nl=done >= total)


def _injections(given: tuple[str, ...]) -> dict[str, int]:
    injections: dict[str, int] = {}
    for injection in given:
        cause, equals, count = injection.partition("=")
        if not equals:
            count = "1"
        if not count.isdigit() or not cause:
            raise BadInput(f"--inject {injection}: write CAUSE=N, such as lost-tail=3; --list-causes shows the causes")
        injections[cause] = injections.get(cause, 0) + int(count)
    return injections
