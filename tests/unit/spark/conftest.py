"""One quiet Spark session for all tests, and stores of synthetic runs."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from generated import generated

pytest.importorskip("pyspark", reason="pip install 'chaoskit[spark]'")

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark warns of pandas 3, and leaves sockets to the garbage collector."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session with two cores, whose tasks are tried again."""
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    from spark_analysis.session import start  # noqa: PLC0415
    from spark_analysis.source import register  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = start("local[2]", {}, tmp_path_factory.mktemp("spark") / "spark.log")
        register(session)
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()


Make = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path) -> Make:
    """Make a synthetic run in `tmp_path/store`: scenario, number (its order in time), parameters."""

    def make(scenario: str, number: int = 0, **given: Any) -> Path:
        folder = tmp_path / "store" / scenario / f"20260101T0000{number:02}-aaaaaa"
        return generated(folder, **{"messages": 20_000, "seed": number, **given})

    return make
