"""A series of runs ends with the one that the user interrupts, whatever that one was doing."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from samples import plan

from chaoskit.base.errors import RunFailed, RunInterrupted
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
