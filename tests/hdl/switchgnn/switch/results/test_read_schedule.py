"""Schedules reads of banks with any ready lists, open ports and holes, even where some starve."""

import random
from collections import deque

import cocotb

from hdl.common.component import Component
from hdl.switchgnn.switch.results.read_schedule import ReadSchedule
from hdl.switchgnn.switch.results.read_schedule_params import ReadScheduleParams
from sim.harness.bench import Bench
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

SIZES = [
    ReadScheduleParams(ports=3, banks=2, patience=4, passes=1, settling=1, hole_cycles=1),
    ReadScheduleParams(ports=3, banks=3, patience=9),
    ReadScheduleParams(ports=2, banks=1, patience=5),
    ReadScheduleParams(ports=8, banks=8, settling=3, hole_cycles=4),
]
SHOWN = ("read", "port", "claim", "make_hole")


class ClosingPorts(Component):
    """Wraps the schedule with ports that close in the cycle of a claim, as those of a switch do."""

    def __init__(self, params):
        members = dict(ReadSchedule(params).signature.members)
        super().__init__(params, members)

    def build(self, m):
        m.submodules.schedule = schedule = ReadSchedule(self.params)
        for name in ("holes", "urgent", "taken"):
            m.d.comb += getattr(schedule, name).eq(getattr(self, name))
        for inside, outside in zip(schedule.ready, self.ready, strict=True):
            m.d.comb += inside.eq(outside)
        m.d.comb += schedule.open.eq(self.open & ~schedule.claim)
        m.d.comb += [getattr(self, name).eq(getattr(schedule, name)) for name in SHOWN]


test_read_schedule = simulated(ClosingPorts, SIZES, __name__, each=True)


class ScheduleBench(Bench):
    """Plays lists, ports and rows, and checks every choice against what could be chosen."""

    def __init__(self, dut, *, apart=2):
        super().__init__(dut)
        self.apart = apart  # cycles between claims of a port
        self.ports, self.banks = range(self.params.ports), range(self.params.banks)
        self.cycle = 0
        self.lists = {(b, p): 0 for b in self.banks for p in self.ports}  # sums that wait
        self.late = {}  # lists whose ready is as before, and until when
        self.closed = dict.fromkeys(self.ports, 0)  # until when
        self.stopped = set()  # ports that do not open again
        self.open_ports = set(self.ports)
        self.urgent, self.built = set(), set()  # ports; cycles of holes that were asked for
        self.past = deque(maxlen=3)  # ready lists, holes, open ports, taken of the last cycles
        self.reads, self.make_holes = [], []  # cycle, bank, port
        self.waited = dict.fromkeys(self.ports, 0)  # cycles of an open port that has ready lists
        self.passed = dict.fromkeys(self.lists, 0)  # reads of its port before one of a ready list
        self.longest = self.most = 0

    def is_ready(self, place):
        """Return what its bank says of a list."""
        return self.lists[place] > 0 or self.late.get(place, 0) > self.cycle

    async def step(self, *, holes=None, taken=False):
        """Play a cycle; ``holes`` are banks, by default all."""
        dut, bits = self.dut, lambda numbers: sum(1 << k for k in numbers)
        holes = set(self.banks) if holes is None or self.cycle in self.built else set(holes)
        ready = {place for place in self.lists if self.is_ready(place)}
        for p in self.ports:
            if p not in self.open_ports and self.closed[p] <= self.cycle and p not in self.stopped:
                self.open_ports.add(p)
        for b in self.banks:
            getattr(dut, f"ready_{b}").value = bits(p for p in self.ports if (b, p) in ready)
        dut.holes.value, dut.open.value = bits(holes), bits(self.open_ports)
        dut.urgent.value, dut.taken.value = bits(self.urgent), int(taken)
        await self.edge
        self.look_at_choice()
        if dut.make_hole.value:
            self.make_holes.append(self.cycle)
            self.built.add(self.cycle + self.params.hole_cycles)
        self.past.append((ready, holes, set(self.open_ports), taken))
        self.count_waits(ready, taken)
        self.cycle += 1

    def look_at_choice(self):
        dut = self.dut
        read, claim = int(dut.read.value), int(dut.claim.value)
        assert read.bit_count() == claim.bit_count() <= 1
        if not claim:
            return
        bank, port = read.bit_length() - 1, int(dut.port.value)
        assert claim == 1 << port
        (ready, holes, _, _), (_, _, open_ports, taken) = list(self.past)[-2:]
        assert bank in holes
        assert (bank, port) in ready
        assert port in open_ports
        assert not taken
        assert self.lists[bank, port]
        self.reads.append((self.cycle, bank, port))
        self.lists[bank, port] -= 1
        late = random.randint(0, self.params.settling - 1)
        self.late[bank, port] = self.cycle + 1 + late
        self.open_ports.discard(port)
        self.closed[port] = self.cycle + self.apart - 1

    def count_waits(self, ready, taken):
        """Check that no open port and no list waits longer than it may."""
        now = {p: b for at, b, p in self.reads[-1:] if at == self.cycle}
        for p in self.ports:
            waits = p in self.open_ports and any((b, p) in ready for b in self.banks)
            lost = (self.params.hole_cycles + 4) * taken
            self.waited[p] = max(0, self.waited[p] + 1 - lost) if waits else 0
            assert self.waited[p] <= self.params.max_wait
            self.longest = max(self.longest, self.waited[p])
        for (b, p), passed in self.passed.items():
            if (b, p) not in ready or now.get(p) == b:
                self.passed[b, p] = 0
            elif p in now:
                self.passed[b, p] = passed + 1
                assert passed < self.params.max_passes
                self.most = max(self.most, passed)

    def fill(self, count):
        for place in self.lists:
            self.lists[place] = count


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_read_two_cycles_after(dut):
    """It comes two cycles after a list is ready, if its bank has a hole and its port is open."""
    bench = await ScheduleBench(dut).begin()
    for bank, port in [*bench.lists] * 2:
        for _ in range(random.randint(4, 9)):
            await bench.step()
        bench.reads.clear()
        bench.lists[bank, port] = 1
        at = bench.cycle
        for _ in range(8):
            await bench.step()
        assert bench.reads == [(at + ReadSchedule.holes_ahead, bank, port)]
        assert not bench.make_holes


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_read_every_cycle(dut):
    """With holes everywhere, only ports limit reads, which are claimed at their rate."""
    params = params_in_simulator(ReadScheduleParams)
    for apart in (2, params.ports, params.ports + 1, 9):
        bench = await ScheduleBench(dut, apart=apart).begin()
        bench.fill(10**6)
        cycles = 400
        for _ in range(cycles):
            await bench.step()
        rate = min(1, params.ports / apart)
        if params.banks > params.settling:  # else lists are not ready in time
            assert len(bench.reads) >= rate * cycles - 8
        for p in bench.ports:
            own = [b for _, b, port in bench.reads if port == p]
            assert len(own) >= len(bench.reads) // params.ports - 4
            for b in bench.banks:
                assert abs(own.count(b) - len(own) / params.banks) <= 2
        assert not bench.make_holes


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def any_pace(dut):
    """Lists fill at random, ports stop and go, and holes have any density."""
    bench = await ScheduleBench(dut).begin()
    sent = 0
    for k in range(6000):
        if k % 100 == 0:
            density, rate = random.choice((0, 0.1, 0.5, 1)), random.choice((0.05, 0.4, 1))
            bench.apart = random.choice((2, 3, 9))
            bench.stopped = {p for p in bench.ports if random.random() < 0.2}
        if random.random() < rate:
            bench.lists[random.choice([*bench.lists])] += 1
            sent += 1
        bench.urgent = {p for p in bench.ports if random.random() < 0.3}
        holes = {b for b in bench.banks if random.random() < density}
        await bench.step(holes=holes, taken=random.random() < 0.05)
    bench.stopped.clear()
    for _ in range(sum(bench.lists.values()) * (bench.apart + 1) + 50):
        await bench.step()
    assert not any(bench.lists.values())
    assert len(bench.reads) == sent
    assert bench.make_holes


def starving_bank(bench):
    """Give one bank no hole of its own, and the others always one."""
    return lambda: {*bench.banks} - {bench.target[0]}


def never_for_port(bench):
    """Give holes only to banks that have nothing for a port that is open."""
    return lambda: {b for b in bench.banks if not bench.lists[b, bench.target[1]]}


def only_when_closed(bench):
    """Give all banks holes, but none while a certain port is open."""
    return lambda: set() if bench.target[1] in bench.open_ports else {*bench.banks}


def absent(bench):
    """Give no hole; those that the schedule makes remain."""
    return set


def behind_the_turn(bench):
    """Give a hole to who was read last, in the bank that was read last."""
    return lambda: {bank for _, bank, _ in bench.reads[-1:]}


ADVERSARIES = (starving_bank, never_for_port, only_when_closed, absent, behind_the_turn)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def nobody_starves(dut):
    """Rows leave holes where they help least, and yet waits are bounded."""
    for adversary in ADVERSARIES:
        for urgent in (False, True):
            bench = await ScheduleBench(dut, apart=random.choice((2, 9))).begin()
            bench.fill(10**6)
            bench.target = random.choice([*bench.lists])
            if adversary is never_for_port:
                for b in bench.banks:
                    bench.lists[b, bench.target[1]] = 10**6 * (b == bench.target[0])
            holes = adversary(bench)
            for _ in range(3 * bench.params.max_wait + 200):
                bench.urgent = {p for p in bench.open_ports if urgent}
                await bench.step(holes=holes())
            assert bench.make_holes or bench.params.banks == 1
            own = [(b, p) for _, b, p in bench.reads]
            assert bench.target in own or adversary is not starving_bank
            assert {p for _, p in own} == {*bench.ports}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def holes_are_built_for_who_is_urgent(dut):
    """As many are made as are needed, and none for ports that are not urgent."""
    params = params_in_simulator(ReadScheduleParams)
    bench = await ScheduleBench(dut).begin()
    for k in range(30):
        for place in bench.lists:
            bench.lists[place] = 1
        some = random.sample([*bench.ports], random.randint(1, params.ports - 1))
        bench.stopped = {p for p in bench.ports if p not in some}
        bench.open_ports = set(some)
        bench.urgent = set(some)
        bench.reads.clear()
        bench.make_holes.clear()
        while len({p for _, _, p in bench.reads}) < len(some):
            await bench.step(holes=())
            bench.urgent -= {p for _, _, p in bench.reads}
            bench.stopped |= {p for _, _, p in bench.reads}
            assert bench.cycle < 200 * (k + 1)
        for _ in range(params.hole_cycles + 4):
            await bench.step(holes=())
        assert len(bench.make_holes) == len(bench.reads) == len(some)
        assert bench.reads[0][0] - bench.make_holes[0] == (
            params.hole_cycles + ReadSchedule.holes_ahead
        )
