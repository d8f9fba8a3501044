"""Runs SwitchGNN endpoints' RTL by memory, steps and frames that their guide alone tells.

Two endpoints meet a switch that was written from its own guide, over links that lose, double and
delay. What their guides alone say makes up everything but the wires.
"""

import random
from collections import Counter, defaultdict

import cocotb
from cocotb.triggers import ClockCycles

from gen.guides.switchgnn_endpoint import guide, values
from hdl.switchgnn.endpoint.params import PRESETS
from sim.harness.streams import start, started
from sim.harness.verilator import params_in_simulator
from sim.switchgnn.network.cluster import ClusterParams
from sim.switchgnn.network.wires import Faults, Wire
from sim.switchgnn.network.worker_host import WorkerHost
from tests.gen.guides import gnn_endpoint_from_the_guide as independent
from tests.gen.guides import gnn_frames_from_the_guide as frames
from tests.gen.guides import gnn_switch_from_the_guide as the_switch
from tests.gen.guides.bench import octets_of
from tests.gen.guides.snic_from_the_guide import Registers
from tests.hdl.switchgnn.endpoint.bench import run_cluster

SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"
JOB, EPOCH, TURNS = 3, 9, 4
TIMERS = {"send_timeout": 700, "fetch_timeout": 1500, "fetch_gap": 20, "done_timeout": 900}
BAD = {"lose": 0.2, "double": 0.2, "late": 0.3}
FILL = 0xA5


def test_endpoints_do_as_their_guide_says(tmp_path):
    run_cluster(__name__, tmp_path, PRESETS["tiny"])


class Bench:
    """Endpoints with registers at the addresses of the guide, and what is at their links' ends."""

    def __init__(self, dut, faults):
        self.dut, self.params = dut, params_in_simulator(ClusterParams)
        self.told = values(self.params.endpoint)
        self.lanes = self.told["L"]
        ports = range(self.params.workers)
        self.registers = [Registers(guide(self.params.endpoint)) for _ in ports]
        self.hosts = [WorkerHost(dut, port, self.params) for port in ports]
        self.models = {}
        self.switch = None
        self.wires = [Wire(dut, port, self.take, faults) for port in ports]
        self.seen = [Counter() for _ in ports]

    def take(self, port, octets):
        """Take a frame of an endpoint to the switch."""
        frame = frames.parsed(octets, self.lanes)
        assert octets == frame.octets(self.lanes, SWITCH, GROUP)
        for to, answer in self.switch.take(port, octets):
            self.send(to, answer.octets(self.lanes, GROUP, SWITCH))

    def send(self, port, octets):
        """Send a frame of the switch to an endpoint, and tell its model."""
        self.models[port].take(octets)
        self.wires[port].send(octets)

    def judge(self, port):
        """Judge all that an endpoint has sent since, in its order."""
        packets = self.wires[port].sink.packets
        for packet in packets:
            frame = frames.parsed(packet.octets, self.lanes)
            self.seen[port][frame.kind] += 1
            assert self.models[port].may_send(frame), (port, frame)
        packets.clear()

    async def make(self, port, accesses):
        """Write registers of an endpoint."""
        for address, word in accesses:
            await self.hosts[port].registers.axil.write(address, word.to_bytes(4, "little"))

    async def read(self, port, name):
        """Read a field, of one or two words."""
        address, first, bits = self.registers[port].places[name]
        size = 8 if bits > 32 else 4
        answer = await self.hosts[port].registers.axil.read(address, size)
        return int.from_bytes(answer.data, "little") >> first & (1 << bits) - 1

    async def counter(self, port, name):
        """Read a counter, by the number that the guide has for it."""
        number = next(k for k, other, _ in self.told["counters"] if other == name)
        await self.make(port, self.registers[port].write(counter=number))
        await ClockCycles(self.dut.clk, 4)
        return await self.read(port, "count")

    async def launch(self, port, model):
        """Take steps 1 to 5 at an endpoint."""
        self.models[port] = model
        assert f"0x{await self.read(port, 'identity'):08X}" == self.told["identity"]
        sizes = [
            await self.read(port, name) for name in ("lanes", "window", "aggregators", "copies")
        ]
        assert sizes == [self.told[name] for name in ("L", "W", "K", "C")]
        await self.hosts[port].write("tables", bytes(model.tables))
        await self.hosts[port].write("data", bytes(model.data))
        await self.make(
            port, independent.job_writes(self.registers[port], model, GROUP, SWITCH, **TIMERS)
        )

    async def finish(self):
        """Wait for all endpoints; what they have sent is right, and so is all of their memory."""
        states = {name: value for value, name, _ in self.told["states"]}
        for port in self.models:
            while await self.read(port, "state") == states["RUNNING"]:
                self.judge(port)
                await ClockCycles(self.dut.clk, 50)
            assert await self.read(port, "state") == states["FINISHED"]
        for port, model in self.models.items():
            self.judge(port)
            assert await self.hosts[port].read("data", len(model.data)) == bytes(model.data)

    async def check_counters(self, port, model):
        """What was counted is what went over the wire, and what is in memory."""
        names = dict(zip(range(4, 13), ("feature", "partial", "result", "raw"), strict=False))
        names |= {frames.FETCH: "fetch", frames.RAWFETCH: "rawfetch", frames.DONE: "done"}
        for kind, count in self.seen[port].items():
            assert await self.counter(port, f"sent_{names[kind]}") == count
        wanted = [bit for turn in range(model.turns) for bit in model.wants(turn)]
        sums = sum(bit < model.aggregators for bit in wanted)
        assert await self.counter(port, "taken_sum") == sums
        assert await self.counter(port, "taken_feature") == len(wanted) - sums
        assert await self.counter(port, "turns") == model.turns


def some_job(rng, told, banks, two):
    """Draw the turns of two workers, and the job of their switch."""
    lanes, depth = told["L"], told["K"] // banks
    aggregators = rng.sample(range(told["K"]), 6)
    ports = {number: rng.randrange(2) for number in aggregators}
    expected, lists, plans = Counter(), [], []
    for port in range(2):
        plan = []
        for vertex in range(port, 10, 2):
            to = rng.sample(aggregators, rng.randint(0, 3))
            rows = [
                sum(
                    (the_switch.VALID | number // banks) << 16 * bank
                    for bank in range(banks)
                    if number % banks == bank
                )
                for number in to
            ]
            raw = 1 << 1 - port if rng.random() < 0.4 else 0
            if rows or raw:
                plan.append((frames.FEATURE, len(lists), len(rows), vertex, raw))
                expected.update(to)
                lists += rows
        number = rng.choice(aggregators)
        plan.append((frames.PARTIAL, number, 0, 0, 0))
        expected[number] += 1
        plans.append(rng.sample(plan, len(plan)))
    turns = defaultdict(list)
    for _ in range(TURNS):
        for port, plan in enumerate(plans):
            sends = tuple(
                independent.Send(
                    kind,
                    tuple(rng.randrange(-(1 << 15), 1 << 15) for _ in range(lanes)),
                    *fields,
                )
                for kind, *fields in plan
            )
            sums = frozenset(n for n in expected if ports[n] == port)
            copies = {
                vertex: 1 - port for _, _, _, vertex, raw in plans[1 - port] if raw >> port & 1
            }
            turns[port].append(independent.Turn(sends, sums, copies))
    descriptors = [[0] * banks for _ in range(depth)]
    for number, count in expected.items():
        descriptors[number // banks][number % banks] = count | ports[number] << 16
    job = the_switch.Job(
        ports=3,
        epoch=EPOCH,
        base=0,
        depth=depth * (1 + two),
        two=two,
        lists=lists,
        descriptors=descriptors,
        program=[(0, depth, TURNS)],
    )
    return turns, job


def model_of(told, port, turns, two):
    """Return the endpoint's model, with its memory laid out."""
    sizes = told["L"], told["K"], told["C"]
    memory = independent.Layout(turns, *sizes, FILL)
    for octets in (memory.tables, memory.data):
        octets += bytes(-len(octets) % 64)
    model = independent.Endpoint(
        told["L"],
        told["K"],
        told["W"],
        told["C"],
        port,
        len(turns),
        two,
        memory.tables,
        memory.data,
    )
    model.job, model.epoch = JOB, EPOCH
    return model


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(two=[0, 1], faults=[{}, BAD])
async def a_job_runs(dut, two, faults):
    rng = random.Random(random.getrandbits(32))  # cocotb seeds the one inside
    bench = await started(Bench(dut, Faults(**faults)))
    told, banks = bench.told, bench.params.endpoint.banks
    turns, job = some_job(rng, told, banks, two)
    bench.switch = the_switch.Switch(
        ports=2,
        banks=banks,
        depth=job.depth,
        lanes=told["L"],
        window=told["W"],
        jobs=JOB + 1,
        address=SWITCH,
    )
    assert bench.switch.start(JOB, job) == "NONE"
    for port in range(2):
        await bench.launch(port, model_of(told, port, turns[port], two))
    await bench.finish()
    for port, model in bench.models.items():
        await bench.check_counters(port, model)
    assert not job.errors


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_known_answer_is_right(dut):
    bench = Bench(dut, Faults())
    known = bench.told["known"]
    await start(dut)
    at = {name: int(address, 16) for name, address in known["addresses"].items()}
    host, registers = bench.hosts[0], bench.registers[0]
    tables = bytearray(at["sources"] + 1024)
    for name, place in (("turn", 0), ("send", at["list"]), ("source", int(known["source_at"], 16))):
        octets = bytes.fromhex("".join(line.partition(":")[2] for line in known["memory"][name]))
        tables[place : place + len(octets)] = octets
    tables[at["wanted"] : at["wanted"] + 4] = int(known["wanted"], 16).to_bytes(4, "little")
    await host.write("tables", bytes(tables))
    await host.write("data", bytes.fromhex(known["feature"]).ljust(64, b"\0"), at["features"])
    model = independent.Endpoint(*(0,) * 4, known["bm"].bit_length() - 1, 1, 0, b"", b"")
    model.job, model.epoch = known["job"], known["epoch"]
    own, switch = bytes.fromhex(known["own"]), bytes.fromhex(known["switch"])
    heard = []
    bench.wires[0].taken = lambda port, octets: heard.append(octets)
    await bench.make(0, independent.job_writes(registers, model, own, switch, **TIMERS))
    for step in known["steps"]:
        if step["way"] == "comes":
            bench.wires[0].send(octets_of(step))
            continue
        while not heard:
            await ClockCycles(dut.clk, 10)
        assert heard.pop(0) == octets_of(step), step["kind"]
    await ClockCycles(dut.clk, 200)
    states = {name: value for value, name, _ in bench.told["states"]}
    assert await bench.read(0, "state") == states["FINISHED"]
    place = int(known["sum_at"], 16)
    found = await host.read("data", 64, place // 64 * 64)
    total = bytes.fromhex(known["sum"])
    assert found[place % 64 :][: len(total)] == total
