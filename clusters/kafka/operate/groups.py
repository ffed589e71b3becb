"""Where the workload's group of consumers goes on, by `kafka-consumer-groups`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.kafka.operate.tools import PLAN, KafkaTools

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

    def aim(self, position: str | int) -> dict[Place, int]:
        where = ["--shift-by", str(position)] if isinstance(position, int) else [f"--to-{position}"]
        return self._positions("NEW-OFFSET", *self._resetting(), "--all-topics", *where, "--dry-run")

    def commit(self, positions: Mapping[Place, int]) -> None:
        plan = "".join(f"{topic},{number},{position}\n" for (topic, number), position in positions.items())
        self._table("NEW-OFFSET", *self._resetting(), "--from-file", PLAN, "--execute", plan=plan)

    def _resetting(self) -> tuple[str, ...]:
        return "--reset-offsets", "--group", self._group()

    def _positions(self, column: str, *arguments: str) -> dict[Place, int]:
        """Return a column of the table that the tool prints, by partition."""
        header, *rows = self._table(column, *arguments)
        topic, number, position = (header.index(name) for name in ("TOPIC", "PARTITION", column))
        return {
            (row[topic], int(row[number])): int(row[position])
            for row in rows
            if len(row) > position and row[number].isdecimal() and row[position].isdecimal()
        }

    def _table(self, column: str, *arguments: str, plan: str | None = None) -> list[list[str]]:
        """Return the table with a column that the tool prints, with its header.

        Raises:
            ServiceError: there is none, or an error: of that the tool's exit code does not tell.
        """
        printed = self._tools.run(_COMMAND, *arguments, plan=plan)
        lines = printed.splitlines()
        rows = [line.split() for line in lines]
        header = next((at for at, row in enumerate(rows) if column in row), None)
        if header is None or any(line.startswith("Error") for line in lines):
            raise ServiceError(f"kafka-consumer-groups, group {self._group()}: {printed.strip()[-300:]}")
        return rows[header:]
