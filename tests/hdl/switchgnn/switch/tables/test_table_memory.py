"""Compares rows of tables in memory with the tables, on RAMs of any latency and fault."""

import random
from collections import Counter
from dataclasses import dataclass

import cocotb
import pytest
from amaranth.hdl import Cat
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.component import Component
from hdl.switchgnn.switch.tables.table_memory import TableMemory
from hdl.switchgnn.switch.tables.table_memory_params import TableMemoryParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import Sink, Source, crossed, never, often, rarely, start, strobe
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.axi_ram import RAM_ARRAY, Fault
from sim.switchgnn.table_rams import TableRams, add_rams, empty_rams, ram_members

SIZES = {
    "full": TableMemoryParams(banks=8, place_bits=10, ports=8, address_bits=16),
    "one port": TableMemoryParams(banks=1, place_bits=9, ports=1, address_bits=14, waiting=8),
}
HBM_LATENCY = 128  # cycles, as for other readers of HBM
TIMEOUT = 300


@dataclass(frozen=True)
class Table:
    """What a table holds: its first beat in every RAM, and its rows."""

    line: int
    rows: list
    bits: int


class OnRams(Component):
    """Connects the component under test to a RAM at each of its buses."""

    def __init__(self, params):
        super().__init__(
            params,
            requests=In(stream.Signature(params.request)),
            lists=Out(stream.Signature(params.result)),
            descriptors=Out(stream.Signature(params.result)),
            settings=In(params.settings),
            state=Out(params.state),
            taken=Out(params.ports),  # bursts that are taken
            **ram_members(params),
        )

    def build(self, m):
        m.submodules.tables = tables = TableMemory(self.params)
        connect(m, flipped(self.requests), tables.requests)
        connect(m, tables.lists, flipped(self.lists))
        connect(m, tables.descriptors, flipped(self.descriptors))
        m.d.comb += [
            tables.settings.eq(self.settings),
            self.state.eq(tables.state),
            self.taken.eq(Cat(axi.arvalid & axi.arready & (axi.arlen == 0) for axi in tables.axi)),
        ]
        add_rams(m, self.params, self, tables.axi)


@pytest.mark.parametrize("params", SIZES.values(), ids=SIZES)
def test_table_memory(params, tmp_path):
    plusargs = empty_rams(params, tmp_path)
    simulate(OnRams(params), __name__, extra_sources=[RAM_ARRAY], plusargs=plusargs)


class Bench:
    """Asks for rows and takes them in the order of the requests."""

    def __init__(self, dut, *, source=never, sink=never):
        self.dut, self.params = dut, params_in_simulator(TableMemoryParams)
        self.rams = TableRams(dut, self.params)
        self.source = Source(dut, "requests", stall=source)
        self.sinks = [Sink(dut, name, stall=sink) for name in ("lists", "descriptors")]
        self.requested = []

    async def start(self, **settings):
        await start(self.dut)
        lines = self.rams.lines
        tables = []
        for bits, line in ((self.params.list_bits, 3), (self.params.descriptor_bits, lines // 2)):
            places = (lines // 2 - 3) * self.params.ports * 256 // bits
            count = min(places, 1 << self.params.place_bits)
            rows = [random.getrandbits(bits) for _ in range(count)]
            await self.rams.write(line, 0, rows, bits)
            tables.append(Table(line, rows, bits))
        self.tables = tables
        self.set(**settings)
        return self

    def set(self, **settings):
        bases = {"lists": self.tables[0].line, "descriptors": self.tables[1].line}
        self.dut.settings.value = pack(
            self.params.settings, {"bases": bases, "timeout": TIMEOUT} | settings
        )

    async def pulse(self, name):
        self.set(**{name: 1})
        await RisingEdge(self.dut.clk)
        self.set()
        await ClockCycles(self.dut.clk, 4)

    def issue(self, most=4, descriptors=0.1, present=True):
        """Ask for rows somewhere in a table."""
        which = int(random.random() < descriptors)
        rows = self.tables[which].rows
        count = random.randint(1, most)
        exist = count if present else random.choice((count, 0, random.randrange(count), 0xFFFF))
        first = random.randrange(len(rows) - count)
        self.request(which, first, count, exist)

    def request(self, which, first, count, present):
        request = {"descriptors": which, "first": first, "count": count, "present": present}
        self.requested.append(request)
        self.source.append(request)

    def golden(self, which):
        """Return the rows of a table that leave; None stands for one that is not there."""
        for request in self.requested:
            if request["descriptors"] == which:
                for k in range(request["count"]):
                    present = k < request["present"]
                    row = self.tables[which].rows[request["first"] + k] if present else None
                    yield row, int(k == request["count"] - 1)

    def result(self, which):
        mask = (1 << self.tables[which].bits) - 1
        for beat in self.sinks[which].beats:
            yield None if beat["missing"] else beat["row"] & mask, beat["last"]

    async def finish(self):
        for which, sink in enumerate(self.sinks):
            await sink.wait_for(len(list(self.golden(which))))

    def check(self):
        for which in range(2):
            assert list(self.result(which)) == list(self.golden(which))

    @property
    def state(self):
        return unpack(self.params.state, int(self.dut.state.value))

    @property
    def beats_read(self):
        """Return the beats of memory that the requests touch."""
        total = 0
        for request in self.requested:
            rows = min(request["count"], request["present"])
            if rows:
                a_beat = 256 // self.tables[request["descriptors"]].bits
                last = request["first"] + rows - 1
                total += last // a_beat - request["first"] // a_beat + 1
        return total


@crossed(source=[never, often], sink=[never, often], stall=[0, 120], latency=[0, 90])
async def gives_what_is_requested(dut, source, sink, stall, latency):
    bench = Bench(dut, source=source, sink=sink)
    bench.rams.set(read_latency=latency, ar_stall=stall, r_stall=stall, seed=random.getrandbits(32))
    await bench.start()
    for _ in range(60):
        bench.issue(random.choice((1, 1, 4, 40)), 0.3, present=False)
    await bench.finish()
    bench.check()
    assert bench.state == {
        **dict.fromkeys(("broken", "silent", "owes", "failed"), 0),
        "failures": 0,
    }


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reads_nothing_beyond_what_is_there(dut):
    """Each beat is read once, and none of rows that do not exist."""
    bench = await Bench(dut).start()
    taken = Counter()

    async def count():
        while True:
            await RisingEdge(dut.clk)
            for k in range(bench.params.ports):
                taken[k] += int(dut.taken.value) >> k & 1

    cocotb.start_soon(count())
    for _ in range(150):
        bench.issue(random.choice((1, 5, 30)), 0.2, present=False)
    await bench.finish()
    bench.check()
    assert taken.total() == bench.beats_read
    assert all(taken.values())


def rate(sink, skip):
    """Return the rows per cycle, after the first ones."""
    cycles = sink.cycles[skip:]
    return (len(cycles) - 1) / (cycles[-1] - cycles[0])


@crossed(lists=[1, 5], ms=2)
async def hides_the_latency_of_hbm(dut, lists):
    """A row comes per cycle for random lists of one row, or up to five, by ports enough."""
    bench = Bench(dut)
    params = bench.params
    if params.ports < 8:
        return
    bench.rams.set(read_latency=HBM_LATENCY)
    await bench.start()
    for _ in range(3000 // lists):
        bench.issue(lists, 0)
    await bench.finish()
    bench.check()
    result = rate(bench.sinks[0], 200)
    dut._log.info(f"lists of 1 to {lists} rows: {result:.3f} rows a cycle")
    assert result > 0.99


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_slow_port_holds_up_no_more_than_its_rows(dut):
    """While nobody takes rows, each port is asked for no more than it has places for."""
    bench = Bench(dut, sink=lambda: True)
    await bench.start()
    for _ in range(1000):
        bench.issue(1, 0)
    await ClockCycles(dut.clk, 1500)
    places = bench.params.ports * bench.params.waiting
    assert bench.source.missing >= 1000 - places - 8  # which are on their way to it
    assert not bench.sinks[0].beats


@crossed(fault=list(Fault))
async def a_port_that_fails_loses_its_rows_alone(dut, fault):
    """Rows of beats that do not come well are missing; the others are right; nothing hangs."""
    bench = Bench(dut, sink=rarely)
    params = bench.params
    await bench.start()
    port = random.randrange(params.ports)
    at = bench.tables[0].line + 4
    beat = 4 * params.ports + port
    a_beat = 256 // params.list_bits
    bench.rams.set(fails=port, fail_read=1, fail_read_beat=at, fault=fault.value, fail_response=2)
    rows = range(beat * a_beat, (beat + 1) * a_beat)
    for k in range(200):
        if k == 50:
            bench.request(0, rows[0], len(rows), len(rows))
        bench.issue(4)
    await bench.finish()
    wrong = Counter()
    for which in range(2):
        for result, golden in zip(bench.result(which), bench.golden(which), strict=True):
            # A beat too many is taken for the next one's until the port has nothing to do.
            assert result in (golden, (None, golden[1])) or fault is Fault.EXTRA
            wrong[which] += result != golden
    state = bench.state
    assert wrong.total()
    if fault is not Fault.EXTRA:
        assert state["failures"]
        assert state["failed"] == 1 << port
    breaks = fault is not Fault.ERROR
    silent = fault in (Fault.MUTE, Fault.DEAF)
    assert state["broken"] == breaks << port
    assert state["silent"] == silent << port
    # Where a count was wrong, it owes until its time-out has passed.
    assert state["owes"] in ({1 << port} if silent else {0, 1 << port})
    await recovers(bench)


async def recovers(bench):
    """When the fault is over and nothing is owed, ``revive`` is all that it takes."""
    bench.rams.set()
    for _ in range(20):
        await ClockCycles(bench.dut.clk, 100)
        if not bench.state["owes"]:
            break
    assert not bench.state["owes"]
    await bench.pulse("revive")
    await bench.pulse("clear")
    assert not bench.state["broken"]
    assert not bench.state["failures"]
    for sink in bench.sinks:
        sink.beats.clear()
    bench.requested.clear()
    for _ in range(100):
        bench.issue(4)
    await ClockCycles(bench.dut.clk, 3000)
    bench.check()
    assert not bench.state["failures"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_a_reset_leaves_behind_is_never_taken_for_a_later_row(dut):
    """The memory answers what was asked before; the ports are broken until they are revived."""
    bench = Bench(dut)
    bench.rams.set(read_latency=60)
    await bench.start()
    for _ in range(20 * bench.params.ports):
        bench.issue(1, 0)
    await ClockCycles(dut.clk, 30)
    await strobe(dut.rst, dut.clk)
    bench.source.clear()
    await ClockCycles(dut.clk, 200)
    for sink in bench.sinks:
        sink.beats.clear()
    bench.requested.clear()
    assert bench.state["broken"]
    assert not bench.state["owes"]
    await bench.pulse("revive")
    assert not bench.state["broken"]
    for _ in range(100):
        bench.issue(4)
    await ClockCycles(dut.clk, 2000)
    bench.check()
