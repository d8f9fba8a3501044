"""Writes a register map as a folder of HTML that opens from the disk, without server or network.

PeakRDL's pages fetch their parts over HTTP, and MathJax from afar. Here the parts stand in a
script that answers those fetches, nothing comes from elsewhere, and what changes with the day or
the tool's version is left out: equal maps give equal bytes. Web fonts are left out but the
icons', which keeps a folder small; browsers have a sans-serif of their own.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gen.base.registers.system_rdl import board_tool, compiled
from gen.base.templates import render
from hdl.common.registers import RegisterMap

if TYPE_CHECKING:
    from systemrdl.node import AddrmapNode

HERE = Path(__file__).parent
FETCHED = re.compile(
    r"content/[^/]*\.html|(data|search)/[^/]*\.json"
)  #: what the pages ask for by HTTP
LEFT_OUT = re.compile(r"\.?launcher.*|fonts/(?!FontAwesome/.*\.woff2$).*")
REMOTE_SCRIPT = re.compile(r"<script[^>]*mathjax.*?</script>\s*", re.I | re.S)
STAMP = re.compile(r"\?(v|ts)=[^\"]*(?=\")")
FIRST_SCRIPT = '<script src="js/progressbar.min.js"'
OFFLINE = "data/offline.js"


def html(map: RegisterMap, tree: "AddrmapNode | None" = None) -> dict[str, str | bytes]:
    """Return the files of the folder, by their paths in it; readers open ``index.html``.

    ``tree`` is ``map`` compiled. UserError if the tools of register documentation are not
    installed.
    """
    exporter = board_tool("peakrdl_html").HTMLExporter(
        generate_source_links=False, user_context={"build_ts": 0}
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exporter.export(tree or compiled(map), name, title=f"{map.name} registers", footer="")
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        stored = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    fetched = {name: text.decode() for name, text in stored.items() if FETCHED.fullmatch(name)}
    files: dict[str, str | bytes] = {
        name: text
        for name, text in stored.items()
        if name not in fetched and not LEFT_OUT.fullmatch(name)
    }
    files["index.html"] = offline_index(stored["index.html"].decode())
    files[OFFLINE] = render(HERE, "offline.js.j2", fetched=json.dumps(fetched, indent=0))
    return files


def offline_index(page: str) -> str:
    """Return the main page, with ``OFFLINE`` before all other scripts and nothing remote."""
    page = STAMP.sub("", REMOTE_SCRIPT.sub("", page))
    assert FIRST_SCRIPT in page, "the exporter's page begins differently"
    page = page.replace(FIRST_SCRIPT, f'<script src="{OFFLINE}"></script>\n    {FIRST_SCRIPT}', 1)
    return "\n".join(line.rstrip() for line in page.splitlines()) + "\n"
