"""Pictures of a page: what is asked of the browser; where there is one, that no script fails."""

import shutil
import subprocess

import pytest

from gen.errors import UserError
from gen.report import screenshot as module
from gen.report.report import report
from gen.report.screenshot import NAMES, screenshot
from gen.report.sources import find
from tests.gen.report import sample

#: chooses every option of every list and sorts by every heading, twice
EXERCISE = """<script>
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
document.title = `${rows.filter((row) => !row.hidden).length} rows, plots ${curves}`;
console.log(document.title);
</script></body>"""

no_browser = not any(shutil.which(name) for name in NAMES)


def test_the_page_must_be_there(tmp_path):
    with pytest.raises(UserError, match="there is no page"):
        screenshot(tmp_path / "a.html", tmp_path / "a.png")


def test_a_browser_must_be_there(tmp_path, monkeypatch):
    (tmp_path / "a.html").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="one of chromium"):
        screenshot(tmp_path / "a.html", tmp_path / "a.png")


def test_what_the_browser_is_asked(tmp_path, monkeypatch):
    asked = []

    def run(command, **_):
        asked.extend(command)
        (tmp_path / "a.png").write_bytes(b"")
        said = '[1:2:INFO:CONSOLE:7] "Uncaught x", source: a (7)\n[1:2:ERROR:x.cc(1)] bus\n'
        return subprocess.CompletedProcess(command, 0, "", said)

    monkeypatch.setattr(module, "browser", lambda: "chromium")
    monkeypatch.setattr(module.subprocess, "run", run)
    (tmp_path / "a.html").write_text("")
    said = screenshot(tmp_path / "a.html", tmp_path / "a.png", width=800, height=600, dark=True)
    assert said == ['"Uncaught x", source: a (7)']
    assert "--window-size=800,600" in asked
    assert "--blink-settings=preferredColorScheme=0" in asked


@pytest.mark.skipif(no_browser, reason="no browser on the path")
def test_no_script_fails_in_a_browser(tmp_path):
    text, _ = report(find([sample.everything(tmp_path / "all")]))
    page = tmp_path / "page.html"
    page.write_text(text.replace("</body>", EXERCISE))
    said = screenshot(page, tmp_path / "page.png", width=800, height=600)
    assert len(said) == 1
    assert '"1 rows, plots true"' in said[0]
