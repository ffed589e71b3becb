"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table.

    >>> table(["host", "role"], [["n1", "leader"]])
    ['| host | role |', '| --- | --- |', '| n1 | leader |']
    """
    return [f"| {' | '.join(line)} |" for line in (titles, ["---"] * len(titles), *rows)]
