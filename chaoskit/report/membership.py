"""The membership of partitions over time, for a chart: who leads, who is in sync, who is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from chaoskit.history.compacting.placements import Placements, Standing
from chaoskit.history.format.audits import Place
from chaoskit.report import charts

TITLE = "Membership: leads (blue), in sync (green), out of sync (orange), stores (grey)"

_PLACES_MAX = 4
"""At most so many partitions are drawn: the first ones that changed."""

_LEADS, _IN_SYNC, _OUT, _STORES = "leads", "in sync", "out of sync", "stores"
_COLOURS = {_LEADS: charts.BLUE, _IN_SYNC: charts.GREEN, _OUT: charts.ORANGE, _STORES: charts.GREY}


def membership(placements: Placements, domain: Sequence[float]) -> charts.Spec | None:
    """Return a chart of the partitions whose membership changed; None if none did.

    Args:
        placements: where partitions were stored.
        domain: domain of the time axis, s since the start of the run.
    """
    return lanes(spans(placements, domain), domain)


def lanes(
    spans: Sequence[Mapping[str, Any]], domain: Sequence[float], title: str = charts.OF_RUN
) -> charts.Spec | None:
    """Return a chart of spans, with this title of its time axis; None without any."""
    order = list(dict.fromkeys(span["name"] for span in spans))
    return charts.events([], spans, order, domain, title) if spans else None


def spans(placements: Placements, domain: Sequence[float]) -> list[dict[str, Any]]:
    """Return for each host of the partitions whose membership changed what it was, from when to when."""
    changed = [place for place in placements.places if len(placements.standings(place)) > 1][:_PLACES_MAX]
    return [span for place in changed for span in _spans(place, placements.standings(place), domain)]


def _spans(place: Place, standings: Sequence[Standing], domain: Sequence[float]) -> Iterator[dict[str, Any]]:
    begins = [each.at_ns / 1e9 for each in standings]
    ends = [*begins[1:], domain[1]]
    for host in sorted(frozenset().union(*(each.holders for each in standings))):
        states = [(_state(host, each), begin, end) for each, begin, end in zip(standings, begins, ends, strict=True)]
        for state, run in groupby(states, key=lambda each: each[0]):
            stretches = list(run)
            begin, end = stretches[0][1], stretches[-1][2]
            if state and end > domain[0] and begin < domain[1]:
                where = f"{place[0]}/{place[1]}"
                span = {"name": f"{host} of {where}", "from": max(begin, domain[0]), "to": min(end, domain[1])}
                yield span | {"what": f"{host} {state}", "colour": _COLOURS[state], "opacity": 0.9}


def _state(host: str, standing: Standing) -> str:
    if host == standing.leader:
        return _LEADS
    if host not in standing.holders:
        return ""
    if standing.in_sync is None:
        return _STORES
    return _IN_SYNC if host in standing.in_sync else _OUT
