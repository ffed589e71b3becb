"""`chaoskit run --dry-run`: what a run would do, without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaoskit.base.downloads import told_only
from chaoskit.base.quantities import format_duration
from chaoskit.cli.output.saying import say
from chaoskit.report.words import scalar
from chaoskit.scenario.machine import check_machine
from chaoskit.scenario.plan import Plan
from chaoskit.scenario.timeline import PlannedFault

_FAULTS_SHOWN = 40


def show_plans(plans: Sequence[Plan], *, drawn: bool) -> None:
    """Check that this machine can run the plans, and print what each would do.

    Args:
        plans: the plans.
        drawn: whether the seed of a scenario without one will be drawn anew when it runs.

    Raises:
        BadInput: it cannot.
    """
    for plan in plans:
        with told_only() as downloads:
            check_machine(plan)
        lines = list(told(plan, drawn=drawn and plan.scenario.seed is None))
        lines += [f"  would download: {download}; parts that need it were not checked" for download in downloads]
        say(*lines)
    asked = any(plan.scenario.cluster.attach for plan in plans)
    say(f"nothing was started{', and no broker was contacted' if asked else ''} (--dry-run)")


def told(plan: Plan, *, drawn: bool) -> Iterator[str]:
    """Yield what a run would do, line by line; see `show_plans`."""
    scenario = plan.scenario
    cluster, load = scenario.cluster, scenario.workload
    given = [f"{key}: {_written(value)}" for key, value in (cluster.model_extra or {}).items()]
    yield f"{scenario.name}  seed {'drawn at random when it runs; for example ' if drawn else ''}{plan.seed}"
    yield f"  cluster: {cluster.system}{_where(plan)}{_listed(given)}"
    for key, options in (("disk", cluster.disk), ("zones", cluster.zones)):
        if options:
            yield f"  {key}: {', '.join(f'{name}: {_written(value)}' for name, value in options.items())}"
    given = [f"{key}: {_written(value)}" for key, value in (load.model_extra or {}).items()]
    on = f" on {', '.join(load.drivers)}" if load.drivers else ""
    yield f"  load: {load.kind} for {format_duration(load.duration)}{on}{_listed(given)}"
    if not plan.faults:
        yield "  no faults"
    for fault in plan.faults[:_FAULTS_SHOWN]:
        yield f"  fault: {_fault(fault, plan, drawn=drawn)}"
    if (more := len(plan.faults) - _FAULTS_SHOWN) > 0:
        yield f"  and {more} more faults"
    expected = ", ".join(f"{name}: {value}" for name, value in scenario.expect.items())
    yield f"  expected: {expected or 'derived from the guarantees of these settings'}"


def _where(plan: Plan) -> str:
    cluster, names = plan.scenario.cluster, plan.host_names
    if cluster.attach:
        return f", existing cluster of {scalar(cluster.hosts)} hosts"
    own, seats = names[: cluster.hosts], names[cluster.hosts : cluster.hosts + cluster.seats]
    beside = {" on ": own, " with clients on ": seats, ", the application on ": cluster.application_hosts}
    beside[", its database on "] = [cluster.database_host] * cluster.databases
    return "".join(f"{words}{', '.join(hosts)}" for words, hosts in beside.items() if hosts)


def _fault(fault: PlannedFault, plan: Plan, *, drawn: bool) -> str:
    lasts = f" for {format_duration(fault.for_ns)}" if fault.for_ns is not None else ""
    given = [f"{key}: {_written(value)}" for key, value in fault.parameters.items()]
    pick = "" if drawn else f", pick {fault.pick:.3f}"
    roles = f" (resolved when it begins{pick})" if set(fault.on) & set(plan.roles) else ""
    begins = f"at {format_duration(fault.at_ns)}" if fault.trigger is None else str(fault.trigger)
    return f"{fault.kind} on {', '.join(fault.on)}{roles} {begins}{lasts}{_listed(given)}"


def _listed(given: Sequence[str]) -> str:
    return f", {', '.join(given)}" if given else ""


def _written(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_written(element)}' for key, element in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return scalar(value)
