"""Where the workload's group of consumers goes on, by `kafka-consumer-groups`."""

from __future__ import annotations

from collections.abc import Callable

from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.kafka.operate.tools import KafkaTools

_COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


class KafkaGroups:
    """The power `GroupOffsets` of `chaoskit.contract.systems.operating`.

    Args:
        tools: the command line tools.
        group: returns the name of the group.
    """

    def __init__(self, tools: KafkaTools, group: Callable[[], str]) -> None:
        self._tools = tools
        self._group = group

    def committed(self) -> dict[Place, int]:
        return self._positions("CURRENT-OFFSET", "--describe", "--group", self._group())

    def reset(self, to: str | int) -> dict[Place, int]:
        where = ["--shift-by", str(to)] if isinstance(to, int) else [f"--to-{to}"]
        return self._positions(
            "NEW-OFFSET", "--reset-offsets", "--group", self._group(), "--all-topics", *where, "--execute"
        )

    def _positions(self, column: str, *arguments: str) -> dict[Place, int]:
        """Return a column of the table that the tool prints, by partition."""
        printed = self._tools.run(_COMMAND, *arguments)
        rows = [line.split() for line in printed.splitlines()]
        headers = [row for row in rows if column in row]
        if not headers:
            raise ServiceError(f"kafka-consumer-groups tells nothing of {self._group()}: {printed.strip()[-300:]}")
        topic, number, position = (headers[0].index(name) for name in ("TOPIC", "PARTITION", column))
        return {
            (row[topic], int(row[number])): int(row[position])
            for row in rows
            if len(row) > position and row[number].isdecimal() and row[position].isdecimal()
        }
