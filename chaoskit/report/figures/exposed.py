"""What a power cut would have cost: in words, and as charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.report.figures import charts

_SHOWN = ("all", "majority", "leader")
_COLOURS = (charts.RED, charts.ORANGE, charts.BLUE)


def in_words(exposure: Mapping[str, Any]) -> list[str]:
    """Return an exposure, as in verdict.json, as lines."""
    lines = []
    if "acked" in exposure:
        copies = ", ".join(
            f"{in_hosts(number)}: {count:,}" for number, count in exposure["copies_at_ack"].items() if count
        )
        lines.append(f"when acknowledged, on stable storage of {copies or 'nothing: nothing was acknowledged'}")
        lines += [
            f"on {in_hosts(number)} after the acknowledgement: {_lag(lag)}"
            for number, lag in exposure["lag_ms"].items()
        ]
        lines += [f"a power cut of {hosts}: {_loss(loss)}" for hosts, loss in exposure["loss_window"].items()]
    return lines + [f"doubt: {doubt}" for doubt in exposure["doubts"]]


def figures(by_second: Sequence[Mapping[str, Any]], domain: list[float]) -> list[dict[str, Any]]:
    """Return the charts of an exposure's course; see `chaoskit.judge.exposure.measuring.Exposure.by_second`."""
    if not by_second:
        return []
    lost = [{"t": row["at_s"], **{name: row["loss_window"].get(name) for name in _SHOWN}} for row in by_second]
    shown = [name for name in _SHOWN if any(row[name] is not None for row in lost)]
    sets = {name: (f"cut of {name}", colour) for name, colour in zip(shown, _COLOURS, strict=False)}
    windows = charts.lines(
        lost, sets, charts.time_x(domain), charts.value_y("messages"), charts.told(t="at s", **{n: n for n in shown})
    )
    drawn = [
        ("loss-window", "Acknowledged messages that a power cut would have lost, the most in each second", windows)
    ]
    lags = [{"t": row["at_s"], **{f"c{copy}": lag["p99"] for copy, lag in row["lag_ms"].items()}} for row in by_second]
    seen = [name for name in ("c1", "c2", "c3") if any(row.get(name) is not None for row in lags)]
    if seen:
        hosts = {name: (f"on {in_hosts(name[1:])}", colour) for name, colour in zip(seen, _COLOURS[::-1], strict=False)}
        entries = charts.told(t="at s", **{name: f"on {in_hosts(name[1:])}, p99 ms" for name in seen})
        lag = charts.lines(lags, hosts, charts.time_x(domain), charts.value_y("p99, ms"), entries)
        drawn.append(("durability-lag", "Durability lag: from the acknowledgement to stable storage", lag))
    return [{"id": name, "title": title, "spec": charts.chart(name, 170, spec)} for name, title, spec in drawn]


def in_hosts(number: str) -> str:
    """Return a number of hosts, with the noun."""
    return f"{number} host{'s' * (number != '1')}"


def lag_in_words(milliseconds: float | None) -> str:
    """Return a lag; None is never."""
    return "never" if milliseconds is None else f"{milliseconds:,.1f} ms"


def _lag(lag: Mapping[str, Any]) -> str:
    if lag["max"] is None:
        return "never"
    times = [f"{name} {lag_in_words(lag[name])}" for name in ("p50", "p99", "max")]
    return ", ".join(times) + f"; never: {lag['never']:,} messages" * bool(lag["never"])


def _loss(loss: Mapping[str, Any]) -> str:
    most = f"at most {loss['max']:,} lost" + (
        f" (at {loss['at_s']:.1f} s), median {loss['median']:,}" * bool(loss["max"])
    )
    return most + f"; up to {loss['in_doubt']:,} more in doubt" * bool(loss["in_doubt"])
