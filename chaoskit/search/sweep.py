"""A sweep: one scenario in many variants, each run with several seeds, summarized in one table.

The product of the axes gives the cells. Runs are kept in an ordinary store; a run that already exists (the same
cell, seed and resolved scenario, with a verdict) is not repeated, so a sweep can be stopped, resumed and extended.
Seeds are the outer loop: if a sweep is stopped early, all cells have about the same number of runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.errors import BadInput, RunFailed, RunInterrupted, nearest
from chaoskit.base.quantities import Duration
from chaoskit.contract import installed
from chaoskit.contract.event import Event, Watcher
from chaoskit.contract.mistakes import validated
from chaoskit.run.deployment import Requirements
from chaoskit.run.finished import finished_runs
from chaoskit.run.interruption import INTERRUPTED
from chaoskit.run.site import Site
from chaoskit.scenario.files import find
from chaoskit.scenario.machine import check_machine
from chaoskit.scenario.model import merge
from chaoskit.scenario.plan import Plan, read_plan
from chaoskit.scenario.reading import load_mapping

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
Overrides = dict[str, Any]

_OURS = {"name", "seed"}
"""Keys that the sweep sets for each of its runs."""

_SCENARIO = "scenario"
"""Name of the axis for scenarios from other files."""

_AXES_SIDE_BY_SIDE = 2
"""What is compared, and the loads."""


class SweepSpec(BaseModel):
    """A sweep's file; see docs/sweep.md for every key.

    Attributes:
        name: prefix of its runs' scenario names.
        base: a scenario without a name, or a part of one.
        axes: by name: variants by name, each with the keys that it adds to, or replaces in, the base.
        scenarios: names of ready-made scenarios, or files relative to the sweep's, with all their variants; they form
            an additional first axis.
        seeds: number of runs per cell, with the seeds 1, 2, ...
        count: the anomalies that the table counts; default: those that say so (`Anomaly.tabled`).
        cost_across: an axis of faults, whose first variant has none: a second table has its variants as columns.
        columns: an axis, such as releases: a further table has its variants as columns, with the verdicts.
        side_by_side: whether the variants of the first axis are compared with each other, load by load; the second
            axis has the loads (`chaoskit.search.side_by_side`).
        published: half the round trip that others published, by variant of the first axis; shown side by side.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    base: Overrides = {}
    axes: dict[Name, Annotated[dict[Name, Overrides], Field(min_length=1)]] = {}
    scenarios: list[str] = []
    seeds: int = Field(default=1, ge=1)
    count: list[str] | None = None
    cost_across: str = ""
    columns: str = ""
    side_by_side: bool = False
    published: dict[Name, Duration] = {}


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of variants.

    Attributes:
        variants: their names, in the order of the axes.
        plans: its runs, by seed.
    """

    variants: tuple[str, ...]
    plans: Mapping[int, Plan]

    @property
    def name(self) -> str:
        """The names of its variants."""
        return "/".join(self.variants)

    @property
    def plan(self) -> Plan:
        """One of its plans; they differ in their seeds only."""
        return next(iter(self.plans.values()))


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep whose runs are all planned. `across` (`cost_across`), `columns`, `side_by_side`, `published`: see
    `SweepSpec`."""

    name: str
    axes: tuple[str, ...]
    count: tuple[str, ...]
    cells: tuple[Cell, ...]
    across: str = ""
    columns: str = ""
    side_by_side: bool = False
    published: Mapping[str, int] = field(default_factory=dict)

    def cells_across(self, axis: str) -> dict[tuple[str, ...], dict[str, Cell]]:
        """Return the cells by their variants of all other axes, and then by that of one axis."""
        place = self.axes.index(axis)
        cells: dict[tuple[str, ...], dict[str, Cell]] = {}
        for cell in self.cells:
            others = (*cell.variants[:place], *cell.variants[place + 1 :])
            cells.setdefault(others, {})[cell.variants[place]] = cell
        return cells


@dataclass(slots=True)
class Results:
    """What is known of the runs of a cell.

    Attributes:
        verdicts: contents of verdict.json, by seed.
        broken: by seed, why its run failed before it could be judged.
    """

    verdicts: dict[int, dict[str, Any]] = field(default_factory=dict)
    broken: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """A run of a sweep ended.

    Attributes:
        number, total: number of the run, and how many runs were to be made.
        cell, seed: cell and seed of the run.
        verdict: verdict of the run; empty if it failed.
        headline: what became of the data, in words; empty if it failed.
        found: number of findings of each anomaly; empty if the run failed.
        problem: why it failed.
    """

    number: int
    total: int
    cell: str
    seed: int
    verdict: str
    headline: str
    found: Mapping[str, int]
    problem: str = ""


def load_sweep(path: Path, seeds: int | None = None, only: Sequence[str] = ()) -> Sweep:
    """Read a sweep's file and plan all its runs; nothing is started.

    Args:
        path: path of the file.
        seeds: overrides the file's number of seeds.
        only: patterns of cell names; empty for all cells.

    Raises:
        BadInput: names the file, the cell, the key and the remedy.
    """
    content = load_mapping(path, "a sweep is a mapping with base and axes")
    content.setdefault("name", path.name.split(".")[0])
    spec = validated(SweepSpec, content, str(path), "")
    if spec.scenarios:
        spec = spec.model_copy(update={"axes": {_SCENARIO: _scenarios(spec, path.parent), **spec.axes}})
    if not spec.axes:
        raise BadInput(f"{path}: axes: missing; specify axes or scenarios")
    known = installed.anomalies()
    count = sorted(name for name, anomaly in known.items() if anomaly.tabled) if spec.count is None else spec.count
    if strange := [name for name in count if name not in known]:
        raise BadInput(f"{path}: count: unknown anomaly {strange[0]!r}; {nearest(strange[0], known)}")
    for key, axis in (("cost_across", spec.cost_across), ("columns", spec.columns)):
        if axis and axis not in spec.axes:
            raise BadInput(f"{path}: {key}: no axis {axis!r}; {nearest(axis, spec.axes)}")
    _check_side_by_side(spec, path)
    chosen = _chosen(spec, only, path)
    numbers = range(1, (seeds or spec.seeds) + 1)
    cells = [
        Cell(names, {seed: _plan(spec, names, overrides, seed, path) for seed in numbers})
        for names, overrides in chosen
    ]
    return Sweep(
        spec.name,
        tuple(spec.axes),
        tuple(count),
        tuple(cells),
        spec.cost_across,
        spec.columns,
        spec.side_by_side,
        spec.published,
    )


def _check_side_by_side(spec: SweepSpec, path: Path) -> None:
    if spec.side_by_side and len(spec.axes) != _AXES_SIDE_BY_SIDE:
        axes = ", ".join(spec.axes)
        raise BadInput(
            f"{path}: side_by_side: needs two axes, what is compared and the loads, not {len(spec.axes)} ({axes}); "
            "remove it, or change the axes"
        )
    if spec.published and not spec.side_by_side:
        raise BadInput(f"{path}: published: is shown side by side only; add side_by_side: true")
    compared, variants = next(iter(spec.axes.items()))
    if strange := [name for name in spec.published if name not in variants]:
        raise BadInput(f"{path}: published: no variant {strange[0]!r} of {compared}; {nearest(strange[0], variants)}")


def run_sweep(sweep: Sweep, store_folder: Path, watcher: Watcher) -> Iterator[dict[str, Results]]:
    """Execute the missing runs; initially, and after each run, yield the results of each cell by name.

    Within one seed, cells that can share a deployment run consecutively. `watcher` receives the events of each run,
    and `RunEnded` at its end.

    The iterator ends early when a run is interrupted; that run does not count. A run that fails is reported, and tried
    once more after all others.

    Raises:
        BadInput: this machine cannot run a cell.
    """
    by_cell = {cell.name: _stored(cell, store_folder) for cell in sweep.cells}
    yield by_cell
    todo = [run for seed in _seeds(sweep) for run in _in_order(sweep, seed, by_cell)]
    for cell in {id(cell): cell for cell, _ in todo}.values():
        _check(cell.plan)
    again: list[tuple[Cell, int]] = []
    with Site(store_folder) as site:
        for number, (cell, seed) in enumerate(chain(todo, again), 1):
            results, total = by_cell[cell.name], len(todo) + len(again)
            try:
                _, verdict = site.run(cell.plans[seed], watcher)
            except RunInterrupted:
                return
            except RunFailed as error:
                if seed not in results.broken:
                    again.append((cell, seed))
                results.broken[seed] = str(error)
                watcher.on(RunEnded(number, total, cell.name, seed, "", "", {}, str(error)))
            else:
                if INTERRUPTED in verdict.reasons:
                    return
                results.verdicts[seed] = verdict.as_json()
                results.broken.pop(seed, None)
                seen = {name: anomaly.count for name, anomaly in verdict.anomalies.items() if anomaly.count}
                watcher.on(RunEnded(number, total, cell.name, seed, verdict.verdict, verdict.headline, seen))
            yield by_cell


def _seeds(sweep: Sweep) -> list[int]:
    return sorted({seed for cell in sweep.cells for seed in cell.plans})


def _in_order(sweep: Sweep, seed: int, by_cell: Mapping[str, Results]) -> list[tuple[Cell, int]]:
    """Return the missing runs of one seed; runs with the same ground are consecutive."""
    grounds: list[tuple[Requirements, list[Cell]]] = []
    for cell in sweep.cells:
        if seed not in cell.plans or seed in by_cell[cell.name].verdicts:
            continue
        ground = Requirements.of(cell.plans[seed])
        for known, cells in grounds:
            if known == ground:
                cells.append(cell)
                break
        else:
            grounds.append((ground, [cell]))
    return [(cell, seed) for _, cells in grounds for cell in cells]


def _scenarios(spec: SweepSpec, folder: Path) -> dict[str, Overrides]:
    """Return the content of the scenarios by name, without the keys that the sweep sets."""
    written = [scenario.content for name in spec.scenarios for scenario in find(name, folder)]
    return {content["name"]: {key: content[key] for key in content if key not in _OURS} for content in written}


def _check(plan: Plan) -> None:
    try:
        check_machine(plan)
    except BadInput as error:
        raise BadInput(f"{plan.source}: {error}") from error


def _chosen(spec: SweepSpec, only: Sequence[str], path: Path) -> list[tuple[tuple[str, ...], list[Overrides]]]:
    cells = [
        (tuple(name for name, _ in variants), [overrides for _, overrides in variants])
        for variants in product(*(axis.items() for axis in spec.axes.values()))
    ]
    names = ["/".join(variants) for variants, _ in cells]
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise BadInput(f"{path}: --only {pattern}: no such cell; {nearest(pattern, names)}")
    return [
        cell
        for cell, name in zip(cells, names, strict=True)
        if not only or any(fnmatchcase(name, pattern) for pattern in only)
    ]


def _plan(spec: SweepSpec, names: Sequence[str], overrides: Sequence[Overrides], seed: int, path: Path) -> Plan:
    content: dict[str, Any] = dict(spec.base)
    for override in overrides:
        content = merge(content, override)
    if strange := content.keys() & _OURS:
        raise BadInput(f"{path}: {min(strange)}: set by the sweep itself; remove it from base and axes")
    source = f"{path}: {'/'.join(names)}"
    return read_plan({**content, "name": ".".join([spec.name, *names])}, source, seed)


def _stored(cell: Cell, store_folder: Path) -> Results:
    """Return the verdicts of the cell's runs that are already in the store."""
    results = Results()
    wanted = {seed: plan.resolved() for seed, plan in cell.plans.items()}
    scenario = next(iter(wanted.values()))["name"]
    for _, content, verdict in finished_runs(store_folder, scenario):
        seed = content.get("seed")
        if wanted.get(seed) == content:
            results.verdicts[seed] = verdict
    return results
