"""Plots for a page: their data as JSON, drawn by report.js with plotly."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup


def embedded(content: Any) -> Markup:
    """JSON that can stand inside a script element; figures that are none become null."""
    text = json.dumps(numbers_only(content), separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def numbers_only(content: Any) -> Any:
    """``content`` with None for what is infinite or not a number."""
    if isinstance(content, Mapping):
        return {key: numbers_only(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [numbers_only(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def figure(
    data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], height: int = 24
) -> Markup:
    """A plot of plotly's traces ``data``, ``height`` lines high; colours are the page's."""
    return Markup(
        '<div class="plot" style="height:{height}rem"></div>'
        '<script type="application/json" class="figure">{content}</script>'
    ).format(height=height, content=embedded({"data": data, "layout": layout}))
