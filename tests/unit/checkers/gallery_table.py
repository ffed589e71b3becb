"""The examples of tests/unit/checkers/gallery.md.

python tests/unit/checkers/gallery_table.py     prints them
"""

from __future__ import annotations

import pyarrow as pa
from gallery import GALLERY

from chaoskit.judge.verdict.anomalies import examples
from chaoskit.model.tables import OPERATIONS
from chaoskit.report.summary import describe_example


def example(name: str) -> str:
    """Return the first finding of an anomaly's history, as the summary of a run tells it."""
    story = GALLERY[name](True)
    rows = story.table()
    chosen = rows.filter(pa.array([row == name for row in rows["anomaly"].to_pylist()]))
    return describe_example(next(examples(chosen, pa.Table.from_pylist(story.operations, OPERATIONS))))


def table() -> str:
    """Return the examples of all anomalies as a Markdown table."""
    lines = ["| name | example |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {example(name)} |" for name in GALLERY)])


if __name__ == "__main__":
    print(table())
