import sys

import pytest

from gen.base.errors import UserError
from gen.base.registers.system_rdl import compiled, system_rdl
from hdl.common.registers import Field, Register, RegisterMap, names_of
from tests.gen.base.registers.maps import MAPS, placed_fields


@pytest.mark.parametrize("map", MAPS.values(), ids=MAPS)
def test_compiled_tree_agrees_with_the_map(map):
    tree = compiled(map)
    assert tree.inst_name == map.name
    assert tree.size == 4 * map.words
    registers = list(tree.registers())
    assert [register.inst_name for register in registers] == [r.name for r in map.registers]
    for node, (address, register) in zip(registers, map.placed, strict=True):
        assert node.absolute_address == address
        assert node.size == 4 * register.words
        assert node.get_property("accesswidth") == 32
        assert node.get_property("desc") == register.doc
        assert [field.inst_name for field in node.fields()] == [f.name for f in register.fields]
    nodes = [field for node in registers for field in node.fields()]
    for node, (_, _, field, offset) in zip(nodes, placed_fields(map), strict=True):
        assert (node.low, node.width) == (offset, field.bits)
        assert node.get_property("desc") == field.doc
        assert node.is_sw_writable == (field.access != "ro")
        assert node.is_sw_readable == (field.access != "pulse")
        assert node.get_property("singlepulse") == (field.access == "pulse" and field.bits == 1)
        assert node.get_property("reset") == map.reset(field)
        encode = node.get_property("encode")
        members = {name: value.value for name, value in encode.members.items()} if encode else {}
        assert members == dict(field.enum.members if field.enum else ())


@pytest.mark.parametrize("name", ["p4sgd_worker", "p4sgd_switch", "netsparse_snic"])
def test_identity_and_version_are_known(name):
    map = MAPS[name]
    assert map.constants["identity"] > 1 << 24
    assert system_rdl(map).count(f" = {map.constants['identity']};") == 1
    assert {"identity", "version"} <= set(map.constants)


def test_same_map_same_text():
    name = "p4sgd_worker"
    assert system_rdl(MAPS[name]) == system_rdl(MAPS[name])


def test_two_enumerations_of_one_name_are_refused():
    from enum import IntEnum

    fields = tuple(
        Field(name, 2, "rw", "", enum=names_of(IntEnum("Kind", members)))
        for name, members in (("a", {"X": 0}), ("b", {"X": 1}))
    )
    twice = RegisterMap("twice", (Register("only", "", *fields),))
    with pytest.raises(ValueError, match="two enumerations are called Kind"):
        system_rdl(twice)


def test_a_missing_tool_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "systemrdl", None)
    with pytest.raises(UserError, match=r"needs systemrdl: pip install ingather"):
        compiled(MAPS["odd"])
