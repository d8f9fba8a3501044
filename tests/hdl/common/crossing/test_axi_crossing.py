"""Accesses of a manager that is reset, in the middle or not, against a subordinate that is not."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.common.axi_guard import UNDER_WAY, AxiGuardParams
from hdl.common.crossing.axi_crossing import AxiCrossing
from sim.harness.streams import STALLS, never, often
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.crossing.clocks import RATIOS, start

BUSES = [
    AxiGuardParams(address_bits=20, data_bits=64),
    AxiGuardParams(address_bits=16, data_bits=32, lite=True),
]


@pytest.mark.parametrize("params", BUSES, ids=["axi4", "lite"])
def test_axi_crossing(params):
    simulate(AxiCrossing(params), __name__)


def test_crossings_know_their_clocks():
    crossings = AxiCrossing(BUSES[0]).crossings
    paths = {c.path: (c.source, c.target) for c in crossings if c.constraint == "async_fifo"}
    assert paths == {
        **dict.fromkeys(("aw", "w", "ar"), ("manager", "sync")),
        **dict.fromkeys(("b", "r"), ("sync", "manager")),
    }


def content(address, beat):
    """Return what a read of ``address`` gets, which no other address has."""
    return (address * 2654435761 + beat * 40503) % (1 << params_in_simulator().data_bits)


class Channel:
    """Moves beats of one channel, in its clock, as a source or as a sink."""

    def __init__(self, side, prefix, channel, stall, source):
        self.side, self.stall, self.source = side, stall, source
        self.name = f"{prefix}_{channel}"
        names = {"aw": "addr len", "ar": "addr len", "w": "data strb last", "r": "data last"}
        self.fields = names.get(channel, "resp").split()
        if params_in_simulator().lite:
            self.fields = [name for name in self.fields if name not in ("len", "last")]
        self.beats = []  # to be given, or taken
        cocotb.start_soon(self.give() if source else self.take())

    def port(self, name):
        return getattr(self.side, self.name + name)

    async def give(self):
        moved = True
        while True:
            if self.side.rst.value:
                self.beats.clear()
                moved = True
            if moved and (not self.beats or self.stall()):
                self.port("valid").value = 0
            elif moved:
                for name in self.fields:
                    self.port(name).value = self.beats[0].get(name, 0)
                self.port("valid").value = 1
                moved = False
            await RisingEdge(self.side.clk)
            if self.port("valid").value and self.port("ready").value and not self.side.rst.value:
                self.beats.pop(0)
                moved = True

    async def take(self):
        while True:
            self.port("ready").value = not self.stall()
            await RisingEdge(self.side.clk)
            if self.port("valid").value and self.port("ready").value and not self.side.rst.value:
                self.beats.append({name: int(self.port(name).value) for name in self.fields})


class Subordinate:
    """Answers accesses at ``o``, and checks that each has all its beats."""

    def __init__(self, side, stall):
        self.side = side
        self.aw, self.w, self.ar = (Channel(side, "o", c, stall, False) for c in ("aw", "w", "ar"))
        self.b, self.r = (Channel(side, "o", c, stall, True) for c in "br")
        self.memory, self.patient = {}, False  # and whether it answers at present
        cocotb.start_soon(self.run())

    async def run(self):
        lite = params_in_simulator().lite
        while True:
            await RisingEdge(self.side.clk)
            if self.patient:
                continue
            if self.ar.beats:
                burst = self.ar.beats.pop(0)
                count = burst.get("len", 0) + 1
                self.r.beats += [
                    {"data": content(burst["addr"], k), "last": k == count - 1}
                    for k in range(count)
                ]
            if self.aw.beats and len(self.w.beats) > (most := self.aw.beats[0].get("len", 0)):
                burst, beats = self.aw.beats.pop(0), self.w.beats[: most + 1]
                del self.w.beats[: most + 1]
                assert lite or [beat["last"] for beat in beats] == [0] * most + [1]
                strobes = {beat["strb"] for beat in beats}
                if strobes == {(1 << params_in_simulator().data_bits // 8) - 1}:
                    self.memory[burst["addr"]] = [beat["data"] for beat in beats]
                else:
                    assert 0 in strobes
                self.b.beats.append({"resp": burst["addr"] >> 3 & 3})


class Manager:
    """Makes accesses at ``i``, several at once, and knows what each must give."""

    def __init__(self, side, stall):
        self.side = side
        self.aw, self.w, self.ar = (Channel(side, "i", c, stall, True) for c in ("aw", "w", "ar"))
        self.b, self.r = (Channel(side, "i", c, stall, False) for c in "br")
        self.number, self.reads, self.writes, self.written = 0, [], [], {}
        self.begun = {}  # what was ever written

    def access(self, count):
        """Begin ``count`` reads and as many writes, each of an address of its own."""
        for _ in range(count):
            self.number += 1
            address = self.number << 3
            beats = 1 if params_in_simulator().lite else random.randint(1, 8)
            bits = params_in_simulator().data_bits
            burst = {"addr": address, "len": beats - 1}
            data = [random.getrandbits(bits) for _ in range(beats)]
            self.ar.beats.append(burst)
            self.aw.beats.append(dict(burst))
            full = (1 << bits // 8) - 1
            last = [k == beats - 1 for k in range(beats)]
            self.w.beats += [
                {"data": d, "strb": full, "last": end} for d, end in zip(data, last, strict=True)
            ]
            self.reads += [content(address, k) for k in range(beats)]
            self.writes.append({"resp": address >> 3 & 3})
            self.written[address] = self.begun[address] = data

    def forget(self):
        """Forget all accesses, after a reset."""
        for beats in (self.b.beats, self.r.beats, self.reads, self.writes):
            beats.clear()
        self.written.clear()

    async def done(self, subordinate):
        """Wait until all is answered, and for a while more; compare."""
        for _ in range(4000):
            if len(self.r.beats) >= len(self.reads) and len(self.b.beats) >= len(self.writes):
                break
            await RisingEdge(self.side.clk)
        await self.side.edges(60)
        assert [beat["data"] for beat in self.r.beats] == self.reads
        assert self.b.beats == self.writes
        assert all(subordinate.memory[k] == data for k, data in self.written.items())
        assert all(self.begun[k] == data for k, data in subordinate.memory.items())
        assert not subordinate.aw.beats + subordinate.w.beats + subordinate.ar.beats


async def begin(dut, ratio, stalls=(never, never)):
    near, far = await start(dut, manager=ratio[0], sync=ratio[1])
    subordinate, manager = Subordinate(far, stalls[1]), Manager(near, stalls[0])
    await far.edges(20)
    await near.edges(20)
    return manager, subordinate


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(ratio=RATIOS[:4], stalls=STALLS)
async def every_access_is_answered(dut, ratio, stalls):
    manager, subordinate = await begin(dut, ratio, stalls.value)
    manager.access(60)
    await manager.done(subordinate)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(ratio=RATIOS[:4])
async def a_reset_in_the_middle_leaves_nothing(dut, ratio):
    """However long it lasts, and wherever it falls; a burst that has begun ends with no strobe."""
    manager, subordinate = await begin(dut, ratio, (never, often))
    for cycles in (1, 2, 3, 5, 12, 60) * 8:
        manager.access(20)
        await manager.side.edges(random.randrange(1, 90))
        await manager.side.reset(cycles)
        manager.forget()
        if random.random() < 0.5:  # another one close behind, or accesses
            await manager.side.edges(random.randrange(1, 12))
            await manager.side.reset(cycles)
            manager.forget()
        manager.access(3)
        await manager.done(subordinate)
        manager.forget()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def accesses_wait_until_those_of_before_are_answered(dut):
    manager, subordinate = await begin(dut, RATIOS[2])
    subordinate.patient = True
    manager.access(5)
    await manager.side.edges(100)
    await manager.side.reset(4)
    manager.forget()
    manager.access(5)
    await manager.side.edges(200)
    assert len(subordinate.ar.beats) == 5
    assert not manager.r.beats + manager.b.beats
    subordinate.patient = False
    await manager.done(subordinate)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def no_more_than_its_limit_is_under_way(dut):
    manager, subordinate = await begin(dut, RATIOS[3])
    subordinate.patient = True
    manager.access(3 * UNDER_WAY)
    await manager.side.edges(2000)
    assert len(subordinate.ar.beats) == len(subordinate.aw.beats) == UNDER_WAY
    subordinate.patient = False
    await manager.done(subordinate)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_beat_a_cycle(dut):
    manager, subordinate = await begin(dut, (4000, 4000))
    manager.access(60)
    before, cycles = len(manager.reads), 0
    while len(manager.r.beats) < before:
        await RisingEdge(manager.side.clk)
        cycles += 1
    assert cycles <= before + 40, (cycles, before)
    await manager.done(subordinate)
