"""Renders a template and its charts to one self-contained HTML file.

Charts are Vega-Lite specifications; the library that draws them comes from the Python package
vl-convert-python and is embedded in the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from chaoskit.base import durable
from chaoskit.base.errors import BadInput
from chaoskit.base.installing import with_extra
from chaoskit.base.plain import lines, plain
from chaoskit.base.state import cache_folder
from chaoskit.report.words import milliseconds, number, seconds_of

try:
    import jinja2
    import vl_convert
except ModuleNotFoundError as _missing:
    raise BadInput(f"the report needs the package {_missing.name}: {with_extra('report')}") from _missing

_FILTERS: dict[str, Callable[..., str]] = {"number": number, "ms": milliseconds, "ns": seconds_of}


def render(template: str, packages: Sequence[str] = (), **content: Any) -> str:
    """Return a page.

    Args:
        template: name of a template in this package or in `packages`.
        packages: further Python packages with a folder `templates`.
        content: variables of the template.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in (*packages, "chaoskit.report")]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
    )
    environment.policies["json.dumps_function"] = _json
    environment.filters.update(_FILTERS)
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return environment.get_template(template).render(library=chart_library(), made=made, **content)


def _shown(value: Any) -> Any:
    """Return what a template puts into the page, without what reverses writing; jinja escapes HTML."""
    return lines(value) if type(value) is str else value


def _json(value: Any, **options: Any) -> str:
    return json.dumps(plain(value, lines), **options)


@cache
def chart_library() -> str:
    """Return the JavaScript that draws charts: Vega, Vega-Lite and vega-embed.

    Bundling it takes longer than all the rest of a report, so it is done once for each release of vl-convert.
    """
    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError):
        return kept.read_text("utf-8")
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        durable.write(kept, bundle.encode())
    return bundle
