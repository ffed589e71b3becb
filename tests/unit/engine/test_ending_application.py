"""An application that reads queues ends before the final read, once it has worked on its last inputs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from samples import plan

from chaoskit.contract.workloads.workload import DRAINER, Task
from chaoskit.model.progress import Progress
from chaoskit.run import recovering
from chaoskit.run.interruption import Interruption
from chaoskit.run.recovering import Recovering


class Fleet:
    """Clients of which the drainer ends at once; the observer holds fewer messages whenever it is looked at."""

    def __init__(self, held: int) -> None:
        self.steps: list[str] = []
        self.held = held
        worker = SimpleNamespace(result={"held": held})
        self.observer: Any = SimpleNamespace(worker=worker)

    def launch(self, tasks: list[Task]) -> list[Any]:
        self.steps += [task.role for task in tasks]
        worker = SimpleNamespace(result={"accepted": True, "drained": True})
        return [SimpleNamespace(worker=worker, running=lambda: False)]

    def go(self, clients: Any) -> None:
        """They run."""

    def join(self, clients: Any, timeout_s: float) -> list[str]:
        return []

    def progress(self) -> Progress:
        self.observer.worker.result["held"] = self.held = max(self.held - 1, 0)
        return Progress()


class Application:
    """Instances that are stopped once."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def stop(self) -> list[str]:
        self._fleet.steps.append(f"stopped with {self._fleet.held} held")
        return ["application-0 was killed"]


@pytest.mark.parametrize("held", [0, 5])
def test_the_application_ends_when_it_has_settled_everything(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(recovering, "_LOOK_S", 0.001)
    monkeypatch.setattr(recovering, "_QUIET_S", 0.01)
    given: Any = SimpleNamespace(on=lambda _: None)
    problems: list[str] = []
    ending: Any = Recovering(plan(), given, given, Interruption(), problems)
    fleet = Fleet(held)

    assert ending._end_application(Application(fleet), fleet, [fleet.observer])["accepted"]
    assert fleet.steps == [DRAINER, "stopped with 0 held"]
    assert problems == ["application-0 was killed"]
