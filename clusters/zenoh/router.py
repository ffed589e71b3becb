"""The program of a router on a host: a session in router mode, until it is ended.

    python3 router.py CONFIGURATION

Python on the host runs it with Zenoh's package alone.
"""

import signal
import sys

import zenoh

if __name__ == "__main__":
    with zenoh.open(zenoh.Config.from_file(sys.argv[1])):
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
