"""Checks that what the README promises is there."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer.main

from gen.cli import make_app
from gen.designs.catalogue import designs

ROOT = Path(__file__).parents[2]
FOLDERS = ("constraints", "gen", "hdl", "sim", "tests")
READMES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(p for f in FOLDERS for p in sorted((ROOT / f).rglob("README.md"))),
]
FILES = [
    *(path.name for path in ROOT.iterdir()),
    *(path.relative_to(ROOT).as_posix() for f in FOLDERS for path in (ROOT / f).rglob("*")),
]
#: a file of ours in a text or a diagram; those that commands write have other ends
NAMED = re.compile(
    r"(?<![\w/.*-])((?:[\w-]+/)*[\w-]+\.(?:py|toml|j2|sv|vlt|csv|cpp|md\.j2))(?![\w.])"
)
LINKS = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
SECTIONS = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")  #: links to a section, by its heading
PLACEHOLDER = re.compile(r"(?<![a-z])(?:NAME|DESIGN|FILE|SPEC)(?![a-z])")
README = READMES[0].read_text()
PLAIN = " ".join(README.split())
SHOWN = re.compile(r"(?:`|^    \.venv/bin/)ingather ([a-z][^`\n]*)", re.M)
RUN = re.compile(r"pytest (tests[\w/.]*)")
COMMANDS = sorted(
    {item for page in READMES for item in SHOWN.findall(page.read_text().replace("\\\n", ""))}
)


@pytest.fixture(scope="module")
def app():
    return typer.main.get_command(make_app())


def test_every_page_is_read():
    present = {path.relative_to(ROOT).as_posix() for path in READMES}
    assert {"README.md", "hdl/README.md", "gen/README.md", "sim/README.md"} <= present
    assert sum(len(NAMED.findall(path.read_text())) for path in READMES) > 200
    assert len(COMMANDS) > 20


@pytest.mark.parametrize("page", READMES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_that_a_page_names_exist(page):
    text = page.read_text()
    ends = {f"/{file}" for file in FILES}
    named = {name for name in NAMED.findall(text) if not PLACEHOLDER.search(name)}
    assert [n for n in sorted(named) if not any(end.endswith(f"/{n}") for end in ends)] == []
    assert [link for link in LINKS.findall(text) if not (page.parent / link).exists()] == []


def test_sections_that_pages_link_exist():
    for page in READMES:
        assert "design note" not in page.read_text().lower(), f"{page} argues with what is not here"
        for link, section in SECTIONS.findall(page.read_text()):
            linked = (page.parent / link if link else page).read_text()
            headings = re.findall(r"^#+ (.*)$", linked, re.M)
            names = [re.sub(r"[^\w\s-]", "", text).lower().replace(" ", "-") for text in headings]
            assert section in names, f"{page}: {link}#{section}"


def test_tests_lie_in_folders_of_the_sources():
    """As tests/README says; the protocols and proofs are of no folder."""
    mirrored = [p for f in ("hdl", "gen", "sim") for p in (ROOT / "tests" / f).rglob("test_*.py")]
    folders = {path.parent.relative_to(ROOT / "tests") for path in mirrored}
    assert [folder for folder in sorted(folders) if not (ROOT / folder).is_dir()] == []


@pytest.mark.parametrize("folder", ["gen", "sim"])
def test_a_page_has_every_folder_beside_it(folder):
    text = (ROOT / folder / "README.md").read_text()
    folders = sorted({path.parent.name for path in (ROOT / folder).glob("*/*.py")})
    assert [name for name in folders if f"`{name}/`" not in text] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_have_the_options_that_they_are_shown_with(app, command):
    result, words = app, shlex.split(command)
    while words and words[0] in getattr(result, "commands", {}):
        result = result.commands[words.pop(0)]
    assert result is not app, f"no such command: {command}"
    options = {text for parameter in result.params for text in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= options | {"--help"}
    if command.startswith(("generate ", "synth ")) and not PLACEHOLDER.search(command):
        assert words[0] in {*designs(), "--help"}, "no such design"


def test_the_picture_says_what_it_shows():
    caption = PLAIN.partition("(sim/pictures/digits.png)")[2].partition("## ")[0]
    assert "digits, >= 5 against the rest" in caption
    assert "Loss and accuracy are those of the training samples" in caption


def test_make_run_trains_on_the_smallest_worker_first():
    rule = (ROOT / "Makefile").read_text().partition("\nrun:")[2].partition("\n\n")[0]
    steps = re.findall(r"ingather (\w+) .*--preset (\w+) -o (\S+)", rule)
    assert [" ".join(step[:2]) for step in steps] == ["train tiny", "generate u280", "train u280"]
    assert all(f"`{folder}" in README for *_, folder in steps)


def test_limits_are_reported_up_front():
    limits = PLAIN.partition("## What it is not")[2].partition("## ")[0]
    for text in ("No Vivado has built", "no card has run", "two network ports", "1 GB", "energy"):
        assert text in limits


MARKDOWN = [*ROOT.glob("*.md"), *(p for f in FOLDERS for p in (ROOT / f).rglob("*.md"))]


def max_columns(line, block):
    """Return how wide a line may be; rows of tables and links to pictures cannot be broken."""
    if line.startswith(("|", "![")):
        return len(line)
    return 100 if block or line.startswith("    ") else 120


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_lines_are_short(page):
    blocks = page.read_text().split("```")
    lines = [(line, k % 2) for k, block in enumerate(blocks) for line in block.splitlines()]
    assert [line for line, block in lines if len(line) > max_columns(line, block)] == []


def test_a_newcomer_finds_file_and_command():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    index = page.partition("## I want to")[2].partition("\n## ")[0]
    rows = [row.strip("| ").split(" | ") for row in index.splitlines() if row.startswith("| ")]
    assert len(rows) > 12
    for _, opened, command in rows[2:]:
        assert LINKS.search(opened) or SECTIONS.search(opened) or "`" in opened, opened
        named = [name for name in re.findall(r"`([\w/.]+)`", opened) if "/" in name]
        assert [name for name in named if not (ROOT / name).exists()] == []
        assert re.fullmatch("`(ingather|pytest) .*`", command), command


def test_tests_that_pages_run_exist():
    texts = {page: page.read_text() for page in MARKDOWN}
    run = [(page, item) for page, text in texts.items() for item in RUN.findall(text)]
    assert len(run) > 10
    assert [(page, item) for page, item in run if not (ROOT / item).exists()] == []


CODE = re.compile(r"\{[%{].*?[%}]\}|```[^`]*```|`[^`]*`|\]\([^)]*\)|doi:\S+|Python 3\S+")
UNITS = (
    "%|[KM]? ?(?:LUTs?|FFs?|flip-flops)|DSPs?|UltraRAMs?|RAMB36|block RAMs|[GM]B/s|Gb/s|[num]?s"
    "|seconds?|minutes?|hours?|cycles|times|levels|states|PRs|packets|hits|grants|wires|loads"
)
#: a number with a unit, a large one that is no power of two, a fraction, or a time in words
FIGURE = re.compile(
    rf"(?<![\w.,/-])(?:(?:\d+(?:[.,]\d+)*|\.\d+) ?(?:{UNITS})|\d+(?:,\d{{3}})+|\d*\.\d\d+"
    r"|(?:half an?|few|two|three|five|ten) (?:seconds|minute|hour)s?)(?![\w.]\w|\w)"
)
PAGES = [*READMES, *ROOT.glob("gen/guides/*.j2"), *ROOT.glob("constraints/**/*.md.j2")]
HELD = tomllib.loads((ROOT / "tests/gen/measured.toml").read_text())
WORDS = {"paper", "setting", "computed"}


def figures(text):
    result = {item[0] for item in FIGURE.finditer(" ".join(CODE.sub("`", text).split()))}
    numbers = {item: item.replace(",", "") for item in result}
    return {item for item, n in numbers.items() if not n.isdigit() or int(n) & (int(n) - 1)}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_figures_of_a_page_are_held(page):
    """Each is chosen, computed or printed by the paper, or stands in a file that states it."""
    held = HELD.get(page.relative_to(ROOT).as_posix(), {})
    assert figures(page.read_text()) == {item for each in held.values() for item in each}
    for file in held.keys() - WORDS:
        stated = re.findall(r"\d+(?:\.\d+)?", Path(ROOT, file).read_text().replace("_", ""))
        for item in held[file]:
            number = float(re.match(r"[\d.]+", item.replace(",", ""))[0])
            assert {number, number / 100} & set(map(float, stated)), (file, item)


def test_measured_figures_are_detected():
    assert figures("482 times, 9.0 K LUT, 1,347 PRs, at .965 in two minutes; 4,096 of `x 7 %`") == {
        *("482 times", "9.0 K LUT", "1,347 PRs", ".965", "two minutes")
    }


PYTHON_OF_DEBIAN = {"bookworm": (3, 11), "trixie": (3, 13)}


def test_container_has_what_the_readme_requires():
    """It is made of Debian's packages, those that `make` names where they are missing."""
    text = (ROOT / ".devcontainer" / "Dockerfile").read_text().replace("\\\n", " ")
    (release,) = re.findall(r"^FROM debian:(\w+)-slim$", text, re.M)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    least = re.fullmatch(r">=(\d+)\.(\d+)", project["requires-python"])
    assert PYTHON_OF_DEBIAN[release] >= tuple(map(int, least.groups()))
    installed = set(re.search(r"--no-install-recommends +(.*?) +&&", text)[1].split())
    makefile = (ROOT / "Makefile").read_text()
    named = {*re.findall(r"\blacks (?:\S+|\".*?\") (\S+?);", makefile), "g++", "perl"}
    named |= set(re.findall(r"\(on Debian: apt-get install ([a-z][\w+-]+)\)", makefile))
    assert named >= {"python3", "python3-venv", "libpython3-dev"}
    for tool in ("g++", "make", "perl", "tclsh"):
        assert tool in PLAIN
    assert installed == named | {"make", "tcl", "ca-certificates", "git"}
    assert not re.search(r"https?:|pip |curl|wget|COPY --from", text)
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert settings["build"] == {"dockerfile": "Dockerfile"}
    assert settings["postCreateCommand"].split() == ["make", ".venv/.ready"]
    assert "READY := .venv/.ready" in makefile


def test_each_surrounding_has_one_command():
    rows = re.findall(
        r"^\| (.+?) \| (.*) \|$", README.partition("## I have")[2].partition("##")[0], re.M
    )
    assert len(rows) > 4
    for _, begins in rows[2:]:
        assert begins.startswith(("`make ", "`docker ", "`ingather "))
        assert begins.count("`") == 2
