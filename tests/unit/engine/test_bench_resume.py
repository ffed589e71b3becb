"""`--resume` takes from the store what was run there to its end with the same files, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import samples
from click.testing import CliRunner
from omb_files import DRIVER, WORKLOAD

from chaoskit.base import store, yaml
from chaoskit.base.errors import BadInput
from chaoskit.cli.main import cli
from chaoskit.interop.omb.plans import Bench, BenchOptions, read_benches
from chaoskit.interop.omb.stored import stored_run
from chaoskit.run.interruption import INTERRUPTED

_LAB = BenchOptions(lab=True, hosts=None, warm_up_ns=None, length_ns=None)


def _bench(folder: Path, **workload: Any) -> Bench:
    """Return a bench; each is read anew, and has another seed."""
    work, driver = folder / "work.yaml", folder / "kafka.yaml"
    work.write_text(yaml.dump({**WORKLOAD, **workload}))
    driver.write_text(yaml.dump(DRIVER))
    return read_benches([work, driver], _LAB)[0]


def _keep(folder: Path, bench: Bench, **fields: Any) -> Path:
    """Put a run of the bench into the store."""
    run = store.new_run_folder(folder, bench.plan.scenario.name)
    store.write_yaml(run / store.SCENARIO, bench.plan.resolved())
    store.write_json(run / store.VERDICT, samples.verdict(seed=bench.plan.seed, **fields).as_json())
    return run


def test_a_run_of_the_same_files_is_taken_whatever_its_seed(tmp_path: Path) -> None:
    kept = _keep(tmp_path, _bench(tmp_path))

    assert stored_run(_bench(tmp_path).plan, tmp_path) == kept
    assert stored_run(_bench(tmp_path, producerRate=10).plan, tmp_path) is None, "another rate"
    assert stored_run(_bench(tmp_path).plan, tmp_path / "elsewhere") is None


def test_an_interrupted_run_is_not_taken(tmp_path: Path) -> None:
    bench = _bench(tmp_path)
    _keep(tmp_path, bench, verdict="unknown", reasons=[INTERRUPTED])

    assert stored_run(bench.plan, tmp_path) is None


def test_what_is_in_the_store_is_not_planned_again(tmp_path: Path) -> None:
    _keep(tmp_path, _bench(tmp_path))
    files = [str(tmp_path / name) for name in ("work.yaml", "kafka.yaml")]

    said = [
        CliRunner().invoke(cli, ["bench", "--lab", "--dry-run", *options, "--store", str(tmp_path), *files]).output
        for options in ([], ["--resume"])
    ]

    assert ["load: log" in line for line in said] == [True, False]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--lab", "--p99", "20ms"], "--resume: work: the search for the highest rate is not resumed"),
        ([], "--resume: runs on an existing cluster are not reused"),
    ],
)
def test_what_is_another_one_each_time_is_not_resumed(tmp_path: Path, options: list[str], why: str) -> None:
    _bench(tmp_path)
    files = [str(tmp_path / name) for name in ("work.yaml", "kafka.yaml")]

    result = CliRunner().invoke(cli, ["bench", "--resume", *options, *files], standalone_mode=False)

    assert isinstance(result.exception, BadInput)
    assert why in str(result.exception)
