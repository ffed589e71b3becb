"""The pytest plugin, as tests of others meet it."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan
from chaoskit.testing.session import ChaosSession, Settings

_TESTS = """
    import pytest

    @pytest.mark.chaos
    def test_marked():
        pass

    @pytest.mark.chaos
    def test_with_a_session(chaos):
        assert chaos.runs == []

    def test_other():
        pass
"""
_BAD_SCENARIO = "cluster: {system: kafka}\nworkload: {kind: log}\nfautls: []\n"
_REASON = "chaos tests run real clusters; run them with -m chaos, or by their ids, as root"


_OPTIONS = ("-p", "no:cacheprovider", "--strict-markers", "-W", "error")


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Pytester forgets what is imported meanwhile, but numpy cannot be imported twice."""
    content = {"name": "any", "cluster": {"system": "kafka"}, "workload": {"kind": "log"}}
    make_plan(parse_scenario(content, "any"), "any")
    ChaosSession(Settings(Path()), "any", "any")


def _run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*_OPTIONS, *arguments)


def test_chaos_tests_are_skipped_with_the_reason_and_others_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_TESTS)

    result = _run(pytester, "-rs")

    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines([f"SKIPPED [[]1] *{_REASON}"] * 2)


@pytest.mark.parametrize("expression", ["chaos", "chaos and not slow", "not slow and chaos"])
def test_chaos_tests_run_when_they_are_asked_for(pytester: pytest.Pytester, expression: str) -> None:
    pytester.makeini("[pytest]\nmarkers = slow: takes long")
    pytester.makepyfile(_TESTS)

    _run(pytester, "-m", expression).assert_outcomes(passed=2, deselected=1)


def test_chaos_times_repeats_tests_that_use_the_fixture_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_TESTS)

    result = _run(pytester, "--chaos-times", "3", "--collect-only", "-q")

    names = [line.partition("::")[2] for line in result.outlines if "::" in line]
    rounds = [f"test_with_a_session[round{index}]" for index in range(3)]
    assert names == ["test_marked", *rounds, "test_other"]


def test_rounds_are_parameters_beside_those_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.chaos
        @pytest.mark.parametrize("flush", [1, None])
        def test_cut(chaos, flush):
            pass
        """
    )

    _run(pytester, "-m", "chaos", "--chaos-times", "2").assert_outcomes(passed=4)


def test_scenario_files_are_tests(pytester: pytest.Pytester) -> None:
    pytester.makefile(".chaos.yaml", small="cluster: {system: kafka}")
    pytester.makefile(".yaml", other="cluster: {system: kafka}")

    result = _run(pytester, "--chaos-times", "2", "--collect-only", "-q")

    names = [line for line in result.outlines if "::" in line]
    assert names == ["small.chaos.yaml::small[round0]", "small.chaos.yaml::small[round1]"]


def test_scenario_files_are_skipped_like_other_chaos_tests(pytester: pytest.Pytester) -> None:
    pytester.makefile(".chaos.yaml", bad=_BAD_SCENARIO)

    result = _run(pytester, "-rs")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED [[]1] bad.chaos.yaml*: {_REASON}"])


def test_a_bad_scenario_file_fails_with_one_message(pytester: pytest.Pytester) -> None:
    pytester.makefile(".chaos.yaml", bad=_BAD_SCENARIO)

    result = _run(pytester, "-m", "chaos")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['*bad.chaos.yaml: fautls: unknown key; did you mean "faults"?*'])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*chaoskit/*.py*")
    assert not (pytester.path / "chaos-store").exists()


def test_a_bad_scenario_in_a_test_fails_with_its_place(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.chaos
        def test_cut(chaos):
            chaos(cluster={"system": "kafka"}, workload={"kind": "log", "duration": 8})
        """
    )

    result = _run(pytester, "-m", "chaos")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *BadInput: test_it.py::test_cut: workload.duration: 8 is not a duration;*"])


def test_tests_of_others_do_not_load_the_engine(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_other():
            heavy = {"pyarrow", "numpy", "confluent_kafka", "pydantic", "chaoskit.run.site"}
            assert heavy & set(sys.modules) == set()
        """
    )

    pytester.runpytest_subprocess(*_OPTIONS).assert_outcomes(passed=1)


_REFUSED = """
    import pytest

    @pytest.mark.chaos
    def test_refused(chaos):
        chaos(cluster={"system": "kafak"}, workload={"kind": "log"})

    @pytest.mark.chaos
    def test_misspelt(chaos):
        chaos(cluster={"system": "kafka"}, workload={"kind": "log"}, fautls=[])
"""


def test_bad_input_is_shown_without_our_frames(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_REFUSED)

    result = _run(pytester, "-m", "chaos")

    result.assert_outcomes(failed=2)
    said = result.stdout.str()
    assert "BadInput: " in said
    assert "there is no system 'kafak'" in said
    assert "session.py" not in said
    assert "During handling" not in said


_JUDGED = """
    import pytest
    from types import SimpleNamespace

    @pytest.mark.chaos
    def test_passes(chaos):
        verdict = SimpleNamespace(run="x")
        chaos.runs.append(SimpleNamespace(verdict=verdict, summary="", properties={"chaoskit_seed": "7"}))
"""


def test_a_passing_test_has_the_properties_of_its_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_JUDGED)

    _run(pytester, "-m", "chaos", "--junit-xml=out.xml").assert_outcomes(passed=1)

    assert '<property name="chaoskit_seed" value="7"' in (pytester.path / "out.xml").read_text()


_INTERRUPTED = """
    import pytest
    from pathlib import Path
    from types import SimpleNamespace
    from chaoskit.base.errors import RunInterrupted
    from chaoskit.run.site import Site

    SCENARIO = {"cluster": {"system": "kafka"}, "workload": {"kind": "log"}}

    def early(site, *given):
        raise RunInterrupted("interrupted before the load began")

    def late(site, *given):
        site.interrupted = True
        return Path("run"), SimpleNamespace()

    @pytest.mark.chaos
    def test_interrupted(chaos, monkeypatch):
        monkeypatch.setattr(Site, "run", WHEN)
        chaos(**SCENARIO)

    @pytest.mark.chaos
    def test_next():
        pass
"""


@pytest.mark.parametrize(("when", "said"), [("early", "before the load began"), ("late", "judged: run")])
def test_the_user_ends_pytest_with_the_run(pytester: pytest.Pytester, when: str, said: str) -> None:
    pytester.makepyfile(_INTERRUPTED.replace("WHEN", when))

    result = pytester.runpytest_subprocess(*_OPTIONS, "-m", "chaos")

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes()
    result.stdout.fnmatch_lines([f"*KeyboardInterrupt: *{said}*"])


@pytest.mark.parametrize("times", ["0", "-1", "two"])
def test_a_number_of_times_is_at_least_one(pytester: pytest.Pytester, times: str) -> None:
    result = pytester.runpytest_inprocess(*_OPTIONS, f"--chaos-times={times}")

    result.stderr.fnmatch_lines(["*--chaos-times: write how many times, at least 1"])


IDS = """
    import pytest

    @pytest.mark.chaos
    @pytest.mark.parametrize("flush", [1, 2])
    def test_cut(flush):
        pass

    @pytest.mark.chaos
    def test_other():
        pass
"""


@pytest.mark.parametrize(
    ("named", "passed", "skipped"),
    [
        (["test_ids.py::test_cut"], 2, 0),
        (["test_ids.py::test_cut[1]"], 1, 0),
        (["test_ids.py"], 0, 3),
        (["test_ids.py::test_other", "test_ids.py"], 1, 2),
    ],
)
def test_a_chaos_test_that_is_named_by_its_id_runs(
    named: list[str], passed: int, skipped: int, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_ids=IDS)

    pytester.runpytest(*named).assert_outcomes(passed=passed, skipped=skipped)


def test_an_id_names_the_test_of_its_own_file_only(pytester: pytest.Pytester) -> None:
    source = "import pytest\n\n@pytest.mark.chaos\ndef test_cut() -> None: pass\n"
    for folder in ("own", "other"):
        package = pytester.mkpydir(folder)
        (package / "test_it.py").write_text(source)
    pytester.runpytest("own/test_it.py::test_cut", "other").assert_outcomes(passed=1, skipped=1)


def test_an_unmarked_test_that_uses_the_fixture_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_cut="""
        def test_cut(chaos):
            pass
        """
    )

    result = pytester.runpytest()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_cut.py::test_cut: uses the fixture `chaos`*write @pytest.mark.chaos above it"])
