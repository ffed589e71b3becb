"""The faults of a run, as input for guarantees."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.quantities import HOUR
from chaoskit.base.reading import reading, shaped
from chaoskit.contract.guarantee import Effect
from chaoskit.contract.installed import nemesis
from chaoskit.contract.mistakes import validated
from chaoskit.history.format.audits import Place

_FILE = "faults.parquet"
_OF_ENGINE = ("on", "for_ns", "damaged")
"""Recorded parameters of a fault that belong to the engine."""


_FOREVER_NS = 24 * HOUR
"""Assumed end of a fault that was not proved healed."""


def effects(faults: Sequence[Mapping[str, Any]]) -> list[Effect]:
    """Return the recorded faults that began. A fault without a proved effect may nevertheless have done damage.

    Raises:
        BadInput: a kind of fault is not installed.
    """
    return [_effect(row) for row in faults if row["targets"]]


def _effect(row: Mapping[str, Any]) -> Effect:
    kind = nemesis(row["kind"], _FILE)
    with reading(Path(_FILE)):
        recorded = shaped(json.loads(row["parameters"]), dict[str, Any])
        damaged = shaped(recorded.get("damaged", ()), tuple[Place, ...])
    given = {key: value for key, value in recorded.items() if key not in _OF_ENGINE}
    parameters = validated(kind.parameters, given, _FILE, "")
    lasted_ns = (row["healed_ns"] or _FOREVER_NS) - row["start_ns"]
    return Effect(
        kind=row["kind"],
        targets=tuple(row["targets"]),
        on_hosts=kind.hits == "hosts",
        damage=kind.damage(parameters),
        start_ns=row["start_ns"],
        healed_ns=row["healed_ns"],
        number=row["fault"],
        on_links=kind.on_links,
        delays=kind.delays,
        moves=kind.moves,
        proved=row["effective_ns"] is not None,
        abrupt=kind.is_abrupt(parameters),
        ahead_ns=kind.ahead_ns(parameters, lasted_ns),
        partitions=frozenset(damaged),
    )
