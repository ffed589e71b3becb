"""The plan of a live cluster: it grows with each topic, and plans a fault when it is asked for."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chaoskit.base.errors import BadInput, nearest
from chaoskit.contract import installed
from chaoskit.contract.faults.nemesis import Preceding, Preparing
from chaoskit.contract.workloads.topic import Topic
from chaoskit.scenario.plan import Plan, read_plan
from chaoskit.scenario.timeline import PlannedFault

LIVE = "live"
"""The kind of workload whose clients others run."""

_LASTS = "24h"
"""A live cluster may be up for so long."""

_TIMES = {"at", "for", "to", "after", "when", "quiet", "at_most", "expect", "id", "hit", "began", "pick"}
"""Keys of a timeline's faults that one which its caller begins and ends does not have."""


@dataclass
class LivePlan:
    """What a live cluster is to be.

    Attributes:
        content: the scenario as written.
        source: who asked for it, for error messages.
        kinds: kinds of faults for which the hosts are prepared.
        now: the plan with the topics that were made so far; no fault is planned in it.
    """

    content: dict[str, Any]
    source: str
    kinds: Sequence[str]
    now: Plan
    _topics: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        cluster: Mapping[str, Any],
        name: str,
        source: str,
        *,
        seed: int | None = None,
        recovery: str = "60s",
        producer: Mapping[str, Any] | None = None,
        consumer: Mapping[str, Any] | None = None,
        faults: Sequence[str] = (),
        expect: Mapping[str, Any] | None = None,
    ) -> LivePlan:
        """Return the plan of a cluster without topics.

        Args:
            cluster: as in a scenario.
            name: of the scenario; part of the path of the run folder.
            source: see the attribute.
            seed: draws targets; None: a random one.
            recovery: how long recovering may take.
            producer, consumer: settings of the clients, in the system's own terms, as far as they are not its defaults.
            faults: kinds of faults for which the hosts must be prepared before the system starts.
            expect: what must be found and what not, as in a scenario.

        Raises:
            BadInput: names the key and the remedy.
        """
        clients = {"producer": dict(producer or {}), "consumer": dict(consumer or {})}
        load = {"kind": LIVE, "duration": _LASTS, **clients}
        content = {"name": name, "cluster": dict(cluster), "workload": load, "recovery": recovery}
        content["expect"] = dict(expect or {})
        if isinstance(faults, str):
            raise BadInput(f"{source}: faults: {faults!r} is one kind; write a list of kinds, such as ['{faults}']")
        for kind in faults:
            try:
                installed.nemesis(kind, "faults")
            except BadInput as error:
                raise BadInput(f"{source}: {error}") from None
        plan = read_plan(content, source, seed)
        if plan.scenario.cluster.applications or plan.scenario.cluster.seats:
            raise BadInput(f"{source}: cluster.seats: chaoskit runs no clients of a live cluster; remove it")
        return cls(content, source, tuple(faults), plan)

    @property
    def standing(self) -> Plan:
        """The plan with a fault of each kind that the hosts are prepared for, on all of the system's hosts."""
        hosts = tuple(self.now.scenario.cluster.system_hosts)
        return replace(self.now, faults=[PlannedFault(0, kind, hosts, None) for kind in self.kinds])

    def add(self, name: str, partitions: int, replication: int | None) -> Topic:
        """Add a topic; return it.

        Raises:
            BadInput: the system cannot have it.
        """
        if any(topic["name"] == name for topic in self._topics):
            raise BadInput(
                f"{self.source}: topic {name!r} was made before; topics of one live cluster have names of their own"
            )
        topics = [*self._topics, {"name": name, "partitions": partitions, "replication": replication}]
        content = {**self.content, "workload": {**self.content["workload"], "topics": topics}}
        source = f"{self.source}: topic {name!r}"
        plan = read_plan(content, source, self.now.seed)
        try:
            plan.system.check(plan.declared)
        except BadInput as error:
            raise BadInput(f"{source}: {error}") from None
        self.now, self.content, self._topics = plan, content, topics
        return self.topic(name)

    def topic(self, name: str) -> Topic:
        """Return a topic.

        Raises:
            BadInput: it was not made.
        """
        topics = {topic.name: topic for topic in self.now.declared.topics}
        if name not in topics:
            known = nearest(name, topics) if topics else f"make it with topic({name!r})"
            raise BadInput(f"{self.source}: there is no topic {name!r}; {known}")
        return topics[name]

    def fault(self, number: int, kind: str, on: str | Sequence[str], keys: Mapping[str, Any]) -> PlannedFault:
        """Plan a fault that begins now.

        Args:
            number: its number; the same seed and number draw the same targets.
            kind: its kind.
            on: whom it hits, as in a scenario.
            keys: its own keys.

        Raises:
            BadInput: it cannot be injected here; names the key and the remedy.
        """
        source = f"{self.source}: fault {kind!r}"
        for key in sorted(_TIMES & keys.keys()):
            raise BadInput(f"{source}: {key}: it begins at once, and lasts until its block ends; remove {key}")
        written = {**keys, "at": "0s", "inject": kind, "on": on if isinstance(on, str) else list(on)}
        seed = random.Random(f"{self.now.seed}/{number}").getrandbits(31)  # noqa: S311  # reproducible, not secret
        try:
            plan = read_plan({**self.content, "faults": [written]}, source, seed)
        except BadInput as error:
            raise BadInput(str(error).replace("faults.0.", "")) from None
        planned = plan.faults[0]
        self._check_prepared(planned, plan)
        return planned

    def _check_prepared(self, planned: PlannedFault, plan: Plan) -> None:
        """Reject a fault for which the hosts are not prepared; download what it needs."""
        nemesis = installed.nemesis(planned.kind)
        if (isinstance(nemesis, Preceding) or nemesis.before_boot) and planned.kind not in self.kinds:
            raise BadInput(
                f"{self.source}: fault {planned.kind!r} needs something on the hosts before the system starts; write "
                f"up(faults=[{planned.kind!r}])"
            )
        if isinstance(nemesis, Preparing):
            parameters = nemesis.parameters.model_validate(planned.parameters)
            nemesis.prepare(plan.system, plan.system_options, parameters)
