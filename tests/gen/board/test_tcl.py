import subprocess
import sys

import pytest

from gen.board.tcl import Command, TclError, commands, elements, quote
from tests.tclsh import MISSING, tclsh

SCRIPT = """# a comment with { in it
set_property -dict {PACKAGE_PIN BJ43 IOSTANDARD LVDS} [get_ports {a[0]}]; next "two words"
create_ip -name x \\
    -more [list {p q} [deep "]" r]] # no comment here

last"""


def test_commands_words_and_lines():
    result = commands(SCRIPT)
    assert [(c.name, c.line) for c in result] == [
        ("set_property", 2),
        ("next", 2),
        ("create_ip", 3),
        ("last", 6),
    ]
    assert result[0].option("-dict") == "PACKAGE_PIN BJ43 IOSTANDARD LVDS"
    assert result[0].option("-nothing") is None
    assert result[1].words == ("next", "two words")
    assert result[2].words[3:5] == ("-more", '[list {p q} [deep "]" r]]')
    assert [c.words for c in result[2].calls] == [
        ("list", "p q", '[deep "]" r]'),
        ("deep", "]", "r"),
    ]
    assert result[0].calls == [Command(("get_ports", "a[0]"), 2)]


def test_a_comment_starts_only_where_a_command_may():
    assert [c.words for c in commands("a #b\n #c d\ne")] == [("a", "#b"), ("e",)]


def test_elements_keep_indices():
    assert elements("a[0] b/c_reg[*] {d e}\n f") == ["a[0]", "b/c_reg[*]", "d e", "f"]
    assert elements("[list a \\\n {b c}]") == ["a", "b c"]


@pytest.mark.parametrize("text", ["a {b", "a [b", 'a "b', "a {b}c"])
def test_what_does_not_end_is_an_error(text):
    with pytest.raises(TclError):
        commands(text)


VALUES = ["plain", "two words", "a[0]", "$no", "", "x;y", "{nested} pair", "#", 'quo"te', 7, "c$1"]


@pytest.mark.parametrize("value", VALUES)
def test_quoted_values_are_what_tcl_reads(value):
    word = quote(value)
    assert commands(f"x {word}")[0].words[1:] == (str(value),)
    script = f"puts -nonewline [lindex [list {word}] 0]"
    read = subprocess.run([tclsh()], input=script, capture_output=True, text=True, check=True)
    assert read.stdout == str(value)


def test_what_is_left_out_without_tclsh_is_named(tmp_path):
    command = [sys.executable, "-m", "pytest", __file__, "-k", "what_tcl_reads"]
    said = subprocess.run(command, env={"PATH": tmp_path}, stdout=-1, text=True).stdout
    assert f"\n{len(VALUES)} tests are left out: {MISSING}\n" in said


@pytest.mark.parametrize("value", ["a\\ b", "{ ", "} {"])
def test_what_braces_cannot_hold_is_an_error(value):
    with pytest.raises(ValueError, match="cannot be written in braces"):
        quote(value)
