"""Tests all between ready lists and links: the schedule of reads, the way of sums, the ports."""

import random
from collections import deque

import cocotb
import numpy as np
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.switchgnn.switch.egress.egress_port import EgressPort
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.results.read_schedule import ReadSchedule
from hdl.switchgnn.switch.results.result_path import ResultPath
from hdl.switchgnn.switch.sizes import READ_CYCLES
from sim.harness.axi_streams import PacketSink
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.streams import cycle, often, start
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.wire import from_octets
from tests.hdl.switchgnn.switch.egress.egress_frames import same
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=3, lanes=2, window=4, banks=2, slots=64, egress_depth=32),
    GnnSwitchParams(ports=8, lanes=32, window=32, banks=8, slots=64, egress_depth=64),
    GnnSwitchParams(ports=8, lanes=128, window=128, banks=8, slots=64, egress_depth=64),
]


class OutputPath(Component):
    """Connects the parts as the switch does, between the banks and the links."""

    def __init__(self, params):
        path = ResultPath(params).signature.members
        schedule = ReadSchedule(params.read_schedule).signature.members
        members = {name: path[name] for name in ("valids", "results", "copies", "copy")}
        members |= {name: path[name] for name in ("jobs", "regions")}
        members |= {name: schedule[name] for name in ("ready", "holes", "taken")}
        shown = {name: schedule[name] for name in ("read", "port", "make_hole")}
        ports = {"claims": In(params.ports), "open": Out(params.ports)}
        axis = {"axis": Out(params.frames.axis).array(params.ports)}
        super().__init__(params, members | shown | ports | axis)

    def build(self, m):
        m.submodules.schedule = schedule = ReadSchedule(self.params.read_schedule)
        m.submodules.path = path = ResultPath(self.params)
        m.d.comb += [schedule.holes.eq(self.holes), schedule.taken.eq(self.taken)]
        for name in ("ready", "results", "jobs", "regions"):
            of = schedule if name == "ready" else path
            for inside, outside in zip(getattr(of, name), getattr(self, name), strict=True):
                m.d.comb += inside.eq(outside)
        for name in ("valids", "copies", "copy"):
            m.d.comb += getattr(path, name).eq(getattr(self, name))
        for name in ("read", "port", "make_hole"):
            m.d.comb += getattr(self, name).eq(getattr(schedule, name))
        m.d.comb += [path.read.eq(schedule.read), schedule.open.eq(self.open)]
        for k in range(self.params.ports):
            m.submodules[f"port_{k}"] = port = EgressPort(self.params)
            connect(m, port.axis, flipped(self.axis[k]))
            m.d.comb += [
                port.port_bit.eq(1 << k),
                self.open[k].eq(port.open & ~port.claim),
                schedule.urgent[k].eq(port.urgent),
                port.claim.eq(schedule.claim[k] | self.claims[k]),
                port.deliver.eq(path.deliver[k]),
                port.delivery.eq(path.delivery),
            ]


test_output_path = simulated(
    OutputPath, SIZES, __name__, ids=lambda params: f"{params.ports}x{params.lanes}"
)


class OutputPathBench(Bench):
    """Plays banks, with a list of sums for each port, and links; ports share one job and turn."""

    TURN, EPOCH = 77, 5

    def __init__(self, dut):
        super().__init__(dut)
        params = self.params
        self.ports, self.banks = range(params.ports), range(params.banks)
        self.cycle, self.opened = 0, 0
        self.lists = {(b, p): deque() for b in self.banks for p in self.ports}
        self.reads, self.claims = {}, {}  # by cycle: what comes of them
        self.copy = None  # that claims in the next cycle
        self.built = set()  # cycles of holes
        self.expected = {p: deque() for p in self.ports}
        self.heads = {p: [] for p in self.ports}  # cycles
        self.read_at = []
        self.link = {p: lambda: False for p in self.ports}
        job = {"active": 1, "job": 1, "epoch": self.EPOCH, "lo": self.TURN}
        region = {"base": 0, "count": params.slots, "two": 0}
        for p in self.ports:
            getattr(dut, f"jobs_{p}").value = pack(params.port_job, job)
            getattr(dut, f"regions_{p}").value = pack(params.port_region, region)
            stall, reported = (
                (lambda p=p: self.link[p]()),
                (lambda packet, p=p: self.left(p, packet)),
            )
            PacketSink(dut, f"axis_{p}", stall=stall, reported=reported)

    async def start(self):
        await start(self.dut)
        self.began = cycle() + 1
        return self

    def put(self, bank, port, *, observed=True):
        """Let a sum wait to leave; one that is not ``observed`` is gone when it is read."""
        result = unpack(self.params.bank_result, random.getrandbits(self.params.bank_result.size))
        self.lists[bank, port].append((result | {"port": port, "tag": self.TURN}, observed))

    def frame(self, **fields):
        return Frame(**fields | {"turn": self.TURN, "job": 1, "epoch": self.EPOCH})

    async def step(self, *, holes=None, copies=False):
        dut, params = self.dut, self.params
        holes = {*self.banks} if holes is None or self.cycle in self.built else holes
        for b in self.banks:
            bits = sum(bool(self.lists[b, p]) << p for p in self.ports)
            getattr(dut, f"ready_{b}").value = bits
        dut.holes.value = sum(1 << b for b in holes)
        self.drive_banks()
        self.drive_copies(copies)
        await self.edge
        self.opened = int(dut.open.value)
        if dut.make_hole.value:
            self.built.add(self.cycle + params.read_schedule.hole_cycles)
        if dut.read.value:
            self.take(int(dut.read.value).bit_length() - 1, int(dut.port.value))
        self.cycle += 1

    def take(self, bank, port):
        result, observed = self.lists[bank, port].popleft()
        self.read_at.append(self.cycle)
        self.reads[self.cycle + READ_CYCLES] = (bank, result) if observed else None
        if observed:
            number = result["slot"] * self.params.banks + bank
            sums = np.array(result["sums"], np.int32)
            frame = self.frame(kind=Kind.RESULT, list=number, payload=sums, bm=1 << port)
            self.expected[port].append(frame)

    def drive_banks(self):
        dut = self.dut
        bank, result = self.reads.pop(self.cycle, None) or (None, None)
        dut.valids.value = 0 if bank is None else 1 << bank
        if bank is not None:
            getattr(dut, f"results_{bank}").value = pack(self.params.bank_result, result)

    def drive_copies(self, copies):
        """A copy claims in the cycle behind the one in which it is announced."""
        dut, params = self.dut, self.params
        claims = 0
        if self.copy is not None:
            claims = self.opened & random.getrandbits(params.ports)
            copy = unpack(params.copy, random.getrandbits(params.copy.size))
            copy |= {"job": 1, "turn": self.TURN}
            self.claims[self.cycle + READ_CYCLES] = claims, copy
            for p in self.ports:
                if claims >> p & 1:
                    features = np.array(copy["features"], np.int32)
                    source = copy["source"]
                    fields = {"kind": Kind.RAW, "source": source, "payload": features}
                    self.expected[p].append(self.frame(**fields, bm=1 << p))
        dut.claims.value = claims
        self.copy = True if copies else None
        dut.taken.value = int(copies)
        coming, copy = self.claims.pop(self.cycle, (0, None))
        dut.copies.value = coming
        if copy is not None:
            dut.copy.value = pack(params.copy, copy)

    def left(self, p, packet):
        self.heads[p].append(packet.cycles[0] - self.began)
        assert same(from_octets(packet.octets, self.params.lanes), self.expected[p].popleft())

    async def finish(self):
        self.link = {p: lambda: False for p in self.ports}
        for _ in range(20 * self.params.egress_depth):
            await self.step()
            if not any(self.lists.values()) and not any(self.expected.values()):
                return
        raise AssertionError("not all has left")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_sum_leaves_at_once(dut):
    """It leaves as many cycles after the READ as the parts say."""
    bench = await OutputPathBench(dut).start()
    for bank, port in random.sample([*bench.lists], 4):
        bench.put(bank, port)
        ready_at = bench.cycle
        for _ in range(40):
            await bench.step()
        read_at = ready_at + ReadSchedule.holes_ahead
        assert bench.read_at.pop() == read_at
        latency = EgressPort.delay + EgressPort(bench.params).latency
        assert bench.heads[port].pop() == read_at + latency
        assert latency <= 12


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def all_links_are_busy(dut):
    """If lists are never empty, there is a sum a cycle or all links are busy, whatever the holes.

    Ports have equal shares while each bank has holes.
    """
    bench = await OutputPathBench(dut).start()
    params = bench.params
    cycles = 40 * params.result_beats
    for place in bench.lists:
        for _ in range(2 * cycles // params.banks // params.result_beats + 4):
            bench.put(*place)
    for k in range(2 * cycles):
        holes = None if k < cycles else {random.choice(bench.banks) for _ in range(4)}
        await bench.step(holes=holes)
    begin = ReadSchedule.holes_ahead + EgressPort.delay + EgressPort(params).latency
    share = min(1 / params.result_beats, 1 / params.ports)  # a sum a cycle in all
    even = [sum(head < cycles for head in heads) for heads in bench.heads.values()]
    assert min(even) >= 0.97 * (cycles - begin) * share - 2
    every = sum(map(len, bench.heads.values()))
    assert every >= (0.97 * (2 * cycles - begin) * share - 2) * params.ports
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def everything_arrives(dut):
    """Sums may be gone when they are read, copies come, links stop, rows have few holes."""
    bench = await OutputPathBench(dut).start()
    for k in range(2000):
        if k % 100 == 0:
            for p in bench.ports:
                stall = random.choice((lambda: False, often, lambda: True))
                bench.link[p] = stall
            density, busy = random.random(), random.choice((0.1, 1))
        if random.random() < busy:
            place = random.choice([*bench.lists])
            if len(bench.lists[place]) < 30:
                bench.put(*place, observed=random.random() < 0.8)
        holes = {b for b in bench.banks if random.random() < density}
        await bench.step(holes=holes, copies=random.random() < 0.05)
    await bench.finish()
    assert min(map(len, bench.heads.values())) > 20
