"""A series of runs ends with the one that the user interrupts, whatever that one was doing."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from samples import plan

from chaoskit.base.errors import BadInput, RunFailed, RunInterrupted
from chaoskit.contract.event import Event
from chaoskit.contract.systems.service import ServiceError
from chaoskit.run import site as site_module
from chaoskit.run.site import Site


def _nothing(*_given: Any, **_more: Any) -> None:
    """Do nothing."""


class _Nobody:
    def on(self, event: Event) -> None:
        """Hear nothing."""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site whose runs do nothing, and are judged by nobody."""
    for part in ("check_machine", "check_run", "try_report"):
        monkeypatch.setattr(site_module, part, _nothing)
    monkeypatch.setattr(Site, "_execute", _nothing)
    return Site(tmp_path)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_after_its_load_is_whole_and_the_last(
    site: Site, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    def reads_to_the_end(*_given: Any, interrupted: Any, **_more: Any) -> None:
        interrupted.load_begun = True
        os.kill(os.getpid(), sent)

    site.run(plan([]), _Nobody())
    assert not site.interrupted

    monkeypatch.setattr(Site, "_execute", reads_to_the_end)
    folder, _ = site.run(plan([]), _Nobody())

    assert site.interrupted
    assert folder.is_dir()
    with pytest.raises(RunInterrupted, match="nothing else was started"):
        site.run(plan([]), _Nobody())


@pytest.mark.parametrize(("interrupts", "raised"), [(True, RunInterrupted), (False, RunFailed)])
def test_a_run_that_fails_ends_a_series_only_if_it_was_interrupted(
    site: Site, monkeypatch: pytest.MonkeyPatch, interrupts: bool, raised: type[Exception]
) -> None:
    def fails(*_given: Any, interrupted: Any, **_more: Any) -> None:
        interrupted.load_begun = True
        if interrupts:
            os.kill(os.getpid(), signal.SIGTERM)
        raise ServiceError("no leader")

    monkeypatch.setattr(Site, "_execute", fails)

    with pytest.raises(raised, match="no leader"):
        site.run(plan([]), _Nobody())
    assert site.interrupted is interrupts


class _Deployment:
    """A deployment on paper, which serves everything."""

    def __init__(self, *_given: Any, **_more: Any) -> None:
        self.service = self
        self.closed = False

    def __getattr__(self, name: str) -> Any:
        return _nothing

    def serves(self, _plan: Any) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def held(site: Site, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The deployment that a live cluster holds."""
    monkeypatch.setattr(site_module, "Deployment", _Deployment)
    return site.hold(plan([]), _Nobody())


@pytest.mark.parametrize("restored", [True, False])
def test_what_is_held_is_used_again_only_if_it_is_as_good_as_new(
    site: Site, held: Any, tmp_path: Path, restored: bool
) -> None:
    site.let_go(tmp_path, _Nobody(), restored=restored)

    assert held.closed is not restored
    assert (site.hold(plan([]), _Nobody()) is held) is restored


def test_what_is_held_is_closed_once_it_is_let_go(site: Site, held: Any, tmp_path: Path) -> None:
    site.close()
    assert not held.closed

    site.let_go(tmp_path, _Nobody(), restored=True)
    assert held.closed


def test_nothing_else_runs_on_what_is_held(site: Site, held: Any, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"test.yaml: a live cluster is up on this deployment; end its block first"):
        site.run(plan([]), _Nobody())


def test_a_load_of_others_is_not_run(site: Site) -> None:
    live = plan([], workload={"kind": "live"})

    with pytest.raises(BadInput, match=r"workload.kind: the clients of live are the user's own; see docs/pytest.md"):
        site.run(live, _Nobody())
