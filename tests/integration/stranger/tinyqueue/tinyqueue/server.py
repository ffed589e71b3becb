"""The system: queues in memory, asked by a line of JSON each. What a consumer did not settle is given again."""

import json
import socketserver
import sys
from collections import defaultdict, deque

QUEUES = defaultdict(deque)


class Session(socketserver.StreamRequestHandler):
    """One connection, and what it was given and did not settle."""

    def handle(self):
        self.given = {}
        try:
            for line in self.rfile:
                verb, *rest = json.loads(line)
                self.wfile.write(json.dumps(getattr(self, verb)(*rest)).encode() + b"\n")
        except OSError:
            pass  # the client is gone
        for queue, payload in self.given.values():
            QUEUES[queue].appendleft(payload)

    def put(self, queue, payload):
        QUEUES[queue].append(payload)
        return "stored"

    def get(self, queue):
        if not QUEUES[queue]:
            return None
        payload = QUEUES[queue].popleft()
        tag = len(self.given)
        while tag in self.given:
            tag += 1
        self.given[tag] = (queue, payload)
        return [tag, payload]

    def settle(self, tag):
        return self.given.pop(tag) and "settled"

    def delete(self, prefix):
        for queue in [queue for queue in QUEUES if queue.startswith(prefix)]:
            del QUEUES[queue]
        return "deleted"

    def ping(self):
        return "pong"


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


if __name__ == "__main__":
    Server(("0.0.0.0", int(sys.argv[1])), Session).serve_forever()
