"""Checks that help texts can be read alone: each says in a sentence what its option does."""

import subprocess
import sys

import pytest
import typer.main

from gen.cli import COMMANDS, make_app
from gen.designs.catalogue import commands

#: what options and arguments tell a command to do
VERBS = {
    *("Access", "Add", "Ask", "Assign", "Begin", "Break", "Build", "Change", "Choose", "Compare"),
    *("Connect", "Count", "Delay", "Do", "Double", "Draw", "Drop", "End", "Estimate", "Examine"),
    *("Exit", "Find", "Flip", "Generate", "Give", "Keep", "Learn", "Leave", "Let", "List"),
    *("Make", "Map", "Measure", "Minimise", "Multiply", "Name", "Pause", "Put", "Read", "Remove"),
    *("Repeat", "Reproduce", "Run", "Scale", "Search", "Send", "Set", "Share", "Show", "Shrink"),
    *("Stall", "Start", "Store", "Subtract", "Take", "Tell", "Test", "Train", "Try", "Update"),
    *("Use", "Weigh", "Write"),
}


def leaves(app):
    """Return every command, runs of designs too, with a group's commands in its place."""
    for name, command in app.commands.items():
        for child in getattr(command, "commands", {"": command}).values():
            yield name, child


@pytest.fixture(scope="module")
def app():
    return typer.main.get_command(make_app())


def test_every_option_has_a_sentence_that_begins_with_a_verb(app):
    texts = {
        f"{name} {parameter.name}": parameter.help or ""
        for name, command in leaves(app)
        for parameter in command.params
        if parameter.name != "help"
    }
    assert len(texts) > 120
    assert [text for text in texts.items() if text[1].split(" ")[0] not in VERBS] == []
    assert [text for text in texts.items() if not text[1].endswith(".")] == []
    assert [text for text in texts.items() if len(text[1].split()) < 3] == []


def test_every_command_that_writes_says_where_by_the_same_option(app):
    """Those that only print, or write to the card, are exceptions."""
    silent = {"list", "first-epoch", "cache", "doctor", "switch"}
    without = {
        name
        for name, command in leaves(app)
        if not any({"-o", "--output"} <= set(option.opts) for option in command.params)
    }
    assert without == silent


def test_every_command_has_an_example(app):
    assert [
        name for name, command in leaves(app) if "Example: ingather" not in command.epilog
    ] == []


def test_help_imports_nothing_heavy():
    """Typer itself imports pydantic, which is all that the help of every command may wait for."""
    code = "[gen.cli.called([name, '--help'], None) for name in names]; print(*sys.modules)"
    names = [*COMMANDS, *commands()]
    command = [sys.executable, "-c", f"import sys, gen.cli; names = {names}; {code}"]
    words = subprocess.check_output(command, text=True).splitlines()[-1].split()
    heavy = {"amaranth", "cocotb", "dask", "jinja2", "matplotlib", "networkx", "numpy", "pytest"}
    assert (heavy | {"rich", "scipy", "sklearn", "vcd"}) & {*words} == set()
