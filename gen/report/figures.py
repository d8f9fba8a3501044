"""Makes the plots of a page: their data as JSON, which report.js draws with plotly."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

FEW = 10  #: range of an axis within which plotly may choose ticks at fractions


def embedded(content: Any) -> Markup:
    """Return JSON that can be put into a script element; what is no number becomes null."""
    text = json.dumps(numbers_only(content), separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def numbers_only(content: Any) -> Any:
    """Return ``content`` with None in place of each number that is infinite or NaN."""
    if isinstance(content, Mapping):
        return {key: numbers_only(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [numbers_only(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def axes_of(across: str, places: Sequence[float], up: str) -> dict[str, Any]:
    """Return the titled axes of a plot over ``places``, which has no tick between whole ones."""
    few = max(places) - min(places) <= FEW and all(place == int(place) for place in places)
    whole = {"tickmode": "linear", "dtick": 1} if few else {}
    return {"xaxis": {"title": {"text": across}, **whole}, "yaxis": {"title": {"text": up}}}


def figure(
    data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], height: int = 24
) -> Markup:
    """Return a plot of plotly's traces ``data``, ``height`` lines high, in the page's colours."""
    return Markup(
        '<div class="plot" style="height:{height}rem"></div>'
        '<script type="application/json" class="figure">{content}</script>'
    ).format(height=height, content=embedded({"data": data, "layout": layout}))
