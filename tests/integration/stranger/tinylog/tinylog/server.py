"""The system: logs in files, a line for each message, asked by a line of JSON each."""

import json
import os
import socketserver
import sys
import threading
import zlib
from pathlib import Path

FOLDER, FSYNC = Path(sys.argv[2]), sys.argv[3] == "fsync"
LOGS = {}


class Log:
    """One log: a file on the disk, and its messages in memory."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.messages = []
        self.file = path.open("ab+")
        self.file.seek(0)
        end = 0
        for line in self.file:
            crc, _, message = line.partition(b" ")
            if not line.endswith(b"\n") or crc != b"%08x" % zlib.crc32(message):
                break  # a crash tore it
            self.messages.append(message.decode().strip())
            end += len(line)
        self.file.truncate(end)
        self.sync()

    def append(self, message):
        line = message.encode() + b"\n"
        with self.lock:
            self.file.write(b"%08x " % zlib.crc32(line) + line)
            self.sync()
            self.messages.append(message)
            return len(self.messages) - 1

    def sync(self):
        self.file.flush()
        if FSYNC:
            os.fsync(self.file.fileno())


class Session(socketserver.StreamRequestHandler):
    """One connection: each answer is `[value, error]`."""

    def handle(self):
        for line in self.rfile:
            verb, *rest = json.loads(line)
            try:
                answer = [getattr(self, verb)(*rest), None]
            except KeyError as error:
                answer = [None, f"there is no log {error}"]
            except OSError:
                os._exit(1)  # nobody knows what the disk has; the next start reads it
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    def create(self, name):
        LOGS.setdefault(name, Log(FOLDER / name))

    def append(self, name, message):
        return LOGS[name].append(message)

    def read(self, name, position, count):
        return LOGS[name].messages[position : position + count], self.end(name)

    def end(self, name):
        return len(LOGS[name].messages)

    def delete(self, prefix):
        for name in [log for log in LOGS if log.startswith(prefix)]:
            del LOGS[name]
            (FOLDER / name).unlink()

    def ping(self):
        return "pong"


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


if __name__ == "__main__":
    LOGS.update({path.name: Log(path) for path in FOLDER.iterdir() if path.is_file()})
    Server(("0.0.0.0", int(sys.argv[1])), Session).serve_forever()
