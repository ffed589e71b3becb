"""The membership of partitions over time, for charts: who leads, who is in sync, who is not; who reads for a group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, groupby, pairwise
from typing import Any

from chaoskit.history.compacting.placements import Placements, Standing
from chaoskit.judge.faults.readers import Readers
from chaoskit.model.place import Place
from chaoskit.report.comparisons import PALETTE
from chaoskit.report.figures import charts

TITLE = "Membership: leads (blue), in sync (green), out of sync (orange), stores (grey)"
READERS_TITLE = "Who reads a partition for a group, a colour for each member, and who is not subscribed (red)"

_PLACES_MAX = 4
"""At most so many partitions are drawn: the first ones that changed."""

_LEADS, _IN_SYNC, _OUT, _STORES = "leads", "in sync", "out of sync", "stores"
_MEMBERS = [colour for colour in PALETTE if colour != charts.RED]
_COLOURS = {_LEADS: charts.BLUE, _IN_SYNC: charts.GREEN, _OUT: charts.ORANGE, _STORES: charts.GREY}


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


def reader_spans(readers: Sequence[Readers], domain: Sequence[float]) -> list[dict[str, Any]]:
    """Return who read the partitions that members of a group took over, and when clients were not subscribed."""
    shown = [reader for reader in readers if next(reader.changes(), None) is not None][:_PLACES_MAX]
    owned = [(reader.place, group, owners) for reader in shown for group, owners in reader.owners.items()]
    members = sorted({owner.member for _, _, owners in owned for owner in owners})
    colours = dict(zip(members, cycle(_MEMBERS), strict=False))
    spans = []
    for place, group, owners in owned:
        ends = [*(now.at_ns / 1e9 for _, now in pairwise(owners)), domain[1]]
        for (at_ns, member), end in zip(owners, ends, strict=True):
            spans.append(_span(f"{_name(place)} of {group}", member, colours[member], at_ns / 1e9, end))
    for reader in shown:
        for at_ns, until_ns, client in reader.breaks:
            end = domain[1] if until_ns is None else until_ns / 1e9
            spans.append(_span(f"{client} of {_name(reader.place)}", "not subscribed", charts.RED, at_ns / 1e9, end))
    return [_within(span, domain) for span in spans if span["to"] > domain[0] and span["from"] < domain[1]]


def _spans(place: Place, standings: Sequence[Standing], domain: Sequence[float]) -> Iterator[dict[str, Any]]:
    begins = [standing.at_ns / 1e9 for standing in standings]
    ends = [*begins[1:], domain[1]]
    for host in sorted(frozenset().union(*(standing.holders for standing in standings))):
        states = [
            (_state(host, standing), begin, end) for standing, begin, end in zip(standings, begins, ends, strict=True)
        ]
        for state, run in groupby(states, key=lambda span: span[0]):
            stretches = list(run)
            begin, end = stretches[0][1], stretches[-1][2]
            if state and end > domain[0] and begin < domain[1]:
                span = _span(f"{host} of {_name(place)}", f"{host} {state}", _COLOURS[state], begin, end)
                yield _within(span, domain)


def _span(name: str, what: str, colour: str, begin: float, end: float) -> dict[str, Any]:
    return {"name": name, "from": begin, "to": end, "what": what, "colour": colour, "opacity": 0.9}


def _within(span: dict[str, Any], domain: Sequence[float]) -> dict[str, Any]:
    return span | {"from": max(span["from"], domain[0]), "to": min(span["to"], domain[1])}


def _name(place: Place) -> str:
    return f"{place[0]}/{place[1]}"


def _state(host: str, standing: Standing) -> str:
    if host == standing.leader:
        return _LEADS
    if host not in standing.holders:
        return ""
    if standing.in_sync is None:
        return _STORES
    return _IN_SYNC if host in standing.in_sync else _OUT
