"""Takes pictures of a page: what a browser is asked, and, if there is one, that no script fails."""

import shutil
import subprocess

import pytest

from gen.base.emission.emit import emit
from gen.base.errors import UserError
from gen.datasheet.page import datasheet
from gen.designs.catalogue import designs, find_design
from gen.designs.design import load
from gen.report import screenshot as module
from gen.report.report import report
from gen.report.screenshot import NAMES, screenshot
from gen.report.sources import find
from tests.gen.report import sample
from tests.long import short_and_long

#: says how far the page is wider than its window
WIDTH = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
#: chooses every option of every list and sorts by every heading, twice
EXERCISE = """<script>
plotlyReady.then(() => {
for (const box of document.querySelectorAll("select")) {
  for (const option of [...box.options]) {
    if (!box.isConnected) break;
    box.value = option.value;
    box.dispatchEvent(new Event("change"));
  }
  box.selectedIndex = 0;
  box.dispatchEvent(new Event("change"));
}
for (const heading of document.querySelectorAll("th")) { heading.click(); heading.click(); }
const box = document.querySelector("input.filter");
box.value = "failed";
box.dispatchEvent(new Event("input"));
const rows = [...box.parentElement.querySelectorAll("[data-filter=points] tbody tr")];
const curves = document.querySelectorAll(".plot .main-svg").length > 0;
const left = rows.filter((row) => !row.hidden).length;
document.title = `${left} rows, plots ${curves}, ${WIDTH} too wide`;
console.log(document.title);
});
</script></body>""".replace("WIDTH", WIDTH)

no_browser = not any(shutil.which(name) for name in NAMES)


def test_the_page_must_be_there(tmp_path):
    with pytest.raises(UserError, match="there is no page"):
        screenshot(tmp_path / "a.html", tmp_path / "a.png")


def test_a_browser_must_be_there(tmp_path, monkeypatch):
    (tmp_path / "a.html").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="one of chromium"):
        screenshot(tmp_path / "a.html", tmp_path / "a.png")


def test_what_the_browser_gets(tmp_path, monkeypatch):
    requested = []

    def run(command, **_):
        requested.extend(command)
        (tmp_path / "a.png").write_bytes(b"")
        said = '[1:2:INFO:CONSOLE:7] "Uncaught x", source: a (7)\n[1:2:ERROR:x.cc(1)] bus\n'
        return subprocess.CompletedProcess(command, 0, "", said)

    monkeypatch.setattr(module, "browser", lambda: "chromium")
    monkeypatch.setattr(module.subprocess, "run", run)
    (tmp_path / "a.html").write_text("")
    said = screenshot(tmp_path / "a.html", tmp_path / "a.png", width=800, height=600, dark=True)
    assert said == ['"Uncaught x", source: a (7)']
    assert "--window-size=800,600" in requested
    assert "--blink-settings=preferredColorScheme=0" in requested


VIEWS = [(1280, False), (600, True)]  # pixels across, dark


@pytest.mark.skipif(no_browser, reason="no browser on the path")
@pytest.mark.parametrize(("width", "dark"), VIEWS)
def test_no_script_fails_in_a_browser(tmp_path, width, dark):
    text, _ = report(find([sample.everything(tmp_path / "all")]))
    assert len(text) < 1_000_000
    page = tmp_path / "page.html"
    page.write_text(text.replace("</body>", EXERCISE))
    said = screenshot(page, tmp_path / "page.png", width=width, height=600, dark=dark)
    assert len(said) == 1
    assert '"1 rows, plots true, 0 too wide"' in said[0]


#: says where the axes of the first plot begin, and whether the navigation scrolls sideways
LOOK = """<script>plotlyReady.then(() => {
const { xaxis, yaxis } = document.querySelector(".plot").layout;
const nav = document.querySelector("nav");
console.log(xaxis.range[0], yaxis.range[0], nav.scrollWidth <= nav.clientWidth);
});</script></body>"""


@pytest.mark.skipif(no_browser, reason="no browser on the path")
def test_one_point_has_axes_from_zero_and_many_parts_fit_the_navigation(tmp_path):
    for number in range(20):
        sample.write_sweep(tmp_path / f"many-{number}.sqlite", [sample.point(1, 2)])
    page = tmp_path / "page.html"
    page.write_text(report(find([tmp_path]))[0].replace("</body>", LOOK))
    (said,) = screenshot(page, tmp_path / "page.png", width=600, height=600)
    assert '"0 0 true"' in said


@pytest.mark.skipif(no_browser, reason="no browser on the path")
@pytest.mark.parametrize(("width", "dark"), VIEWS)
@pytest.mark.parametrize("name", short_and_long(list(designs()), ["mina-switch"]))
def test_datasheets_fit_their_windows(tmp_path, name, width, dark):
    design = find_design(name)
    page = tmp_path / "datasheet.html"
    params = design.params_of("tiny")
    guide = load(design.guide)(params) if design.guide else ""
    text = datasheet(
        emit(design.make(params)), design=name, preset="tiny", settings={}, guide=guide
    )
    page.write_text(text.replace("</body>", f"<script>console.log({WIDTH})</script></body>"))
    said = screenshot(page, tmp_path / "page.png", width=width, height=600, dark=dark)
    assert len(said) == 1
    assert said[0].startswith('"0"')
