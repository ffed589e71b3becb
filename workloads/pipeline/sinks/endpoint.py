"""An HTTP endpoint that the application calls: each request is recorded before it is answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from chaoskit.contract.clients.application import ReadRecord
from chaoskit.contract.workloads.workload import Job
from chaoskit.model.audit import Bounds
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.sinks.options import Answering, SinkOptions
from workloads.pipeline.sinks.outputs import OutputLog, expect_outputs

_POLL_S = 0.05


class _Taking:
    """Takes the requests of one endpoint, one at a time, and records them."""

    def __init__(self, job: Job[PipelineOptions], sink: SinkOptions) -> None:
        self._sink = sink
        self._job = job
        self._topic = job.recorder.in_system(sink.name)
        self.log = OutputLog(job.recorder, job.options)
        self._taken: set[str] = set()
        self._asked = 0
        self.start_ns: int = 0
        self.position: int = 0
        self.over: bool = False

    def answering(self) -> Answering | None:
        """Return how the next request is answered; None: as usual."""
        since_ns = time.monotonic_ns() - self.start_ns
        for answering in self._sink.answers if self.start_ns else ():
            if answering.start <= since_ns < answering.to:
                self._asked += 1
                return answering if self._asked % answering.every == 0 else None
        return None

    def take(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Record a request, unless one with its key was taken before."""
        recorder, key = self._job.recorder, headers.get(self._sink.key, "") if self._sink.key else ""
        if key and key in self._taken:
            return
        self._taken.add(key)
        lowered = {name: value.encode() for name, value in headers.items()}
        op = recorder.invoke("receive")
        self.log.outputs(op, [ReadRecord(self._topic, 0, self.position, None, body, lowered)])
        recorder.complete(op)
        self.position += 1


def serve(job: Job[PipelineOptions]) -> None:
    """Serve an endpoint until stopped."""
    sink = job.options.endpoints[job.task.index]
    expect_outputs(job, [(sink.name, 0)])
    taking, lock = _Taking(job, sink), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with lock:
                known = self.path.split("?")[0] == sink.http
                answering = taking.answering() if known else None
                refused = taking.over or (answering is not None and answering.do == "refuse")
                if known and not refused:
                    taking.take(body, dict(self.headers.items()))
            if answering is not None and answering.do == "drop":
                self.close_connection = True
                self.connection.close()
                return
            if answering is not None and answering.do == "slow":
                time.sleep(answering.by / 1e9)
            status = 404 if not known else 500 if refused else 200
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_POST  # noqa: N815 - the name that the library asks for

        def log_message(self, *what: Any) -> None:
            """Say nothing: every request is recorded."""

    server = ThreadingHTTPServer(("0.0.0.0", 0), Handler)  # noqa: S104 - instances are in other network namespaces
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    job.control.result({"serves": {sink.name: f"{server.server_port}{sink.http}"}})
    taking.start_ns = job.control.wait_start()
    while not job.control.stopping:
        time.sleep(_POLL_S)
    server.shutdown()
    server.server_close()
    with lock:
        # What a call that is still being served would add is behind the end.
        taking.over = True
        end = taking.position
        job.recorder.audited(job.recorder.in_system(sink.name), 0, Bounds(0, end, True, end))
    job.control.report(job.recorder.report())
    job.control.result({"why": taking.log.misfit})
