"""Exit codes and messages of the program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from generated import generated

from chaoskit.base.errors import Problems
from chaoskit.base.journal import Journal
from chaoskit.cli.main import main
from chaoskit.scenario.plan import Plan
from clusters.kafka.settings import KafkaOptions

BAD_INPUT = 254
_PROGRAM = [sys.executable, "-c", "from chaoskit.cli.main import main; main()"]
_VERBS = ("run", "check", "replay", "list", "doctor", "heal")


class Done(NamedTuple):
    """How the program ended, and what it said."""

    code: object
    stdout: str
    stderr: str


Program = Callable[..., Done]
Refused = Callable[..., str]


@pytest.fixture
def chaoskit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """The program, run in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHAOSKIT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "110")

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["chaoskit", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(ended.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def refused(chaoskit: Program, tmp_path: Path) -> Refused:
    """Run a verb that must refuse; return its one message."""

    def run(*arguments: str) -> str:
        before = sorted(tmp_path.iterdir())
        done = chaoskit(*arguments)
        assert (done.code, done.stdout) == (BAD_INPUT, "")
        assert "Traceback" not in done.stderr
        assert sorted(tmp_path.iterdir()) == before
        return done.stderr

    return run


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["run", "gone.yaml"], BAD_INPUT)])
def test_the_process_ends_with_the_exit_code(arguments: list[str], code: int) -> None:
    assert subprocess.run([*_PROGRAM, *arguments], capture_output=True, check=False, timeout=300).returncode == code


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], *([verb, "--help"] for verb in _VERBS)])
def test_help_is_no_error(chaoskit: Program, arguments: list[str]) -> None:
    done = chaoskit(*arguments)

    assert (done.code, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["rum"],
        ["--verbose"],
        ["run"],
        ["run", "x.yaml", "--sede", "7"],
        ["run", "x.yaml", "--seed", "-1"],
        ["run", "x.yaml", "--seed", "seven"],
        ["check"],
        ["check", "a", "b"],
        ["replay", "x", "--times", "0"],
    ],
)
def test_a_usage_error_is_bad_input(chaoskit: Program, arguments: list[str]) -> None:
    done = chaoskit(*arguments)

    assert (done.code, done.stdout) == (BAD_INPUT, "")
    assert "Usage: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_scenario_that_is_missing_is_bad_input(refused: Refused) -> None:
    assert refused("run", "gone.yaml").startswith("error: gone.yaml: no such file")


@pytest.mark.parametrize(
    ("scenario", "complaint"),
    [
        ("clutser: {}", 'clutser: unknown key; did you mean "cluster"?'),
        ("cluster: {system: kafka}", "workload: is missing"),
        ("cluster: {system: kafka}\nworkload: {kind: log, duration: 8}", "workload.duration: 8 is not a duration;"),
        ("cluster: {system: kafak}\nworkload: {kind: log}", "cluster.system: there is no system 'kafak'; did you"),
        ("a: [", "is not valid YAML"),
    ],
)
def test_a_bad_scenario_is_bad_input_and_nothing_is_made(
    refused: Refused, tmp_path: Path, scenario: str, complaint: str
) -> None:
    (tmp_path / "bad.yaml").write_text(scenario)

    assert f"bad.yaml: {complaint}" in refused("run", "bad.yaml")


def test_every_scenario_is_validated_before_the_first_one_starts(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("cluster: {system: kafka}\nworkload: {kind: log}")
    (tmp_path / "bad.yaml").write_text("cluster: {system: kafka}")

    assert "bad.yaml: workload: is missing" in refused("run", "good.yaml", "bad.yaml")


def test_junit_needs_a_folder(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("cluster: {system: kafka}\nworkload: {kind: log}")

    output = refused("run", "good.yaml", "--junit", "gone/results.xml")
    assert output == "error: --junit gone/results.xml: there is no such folder; choose another file\n"


@pytest.mark.parametrize("verb", ["check", "replay"])
def test_what_is_not_a_run_is_bad_input(refused: Refused, tmp_path: Path, verb: str) -> None:
    assert f"error: {tmp_path}: is not a run folder" in refused(verb, str(tmp_path))
    assert "error: gone: is not a run folder" in refused(verb, "gone")


def test_a_run_folder_that_is_damaged_is_bad_input(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("{")

    assert "scenario.yaml: cannot be read" in refused("check", ".")


def test_a_store_that_is_missing_is_bad_input(refused: Refused) -> None:
    assert refused("list", "--store", "gone").startswith("error: store gone: no such folder")


def test_an_empty_store_has_no_runs(chaoskit: Program) -> None:
    done = chaoskit("list", "--store", ".")

    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.split() == ["run", "verdict", "sent", "acked", "anomalies", "faults"]


def test_a_machine_without_left_overs_has_nothing_to_heal(chaoskit: Program) -> None:
    done = chaoskit("heal")

    assert (done.code, done.stdout, done.stderr) == (0, "nothing to heal\n", "")


def test_an_aborted_run_advises_to_heal_only_if_something_is_left(
    chaoskit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("chaoskit.cli.systems.command.callback", interrupt)
    assert chaoskit("systems") == Done(255, "", "\naborted\n")

    with Journal("left") as journal:
        journal.record("local", name="left")
    assert "chaoskit heal" in chaoskit("systems").stderr


def test_a_store_is_also_an_argument_of_list(chaoskit: Program, tmp_path: Path) -> None:
    generated(tmp_path / "mine" / "any" / "20260101T000000-abc", messages=200)

    assert chaoskit("list", "mine") == chaoskit("list", "--store", "mine")
    assert "any/20260101T000000-abc" in chaoskit("list", "mine").stdout


def test_ready_made_sweeps_are_listed_with_the_scenarios(chaoskit: Program) -> None:
    listed = chaoskit("scenarios").stdout

    assert "kafka/power-all " in listed
    assert "sweeps/museum " in listed


def test_ready_made_scenarios_are_searched_by_words(chaoskit: Program) -> None:
    output = chaoskit("scenarios", "ACKS-one", "lost").stdout
    nothing = chaoskit("scenarios", "acks-one", "nonsense")

    assert "kafka/isolate-leader " in output
    assert "rabbitmq/" not in output
    assert nothing.code == 254
    assert "no ready-made scenario has all of these words: acks-one, nonsense; nearest: kafka/" in nothing.stderr
    assert "nonsense; none has any" in chaoskit("scenarios", "nonsense").stderr
    assert "bookkeeper/ensemble-change " not in chaoskit("scenarios", "hang").stdout
    assert "kafka/zone-loss " in chaoskit("scenarios", "Rack", "kafka").stdout
    assert "kafka/retries " in chaoskit("scenarios", "double", "charge").stdout


def test_what_was_judged_and_has_changed_is_told_when_it_is_made_again(chaoskit: Program, tmp_path: Path) -> None:
    folder = generated(tmp_path / "store" / "any" / "20260101T000000-abc", messages=200)
    assert chaoskit("check", str(folder)).stderr == ""
    (folder / "findings.parquet").write_bytes(b"")

    done = chaoskit("check", str(folder))

    assert done.code == 0
    assert "findings.parquet was changed: its digest is not the one in manifest.json; it is rebuilt" in done.stderr


def test_a_report_of_another_verdict_does_not_stay(chaoskit: Program, tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "store" / "made" / "20260101T000000-aaaaaa"
    generated(folder, messages=2000)
    report = folder / "report.html"

    assert "report.html" not in chaoskit("check", str(folder), "--no-report").stderr
    assert not report.exists()
    chaoskit("check", str(folder))
    assert report.exists()
    monkeypatch.setattr("chaoskit.report.run_page._QUICK_OPERATIONS", 100)
    assert chaoskit("check", str(folder), "--no-report").stderr == ""
    assert report.exists()
    (folder / "verdict.json").write_text("{}")
    assert "was deleted; `chaoskit report" in chaoskit("check", str(folder)).stderr
    assert not report.exists()
    chaoskit("check", str(folder), "--report")
    assert report.exists()


def test_a_dry_run_tells_what_would_be_done_and_starts_nothing(
    chaoskit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    monkeypatch.setattr("chaoskit.cli.output.planned.check_machine", lambda plan: checked.append(plan.scenario.name))

    done = chaoskit("run", "--dry-run", "--seed", "7", "kafka/kill-leader:acks-one")

    assert (done.code, done.stderr, checked) == (0, "", ["kafka-kill-leader.acks-one"])
    assert done.stdout.splitlines() == [
        "kafka-kill-leader.acks-one  seed 7",
        "  cluster: kafka on n1, n2, n3, config: {broker.session.timeout.ms: 7000, broker.heartbeat.interval.ms: 500}",
        "  load: log for 20s, rate: 2000, producer: {acks: 1}",
        "  fault: pause on followers (resolved when it begins, pick 0.617) at 4s for 6s",
        "  fault: kill on leader (resolved when it begins, pick 0.160) 1s after paused took effect for 8s",
        "  expected: lost: some",
        "nothing was started (--dry-run)",
    ]
    assert sorted(tmp_path.iterdir()) == []


def test_a_dry_run_tells_which_hosts_are_for_clients(
    chaoskit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaoskit.cli.output.planned.check_machine", lambda _: None)
    monkeypatch.setattr("clusters.mosquitto.system.MosquittoSystem.check", lambda *_: None)
    text = "name: a\ncluster: {system: mosquitto, hosts: %d, seats: 2}\nworkload: {kind: feed, duration: 1s}\n"
    (tmp_path / "seats.yaml").write_text(text % 1)

    assert "mosquitto on n1 with clients on n2, n3\n" in chaoskit("run", "--dry-run", "seats.yaml").stdout

    monkeypatch.setattr("clusters.mosquitto.system.MosquittoSystem.service_powers", lambda *_: ())
    (tmp_path / "seats.yaml").write_text(text % 0)

    assert "mosquitto with clients on n1, n2\n" in chaoskit("run", "--dry-run", "seats.yaml").stdout

    (tmp_path / "seats.yaml").write_text((text % 3).replace("seats: 2", "seats: 0"))

    assert "mosquitto with clients on n1, n2, n3\n" in chaoskit("run", "--dry-run", "seats.yaml").stdout

    (tmp_path / "seats.yaml").write_text((text % 0).replace("seats: 2", "seats: 0"))

    assert "cluster.hosts: must be at least 1" in chaoskit("run", "--dry-run", "seats.yaml").stderr


def test_a_dry_run_tells_what_it_would_download(
    chaoskit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAOSKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("chaoskit.cli.output.planned.check_machine", _check_but_not_the_machine)
    monkeypatch.setattr("subprocess.run", _refuse)

    done = chaoskit("run", "--dry-run", "--seed", "7", "kafka/kill-leader:acks-one")

    assert (done.code, done.stderr) == (0, "")
    kafka = f"Kafka {KafkaOptions().version} (kafka_2.13) from Maven Central"
    line = f"would download: {kafka}; parts that need it were not checked"
    assert line in done.stdout
    assert not list((tmp_path / "cache").glob("*/*.jar"))


def _check_but_not_the_machine(plan: Plan) -> None:
    problems = Problems()
    problems.tried(plan.system.prepare, plan.system_options)
    problems.raise_any()


def _refuse(*_: object, **__: object) -> None:
    raise AssertionError("a program was started")


def test_of_several_runs_the_newest_one_is_named(chaoskit: Program, tmp_path: Path) -> None:
    for name in ("20260101T000000-abc", "20260102T000000-abc"):
        folder = tmp_path / "mine/any" / name
        folder.mkdir(parents=True)
        (folder / "scenario.yaml").write_text("name: any\n")

    several, one = (chaoskit("check", path).stderr for path in ("mine", "mine/any/20260101T000000-abc"))

    assert "mine has 2 runs; the newest one is any/20260102T000000-abc" in several
    assert "the newest one" not in one
