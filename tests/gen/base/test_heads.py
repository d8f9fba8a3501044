"""Tests the head of a file: it is in comments of the file's language, and nowhere else."""

from datetime import UTC, datetime

import pytest

from gen.base.heads import built_line, own_version, with_heads

HEAD = f"SPDX-License-Identifier: Apache-2.0; made by ingather {own_version()}"


@pytest.mark.parametrize(
    ("names", "line"),
    [
        ("rtl/a.v far_end.sv a.h a.rdl", f"// {HEAD}"),
        ("tcl/build.tcl xdc/pins.xdc driver.py Makefile", f"# {HEAD}"),
        ("GUIDE.md README.md", f"<!-- {HEAD} -->"),
    ],
)
def test_a_comment_of_the_language(names, line):
    for name in names.split():
        assert with_heads({name: "text\n"}) == {name: f"{line}\ntext\n"}


@pytest.mark.parametrize(
    ("name", "first"),
    [("component.xml", '<?xml version="1.0" encoding="UTF-8"?>'), ("core.html", "<!DOCTYPE html>")],
)
def test_what_declares_the_language_stays_first(name, first):
    assert with_heads({name: f"{first}\n<a>\n"}) == {name: f"{first}\n<!-- {HEAD} -->\n<a>\n"}


@pytest.mark.parametrize("name", ["filelist.f", "registers.json", "registers_html/index.html"])
def test_others_are_as_they_were(name):
    assert with_heads({name: "text\n", "a.v": b"text"}) == {name: "text\n", "a.v": b"text"}


def test_a_page_says_its_day_and_its_clocks(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86400 * 365 - 1))
    assert built_line() == f"ingather {own_version()}, 31 December 1970"
    assert built_line([250.0]).endswith("1970, clock 250 MHz")
    assert built_line([322.5, 250, 250.0]).endswith(", clock 250 and 322.5 MHz")


def test_without_an_epoch_it_is_today(monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    before = datetime.now(UTC)
    line = built_line()
    days = {f"{day.day} {day:%B %Y}" for day in (before, datetime.now(UTC))}
    assert line.partition(", ")[2] in days
