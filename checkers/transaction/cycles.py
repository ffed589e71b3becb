"""Cycles of dependencies between transactions, classified (Adya 1999; Elle, Kingsbury & Alvaro 2020).

    G0        only ww            G-single  exactly one rw
    G1c       ww and wr          G2        several rw

Suffix `-process`: the cycle depends on the order of one process; `-realtime`: it depends on one transaction having
ended before another began. Edges and components are computed on arrays; networkx finds the smallest cycle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import Anomaly
from checkers.arrays.columns import run_starts
from checkers.arrays.models import IN_LOGS
from checkers.transaction.edges import PROCESS, REALTIME, RW, WR, WW

BASES = ("G0", "G1c", "G-single", "G2")
SUFFIXES = ("", "-process", "-realtime")
_OF = {
    "G0": "of writes only",
    "G1c": "of writes and reads",
    "G-single": "with one anti-dependency",
    "G2": "with several anti-dependencies",
}
_WITH = {"": "", "-process": ", and the order of one process", "-realtime": ", and real time"}
CYCLES = {
    f"{base}{suffix}": Anomaly(f"{base}{suffix}", f"transactions form a cycle {_OF[base]}{_WITH[suffix]}", IN_LOGS)
    for suffix in SUFFIXES
    for base in BASES
}

_SMALL = 2000
"""Maximum number of edges of a component for an exhaustive search for its smallest cycle."""

_CANDIDATES = 64
"""Number of edges of a larger component through which a small cycle is searched."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Dependencies between nodes 0 to `nodes` - 1, and helpers above them that only carry real time.

    Attributes:
        nodes: number of transactions and operations.
        helpers: number of additional nodes: instants at which something ended.
        kind, source, target: kind and ends of each edge.
    """

    nodes: int
    helpers: int
    kind: Ints
    source: Ints
    target: Ints


def with_orders(data: Graph, process: Ints, start_ns: Ints, end_ns: Ints) -> Graph:
    """Add the edges of process order and of real time.

    Real time is not represented by pairs: each end is an instant, instants are chained, and everything that
    begins after an instant follows it.

    Args:
        data: edges of kinds ww, wr and rw.
        process: process of each node.
        start_ns: when each node began.
        end_ns: when each node ended, or `NONE`.
    """
    order = np.lexsort((start_ns, process))
    same = process[order[1:]] == process[order[:-1]]
    ended = np.flatnonzero(end_ns != NONE)
    ended = ended[np.argsort(end_ns[ended], kind="stable")]
    instants = data.nodes + np.arange(ended.size)
    last = np.searchsorted(end_ns[ended], start_ns) - 1
    follows = np.flatnonzero(last >= 0)
    sources = [order[:-1][same], ended, instants[:-1], instants[last[follows]]]
    targets = [order[1:][same], instants, instants[1:], follows]
    kinds = np.repeat([PROCESS, REALTIME], [sources[0].size, sum(source.size for source in sources[1:])])
    return Graph(
        data.nodes,
        ended.size,
        np.concatenate([data.kind, kinds]),
        np.concatenate([data.source, *sources]),
        np.concatenate([data.target, *targets]),
    )


def cycles(graph: Graph) -> Iterator[tuple[str, list[int]]]:
    """Yield a smallest cycle for each component and class: its class, and its edges in order.

    A class with a suffix is searched only if the classes without it have no cycle.
    """
    tangled = np.zeros(graph.nodes + graph.helpers, np.bool_)
    for suffix, order in zip(SUFFIXES, (NONE, PROCESS, REALTIME), strict=True):
        shown = np.zeros_like(tangled)
        for base, newest in zip(BASES[:3], (WW, WR, RW), strict=True):
            edges = np.flatnonzero((graph.kind <= newest) | (graph.kind == order))
            component = _components(graph, edges)
            edges = edges[component[graph.source[edges]] == component[graph.target[edges]]]
            shown[graph.source[edges]] = True
            for chosen in _by_component(edges, component[graph.source[edges]]):
                if not tangled[graph.source[chosen]].any():
                    yield from _smallest(graph, chosen, newest, base, suffix)
        tangled |= shown


def classify(kinds: Ints) -> str:
    """Return the class of a cycle with edges of these kinds."""
    crossings = np.count_nonzero(kinds == RW)
    base = "G2" if crossings > 1 else "G-single" if crossings else "G1c" if np.any(kinds == WR) else "G0"
    return base + ("-realtime" if np.any(kinds == REALTIME) else "-process" if np.any(kinds == PROCESS) else "")


def _matrix(graph: Graph, edges: Ints) -> csr_array:
    size = graph.nodes + graph.helpers
    return csr_array((np.ones(edges.size, np.bool_), (graph.source[edges], graph.target[edges])), shape=(size, size))


def _components(graph: Graph, edges: Ints) -> Ints:
    components: Ints = connected_components(_matrix(graph, edges), directed=True, connection="strong")[1]
    return components


def _by_component(edges: Ints, component: Ints) -> Iterator[Ints]:
    order = np.argsort(component, kind="stable")
    starts = np.unique(run_starts(component[order])) if order.size else order
    yield from np.split(edges[order], starts[1:])


def _smallest(graph: Graph, edges: Ints, newest: int, base: str, suffix: str) -> Iterator[tuple[str, list[int]]]:
    """Yield a smallest cycle of a component for its class, if there is one; G2 only if there is no G-single."""
    candidates = edges[graph.kind[edges] == newest]
    candidates = candidates if edges.size <= _SMALL else candidates[:_CANDIDATES]
    for wanted in (base, "G2") if base == "G-single" else (base,):
        ways = edges[graph.kind[edges] != RW] if wanted == "G-single" else edges
        network = _network(graph, _near(graph, ways, candidates))
        closed = [cycle for edge in candidates.tolist() if (cycle := _closed(graph, network, edge))]
        fitting = [cycle for cycle in closed if classify(graph.kind[cycle]) == wanted + suffix]
        if fitting:
            yield wanted + suffix, min(fitting, key=lambda cycle: _length(graph, cycle))
            return


def _length(graph: Graph, cycle: list[int]) -> int:
    """Return the number of transactions in a cycle."""
    return int(np.count_nonzero(graph.source[cycle] < graph.nodes))


def _near(graph: Graph, edges: Ints, candidates: Ints) -> Ints:
    """Return the edges among the nodes of some short cycles of a component that is too large for networkx."""
    if edges.size <= _SMALL:
        return edges
    matrix = _matrix(graph, edges)
    near = np.zeros(graph.nodes + graph.helpers, np.bool_)
    for edge in candidates.tolist():
        _, before = breadth_first_order(matrix, graph.target[edge])
        node = int(graph.source[edge])
        while node >= 0:
            near[node] = True
            node = int(before[node])
    return edges[near[graph.source[edges]] & near[graph.target[edges]]]


def _network(graph: Graph, edges: Ints) -> nx.DiGraph[int]:
    """Return the edges as a graph; of several between two nodes, the one of the lowest kind (strongest evidence)."""
    network: nx.DiGraph[int] = nx.DiGraph()
    for edge in edges[np.argsort(-graph.kind[edges], kind="stable")].tolist():
        source, target = int(graph.source[edge]), int(graph.target[edge])
        network.add_edge(source, target, edge=edge, weight=int(source < graph.nodes))
    return network


def _closed(graph: Graph, network: nx.DiGraph[int], edge: int) -> list[int] | None:
    """Return a smallest cycle through an edge, as edges."""
    source, target = int(graph.source[edge]), int(graph.target[edge])
    if source not in network or target not in network:
        return None
    try:
        _, path = nx.bidirectional_dijkstra(network, target, source)
    except nx.NetworkXNoPath:
        return None
    return [edge, *(network.edges[step]["edge"] for step in pairwise(path))]
