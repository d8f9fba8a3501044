import json
from enum import IntEnum

import pytest

from hdl.common.registers import Field, Register, RegisterMap, names_of
from tests.rejects import refuses


class Colour(IntEnum):
    RED = 0
    GREEN = 3


CONTROL = Register(
    "control",
    "What to do.",
    Field("start", 1, "pulse", "Begin."),
    Field("colour", 2, "rw", "Of the bike shed.", init=3, enum=names_of(Colour)),
    Field("done", 1, "ro", "Nothing left."),
)
CYCLES = Register("cycles", "Time.", Field("cycle_count", 48, "ro", "Cycles since reset."))
SIZE = Register("size", "How much.", Field("size_beats", 32, "rw", "Beats."))
MAP = RegisterMap("demo", (CONTROL, CYCLES, SIZE))


def test_places_words_in_order():
    assert [(placed.address, placed.register.name) for placed in MAP.placed] == [
        (0, "control"),
        (4, "cycles"),
        (12, "size"),
    ]
    assert MAP.address("size") == 12
    assert MAP.words == 4
    with pytest.raises(KeyError, match="demo has no register speed"):
        MAP.address("speed")


def test_layouts_hold_the_fields_by_direction():
    assert {name: field.width for name, field in MAP.control} == {
        "start": 1,
        "colour": 2,
        "size_beats": 32,
    }
    assert {name: field.width for name, field in MAP.status} == {"done": 1, "cycle_count": 48}


def test_describes_itself_for_json():
    described = json.loads(json.dumps(MAP.describe()))
    assert described["name"] == "demo"
    assert described["bytes"] == 16
    control, cycles, _ = described["registers"]
    assert control["fields"][1] == {
        "name": "colour",
        "offset": 1,
        "bits": 2,
        "access": "rw",
        "init": 3,
        "reset": 3,
        "doc": "Of the bike shed.",
        "values": {"RED": 0, "GREEN": 3},
    }
    assert (cycles["address"], cycles["words"]) == (4, 2)


def test_what_never_changes_is_what_is_read_behind_a_reset():
    known = RegisterMap("demo", (CONTROL, CYCLES, SIZE), constants={"cycle_count": 7})
    fields = {item.name: item for register in known.registers for item in register.fields}
    assert {name: known.reset(item) for name, item in fields.items()} == {
        "start": 0,
        "colour": 3,
        "done": None,
        "cycle_count": 7,
        "size_beats": 0,
    }
    assert known == MAP


def test_equal_maps_are_one_map():
    assert len({MAP, RegisterMap("demo", (CONTROL, CYCLES, SIZE))}) == 1
    assert RegisterMap("demo", (CONTROL, SIZE)) != MAP


test_rejects = refuses(
    lambda make: make(),
    (lambda: Field("Start", 1, "rw", ""), "a field must be named in lower case"),
    (lambda: Field("start_", 1, "rw", ""), "a field must be named in lower case"),
    (lambda: Field("a", 1, "wo", ""), "access must be rw, ro or pulse: 'wo'"),
    (lambda: Field("a", 33, "rw", ""), "access rw has 1 to 32 bits: 33"),
    (lambda: Field("a", 65, "ro", ""), "access ro has 1 to 64 bits: 65"),
    (lambda: Field("a", 0, "ro", ""), "access ro has 1 to 64 bits: 0"),
    (lambda: Field("a", 2, "rw", "", init=4), "init 4 does not fit 2 bits"),
    (lambda: Field("a", 2, "ro", "", init=1), "only a field with access rw has an init"),
    (lambda: Field("a", 1, "rw", "", enum=names_of(Colour)), "Colour does not fit 1 bits"),
    (lambda: Register("9", "", SIZE.fields[0]), "a register must be named in lower"),
    (lambda: Register("a", ""), "a register needs a field"),
    (
        lambda: Register("a", "", Field("b", 31, "rw", ""), Field("c", 2, "ro", "")),
        "fields that are not all read-only take at most 32 bits: 33",
    ),
    (
        lambda: Register("a", "", Field("b", 64, "ro", ""), Field("c", 1, "ro", "")),
        "read-only fields take at most 64 bits: 65",
    ),
    (lambda: RegisterMap("a", ()), "a map needs a register"),
    (lambda: RegisterMap("a", (SIZE, SIZE)), "two registers are called size"),
    (
        lambda: RegisterMap("a", (SIZE, Register("more", "", *SIZE.fields))),
        "two fields are called size_beats",
    ),
    (
        lambda: RegisterMap("a", (CONTROL, CYCLES, SIZE), address_bits=3),
        "4 words need from 4 to 32 address bits: 3",
    ),
)
