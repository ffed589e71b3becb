"""Judged synthetic runs, with and without faults and anomalies, and the analysis of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from generated import generated

from chaoskit.judge.judging import check_run

pytest.importorskip("jinja2", reason="pip install 'chaoskit[report]'")
pytest.importorskip("vl_convert", reason="pip install 'chaoskit[report]'")


LONG = "a-scenario-with-a-rather-long-name-<b>"


def make_run(store: Path, scenario: str, number: int = 0, **given: Any) -> Path:
    """Make a synthetic run and judge it; `number` is its order in time."""
    folder = store / scenario / f"20260101T0000{number:02}-aaaaaa"
    generated(folder, **{"seed": number, **given})
    check_run(folder)
    return folder


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that lost messages."""
    inject = {"lost-message": 3, "ghost": 2, "stall": 1}
    return make_run(tmp_path_factory.mktemp("store"), LONG, messages=200_000, faults=3, inject=inject)


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run without faults and anomalies."""
    return make_run(tmp_path_factory.mktemp("store"), "calm", messages=5_000, faults=0, errors=0.0)


@pytest.fixture(scope="session")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of an analysis of a few runs, the last of which is worse."""
    pytest.importorskip("pyspark", reason="pip install 'chaoskit[spark]'")
    from spark_analysis import analyze, check  # noqa: PLC0415
    from spark_analysis.page import page  # noqa: PLC0415
    from spark_analysis.runs import open_run  # noqa: PLC0415
    from spark_analysis.task import work  # noqa: PLC0415

    store = tmp_path_factory.mktemp("store")
    folders = [make_run(store, LONG, number, messages=20_000) for number in range(6)]
    folders.append(make_run(store, LONG, 6, messages=20_000, inject={"stall": 2, "lost-message": 4}))
    folders.append(make_run(store, "other", 7, messages=20_000))
    folders.append(make_run(store, "other", 8, messages=20_000))
    runs = [open_run(number, folder, recheck=False) for number, folder in enumerate(folders)]

    def in_process(_: Any, tasks: Any, apply: Any, tell: Any) -> pa.Table:
        assert apply is work
        return pa.Table.from_batches([batch for task in tasks for batch in work(task)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "run_tasks", in_process)
        patch.setattr(check, "task_rows", lambda _, rows: rows)
        tables = analyze._tables(runs, check.survey(None, runs))  # type: ignore[arg-type]  # no Spark is needed
    assert tables["trends"][6]["regressions"]
    return page(tables, {"broken/1": "operations.parquet is missing"})
