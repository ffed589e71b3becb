"""What all clients of a trial are started with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.contract.workloads.application import APPLICATION
from chaoskit.history.format.origin import read_run_id
from chaoskit.run.deployment import Deployment
from chaoskit.run.tenancy import Tenancy
from chaoskit.scenario.plan import Plan


def make_order(plan: Plan, deployment: Deployment, folder: Path, tenancy: Tenancy) -> dict[str, Any]:
    """Return the order for the clients of a trial; see `chaoskit.run.worker`.

    Args:
        plan: the plan.
        deployment: where its system runs.
        folder: the run folder.
        tenancy: its topics, and its database.
    """
    scenario = plan.scenario
    return {
        "system": scenario.cluster.system,
        "workload": scenario.workload.kind,
        "options": plan.workload_options.model_dump(mode="json", by_alias=True),
        "connection": deployment.service.client_settings(),
        "wal": str(folder / "wal"),
        "run_id": read_run_id(folder / "wal"),
        "namespace": tenancy.namespace,
        "bound_ns": scenario.recovery,
        "application_hosts": [host.address for host in deployment.application_hosts],
        "logs": str(folder / store.LOGS / APPLICATION),
        "database": tenancy.database,
        "database_host": scenario.cluster.database_host,
    }
