import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.common.axi import Response
from hdl.opennic.address_map import AddressMap, AddressMapParams
from sim.harness.axi_streams import ChannelSink, ChannelSource
from sim.harness.streams import STALLS, crossed, edges, never, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.opennic.packets import reset_at_once

WINDOWS = ((0, 12), (0x10000, 12), (0x40000, 15))


def test_address_map():
    simulate(AddressMap(AddressMapParams(windows=WINDOWS)), __name__)


@pytest.mark.parametrize(
    ("windows", "error"),
    [
        (((0, 12), (0x800, 12)), "in order, each aligned to its size: 0x800"),
        (((0x1000, 12), (0, 12)), "in order, each aligned to its size: 0x0"),
        (((0, 12), (0xFF000, 13)), "aligned to its size: 0xff000"),
        (((0x80000, 20),), "aligned to its size: 0x80000"),
        (((0, 21),), "windows must end at 0x100000: 0x200000"),
    ],
)
def test_windows_do_not_overlap(windows, error):
    with pytest.raises(ValueError, match=error):
        AddressMapParams(windows=windows)


class Host:
    """Makes accesses by the box's bus, any channel at its own pace."""

    def __init__(self, dut, stalls):
        source, sink = stalls
        channels = (f"s_axil_{channel}" for channel in ("aw", "w", "ar"))
        self.aw, self.w, self.ar = (ChannelSource(dut, name, stall=source) for name in channels)
        self.b, self.r = (ChannelSink(dut, f"s_axil_{c}", stall=sink) for c in "br")

    async def accesses(self, reads, writes):
        """Make accesses one behind the other; return the responses."""
        counts = len(self.r.beats) + len(reads), len(self.b.beats) + len(writes)
        self.ar.extend([{"addr": address} for address in reads])
        self.aw.extend([{"addr": address} for address, _ in writes])
        self.w.extend([{"data": data} for _, data in writes])
        await self.r.wait_for(counts[0])
        await self.b.wait_for(counts[1])
        return self.r.beats[counts[0] - len(reads) :], self.b.beats[counts[1] - len(writes) :]


class Registers:
    """Answers accesses of a window: a read by its address, a write at once; unless it is silent."""

    def __init__(self, dut, number, stalls):
        source, sink = stalls
        bus = f"m_axil_{number}"
        self.number, self.dut, self.silent = number, dut, False
        channels = (f"{bus}_{channel}" for channel in ("aw", "w", "ar"))
        self.aw, self.w, self.ar = (ChannelSink(dut, name, stall=sink) for name in channels)
        self.b, self.r = (ChannelSource(dut, f"{bus}_{c}", stall=source) for c in "br")
        cocotb.start_soon(self.run())

    def content(self, address):
        return {"data": address * 77 + self.number, "resp": address >> 2 & 3}

    async def run(self):
        reads = writes = 0
        while True:
            await RisingEdge(self.dut.clk)
            if self.silent:
                reads, writes = len(self.ar.beats), min(len(self.aw.beats), len(self.w.beats))
                continue
            self.r.extend([self.content(beat["addr"]) for beat in self.ar.beats[reads:]])
            reads = len(self.ar.beats)
            both = min(len(self.aw.beats), len(self.w.beats))
            self.b.extend([{"resp": beat["addr"] >> 3 & 3} for beat in self.aw.beats[writes:both]])
            writes = both


async def begin(dut, stalls=(never, never)):
    dut.resets.value = 0
    host = Host(dut, stalls)
    registers = [Registers(dut, k, stalls) for k in range(len(params_in_simulator().windows))]
    await start(dut)
    return host, registers


def place(address):
    """Return the window that an address is in, and its address there; None if it is in none."""
    for number, (base, bits) in enumerate(params_in_simulator().windows):
        if base <= address < base + (1 << bits):
            return number, address - base
    return None


def some_address():
    base, bits = random.choice(params_in_simulator().windows)
    offset = random.choice([0, (1 << bits) - 4, random.randrange(0, 1 << bits, 4), 1 << bits, -4])
    return (base + offset + random.choice([0, 0, 0, 1 << random.randrange(20, 32)])) & 0xFFFFFFFF


@crossed(stalls=STALLS, us=400)
async def each_access_goes_to_its_window(dut, stalls):
    host, registers = await begin(dut, stalls)
    reads = [some_address() for _ in range(200)]
    writes = [(some_address(), random.getrandbits(32)) for _ in range(200)]
    results, responses = await host.accesses(reads, writes)
    assert results == [
        registers[at[0]].content(at[1]) | {"data": (at[1] * 77 + at[0]) & 0xFFFFFFFF}
        if (at := place(address))
        else {"data": 0, "resp": Response.SLVERR.value}
        for address in reads
    ]
    assert [item["resp"] for item in responses] == [
        at[1] >> 3 & 3 if (at := place(address)) else Response.SLVERR.value for address, _ in writes
    ]
    for number, each in enumerate(registers):
        inside = [(place(a)[1], data) for a, data in writes if (place(a) or (None,))[0] == number]
        assert [beat["addr"] for beat in each.aw.beats] == [address for address, _ in inside]
        assert [beat["data"] for beat in each.w.beats] == [data for _, data in inside]
        assert {beat["strb"] for beat in each.w.beats} <= {0b1111}


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_access_takes_as_long_as_stated(dut):
    host, registers = await begin(dut)
    await host.accesses([0x10004], [(0x10008, 5)])
    window, latency = registers[1], AddressMap.latency
    assert window.ar.cycles[0] == host.ar.cycles[0] + latency
    assert window.aw.cycles[0] == window.w.cycles[0] == host.aw.cycles[0] + latency
    assert host.r.cycles[0] == window.r.cycles[0] + 1
    assert host.b.cycles[0] == window.b.cycles[0] + 1


@crossed(after=range(8), us=100)
async def what_waits_is_answered_when_the_plugin_is_reset(dut, after):
    """So are accesses that come meanwhile; afterwards accesses pass as before."""
    host, registers = await begin(dut)
    for each in registers:
        each.silent = True
    waiting = cocotb.start_soon(host.accesses([0x10000], [(0x40000, 1)]))
    await edges(dut.clk, after)
    dut.resets.value = 1
    results, responses = await waiting
    more, others = await host.accesses([0, 4], [(0, 1), (4, 2)])
    assert {item["resp"] for item in results + responses + more + others} == {Response.SLVERR.value}
    dut.resets.value = 0
    for each in registers:
        each.silent = False
    await edges(dut.clk, 3)
    before = [len(each.aw.beats) for each in registers]
    results, responses = await host.accesses([0x10010], [(0x40000, 9), (0x10, 7)])
    assert results == [registers[1].content(0x10)]
    assert [item["resp"] for item in responses] == [0, 2]
    assert [len(each.aw.beats) - b for each, b in zip(registers, before, strict=True)] == [1, 0, 1]
    assert registers[2].w.beats[-1]["data"] == 9


@crossed(base=[base for base, _ in WINDOWS], us=100)
async def a_reset_forgets_the_access(dut, base):
    host, registers = await begin(dut)
    for each in registers:
        each.silent = True
    host.ar.append({"addr": base})
    host.aw.append({"addr": base})
    host.w.append({"data": 1})
    await edges(dut.clk, 6)
    await reset_at_once(dut)
    for each in registers:
        each.silent = False
    results, responses = await host.accesses([base + 4], [(base + 8, 3)])
    number = [window for window, _ in WINDOWS].index(base)
    assert results == [registers[number].content(4)]
    assert [item["resp"] for item in responses] == [1]
