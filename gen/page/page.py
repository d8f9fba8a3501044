"""Renders one page of HTML that needs nothing else: no network, no file beside it.

What uses it brings sections; head, style, navigation and the sorting of tables are here. The page
forbids its browser to load anything (Content-Security-Policy), so that it cannot fail offline.

Classes that sections may use: ``table.sortable`` (a click on a heading sorts; with
``data-filter="what"`` on the table there is a box to filter rows), ``td.n`` and ``th.n`` (numbers,
at the right), ``div.wide`` (scrolls sideways; around every table), ``.tiles`` of ``.tile`` (a
``<b>`` figure and a ``<span>`` that names it), ``.good``, ``.bad``, ``.warn``, ``.note``,
``pre`` (log and command lines), ``.bar`` around an ``<i style="width:..%">`` and ``.plot``.
"""

import math
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape

from gen.base import templates
from gen.base.heads import built_line
from hdl.common.core_clock import CORE_MHZ

HERE = Path(__file__).parent
#: Plotly.js for plots with two axes (npm: plotly.js-cartesian-dist-min 4.1.1), made small by
#: ``gzip -9n``; in a page it takes 0.66 MB, where the whole library would take 4.8.
PLOTLY = HERE / "plotly" / "plotly-cartesian.min.js.gz"
MAX_LINKS = 8  #: parts of a page whose links are always seen; more are behind one line


@dataclass(frozen=True)
class Section:
    """Holds a part of a page, which has a line in the page's navigation."""

    title: str
    html: str  #: its content, escaped already; an ``environment`` template gives such


def environment(folder: Path) -> Environment:
    """Load the templates of ``folder``; values are escaped, a missing one is an error."""
    built = templates.environment(folder, html=True)
    built.filters["thousands"] = thousands
    return built


def thousands(number: float | None) -> str:
    """Format a number with groups of digits, decimals unless it is whole, and a dash for none."""
    if number is None or not math.isfinite(number):
        return "-"
    return f"{number:,.4g}" if number != int(number) and abs(number) < 1e4 else f"{number:,.0f}"


def render(
    title: str,
    sections: Sequence[Section],
    *,
    plotly: bool = False,
    clocks_mhz: Iterable[float] = (CORE_MHZ,),
) -> str:
    """Return the whole page; with ``plotly``, the library is in it once, compressed.

    Below the title stand version, day and ``clocks_mhz``, the clocks of what is shown. Scripts
    that draw wait for ``window.plotlyReady``. Equal arguments give equal text on the same day.
    """
    return (
        environment(HERE)
        .get_template("page.html.j2")
        .render(
            title=title,
            built=built_line(clocks_mhz),
            max_links=MAX_LINKS,
            sections=list(zip(anchors(sections), sections, strict=True)),
            contents=[Markup(section.html) for section in sections],
            style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
            script=Markup((HERE / "page.js").read_text(encoding="utf-8")),
            plotly=b64encode(PLOTLY.read_bytes()).decode() if plotly else None,
            unpacking=Markup((HERE / "plots.js").read_text(encoding="utf-8")),
        )
    )


def framed(page: str) -> str:
    """Return a whole page as a part of another one, such as a notebook, whose style it keeps."""
    return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:32rem;border:0"></iframe>'


def anchors(sections: Sequence[Section]) -> list[str]:
    """Return a unique name for each section's place on the page, made from its title."""
    names: list[str] = []
    for section in sections:
        stem = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
        name, number = stem, 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names
