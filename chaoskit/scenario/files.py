"""Scenario files: each has one scenario, or several variants of one. Ready-made scenarios are found by name.

`kafka/power-all` is the ready-made scenario of that name with all its variants, `kafka/power-all:os-flush` is one of
these variants, and `mine.yaml:weak` is one variant of your own file. A run folder stands for the scenario of that run,
with its seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from chaoskit.base.errors import BadInput, Problems, nearest
from chaoskit.base.store import SCENARIO
from chaoskit.contract.mistakes import validated
from chaoskit.scenario.inventory import read_inventory
from chaoskit.scenario.model import Scenario, merge, parse_scenario
from chaoskit.scenario.overrides import overridden
from chaoskit.scenario.plan import Plan, read_plan
from chaoskit.scenario.reading import load_mapping

VARIANTS = "variants"
_EXPECTED = "a scenario is a mapping with the keys cluster and workload, and others such as faults"
_SUFFIX = ".yaml"
_WORDS = "words.yaml"
_SWEEPS = "sweeps/"
_FOR_EDITORS = "# yaml-language-server:"


class _Variants(BaseModel):
    """The content of `variants:`: by name, the keys that override the rest of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    variants: Annotated[
        dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")], dict[str, Any]], Field(min_length=1)
    ]


@dataclass(frozen=True, slots=True)
class Written:
    """A scenario as it was written.

    Attributes:
        source: file and variant, for error messages.
        content: its keys; those of the variant override those of the file.
    """

    source: str
    content: dict[str, Any]

    def changed(self, changes: Iterable[str]) -> Written:
        """Return it with changes; see `chaoskit.scenario.overrides.overridden`."""
        return Written(self.source, overridden(self.content, changes))

    def planned(self, seed: int | None = None) -> Plan:
        """Return the plan of its run; raises like `chaoskit.scenario.plan.read_plan`."""
        return read_plan(self.content, self.source, seed)

    def parsed(self) -> Scenario:
        """Return the validated scenario; raises like `chaoskit.scenario.model.parse_scenario`."""
        return parse_scenario(self.content, self.source)


def find(spec: str, folder: Path = Path()) -> list[Written]:
    """Return the scenarios for a spec: a file or a ready-made scenario, with all variants or one.

    Args:
        spec: such as `mine.yaml`, `kafka/power-all`, `kafka/power-all:os-flush`.
        folder: base of relative paths.

    Raises:
        BadInput: there is none; the message suggests the closest name.
    """
    path, variant = _locate(spec, folder)
    variants = dict(variants_of(path))
    if not variant:
        return list(variants.values())
    if variant not in variants:
        known = [name for name in variants if name]
        raise BadInput(f"{spec}: no such variant in {path}; {nearest(variant, known)}")
    return [variants[variant]]


def find_all(specs: Iterable[str]) -> list[Written]:
    """Return the scenarios of several specs.

    Raises:
        BadInput: names every spec for which there is none.
    """
    problems, scenarios = Problems(), []
    for spec in specs:
        scenarios += problems.tried(find, spec) or []
    problems.raise_any()
    return scenarios


def plan_all(written: Iterable[Written], seed: int | None = None) -> list[Plan]:
    """Return the plans of all scenarios.

    Raises:
        BadInput: names every wrong key in any of them; what several variants share is named once.
    """
    plans: list[Plan] = []
    problems: dict[str, str] = {}
    for scenario in written:
        try:
            plans.append(scenario.planned(seed))
        except BadInput as error:
            for line in str(error).splitlines():
                problems.setdefault(line.removeprefix(f"{scenario.source}: "), line)
    if problems:
        raise BadInput("\n".join(problems.values()))
    return plans


def variants_of(path: Path) -> Iterator[tuple[str, Written]]:
    """Yield the variants in a file by name; if it has none, the scenario itself with an empty name.

    Raises:
        BadInput: names the file, the key and the remedy.
    """
    content = load_mapping(path, _EXPECTED)
    content.setdefault("name", path.name.split(".")[0])
    given = content.pop(VARIANTS, None)
    if given is None:
        yield "", Written(str(path), _with_inventory(content, path))
        return
    for name, changes in validated(_Variants, {VARIANTS: given}, str(path), "").variants.items():
        named = {"name": f"{content['name']}.{name}"}
        yield name, Written(f"{path}:{name}", _with_inventory(merge(content, named | changes), path))


def _with_inventory(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """Replace the name of an inventory, which is relative to the scenario's file, by what is in it."""
    cluster = content.get("cluster")
    if isinstance(cluster, dict) and isinstance(name := cluster.get("inventory"), str):
        return {**content, "cluster": {**cluster, "inventory": read_inventory(path.parent / name)}}
    return content


def summary_of(path: Path) -> str:
    """Return the first sentence of the comment at the head of a file."""
    lines = takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
    text = " ".join(line.removeprefix("#").strip() for line in lines if not line.startswith(_FOR_EDITORS))
    return text.partition(". ")[0].removesuffix(".")


def ready_made() -> dict[str, Path]:
    """Return the files of the ready-made scenarios by name, such as `kafka/power-all`."""
    return {name: path for name, path in _ready_made().items() if not name.startswith(_SWEEPS)}


def ready_made_sweeps() -> dict[str, Path]:
    """Return the files of the ready-made sweeps by name, such as `sweeps/dedup`."""
    return {name: path for name, path in _ready_made().items() if name.startswith(_SWEEPS)}


def meanings(word: str) -> list[str]:
    """Return what a word may stand for in ready-made scenarios: itself, and for a word of incidents, such as `outage`,
    what causes or follows from one."""
    words = load_mapping(_shipped() / _WORDS, "words, each with a list")
    return [word.lower(), *words.get(word.lower(), ())]


def find_sweep(spec: str) -> Path:
    """Return the file of a sweep, given its path or the name of a ready-made one, such as `sweeps/dedup`.

    Raises:
        BadInput: there is none; the message suggests the closest name.
    """
    if Path(spec).is_file():
        return Path(spec)
    known = ready_made_sweeps()
    if spec not in known:
        raise BadInput(f"{spec}: no such file or ready-made sweep; {nearest(spec, list(known))}")
    return known[spec]


def _locate(spec: str, folder: Path) -> tuple[Path, str]:
    """Return the file and the variant that are meant."""
    if (folder / spec).is_file():
        return folder / spec, ""
    name, _, variant = spec.rpartition(":") if ":" in spec else (spec, "", "")
    if (folder / name).is_file():
        return folder / name, variant
    known = ready_made()
    if name in known:
        return known[name], variant
    if name in ready_made_sweeps():
        raise BadInput(f"{spec}: is a sweep; run it with `chaoskit sweep {spec}`")
    if (folder / spec / SCENARIO).is_file():
        return folder / spec / SCENARIO, ""
    if (folder / name).is_dir():
        raise BadInput(f"{folder / name}: is a folder; name a file in it")
    if of_system := [known_name for known_name in known if known_name.startswith(f"{name}/")]:
        raise BadInput(f"{spec}: has several scenarios; name one: {', '.join(of_system)}")
    if name.endswith(_SUFFIX):
        raise BadInput(f"{folder / name}: no such file")
    raise BadInput(f"{spec}: no such file or ready-made scenario; {nearest(name, list(known))}")


def _shipped() -> Path:
    """Return the folder of what is shipped with chaoskit: in the package or, in a checkout, next to it."""
    package = Path(__file__).parents[1]
    installed = package / "ready_made"
    return installed if installed.is_dir() else package.parent / "scenarios"


def _ready_made() -> dict[str, Path]:
    """Return all scenarios and sweeps shipped with chaoskit, by name."""
    folder = _shipped()
    return {str(path.relative_to(folder).with_suffix("")): path for path in sorted(folder.glob(f"*/*{_SUFFIX}"))}
