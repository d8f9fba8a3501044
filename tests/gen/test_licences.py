"""Checks that what ingather needs may be used with its licence, and that notices are there."""

import re
from pathlib import Path

import pytest

from gen.licences import licences

ROOT = Path(__file__).parents[2]
#: licences that ask for no more than a notice, or for the source of the package's own files
FITTING = re.compile(
    r"MIT|BSD|0BSD|Apache|ISC|Python Software Foundation|PSF|MPL-2.0|Zlib|CC0|Lesser General Public"
)
UNSTATED = {"cocotb-bus": "BSD"}  #: licence by package, of its text, where its metadata have none
#: what does not fit, and is only installed beside: cocotb-bus wants it, nothing of ours imports it
BESIDE = {"scapy"}
OF_TESTS = {"peakrdl-ipxact"}  #: what only this checkout installs


def licence_of(result):
    return result.licence or UNSTATED.get(result.package, "")


@pytest.mark.parametrize("development", [False, True])
def test_what_is_installed_fits_the_licence(development):
    result = licences(development=development)
    assert len(result) > 40
    unfit = {item.package for item in result if not FITTING.search(licence_of(item))}
    assert unfit == (BESIDE | OF_TESTS if development else BESIDE)


def test_each_line_states_where_the_text_is():
    for item in licences(development=True):
        assert ("the package has no text; see " in item.line) == (not item.texts)
        assert all(text in item.line for text in item.texts)


@pytest.mark.parametrize("name", sorted(BESIDE | OF_TESTS))
def test_nothing_that_is_handed_out_imports(name):
    files = [path for folder in ("gen", "hdl", "sim") for path in (ROOT / folder).rglob("*.py")]
    imports = re.compile(rf"^\s*(?:from|import) {name.replace('-', '_')}\b", re.M)
    assert len(files) > 500
    assert [path for path in files if imports.search(path.read_text(encoding="utf-8"))] == []


def test_one_version_and_licence_everywhere():
    project = (ROOT / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.*)"$', project, re.M)[1]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {version}\n" in citation
    assert "\nlicense: Apache-2.0\n" in citation
    assert 'license = "Apache-2.0"' in project
    assert (ROOT / "CHANGELOG.md").read_text().count(f"\n## {version}") == 1
    assert "Apache License" in (ROOT / "LICENSE").read_text()
