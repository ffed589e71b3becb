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
from clusters.rabbitmq.management import Management


@contextmanager
def _node(told: dict[str, Any], recorded: dict[str, Any]) -> Iterator[Management]:
    """Tell this of every queue: with statistics, and without them."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            written = json.dumps(recorded if "disable_stats=true" in self.path else told).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        def log_message(self, *what: Any) -> None:
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
    ("told", "recorded", "state"),
    [
        ({"type": "classic", "state": "down"}, {"state": "live"}, "down"),
        ({"type": "classic"}, {"state": "live"}, "live"),
        ({"type": "classic"}, {"state": "stopped"}, "stopped"),
        ({"type": "classic"}, {}, None),
    ],
)
def test_the_state_of_a_queue(told: dict[str, Any], recorded: dict[str, Any], state: str | None) -> None:
    with _node(told, recorded) as management:
        found = management.queue("queue-0")

    assert found == {**told, "state": state}
