"""verdict.json and findings.parquet as they are read again: what every reader may rely on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required

import pyarrow as pa
from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from chaoskit.base import parquet, store
from chaoskit.base.errors import BadInput
from chaoskit.history.compacting.drivers import DriverTold
from chaoskit.history.format.sound import sound
from chaoskit.judge.explaining.attribution import JUDGED
from chaoskit.judge.faults.instances import EndedTold

_Count = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_Further = with_config(ConfigDict(extra="allow"))


@_Further
class CauseTold(TypedDict):
    """One of the causes of an anomaly."""

    rule: str
    what: str
    known: str
    count: _Count
    chain: NotRequired[str]


@_Further
class BlamedTold(TypedDict):
    """The instance of an application that is to blame for a finding, and the moment: its end, if it ended."""

    instance: str
    at_ns: int
    ended: NotRequired[str]


@_Further
class ExampleTold(TypedDict):
    """One finding."""

    topic: str
    partition: int
    op: NotRequired[int]
    operation: NotRequired[str]
    value: NotRequired[int]
    position: NotRequired[int]
    other_op: NotRequired[int]
    other_operation: NotRequired[str]
    other_value: NotRequired[int]
    other_position: NotRequired[int]
    at_ns: NotRequired[int]
    since_ns: NotRequired[int]
    lasted_ms: NotRequired[float]
    blamed: NotRequired[BlamedTold]


@_Further
class LastedDetailTold(TypedDict):
    """How many findings have one detail, and how long they lasted, milliseconds."""

    count: _Count
    p50: float
    max: float


@_Further
class LastedTold(TypedDict):
    """How long the findings of one anomaly lasted, milliseconds."""

    p50: float
    max: float
    by_detail: dict[str, LastedDetailTold]


@_Further
class AnomalyTold(TypedDict):
    """The findings of one anomaly."""

    count: _Count
    allowed: bool
    why: str
    remedy: str
    between_s: tuple[float, float] | None
    lasted_ms: NotRequired[LastedTold]
    explained: list[CauseTold]
    messages: NotRequired[_Count]
    probes: NotRequired[_Count]
    examples: list[ExampleTold]


class ChangeTold(TypedDict):
    """A change of the membership of a partition, or of those who read it."""

    what: str
    partition: str
    host: str
    at_ms: float
    before: NotRequired[str]
    group: NotRequired[str]
    until_ms: NotRequired[float | None]


@_Further
class ConsequenceTold(TypedDict):
    """What changed while a fault held."""

    membership: NotRequired[list[ChangeTold]]
    found: NotRequired[dict[str, _Count]]
    found_only: NotRequired[dict[str, _Count]]
    lasted_ms: NotRequired[dict[str, float]]
    not_acknowledged: NotRequired[_Count]
    stalled_ms: NotRequired[float]
    acks_per_s: NotRequired[tuple[float, float]]
    degraded_ms: NotRequired[float]
    unheard_ms: NotRequired[float]
    arrived_per_s: NotRequired[tuple[float, float]]
    waited_ms: NotRequired[tuple[float, float]]
    send: NotRequired[dict[str, tuple[float, float]]]
    end_to_end: NotRequired[dict[str, tuple[float, float]]]


@_Further
class FaultTold(TypedDict):
    """One fault."""

    kind: str
    targets: list[str]
    effective: bool
    healed: bool
    evidence: str
    unavailable_ms: NotRequired[float | None]
    unavailable_in: NotRequired[str | None]
    unheard_ms: NotRequired[float | None]
    at_ms: NotRequired[float]
    consequence: NotRequired[ConsequenceTold | None]
    consequence_doubts: NotRequired[list[str]]
    at_stake: NotRequired[int | None]
    sends_in_flight: NotRequired[int]
    transactions_open: NotRequired[int]
    partitions_owned: NotRequired[int]
    late_ms: NotRequired[float | None]
    effective_ms: NotRequired[float | None]
    stayed_in_sync: NotRequired[list[str]]
    machine_late_ms: NotRequired[float | None]


@_Further
class AuditTold(TypedDict):
    """The final read."""

    complete: bool


@_Further
class LivenessTold(TypedDict):
    """How the system recovered."""

    recovered: NotRequired[bool | None]
    why: NotRequired[str]
    took_s: NotRequired[float]
    bound_s: NotRequired[float]


@_Further
class PartitionTold(TypedDict):
    """The availability of one partition."""

    partition: str
    longest_unavailable_ms: float
    from_s: float
    recovered: bool
    recovered_after_heal_ms: float | None
    recovered_after_undoing_ms: float | None


@_Further
class AvailabilityTold(TypedDict):
    """The longest waits."""

    longest_unavailable_ms: NotRequired[float | None]
    recovered_after_heal_ms: NotRequired[float | None]
    not_recovered: NotRequired[int]
    unheard_ms: NotRequired[float | None]
    heard_after_heal_ms: NotRequired[float | None]
    not_heard: NotRequired[int]
    partitions: NotRequired[list[PartitionTold]]


@_Further
class CountsTold(TypedDict):
    """Numbers of messages."""

    sent: _Count
    acked: _Count
    failed: _Count
    indeterminate: _Count
    received: _Count
    never_made: NotRequired[_Count | None]


class _Point(TypedDict, total=False):
    p50_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    p9999_ms: float | None
    max_ms: float | None
    without: int


class SlowestTold(TypedDict):
    """The part of a load that made a p99."""

    from_ms: float
    to_ms: float
    share: float
    faults: list[int]


@_Further
class PointTold(_Point, total=False):
    """Latencies of some messages; `all_due` also counts those without one. `uncertainty_ms`: by how much they may be
    wrong, since several machines measured them. `slowest`: when most of the slowest hundredth was due."""

    all_due: _Point | None
    uncertainty_ms: float
    slowest: SlowestTold


class PhaseTold(TypedDict, total=False):
    """Latencies of a part of the load."""

    send: PointTold
    end_to_end: PointTold


class LatencyTold(PhaseTold, total=False):
    """Latencies of a run."""

    send_from_actual: PointTold
    late: PointTold
    quiet: PhaseTold
    under_faults: PhaseTold
    after_faults: PhaseTold


@with_config(ConfigDict(extra="forbid"))
class BoundTold(TypedDict):
    """A time that has a bound."""

    expected: str
    measured_ms: float | None
    met: bool
    note: str
    unknown: NotRequired[bool]


@_Further
class LagTold(TypedDict):
    """How long after its acknowledgement a message was on stable storage of some hosts; None: never."""

    p50: float | None
    p99: float | None
    max: float | None
    never: _Count


@_Further
class LossTold(TypedDict):
    """How many acknowledged messages a power cut would have lost."""

    median: _Count
    max: _Count
    at_s: float
    in_doubt: _Count


class ExposureTold(TypedDict, total=False):
    """What a power cut would have cost; only `doubts` if that could not be measured."""

    acked: _Count
    copies_at_ack: dict[str, _Count]
    lag_ms: dict[str, LagTold]
    loss_window: dict[str, LossTold]
    doubts: Required[list[str]]


@_Further
class VerdictTold(TypedDict):
    """The content of verdict.json."""

    run: str
    scenario: str
    seed: _Count
    load_start_s: float
    verdict: Literal["valid", "invalid", "unknown"]
    headline: Annotated[str, Field(min_length=1)]
    reasons: list[str]
    counts: CountsTold
    rates: dict[str, float]
    audit: AuditTold
    anomalies: dict[str, AnomalyTold]
    faults: list[FaultTold]
    liveness: LivenessTold
    availability: AvailabilityTold
    latency: LatencyTold
    bounds: NotRequired[dict[str, BoundTold]]
    drivers: NotRequired[list[DriverTold]]
    ended: NotRequired[list[EndedTold]]
    exposure: NotRequired[ExposureTold]


def read_verdict(folder: Path) -> Any:
    """Return the content of verdict.json of a judged run; see `VerdictTold`.

    Raises:
        BadInput: the run has none, or it is damaged or of another version.
    """
    path = folder / store.VERDICT
    if not path.exists():
        raise BadInput(f"{folder}: has no verdict yet; run `chaoskit check {folder}` first")
    return store.read_json(path, VerdictTold, _again(folder))


def read_findings(folder: Path) -> pa.Table:
    """Return the findings of a judged run, schema `JUDGED`; empty if there is no file of them.

    Raises:
        BadInput: they are damaged.
    """
    path = folder / "findings.parquet"
    if not path.exists():
        return JUDGED.empty_table()
    return parquet.read(path, JUDGED, _again(folder), sound)


def _again(folder: Path) -> str:
    return f"Run `chaoskit check {folder}` to judge it again"
