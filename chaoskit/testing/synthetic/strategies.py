"""Hypothesis strategies for complete histories, correct or not, that shrink to small parameters."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from chaoskit.base.errors import BadInput
from chaoskit.testing.synthetic.injection import CAUSES
from chaoskit.testing.synthetic.memory import Generated, generate
from chaoskit.testing.synthetic.parameters import make_parameters

MODES = ("log", "group", "transactions", "ledgers", "queue")


@st.composite
def histories(draw: st.DrawFn, modes: tuple[str, ...] = MODES) -> Generated:
    """Draw a correct history, in which nothing must be found."""
    sizes = {"messages": draw(st.integers(1, 3_000)), "transactions": draw(st.integers(1, 200))}
    return generate(make_parameters({**_shape(draw, modes), **sizes}))


@st.composite
def anomalous_histories(draw: st.DrawFn, causes: tuple[str, ...] = (), modes: tuple[str, ...] = MODES) -> Generated:
    """Draw a history with one to three injections; its truth lists what must be found at least.

    Args:
        draw: provided by Hypothesis.
        causes: causes to choose from; all if empty.
        modes: modes to choose from.
    """
    shape = _shape(draw, modes) | {"errors": 0.0, "producers": draw(st.integers(3, 6))}
    fitting = [name for name, cause in CAUSES.items() if shape["mode"] in cause.modes and name in (causes or CAUSES)]
    injections = draw(st.lists(st.sampled_from(sorted(fitting)), min_size=1, max_size=3))
    inject = {name: injections.count(name) for name in injections}
    try:
        return generate(make_parameters({**shape, "messages": 20_000, "transactions": 1_500, "inject": inject}))
    except BadInput:
        # This shape has no place for it, such as a single partition for a misrouted message: use another one.
        roomy = {"partitions": 3, "topics": 1, "producers": 6, "consumers": 2, "keys": 0, "faults": 0, "crashes": 0}
        large = {"messages": 40_000, "transactions": 4_000, "rate": 2_000}
        return generate(make_parameters({**shape, **roomy, **large, "inject": inject}))


def _shape(draw: st.DrawFn, modes: tuple[str, ...]) -> dict[str, Any]:
    return {
        "mode": draw(st.sampled_from(modes)),
        "seed": draw(st.integers(0, 2**32)),
        "partitions": draw(st.integers(1, 5)),
        "topics": draw(st.integers(1, 2)),
        "producers": draw(st.integers(1, 5)),
        "consumers": draw(st.integers(1, 4)),
        "keys": draw(st.sampled_from([0, 5])),
        "faults": draw(st.integers(0, 2)),
        "crashes": draw(st.integers(0, 4)),
        "errors": draw(st.sampled_from([0.0, 0.001, 0.05])),
        "rate": draw(st.sampled_from([2_000, 20_000])),
    }
