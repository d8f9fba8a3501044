"""Makes the page's parts on gathers: of sparse products on SNICs, and of rows in host memory."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gen.page.page import Section, environment
from gen.report.figures import figure

HERE = Path(__file__).parent

#: maps a counter of a node to what became of the idxs that it counts
FATES = {"local": "local", "coalesced": "coalesced", "filtered": "filtered", "prs": "PR"}


def gather_section(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Section:
    """Make one part for all products, each with its label."""
    template = environment(HERE).get_template("gather.html.j2")
    rows = [
        (
            *(label, run, fates(run["nodes"]), figures([*run["nodes"], run["all"]])),
            figures(run.get("network", {}).get("switches", [])),
        )
        for label, run in runs
    ]
    return Section("Sparse products", template.render(runs=rows))


def fates(nodes: Sequence[Mapping[str, Any]]) -> Any:
    """Return a plot with a bar for each node: what became of its idxs."""
    names = [f"node {number}" for number in range(len(nodes))]
    traces = [
        {
            "type": "bar",
            "name": name,
            "x": names,
            "y": [node["unit_counters"][counter] for node in nodes],
        }
        for counter, name in FATES.items()
    ]
    return figure(traces, {"barmode": "stack", "yaxis": {"title": {"text": "idxs"}}}, height=20)


def figures(parts: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Any]]]:
    """Return every figure of the last of some parts of a run, by its name, for all parts."""
    columns = [dict(flat(part)) for part in parts]
    names = [name for name in columns[-1] if name != "name"] if columns else []
    return [(name, [column.get(name) for column in columns]) for name in names]


def flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested values under dotted names; counters are left out."""
    for name, value in content.items():
        if name.endswith("_counters"):
            continue
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


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
