import os
import subprocess
import sys
from enum import IntEnum

import pytest

from gen.base.registers.python_driver import class_name, driver_module, python_driver
from hdl.common.registers import Field, Register, RegisterMap, names_of
from tests.gen.base.registers.maps import MAPS, placed_fields

TEXT = RegisterMap(
    "demo_map",
    (
        Register(
            "control",
            "What to do.",
            Field("start", 1, "pulse", "begin"),
            Field("step", 6, "rw", "signed", init=9),
            Field("done", 1, "ro", "of the run"),
            Field("mode", 2, "rw", "how", enum=names_of(IntEnum("Mode", {"SLOW": 0, "FAST": 2}))),
        ),
        Register("count", "Time.", Field("cycles", 40, "ro", "since reset")),
        Register("size", "How much.", Field("beats", 32, "rw", "beats")),
    ),
)


class Memory:
    """A bus whose words keep what is written, with a record of what happened on it."""

    def __init__(self):
        self.words = {}
        self.log = []

    def read(self, address):
        self.log.append(address)
        return self.words.get(address, 0)

    def write(self, address, word):
        self.log.append((address, word))
        self.words[address] = word


@pytest.fixture
def demo():
    return driver_module(TEXT)


@pytest.mark.parametrize("map", MAPS.values(), ids=MAPS)
def test_places_fields_as_the_map_does(map):
    module = driver_module(map)
    assert 4 * map.words == module.SIZE
    for address, register, field, offset in placed_fields(map):
        placed = module.FIELDS[field.name]
        assert placed[:7] == (
            register.name,
            address,
            register.words,
            offset,
            field.bits,
            field.access,
            field.init,
        )
        names = placed.values.__members__ if placed.values else {}
        assert names == dict(field.enum.members if field.enum else ())


def test_writes_keep_the_other_fields(demo):
    registers = demo.DemoMap()
    assert registers.writes(mode=2) == [(0, 9 << 1 | 2 << 8)]
    assert registers.writes(step=-1, start=1, beats=7) == [(0, 1 | 63 << 1 | 2 << 8), (12, 7)]
    assert registers.writes(start=0) == [(0, 63 << 1 | 2 << 8)]


def test_reads_low_word_first(demo):
    bus = Memory()
    registers = demo.DemoMap(bus)
    bus.words = {4: 0x89ABCDEF, 8: 0xFFFFFF12}
    assert registers.read("cycles") == 0x12_89ABCDEF
    assert bus.log == [4, 8]


def test_values_have_their_names(demo):
    bus = Memory()
    registers = demo.DemoMap(bus)
    registers.write(mode=demo.Mode.FAST)
    assert registers.read("mode") is demo.Mode.FAST
    bus.words[0] = 3 << 8
    assert registers.read("mode") == 3


def test_load_learns_what_the_hardware_holds(demo):
    bus = Memory()
    bus.words = {0: 5 << 1 | 1 << 7 | 2 << 8, 12: 99}
    registers = demo.DemoMap(bus)
    registers.load()
    assert registers.writes(start=1) == [(0, 1 | 5 << 1 | 2 << 8)]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda r: r.writes(spep=1), AttributeError, "demo_map has no field 'spep'"),
        (lambda r: r.reads("spep"), AttributeError, "demo_map has no field 'spep'"),
        (lambda r: r.writes(done=1), ValueError, "done is read-only"),
        (lambda r: r.writes(step=64), ValueError, "step takes 6 bits: 64"),
        (lambda r: r.writes(step=-33), ValueError, "step takes 6 bits: -33"),
        (lambda r: r.writes(start=2), ValueError, "start takes 1 bits: 2"),
        (lambda r: r.decode("cycles", [1]), ValueError, "cycles is in 2 words, not 1"),
        (lambda r: r.read("done"), ValueError, "DemoMap was made without a bus"),
    ],
)
def test_mistakes(demo, call, error, text):
    registers = demo.DemoMap()
    with pytest.raises(error, match=text):
        call(registers)


def test_a_refused_write_is_not_remembered(demo):
    registers = demo.DemoMap()
    with pytest.raises(ValueError, match="beats takes 32 bits"):
        registers.writes(step=1, beats=1 << 32)
    assert registers.writes(start=1) == [(0, 1 | 9 << 1)]


@pytest.mark.parametrize("offset", [0, 0x40, 0x1040])
def test_mapped_bus_reaches_a_file(demo, tmp_path, offset):
    window = tmp_path / "window"
    window.write_bytes(bytes(0x2000))
    with demo.MappedBus(str(window), offset=offset) as bus:
        registers = demo.DemoMap(bus)
        registers.write(beats=0x12345678)
        assert registers.read("beats") == 0x12345678
    data = window.read_bytes()
    assert data[offset + 12 : offset + 16] == bytes.fromhex("78563412")
    assert data.count(0) == len(data) - 4
    with pytest.raises(ValueError, match="multiples of 4"):
        demo.MappedBus(str(window), offset=2)


@pytest.mark.parametrize("map", MAPS.values(), ids=MAPS)
def test_stands_alone(map, tmp_path):
    """It needs only Python's own library, in a process without this project."""
    (tmp_path / f"{map.name}_driver.py").write_text(python_driver(map))
    (tmp_path / "window").write_bytes(bytes(4096))
    name = next(iter(map.registers)).fields[0].name
    program = (
        f"from {map.name}_driver import MappedBus, {class_name(map.name)}\n"
        "with MappedBus('window') as bus:\n"
        f"    assert {class_name(map.name)}(bus).read({name!r}) == 0\n"
    )
    subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append('.')\n{program}"],
        cwd=tmp_path,
        check=True,
        env={"PATH": os.defpath},
    )


def test_is_clean(tmp_path):
    path = tmp_path / "demo_map_driver.py"
    path.write_text(python_driver(TEXT))
    ruff = [sys.executable, "-m", "ruff", "check", "--select", "E,F,I,UP,B,D101,D102,D103", path]
    subprocess.run(ruff, check=True)


@pytest.mark.parametrize("name", ["lambda", "self"])
def test_names_that_cannot_be_python(name):
    bad = RegisterMap("bad", (Register("only", "", Field(name, 1, "rw", "")),))
    with pytest.raises(ValueError, match=f"cannot have a field '{name}'"):
        python_driver(bad)
