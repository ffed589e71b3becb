"""The pytest plugin: the `chaos` fixture and marker, `*.chaos.yaml` files as tests, `--chaos-...`.

Tests marked `chaos` run with `pytest -m chaos` and are skipped otherwise. This module imports the
engine only when a chaos test runs, so other tests pay no import cost.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import pytest

if TYPE_CHECKING:
    from chaoskit.scenario.typed import ClusterKeys
    from chaoskit.testing.live import LiveCluster
    from chaoskit.testing.result import Run
    from chaoskit.testing.session import ChaosSession
    from chaoskit.testing.shared import Scope, ShareCluster, SharedCluster

_RUNS = pytest.StashKey[list["Run"]]()
_CLUSTERS = pytest.StashKey[dict[str, "SharedCluster"]]()
_LIVES = pytest.StashKey[list["LiveCluster"]]()
_ASKING = pytest.StashKey[list["_Asking"]]()
_ROUND = "chaos_round"


class _Asking(NamedTuple):
    """The fixture that is being made, or the test that runs: its node, its scope and its name."""

    node: Any
    scope: str
    name: str


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("chaos", "chaos and durability tests (chaoskit)")
    group.addoption("--chaos-store", type=Path, default=None, help="where run folders are kept (default: chaos-store)")
    group.addoption("--chaos-seed", type=int, default=None, help="seed for all runs (default: a random one for each)")
    group.addoption(
        "--chaos-keep", action="store_true", help="leave the hosts running after each run, passed or failed"
    )
    group.addoption("--chaos-times", type=_times, default=1, help="run each chaos test this many times")


def _times(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("write how many times, at least 1")
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "chaos: runs a real cluster under faults; needs root; select with -m chaos")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _refuse_unmarked(items)
    if re.search(r"\bchaos\b", config.option.markexpr):
        return
    skip = pytest.mark.skip(reason="chaos tests run real clusters; run them with -m chaos, or by their ids, as root")
    for item in items:
        if item.get_closest_marker("chaos") and not _is_named(config, item):
            item.add_marker(skip)


def _refuse_unmarked(items: list[pytest.Item]) -> None:
    """Refuse tests that would start clusters in everybody's test run."""
    for item in items:
        uses = {"chaos", "chaos_cluster"} & set(getattr(item, "fixturenames", ()))
        if uses and not item.get_closest_marker("chaos"):
            fixture = sorted(uses)[0]
            raise pytest.UsageError(
                f"{item.nodeid}: uses the fixture `{fixture}`, which runs a real cluster, and is not marked; "
                "write @pytest.mark.chaos above it"
            )


def _is_named(config: pytest.Config, item: pytest.Item) -> bool:
    """Return whether the command line names this very test by its id, with or without its parameters."""
    name = item.nodeid.partition("::")[2]
    names = {name, name.partition("[")[0]}
    named = [argument.partition("::") for argument in config.args if "::" in argument]
    folder = config.invocation_params.dir
    return any(own in names and (folder / path).resolve() == item.path.resolve() for path, _, own in named)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    times = metafunc.config.getoption("--chaos-times")
    if times > 1 and "chaos" in metafunc.fixturenames:
        metafunc.fixturenames.append(_ROUND)
        metafunc.parametrize(_ROUND, range(times), ids=lambda index: f"round{index}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.name.endswith(".chaos.yaml"):
        collector: pytest.Collector = ScenarioFile.from_parent(parent, path=file_path)
        return collector
    return None


@pytest.fixture
def chaos(request: pytest.FixtureRequest) -> ChaosSession:
    """Run scenarios: `run = chaos(cluster={...}, workload={...}, faults=[...])`; see docs/pytest.md."""
    from chaoskit.testing.session import ChaosSession  # noqa: PLC0415

    callspec = getattr(request.node, "callspec", None)
    index = callspec.params.get(_ROUND, 0) if callspec else 0
    session = ChaosSession(_settings(request.config, index), request.node.name, str(request.node.nodeid))
    request.node.stash[_RUNS] = session.runs
    return session


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Iterator[None]:
    """Remember which fixture is being made: `chaos_cluster` needs its scope."""
    asking = request.config.stash.setdefault(_ASKING, [])
    asking.append(_Asking(request.node, request.scope, request.fixturename or ""))
    try:
        return (yield)
    finally:
        asking.pop()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """A test may ask `chaos_cluster` itself."""
    item.config.stash[_ASKING] = [_Asking(item, "function", item.name)]


@pytest.fixture(scope="session")
def chaos_cluster(request: pytest.FixtureRequest) -> ShareCluster:
    """Share a cluster: `kafka = chaos_cluster(system="kafka", hosts=3)`, then `chaos(cluster=kafka)` or `kafka.up()`.

    `scope` is that of the fixture that asks, or the test, unless it is given. All tests in the scope that ask for the
    same cluster share one deployment; each run has its own topics. If a run does not restore the deployment, the next
    one gets a new one.
    """
    from chaoskit.run.site import Site  # noqa: PLC0415
    from chaoskit.testing.shared import SharedCluster  # noqa: PLC0415

    config = request.config
    lives = config.stash.setdefault(_LIVES, [])

    def share(*, scope: Scope | None = None, **spec: Unpack[ClusterKeys]) -> SharedCluster:
        asking = config.stash[_ASKING][-1]
        node = asking.node if scope is None else _node(asking, scope)
        clusters: dict[str, SharedCluster] = node.stash.setdefault(_CLUSTERS, {})
        key = repr(sorted(spec.items()))
        if key not in clusters:
            settings = _settings(config, 0)
            site = Site(settings.store, keep=settings.keep)
            node.addfinalizer(site.close)
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", asking.name).strip("-")
            clusters[key] = SharedCluster(spec, site, name, settings.seed, lives)
        return clusters[key]

    return share


def _node(asking: _Asking, scope: str) -> Any:
    """Return the node of a scope, which must not be narrower than that of the fixture that asks."""
    kinds = {
        "function": pytest.Item, "class": pytest.Class, "module": pytest.Module, "package": pytest.Package,
        "session": pytest.Session,
    }  # fmt: skip
    if scope not in kinds:
        raise pytest.UsageError(f"chaos_cluster: unknown scope {scope!r}; known: {', '.join(kinds)}")
    if list(kinds).index(scope) < list(kinds).index(asking.scope):
        raise pytest.UsageError(
            f"chaos_cluster: scope {scope!r} ends before the fixture that asks, whose scope is {asking.scope!r}; "
            "remove scope=..."
        )
    return asking.node.getparent(kinds[scope]) or asking.node.session


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.when != "call":
        return
    _record(item)
    if report.failed:
        said = str(report.longrepr)
        for run in item.stash.get(_RUNS, []):
            if run.verdict.run in said:
                continue
            report.sections.append((f"chaos run {run.verdict.run}", run.summary))
        report.sections += [("chaos live cluster", f"run folder: {live.folder}") for live in _lives(item)]


def _record(item: pytest.Item) -> None:
    """Add the properties of a test's runs, for JUnit XML; those of several runs are numbered."""
    runs: list[Run | LiveCluster] = [*item.stash.get(_RUNS, []), *_lives(item)]
    for number, run in enumerate(runs, start=1):
        prefix = f"run{number}_" if len(runs) > 1 else ""
        item.user_properties += [(prefix + name, value) for name, value in run.properties.items()]


def _lives(item: pytest.Item) -> list[LiveCluster]:
    """Return the live clusters that a test uses."""
    return item.config.stash.get(_LIVES, []) if "chaos_cluster" in getattr(item, "fixturenames", ()) else []


class ScenarioFile(pytest.File):
    """A `*.chaos.yaml` file: one test for its scenario, or one for each variant."""

    def collect(self) -> Iterator[pytest.Item]:
        from chaoskit.scenario.files import variants_of  # noqa: PLC0415

        times = self.config.getoption("--chaos-times")
        stem = self.path.name.removesuffix(".chaos.yaml")
        for variant, written in variants_of(self.path):
            for index in range(times):
                given = [*filter(None, [variant]), *([f"round{index}"] if times > 1 else [])]
                name = f"{stem}[{'-'.join(given)}]" if given else stem
                yield ScenarioItem.from_parent(self, name=name, index=index, written=written)


class ScenarioItem(pytest.Item):
    """The run of a scenario; it fails unless the verdict is valid."""

    def __init__(self, *, index: int, written: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._index = index
        self._written = written
        self.add_marker("chaos")

    def runtest(self) -> None:
        from chaoskit.testing.session import ChaosSession  # noqa: PLC0415

        session = ChaosSession(_settings(self.config, self._index), self.name, str(self.nodeid))
        self.stash[_RUNS] = session.runs
        session.run_scenario(self._written.parsed(), self._written.source).assert_valid()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from chaoskit.base.errors import ChaoskitError  # noqa: PLC0415
        from chaoskit.base.plain import lines  # noqa: PLC0415

        if isinstance(excinfo.value, ChaoskitError | AssertionError):
            return lines(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"scenario {self.name}"  # pytest needs a line number to report where a test was skipped


def _settings(config: pytest.Config, index: int) -> Any:
    from chaoskit.testing.session import Settings  # noqa: PLC0415

    seed = config.getoption("--chaos-seed")
    return Settings(
        store=config.getoption("--chaos-store") or config.rootpath / "chaos-store",
        seed=None if seed is None else seed + index,
        keep=config.getoption("--chaos-keep"),
    )
