"""Makes the page's part on rows gathered from host memory: the bytes that links carried."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gen.page.page import Section, environment
from gen.report.figures import figure

HERE = Path(__file__).parent


def rows_section(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Section:
    """Make one part for all labelled gathers: their bytes on links, settings and figures."""
    template = environment(HERE).get_template("run.html.j2")
    rows = [(label, run, [link_bytes(run["figures"])]) for label, run in runs]
    return Section("Gathers from host memory", template.render(runs=rows))


def link_bytes(figures: Mapping[str, float]) -> Any:
    """Plot one bar of bytes on links: those of rows, of other data that was read, of headers."""
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
