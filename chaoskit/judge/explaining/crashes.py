"""Services that exited or hung by themselves, as findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from chaoskit.contract.checkers.anomaly import CRASHED
from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.model.place import Place


def with_crashes(findings: pa.Table, crashed: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return findings with one more for each crash (`crashed` in recovery.json)."""
    rows = [
        {
            "anomaly": CRASHED.name,
            "topic": place_of(crash)[0],
            "partition": place_of(crash)[1],
            "at_ns": crash["at_ns"],
            "detail": crash["why"],
        }
        for crash in crashed
    ]
    return pa.concat_tables([findings, pa.Table.from_pylist(rows, FINDINGS)]).unify_dictionaries().combine_chunks()


def place_of(crash: Mapping[str, Any]) -> Place:
    """Return the place of a crash, as if the service were a partition that its hosts store."""
    return f"{crash['service']}@{crash['host']}", 0


def process_of(place: Place) -> str:
    """Return the service that crashed, given the place of its crash."""
    return place[0].partition("@")[0]


def hosts_of(crash: Mapping[str, Any]) -> list[str]:
    """Return the hosts on which a fault may have caused a crash."""
    return [crash["host"], *crash["needs"]]
