"""Makes the part of the page about rows gathered from host memory: what links carried for them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gen.page.page import Section, environment
from gen.report.figures import figure

HERE = Path(__file__).parent


def rows_section(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Section:
    """Make one part for all gathers, each with its label: bytes on links, settings, figures."""
    template = environment(HERE).get_template("run.html.j2")
    rows = [(label, run, [link_bytes(run["figures"])]) for label, run in runs]
    return Section("Gathers from host memory", template.render(runs=rows))


def link_bytes(figures: Mapping[str, float]) -> Any:
    """Return a plot of one bar: rows, what is read beside them, and headers, in bytes on links."""
    rows, read, whole = (figures[name] for name in ("row_bytes", "read_bytes", "link_bytes"))
    parts = {
        "rows": rows,
        "idxs, and what is read beside rows": read - rows,
        "headers and framing": whole - read,
    }
    traces = [
        {"type": "bar", "orientation": "h", "name": name, "y": ["links"], "x": [count]}
        for name, count in parts.items()
    ]
    return figure(traces, {"barmode": "stack", "xaxis": {"title": {"text": "bytes"}}}, height=14)
