"""Runs SwitchGNN endpoints' host software on the RTL: the guide's known answer, and random jobs.

In a job two endpoints meet the golden switch, over links that lose, double and delay.
"""

from collections import Counter
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles

from gen.guides.switchgnn_endpoint import values
from gen.software.switchgnn_endpoint import software
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.protocol import Kind
from sim.host.device import write_wide
from sim.host.simulated import SimulatedRegisters
from sim.switchgnn.golden.frames import Kind as FrameKind
from sim.switchgnn.host.build import Region
from sim.switchgnn.host.gnn_frames import KIND_AT
from sim.switchgnn.host.turns import Send, Turn
from sim.switchgnn.network.cluster import RAMS
from sim.switchgnn.network.wires import Faults
from sim.switchgnn.network.worker_host import SWITCH
from tests.gen.guides.bench import octets_of
from tests.gen.software.fake_card import attach
from tests.hdl.switchgnn.endpoint.bench import EPOCH, JOB, Bench, finish, run_cluster

TIMERS = {"send": 700, "fetch": 1500, "gap": 20, "done": 900}
BAD = {"lose": 0.2, "double": 0.2, "late": 0.3}
#: verdicts that no frame of an endpoint meets at the switch
WRONG = {"AHEAD", "EARLY", "MISPLACED", "WRONG_RUN", "WRONG_WORKER", "WRONG_JOB"}
WRONG |= {"MALFORMED", "FOREIGN"}
ROOM = 1 << 19  #: bytes of memory for tables, for features, and behind those for sums
SUMS = Region(2 * ROOM, ROOM, ROOM)
FILL = b"\xa5" * (1 << 14)  #: sums and copies of the longest job have less memory
REGIONS = {"tables": Region(0, 0, ROOM), "features": Region(ROOM, 0, ROOM), "sums": SUMS}
MADE = software(PRESETS["tiny"])
MADE = replace(MADE, build=MADE.build | {"regions": REGIONS})


def test_the_host_software_drives_endpoints(tmp_path):
    run_cluster(__name__, tmp_path, PRESETS["tiny"])


class Card(SimulatedRegisters):
    """Reaches an endpoint of a bench, and its memories as a card's DMA does, in whole beats."""

    def __init__(self, host):
        self.dut, self.axil, self.host = host.dut, host.registers.axil, host

    def place(self, address):
        region = max(one for one in REGIONS.values() if one.dma <= address)
        return RAMS[region != REGIONS["tables"]], address - region.dma + region.address

    @resume
    async def read_memory(self, address, size):
        name, at = self.place(address)
        return (await self.host.read(name, at % 64 + size, at - at % 64))[at % 64 :]

    @resume
    async def write_memory(self, address, data):
        name, at = self.place(address)
        await self.host.write(name, data + bytes(-len(data) % 64), at)


class Host:
    """Runs a worker's part of a golden job by the host software, ``endpoint``."""

    def __init__(self, host):
        self.port, self.address, self.card = host.port, host.address, Card(host)

    @bridge
    def attach(self):
        self.endpoint = attach(MADE, self.card)
        self.endpoint.seconds = 3600  # simulated time has a limit of its own
        self.endpoint.set_addresses(self.address, SWITCH)
        self.endpoint.set_timers(**TIMERS)

    @bridge
    def load(self, setup):
        turns = {id(share): turn_of(share) for share in map(setup.share, range(setup.turns))}
        self.card.write_memory(SUMS.dma, FILL)
        self.endpoint.load([turns[id(setup.share(turn))] for turn in range(setup.turns)])
        for number, placed in enumerate(self.endpoint.layout.placed):
            values = [setup.payload(number, k) for k in range(len(placed.turn.sends))]
            shape = len(values), self.endpoint.build.fixed["lanes"]
            self.endpoint.write_payloads(number, np.array(values, int).reshape(shape))

    @bridge
    def start(self, setup, *, job, epoch):
        self.endpoint.start(job, epoch=epoch, port=self.port, two=setup.open_turns == 2)

    @bridge
    def ends(self):
        self.endpoint.wait()
        return "FINISHED", "NONE"

    @bridge
    def found(self):
        """Return sums and copies; all other memory around them is as it was."""
        placed = self.endpoint.layout.placed
        sums = {(t, a): row for t in range(len(placed)) for a, row in self.endpoint.sums(t).items()}
        copies = {
            (t, s): row for t in range(len(placed)) for s, row in self.endpoint.copies(t).items()
        }
        places = [(placed[t].sums + a * row.nbytes, row) for (t, a), row in sums.items()]
        places += [(placed[t].copies + s * row.nbytes, row) for (t, s), row in copies.items()]
        memory = bytearray(self.card.read_memory(SUMS.dma, len(FILL)))
        for at, row in places:
            memory[at - SUMS.address : at - SUMS.address + row.nbytes] = FILL[: row.nbytes]
        assert memory == FILL
        return sums, copies

    @bridge
    def counters(self):
        return self.endpoint.counters()


def turn_of(share):
    """Return a golden worker's share of a turn as the host software has it."""
    return Turn(
        sends=[
            Send(
                list=sent.list,
                rows=sent.rows,
                source=sent.source,
                copy_to=[port for port in range(32) if sent.raw >> port & 1],
                partial=sent.kind is FrameKind.PARTIAL,
            )
            for sent in share.sends
        ],
        sums=share.sums,
        copies={copy.source: copy.owner for copy in share.copies},
    )


async def begin(dut, faults):
    """Return a bench of endpoints with the host software of each."""
    bench = Bench(dut, Faults(**faults))
    await bench.begin()
    bench.workers = [Host(worker) for worker in bench.workers]
    for worker in bench.workers:
        await worker.attach()
    return bench


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(two=[0, 1], faults=[{}, BAD])
async def a_job_runs(dut, two, faults):
    bench = await begin(dut, faults)
    cut = bench.cut(open_turns=1 + two)
    await bench.launch(cut)
    await finish(bench.workers, cut)
    assert not WRONG & {verdict.name for _, verdict in bench.switch.counters}
    for worker, wire in zip(bench.workers, bench.wires, strict=True):
        counts, setup = await worker.counters(), cut.worker(worker.port, JOB, EPOCH).setup
        sent = Counter(Kind(octets[KIND_AT]).name.lower() for _, _, octets in wire.sent)
        assert {k: counts[f"sent_{k}"] for k in sent} == sent
        shares = [setup.share(turn) for turn in range(cut.turns)]
        assert counts["taken_sum"] == sum(len(share.sums) for share in shares)
        assert counts["taken_feature"] == sum(len(share.copies) for share in shares)
        assert counts["turns"] == cut.turns


def bytes_of(lines):
    """Return bytes that the guide shows in lines."""
    return bytes.fromhex("".join(line.partition(":")[2] for line in lines))


def start_by_package(card, endpoint, known):
    """Start the known answer's job; its tables are those of the guide, but for addresses."""
    turn = Turn(sends=[Send(list=0, rows=1, source=known["vertex"])], sums=[known["aggregator"]])
    endpoint.load([turn])
    feature = np.zeros((1, endpoint.build.fixed["lanes"]), int)
    told = np.frombuffer(bytes.fromhex(known["feature"]), "<i2")
    feature[0, : len(told)] = told
    endpoint.write_payloads(0, feature)
    sends, wanted, sources, _ = (octets for _, octets in endpoint.layout.tables)
    source = bytes_of(known["memory"]["source"])
    assert sends == bytes_of(known["memory"]["send"])
    assert sources[8 * known["vertex"] :][:8] == source
    assert int.from_bytes(wanted, "little") == int(known["wanted"], 16)
    endpoint.start(known["job"], epoch=known["epoch"], port=known["bm"].bit_length() - 1)
    return endpoint.layout.placed[0].sums + known["aggregator"] * 4 * feature.size


def start_by_guide(card, endpoint, known):
    """Start the job from memory that holds what the guide shows, where it shows it."""
    at = {name: int(address, 16) for name, address in known["addresses"].items()}
    at |= {"turn": 0, "send": at["list"], "source": int(known["source_at"], 16)}
    assert at["source"] == at["sources"] + 8 * known["vertex"]
    tables = bytearray(at["sources"] + 1024)
    for name, lines in known["memory"].items():
        octets = bytes_of(lines)
        tables[at[name] : at[name] + len(octets)] = octets
    tables[at["wanted"] : at["wanted"] + 4] = int(known["wanted"], 16).to_bytes(4, "little")
    card.write_memory(0, bytes(tables))
    features = REGIONS["features"].dma + at["features"]
    card.write_memory(features, bytes.fromhex(known["feature"]).ljust(64, b"\0"))
    write_wide(endpoint.registers, program=0)
    endpoint.registers.write(job=known["job"], epoch=known["epoch"])
    endpoint.registers.write(worker=known["bm"], turns=1, two_open=0, ready_turns=1)
    endpoint.registers.write(start=1)
    return int(known["sum_at"], 16)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(start_job=[start_by_package, start_by_guide])
async def the_known_answer_of_the_guide_is_right(dut, start_job):
    known, heard = values(PRESETS["tiny"])["known"], []
    bench = await begin(dut, {})
    bench.wires[0].taken = lambda port, octets: heard.append(octets)
    card, endpoint = bench.workers[0].card, bench.workers[0].endpoint
    await bridge(endpoint.set_addresses)(*(bytes.fromhex(known[k]) for k in ("own", "switch")))
    place = await bridge(start_job)(card, endpoint, known)
    for step in known["steps"]:
        if step["way"] == "comes":
            bench.wires[0].send(octets_of(step))
            continue
        while not heard:
            await ClockCycles(dut.clk, 10)
        assert heard.pop(0) == octets_of(step), step["kind"]
    await ClockCycles(dut.clk, 200)

    def look():
        assert endpoint.registers.read("state").name == "FINISHED"
        total = bytes.fromhex(known["sum"])
        assert card.read_memory(SUMS.dma - SUMS.address + place, len(total)) == total

    await bridge(look)()
