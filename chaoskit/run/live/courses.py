"""The course of faults that nobody planned before the start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from chaoskit.contract.event import Watcher
from chaoskit.history.compacting.faults import FaultLog
from chaoskit.run.deployment import Deployment
from chaoskit.run.faults.course import Course
from chaoskit.run.faults.occupancy import Occupancy
from chaoskit.run.faults.targeting import Targeting
from chaoskit.run.tenancy import Tenancy
from chaoskit.scenario.plan import Plan


def new_course(
    plan: Plan,
    deployment: Deployment,
    tenancy: Tenancy,
    folder: Path,
    *,
    origin_ns: int,
    watcher: Watcher,
    changed: Callable[[], None],
) -> Course:
    """Return the course of a live trial, whose load begins now; see `Course`."""
    stop = threading.Event()
    targeting = Targeting(plan, deployment.service, deployment.hosts, tenancy.in_system, stop)
    return Course(
        service=deployment.service,
        beside=(),
        lab=deployment.hosts,
        clients={},
        folder=folder,
        seed=plan.seed,
        origin_ns=origin_ns,
        watcher=watcher,
        in_system=tenancy.in_system,
        changed=changed,
        triggers=None,
        targeting=targeting,
        occupancy=Occupancy(list(targeting.nodes)),
        log=FaultLog(folder / "wal"),
        stop=stop,
        load_start_ns=time.monotonic_ns(),
    )


def aim(course: Course, plan: Plan) -> None:
    """Let roles without a partition be those of the topics of a plan from now on."""
    course.targeting = Targeting(plan, course.service, course.lab, course.in_system, course.stop)
