"""Asks, in a process of its own, who owns which partition of which group.

librdkafka ends its process with SIGABRT if the connection to a coordinator drops at a bad moment while an admin client
asks it (librdkafka issue 4605, pull request 5397, open). What must not happen to an observer, or to the harness, may
happen to this process: it is started again.

python -m clusters.kafka.clients.ownership: the first line of its input is what is asked about, each further line is a
question; each is answered in one line. It ends with its input.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from chaoskit.contract.clients.application import PartitionOwner

_COMMAND = (sys.executable, "-m", "clusters.kafka.clients.ownership")
Owned = tuple[str, str, int, str]
"""Group, topic, partition, and the address of the member that owns it."""

_ASKED_S = 2.0
_ANSWERED_S = 10.0
"""Two questions of `_ASKED_S` each, and the start of the process on a busy machine."""


class OwnerQuestions:
    """The process that asks.

    Args:
        settings: settings of an admin client.
        topics: the topics that groups read.
        own: how the names of groups begin that are left out.
    """

    def __init__(self, settings: Mapping[str, Any], topics: Sequence[str], own: str) -> None:
        self._subject = {"settings": settings, "topics": topics, "own": own}
        self._process: subprocess.Popen[str] | None = None

    def ask(self) -> list[PartitionOwner] | None:
        """Return who owns what now; None if nobody answers, or the process ended instead."""
        try:
            line = self._answer()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
            return None
        owners: list[list[Any]] | None = json.loads(line)
        if owners is None:
            return None
        return [PartitionOwner(group, (topic, number), member) for group, topic, number, member in owners]

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _answer(self) -> str:
        if self._process is None:
            # The settings may have secrets, which nobody must see in a list of processes.
            self._process = subprocess.Popen(
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
            self._write(json.dumps(self._subject))
        self._write("")
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], _ANSWERED_S)
        return self._process.stdout.readline() if readable else ""

    def _write(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")


def main() -> None:
    """Answer until standard input is closed."""
    subject = json.loads(sys.stdin.readline())
    admin, known = AdminClient(subject["settings"]), set[str]()
    for _ in sys.stdin:
        answer = _owners(admin, subject["topics"], subject["own"], known)
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def _owners(admin: AdminClient, topics: Sequence[str], own: str, known: set[str]) -> list[Owned] | None:
    """Return who owns what; None if that is not known. The names of groups are added to those that are known."""
    try:
        listed = admin.list_consumer_groups(request_timeout=_ASKED_S).result()
        known.update(group.group_id for group in listed.valid if not group.group_id.startswith(own))
        if not known:
            return None if listed.errors else []  # each broker lists its own groups
        asked = admin.describe_consumer_groups(sorted(known), request_timeout=_ASKED_S)
        described = [group.result() for group in asked.values()]
    except KafkaException:
        return None
    return [
        (group.group_id, owned.topic, owned.partition, member.host.lstrip("/"))
        for group in described
        for member in group.members
        for owned in (member.assignment.topic_partitions if member.assignment else ())
        if owned.topic in topics
    ]


if __name__ == "__main__":
    main()
