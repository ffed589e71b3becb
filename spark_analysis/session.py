"""The Spark session of an analysis."""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from chaoskit.base import owner
from chaoskit.base.errors import BadInput
from spark_analysis.task import RESULTS_DDL
from spark_analysis.units import TASK_ROWS, TASK_ROWS_MIN, SparkTask, waves

MEMORY = "spark.chaoskit.memory"
"""Setting: memory in bytes (or with a unit: 3g) for all Python workers of one machine together."""

_DEFAULTS = {
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "0",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # The JVM hands out tasks and collects findings: it ends before its second compiler pays.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:MaxMetaspaceSize=256m -XX:TieredStopAtLevel=1",
    "spark.log.level": "ERROR",
    MEMORY: "3200m",
}
_RETRIES = 4
_TELL_EVERY_S = 10
_TASKS_A_CORE = 4
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

Apply = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def start(master: str, settings: Mapping[str, str], log: Path | None = None) -> SparkSession:
    """Return a session; with a `local[...]` master, failed tasks are retried as on a cluster.

    Args:
        master: any master URL.
        settings: Spark settings, and `spark.chaoskit.memory`; they override the defaults.
        log: log file for the JVM and its Python workers; default: stderr.

    Raises:
        BadInput: Spark rejects the master or the settings, or Java is missing.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("chaoskit").master(_with_retries(master))
    for key, value in {**_DEFAULTS, **settings}.items():
        builder = builder.config(key, value)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        with _stderr_to(log):
            return builder.getOrCreate()
    except PermissionError as error:
        raise owner.refused(error) from error
    except Exception as error:  # py4j and Spark raise many types; all mean the same to the user
        reason = str(error).strip().splitlines()[0]
        raise BadInput(
            f"--master {master}: Spark does not start ({reason}); check that Java 17 or later is installed and that "
            f"the master is reachable{f'. Log: {log}' if log else ''}"
        ) from error


def run_tasks(
    spark: SparkSession,
    tasks: Sequence[SparkTask],
    apply: Callable[[SparkTask], Iterator[pa.RecordBatch]],
    tell: Callable[[str], None] = lambda _: None,
) -> pa.Table:
    """Run tasks on Spark, largest first, and return all rows of RESULTS that `apply` yields.

    Tasks that together need more memory than is available (`spark.chaoskit.memory`) run before the others, as
    many at a time as fit.
    """
    cores = _cores(spark)
    tables = []
    for wave in waves(tasks, memory_of(spark), cores):
        chosen = list(wave)

        def run_wave(batches: Iterator[pa.RecordBatch], chosen: list[SparkTask] = chosen) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for index in batch.column(0).to_pylist():
                    yield from apply(chosen[index])

        indexes = spark.range(0, len(chosen), 1, len(chosen))
        with _telling(spark, tell):
            tables.append(indexes.mapInArrow(run_wave, RESULTS_DDL).toArrow())
    return pa.concat_tables(tables)


@contextmanager
def _telling(spark: SparkSession, tell: Callable[[str], None]) -> Iterator[None]:
    """Report periodically how many tasks of the running stages are done."""
    ended = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def watch() -> None:
        while not ended.wait(_TELL_EVERY_S):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            for stage in [stage for stage in stages if stage is not None]:
                tell(f"{stage.numCompletedTasks} of {stage.numTasks} tasks done")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def task_rows(spark: SparkSession, rows: int) -> int:
    """Return the number of rows that small units in one task may have, so that every core gets several tasks."""
    return max(TASK_ROWS_MIN, min(TASK_ROWS, rows // (_TASKS_A_CORE * spark.sparkContext.defaultParallelism)))


def memory_of(spark: SparkSession) -> int:
    """Return the memory limit in bytes for all Python workers of one machine together.

    Raises:
        BadInput: the setting is not a size.
    """
    text = str(spark.conf.get(MEMORY, _DEFAULTS[MEMORY]))
    matched = re.fullmatch(r"(\d+)([kmgt]?)b?", text.strip().lower())
    if matched is None:
        raise BadInput(f"--spark-conf {MEMORY}={text}: is not a size; write for example 3g or 3200m")
    return int(matched[1]) * _UNITS[matched[2]]


def parsed_settings(pairs: Sequence[str]) -> dict[str, str]:
    """Return settings given as KEY=VALUE.

    Raises:
        BadInput: a setting has another form.
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            raise BadInput(f"--spark-conf {pair}: is not KEY=VALUE; write for example spark.driver.memory=2g")
        settings[key.strip()] = value.strip()
    return settings


@contextmanager
def _stderr_to(log: Path | None) -> Iterator[None]:
    """Redirect the stderr of processes started in this context to a file."""
    if log is None:
        yield
        return
    before = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
            yield
    finally:
        os.dup2(before, 2)
        os.close(before)


def _with_retries(master: str) -> str:
    """Return a local master URL that retries failed tasks; plain `local[2]` does not."""
    matched = re.fullmatch(r"local(?:\[(\*|\d+)\])?", master)
    return f"local[{matched[1] or 1},{_RETRIES}]" if matched else master


def _cores(spark: SparkSession) -> int:
    """Return the maximum number of concurrent tasks on one machine."""
    return int(spark.conf.get("spark.executor.cores", "") or spark.sparkContext.defaultParallelism)
