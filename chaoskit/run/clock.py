"""Tells the time of a driver: answers each line with its CLOCK_MONOTONIC and its wall clock, in ns."""

from __future__ import annotations

import sys
import time


def main() -> None:
    """Answer until standard input closes."""
    with open(0, "rb", buffering=0, closefd=False) as asked:
        while asked.readline():
            sys.stdout.write(f"{time.monotonic_ns()} {time.time_ns()}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
