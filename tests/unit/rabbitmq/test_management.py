"""Nodes are asked over HTTP; a queue whose statistics say nothing of its state has the state of its record."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from clusters.rabbitmq.connection import LAB
from clusters.rabbitmq.deploy.management import Management
from clusters.rabbitmq.deploy.stored import StoredQueues
from clusters.rabbitmq.settings import host_name


@contextmanager
def _node(
    answers: dict[str, Any], recorded: dict[str, Any], raft: dict[str, str] | None = None
) -> Iterator[Management]:
    """Tell this of every queue: with statistics, and without them; and the Raft states of its members, if given."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            of_queue: Any = recorded if "disable_stats=true" in self.path else answers
            if self.path.endswith("/status"):
                of_queue = [{"Node Name": node, "Raft State": state} for node, state in (raft or {}).items()]
            written = json.dumps([] if self.path == "/api/nodes" else of_queue).encode()
            gone = raft is None if self.path.endswith("/status") else not answers and "/queues/" in self.path
            self.send_response(404 if gone else 200)
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        def log_message(self, *words: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    management = Management([f"http://127.0.0.1:{server.server_port}"], LAB)
    try:
        yield management
    finally:
        management.close()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("queue_state", "recorded", "missing"),
    [
        ({}, {}, ""),
        ({"type": "classic", "state": "down"}, {"state": "live"}, "q is down"),
        ({"type": "classic", "state": "running"}, {"state": "stopped"}, ""),
        ({"type": "classic"}, {"state": "live"}, ""),
        ({"type": "classic"}, {"state": "stopped"}, "q is stopped"),
        ({"type": "classic"}, {}, "q is None"),
        ({"type": "quorum", "leader": "n1", "members": ["n1", "n2"], "online": ["n1"]}, {"state": "live"}, "q has the"),
    ],
)
def test_what_is_missing_of_a_queue(queue_state: dict[str, Any], recorded: dict[str, Any], missing: str) -> None:
    with _node(queue_state, recorded) as management:
        stored = StoredQueues(management, host_name)
        stored.places["q"] = ("queue-0", 0)

        words = stored.missing({})

    assert words.startswith(missing)
    assert bool(words) == bool(missing)


@pytest.mark.parametrize(
    ("raft", "missing"),
    [
        (None, "q has the members ['n1'] of"),
        ({"n1": "follower", "n2": "leader"}, ""),
        ({"n1": "follower", "n2": "noproc"}, "q has the members ['n1'] of"),
        ({"n1": "follower", "n2": "noconnection"}, "q has the members ['n1'] of"),
        ({"n1": "leader", "n2": "receive_snapshot"}, "q has the members ['n1'] of"),
    ],
)
def test_raft_knows_better_than_the_statistics_of_a_former_leader(raft: dict[str, str] | None, missing: str) -> None:
    info = {"type": "quorum", "leader": "n1", "members": ["n1", "n2"], "online": ["n1"]}
    with _node(info, {}, raft) as management:
        stored = StoredQueues(management, host_name)
        stored.places["q"] = ("queue-0", 0)

        lack = stored.missing({})

    assert lack.startswith(missing)
    assert bool(lack) == bool(missing)
