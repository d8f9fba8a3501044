"""What the README promises is there."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from gen.cli import make_app

README = (Path(__file__).parent.parent.parent / "README.md").read_text()
PLAIN = " ".join(README.split())
COMMANDS = sorted(set(re.findall(r"`ingather ([a-z][^`]*)`", README)))


@pytest.fixture(scope="module")
def app():
    return typer.main.get_command(make_app())


def test_there_are_commands():
    assert len(COMMANDS) > 20


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_have_the_options_that_they_are_shown_with(app, command):
    found, words = app, shlex.split(command)
    while words and words[0] in getattr(found, "commands", {}):
        found = found.commands[words.pop(0)]
    assert found is not app, f"no such command: {command}"
    options = {text for parameter in found.params for text in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= options


def test_the_picture_says_what_it_shows():
    caption = PLAIN.partition("(sim/pictures/digits.png)")[2].partition("*`ingather")[0]
    assert "digits, >= 5 against the rest" in caption
    assert "Loss and accuracy are those of the training samples" in caption


def test_no_vivado_has_seen_the_package():
    row = next(line for line in README.splitlines() if "all that Vivado needs" in line)
    assert "no Vivado has seen it yet" in row
