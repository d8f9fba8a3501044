"""Checks that what is said of a field of registers has one home: the field of the register map."""

import html
import re

import pytest

from gen.base.registers.header import c_header
from gen.base.registers.python_driver import python_driver
from gen.base.registers.system_rdl import system_rdl
from gen.datasheet.page import section
from gen.designs.catalogue import designs
from gen.designs.design import load
from hdl.common.registers import RegisterMap

WITH_GUIDES = {name: design for name, design in designs().items() if design.guide}
IN_HEADER = 4  #: registers of a map of which a header is made; compiling all takes seconds


def fields_of(map):
    """Return the fields of a register map."""
    return [field for register in map.registers for field in register.fields]


@pytest.mark.parametrize("design", WITH_GUIDES.values(), ids=WITH_GUIDES)
def test_an_edit_of_a_fields_sentence_is_in_every_text(design, monkeypatch):
    """All fields are edited at once: each new sentence is everywhere, and no old one is left."""
    params = design.params_of("tiny")
    map = load(design.component).register_map(params)
    part = RegisterMap(map.name, map.registers[:: len(map.registers) // IN_HEADER])
    edits = {field.doc: f"sentence {k} of the map" for k, field in enumerate(fields_of(map))}
    for field in fields_of(map):
        monkeypatch.setitem(vars(field), "doc", edits[field.doc])
    texts = {
        "guide": (map, load(design.guide)(params).replace("`", "")),
        "datasheet": (map, html.unescape(section("registers", {"map": map}))),
        "rdl": (map, system_rdl(map).replace('\\"', '"')),
        "header": (part, re.sub(r"\n// ", " ", c_header(part))),
        "driver": (map, python_driver(map).replace('\\"', '"')),
    }
    for kind, (said, text) in texts.items():
        assert [field.doc for field in fields_of(said) if field.doc not in text] == [], kind
        assert [old for old in edits if old in text] == [], kind
