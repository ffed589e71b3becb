"""The checkers of transactions, groups and cycles agree with the definitions, on arbitrary small histories."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from reference_spanning import Found, Whole
from story import Row, Story, assigned, committed, received, sent

from chaoskit.model.audit import Audit, Bounds
from checkers.transaction.cycles import BASES, Graph, classify, cycles, with_orders
from checkers.transaction.edges import PROCESS, REALTIME

CLIENTS = st.sampled_from(["a#1", "a#2", "b#1"])
PLACES = st.sampled_from(["t/0", "t/1"])
OUTCOMES = st.sampled_from(["ok", "ok", "ok", "fail", "info"])


@st.composite
def transactional_stories(draw: st.DrawFn) -> Story:
    """Producers with lasting names that begin, send, end, and readers, all at random."""
    story = Story(audits=draw(audits()))
    open_txn: dict[str, int] = {}
    for value in range(draw(st.integers(1, 14))):
        client, place, position = draw(CLIENTS), draw(PLACES), draw(st.integers(0, 5))
        action = draw(st.sampled_from(["init", "begin", "send", "send", "send", "end", "poll", "poll", "txn"]))
        txn = open_txn.get(client)
        if action == "init":
            story.op(client, "init", outcome=draw(OUTCOMES))
        elif action == "begin":
            open_txn[client] = story.op(client, "begin", txn=len(story.operations))
        elif action == "send":
            known = draw(st.sampled_from([position, None]))
            story.op(client, "send", sent(place, value, known), outcome=draw(OUTCOMES), txn=txn)
        elif action == "end" and txn is not None:
            story.op(client, "end", outcome=draw(OUTCOMES), txn=open_txn.pop(client))
        elif action == "txn":
            read = received(place, draw(st.integers(0, 14)), position)
            story.op(
                client, "txn", sent(place, value, position), read, outcome=draw(OUTCOMES), txn=len(story.operations)
            )
        else:
            reader = draw(st.sampled_from(["c#1", "auditor"]))
            story.op(reader, "poll", received(place, draw(st.integers(0, 14)), position))
    return story


@st.composite
def group_stories(draw: st.DrawFn) -> Story:
    """Members of two groups that are assigned, receive, commit, seek and leave, all at random."""
    story = Story(bound_ns=10**9, audits=draw(audits()))
    story.op("p", "send", *(sent("t/0", value, value) for value in range(5)))
    for _ in range(draw(st.integers(1, 12))):
        client, group = draw(st.sampled_from([("a", "g"), ("b", "g"), ("c", "h")]))
        action = draw(
            st.sampled_from(["assign", "poll", "poll", "commit", "commit", "seek", "revoke", "close", "killed"])
        )
        rows: list[Row] = []
        if action == "assign":
            rows = [assigned("t/0", group, draw(st.sampled_from([None, 0, 1, 2])))]
        elif action == "poll":
            rows = [received("t/0", value, value) for value in draw(st.sets(st.integers(0, 4), min_size=1))]
        elif action == "commit":
            rows = [committed("t/0", draw(st.integers(0, 5)), group)]
        outcome = draw(OUTCOMES) if action == "commit" else "ok"
        if action == "killed":
            story.op(client, "poll", outcome="info", lasts=0)
        else:
            story.op(client, action, *rows, outcome=outcome, lasts=draw(st.sampled_from([5, 5, 25])))
    read = draw(st.sets(st.integers(0, 4)))
    story.op("auditor", "poll", *(received("t/0", value, value) for value in sorted(read)))
    return story


@st.composite
def audits(draw: st.DrawFn) -> dict[str, Audit]:
    return {place: Bounds(0, 6, draw(st.booleans())) for place in ("t/0", "t/1") if draw(st.booleans())}


def identified(story: Story) -> set[Found]:
    """Return the findings as the reference identifies them."""
    by_value = ("aborted-read", "precommitted-read", "zombie-write")
    by_op = ("commit-regression", "commit-beyond", "double-assignment")
    findings: set[Found] = set()
    for row in story.check():
        place, anomaly = (row["topic"], row["partition"]), row["anomaly"]
        if anomaly in by_value:
            findings.add((anomaly, place, row["value"]))
        elif anomaly in by_op:
            findings.add((anomaly, place, row["op"]))
        elif anomaly == "passed-over":
            findings.add((anomaly, place, row["position"]))
        elif anomaly == "reprocessed":
            findings.add((anomaly, place, row["op"], row["position"]))
        elif anomaly == "torn-transaction":
            findings.add((anomaly, story.operations[row["op"]]["txn"]))
    return findings


@given(st.one_of(transactional_stories(), group_stories()))
def test_findings_are_those_of_the_definitions(story: Story) -> None:
    expected = Whole(story).findings()
    for name, *_ in expected:
        event(name)

    assert identified(story) == expected


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, np.ndarray, np.ndarray, np.ndarray]:
    """Dependencies between few nodes, with processes and times."""
    nodes = draw(st.integers(2, 6))
    node = st.integers(0, nodes - 1)
    edges = draw(st.sets(st.tuples(st.integers(0, 2), node, node).filter(lambda edge: edge[1] != edge[2]), max_size=9))
    kind, source, target = np.array(sorted(edges), np.int64).reshape(-1, 3).T
    process = np.array(draw(st.lists(st.integers(0, 8), min_size=nodes, max_size=nodes)))
    start_ns = np.array(draw(st.permutations(range(0, 10 * nodes, 10))))
    lasting = np.array(draw(st.lists(st.sampled_from([5, 25, 1000]), min_size=nodes, max_size=nodes)))
    return Graph(nodes, 0, kind, source, target), process, start_ns, start_ns + lasting


def classes_of(data: Graph, process: Any, start_ns: Any, end_ns: Any, order: int | None) -> set[str]:
    """Return the classes of all simple cycles, orders spelt out pair by pair."""
    network: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    for kind, source, target in zip(data.kind, data.source, data.target, strict=True):
        network.add_edge(int(source), int(target), kind=int(kind))
    for a in range(data.nodes):
        for b in range(data.nodes):
            if order == PROCESS and process[a] == process[b] and start_ns[a] < start_ns[b]:
                network.add_edge(a, b, kind=PROCESS)
            if order == REALTIME and end_ns[a] < start_ns[b]:
                network.add_edge(a, b, kind=REALTIME)
    classes = set()
    for cycle in nx.simple_cycles(nx.DiGraph(network)):
        steps = [
            {data["kind"] for data in network[a][b].values()} for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True)
        ]
        combinations: list[list[int]] = [[]]
        for kinds in steps:
            combinations = [[*before, kind] for before in combinations for kind in kinds]
        classes |= {classify(np.array(kinds)) for kinds in combinations}
    return classes


@given(graphs())
def test_classes_of_cycles_are_those_of_all_simple_cycles(drawn: tuple[Graph, Any, Any, Any]) -> None:
    data, process, start_ns, end_ns = drawn
    graph = with_orders(data, process, start_ns, end_ns)
    names = {name for name, _ in cycles(graph)}
    plain = classes_of(data, process, start_ns, end_ns, None)
    in_process = classes_of(data, process, start_ns, end_ns, PROCESS)
    in_time = classes_of(data, process, start_ns, end_ns, REALTIME)
    for name in names:
        event(name)

    assert names <= plain | in_process | in_time, "no false alarm"
    for base in ("G0", "G1c", "G-single"):
        assert (base in names) == (base in plain)
    assert bool(names & set(BASES)) == bool(plain), "whatever cycle there is, some class is told"
    if not plain:
        assert bool(names) == bool(in_process | in_time)


@given(graphs())
def test_a_cycle_closes_and_is_of_its_class(drawn: tuple[Graph, Any, Any, Any]) -> None:
    graph = with_orders(*drawn)
    for name, edges in cycles(graph):
        assert np.array_equal(graph.target[edges], np.roll(graph.source[edges], -1))
        assert classify(graph.kind[edges]) == name
