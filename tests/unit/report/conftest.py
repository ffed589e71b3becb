"""Judged synthetic runs, with and without faults and anomalies, and the analysis of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from synthetic_runs import LONG, make_run

pytest.importorskip("jinja2", reason="pip install 'chaoskit[report]'")
pytest.importorskip("vl_convert", reason="pip install 'chaoskit[report]'")


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
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The analysis of a few runs, the last of which is worse, and has a report; without Spark."""
    from chaoskit.report.run_page import write_report  # noqa: PLC0415 - it needs packages that may be missing
    from spark_analysis.analyze import SparkAnalysis  # noqa: PLC0415

    store = tmp_path_factory.mktemp("store")
    for number in range(6):
        make_run(store, LONG, number, messages=20_000)
    write_report(make_run(store, LONG, 6, messages=20_000, inject={"stall": 2, "lost-message": 4}))
    make_run(store, "other", 7, messages=20_000)
    make_run(store, "other", 8, messages=20_000)
    (make_run(store, "broken", 9, messages=5_000) / "operations.parquet").write_bytes(b"PAR1")
    return SparkAnalysis().analyze(
        store, master=None, out=store / "analysis", recheck=False, settings=(), tell=lambda _: None
    )
