"""Checks that hardware, generated driver, C header and SystemRDL agree on every field, over the
bus.
"""

import random
from dataclasses import replace

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from gen.base.registers.python_driver import driver_module
from gen.base.registers.system_rdl import compiled
from hdl.common.register_block import RegisterBlock
from hdl.common.registers import Register, rw
from sim.harness.payloads import pack, unpack
from sim.harness.register_driver import BusError, RegisterDriver
from sim.harness.streams import start, started
from sim.harness.verilator import Simulation, build, emission_of, params_in_simulator, run
from tests.gen.base.registers.compile_header import compile_header
from tests.gen.base.registers.maps import MAPS, placed_fields


@pytest.mark.parametrize("name", MAPS)
def test_every_field_of_every_register(name, tmp_path):
    """It uses a design's registers alone; documents are made here, where their tools are."""
    map = MAPS[name]
    header = compile_header(map, tmp_path)
    del header["size"]
    tree = {
        field.inst_name: [
            register.absolute_address,
            field.low,
            field.width,
            field.is_sw_readable,
            field.is_sw_writable,
            field.get_property("reset"),
        ]
        for register in compiled(map).registers()
        for field in register.fields()
    }
    assert len(header) == len(tree) == sum(len(register.fields) for register in map.registers)
    built = build(emission_of(RegisterBlock(map)))
    run(
        built,
        Simulation(test_module=__name__, params={"map": name, "header": header, "tree": tree}),
    )


def test_driver_is_loaded_once():
    assert driver_module(MAPS["odd"]) is driver_module(MAPS["odd"])


class Bench:
    """Has the block, the generated driver on its bus, and what the documents say."""

    def __init__(self, dut):
        params = params_in_simulator(dict)
        self.dut = dut
        self.map = MAPS[params["map"]]
        self.header, self.tree = params["header"], params["tree"]
        self.driver = RegisterDriver(dut, "axil", self.map)
        self.bus = self.driver.axil

    def fields(self, access):
        return [field for _, _, field, _ in placed_fields(self.map) if field.access == access]

    @property
    def control(self):
        return (
            unpack(self.map.control, int(self.dut.control.value)) if self.map.control.size else {}
        )

    def set_status(self, values):
        self.dut.status.value = pack(self.map.status, values)

    async def read(self, name):
        """Read a field by the C header: its address, mask and lowest bit."""
        _, address, low, bits, mask = self.header[name]
        words = [await self.bus.read_dword(address)]
        if low + bits > 32:
            words.append(await self.bus.read_dword(address + 4))
        return (sum(word << 32 * k for k, word in enumerate(words)) & mask) >> low


def patterns(bits):
    """Return all ones, one lowest and one highest bit, random bits, and zero."""
    yield from {(1 << bits) - 1, 1, 1 << bits - 1}
    yield from (random.getrandbits(bits), 0)


async def begin(dut):
    dut.status.value = 0
    bench = await started(Bench(dut))
    await RisingEdge(dut.clk)
    return bench


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def starts_at_reset_values(dut):
    bench = await begin(dut)
    control = bench.control
    for name, (_, _, _, readable, writable, reset) in bench.tree.items():
        if writable:
            assert control[name] == reset
            assert await bench.driver.read(name) == (reset if readable else 0)
            assert await bench.read(name) == (reset if readable else 0)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def rw_fields_take_what_is_written(dut):
    bench = await begin(dut)
    bench.set_status({field.name: (1 << field.bits) - 1 for field in bench.fields("ro")})
    expected = bench.control
    for field in bench.fields("rw"):
        for value in patterns(field.bits):
            expected[field.name] = value
            await bench.driver.write(**{field.name: value})
            assert bench.control == expected, field.name
            assert await bench.driver.read(field.name) == value
            assert await bench.read(field.name) == value


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def documents_write_what_the_driver_reads(dut):
    """Words made by SystemRDL's places set the fields, all of a register at once."""
    bench = await begin(dut)
    words, values = {}, {}
    for name, (address, low, width, readable, writable, _) in bench.tree.items():
        if readable and writable:
            values[name] = random.getrandbits(width)
            words[address] = words.get(address, 0) | values[name] << low
    for address, word in words.items():
        await bench.bus.write_dword(address, word)
    assert {name: bench.control[name] for name in values} == values
    for name, value in values.items():
        assert await bench.driver.read(name) == value


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def ro_fields_show_the_hardware(dut):
    bench = await begin(dut)
    fields = bench.fields("ro")
    alone = [{field.name: (1 << field.bits) - 1} for field in fields]
    noise = [{field.name: random.getrandbits(field.bits) for field in fields} for _ in range(3)]
    for values in alone + noise:
        bench.set_status(values)
        await RisingEdge(dut.clk)
        for field in fields if len(values) > 1 else random.sample(fields, min(4, len(fields))):
            assert await bench.driver.read(field.name) == values.get(field.name, 0)
        for name, value in values.items():
            assert await bench.driver.read(name) == value
            assert await bench.read(name) == value


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def pulses_come_once_and_read_as_nothing(dut):
    bench = await begin(dut)
    bench.set_status({field.name: (1 << field.bits) - 1 for field in bench.fields("ro")})
    await bench.driver.write(
        **{field.name: random.getrandbits(field.bits) for field in bench.fields("rw")}
    )
    before = bench.control
    seen = []

    async def watch():
        while True:
            await RisingEdge(dut.clk)
            if (now := bench.control) != before:
                seen.append({name: now[name] for name in now if now[name] != before[name]})

    watching = cocotb.start_soon(watch())
    for field in bench.fields("pulse"):
        seen.clear()
        value = (1 << field.bits) - 1
        await bench.driver.write(**{field.name: value})
        await ClockCycles(dut.clk, 4)
        assert seen == [{field.name: value}], field.name
        assert await bench.driver.read(field.name) == 0
        assert await bench.read(field.name) == 0
    watching.cancel()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_refusal_names_the_register(dut):
    """This is so, too, if the driver is newer than the hardware."""
    dut.status.value = 0
    map = MAPS[params_in_simulator(dict)["map"]]
    beyond = Register("beyond", "Not there.", rw("newest", 4, ""))
    driver = RegisterDriver(dut, "axil", replace(map, registers=(*map.registers, beyond)))
    await start(dut)
    with pytest.raises(BusError, match="writing beyond answered SLVERR"):
        await driver.write(newest=1)
    with pytest.raises(BusError, match="reading beyond answered SLVERR"):
        await driver.read("newest")
