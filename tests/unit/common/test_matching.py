"""Whom a client of a feed is matched with, and on which network it is."""

from __future__ import annotations

import time

import pytest

from clusters.common.matching import MatchedPeers
from clusters.common.own_network import own_network

SECOND = 10**9


def test_a_peer_that_is_back_may_have_been_away_for_two_leases() -> None:
    peers, began_ns = MatchedPeers(3 * SECOND), time.monotonic_ns()

    assert peers.look(["a", "b"]) == (set(), None)
    assert peers.look(["a"]) == ({"b"}, None)
    assert peers.look(["a", "c"]) == (set(), None), "a peer that was never there is not back"
    since_ns = peers.look(["a", "b", "c"]).back_since_ns

    assert since_ns is not None
    assert began_ns - 6 * SECOND <= since_ns <= time.monotonic_ns() - 6 * SECOND
    assert peers.look(["a", "b", "c"]) == (set(), None)


@pytest.mark.parametrize("peers", [["127.0.0.9"], [], ["203.0.113.7"]])
def test_a_client_is_on_the_network_of_the_peers_alone(peers: list[str]) -> None:
    assert own_network(peers) == ("127.0.0.1", "lo")
