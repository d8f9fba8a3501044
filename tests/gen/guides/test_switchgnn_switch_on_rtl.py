"""Sets a SwitchGNN switch's RTL up by its guide's steps, and compares it with the guide's model.

``gnn_switch_from_the_guide`` imports nothing of the project.
"""

import random
from dataclasses import replace

import cocotb
import pytest

from gen.guides.switchgnn_switch import guide, values
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from sim.switchgnn.switch_bench import SwitchBench
from sim.switchgnn.switch_on_rams import arguments_of, sources_of, switch_of
from tests.gen.guides import gnn_frames_from_the_guide as frames
from tests.gen.guides import gnn_switch_from_the_guide as independent
from tests.gen.guides.bench import RegisterHost
from tests.gen.guides.snic_from_the_guide import Registers
from tests.hdl.switchgnn.switch.sizes import FIVE_PORTS

MOST = 20  #: times the frames that are sent at least
VERDICTS = {
    *("ADDED", "REPEATED", "AHEAD", "FETCHED", "DONE", "OVER", "EARLY", "PASSED"),
    *("CLOSED", "MISPLACED", "WRONG_RUN", "WRONG_WORKER", "WRONG_JOB"),
}
SETTLED = 90  #: cycles in which all that a frame leads to has left, with tables on chip
IN_MEMORY = 60  #: cycles more with tables in memory
LIST_LINE, DESCRIPTOR_LINE = 1, 20
KINDS = (frames.FEATURE,) * 8 + (frames.PARTIAL,) * 3 + (frames.FETCH,) * 3 + (frames.DONE,) * 3


@pytest.mark.parametrize("params", FIVE_PORTS, ids=lambda params: params.tables)
def test_the_model_answers_as_the_hardware_does(params, tmp_path):
    simulate(
        switch_of(params),
        __name__,
        registers=["contents_1_1"],
        plusargs=arguments_of(params, tmp_path),
        **sources_of(params),
    )


class Host(RegisterHost):
    """A host with registers at the addresses of the guide, and the links of the switch."""

    def __init__(self, dut):
        self.params = params_in_simulator(GnnSwitchParams)
        self.told = values(self.params)
        self.registers = Registers(guide(self.params))
        self.bench = SwitchBench(dut)
        self.bench.left = self.leave
        self.left = []

    def leave(self, port, octets):
        """Keep a frame that has left, as the guide reads it."""
        frame = frames.parsed(octets, self.params.lanes)
        assert octets == frame.octets(self.params.lanes, self.group, self.address)
        self.left.append((port, frame))

    async def begin(self, address, group):
        """Take steps 1 to 3; return the model."""
        self.address, self.group = address, group
        await start(self.bench.dut)
        self.bench.attach()
        self.bus = self.bench.host.axil
        assert f"0x{await self.read('identity'):08X}" == self.told["identity"]
        assert await self.read("version") == self.told["version"]
        while await self.read("clearing_banks") or await self.read("clearing_counters"):
            pass
        for name, octets in (("switch_address", address), ("group_address", group)):
            await self.make(self.registers.halves(**{name: int.from_bytes(octets, "little")}))
        await self.make(self.registers.write(ack_every=1, ack_delay=60))
        return independent.Switch(
            ports=self.params.ports,
            banks=self.told["P"],
            depth=self.told["D"],
            lanes=self.told["L"],
            window=self.told["W"],
            jobs=self.told["J"],
            address=address,
        )

    async def start(self, number, job, list_base, descriptor_base):
        """Take steps 4 to 7; return why the job is refused, or 'NONE'."""
        banks, in_memory = self.told["P"], self.params.in_memory
        if in_memory:
            rows = [sum(word << 32 * k for k, word in enumerate(row)) for row in job.descriptors]
            await self.remember(job.lists, 2 * banks, list_base, LIST_LINE)
            await self.remember(rows, 4 * banks, descriptor_base, DESCRIPTOR_LINE)
            await self.make(self.registers.write(list_line=LIST_LINE))
            await self.make(self.registers.write(descriptor_line=DESCRIPTOR_LINE))
            await self.make(self.registers.command("revive_tables"))
        sizes = (list_base, descriptor_base, banks, not in_memory)
        await self.make(independent.job_writes(self.registers, number, job, *sizes))
        while await self.read("busy"):
            pass
        reasons = {value: name for value, name, _ in self.told["reasons"]}
        return reasons[await self.read("reason")]

    async def remember(self, rows, row_bytes, first, line):
        """Write rows of a table into the memories of the ports."""
        rams = self.bench.host.memory
        ports = await self.read("table_ports")
        for port, at, octets in independent.in_memory(rows, row_bytes, first, line, ports):
            beat, place = divmod(at, 32)
            strobes = (1 << len(octets)) - 1 << place
            data = int.from_bytes(octets, "little") << 8 * place
            await rams.write_beats(0, {beat * ports + port: (data, strobes)})

    async def throw(self, port, octets, corrupt=False):
        """Let a frame come in; return what leaves."""
        self.left.clear()
        self.bench.throw(port, octets, corrupt)
        await self.bench.idle(SETTLED + IN_MEMORY * self.params.in_memory)
        return self.left

    async def check_counts(self, counts):
        """Compare the verdicts of all ports with the model's."""
        for port in range(self.params.ports):
            for value, name, _ in self.told["verdicts"]:
                fields = {"counter_port": port, "counter_verdict": value}
                await self.make(self.registers.write(**fields))
                assert await self.read("verdict_count") == counts[port, name], (port, name)

    async def check_errors(self, number, job):
        """Compare a job's table errors with the model's."""
        await self.make(self.registers.write(job_number=number))
        for name in ("OUTSIDE", "UNUSED", "COMPLETE", "NO_SUCH_ROW"):
            assert await self.read(f"error_{name.lower()}") == job.errors[name]
        first = [
            await self.read(f"first_{name}") for name in ("cause", "turn", "row", "aggregator")
        ]
        causes = {name: value for value, name, _ in self.told["errors"]}
        cause, *where = job.first or ("", 0, 0, 0)
        assert first == [causes.get(cause, 0), *where]


def told(sent):
    """Return ports and frames in an order of their own; of an ACK what has come."""
    return sorted(
        (port, repr(frames.arrived(one) if one.kind == frames.ACK else one)) for port, one in sent
    )


def some_job(rng, host, number, two):
    """Draw a job with random tables, which are mostly right."""
    banks = host.told["P"]
    ports, depth = (0b01101, 5) if number == 0 else (0b10010, 3)
    there = [port for port in range(5) if ports >> port & 1]
    indices = [*range(depth)] * 4 + [depth]
    lists = [
        sum(
            (independent.VALID | rng.choice(indices)) << 16 * bank
            for bank in range(banks)
            if rng.random() < 0.6
        )
        for _ in range(12)
    ]
    descriptors = [
        [rng.choice((0, 1, 2, 3, 4)) | rng.choice(there) << 16 for _ in range(banks)]
        for _ in range(2 * depth)
    ]
    program = [(0, depth, rng.choice((1, 2))), (depth, depth - 1, 1)]
    sizes = {"base": 0 if number == 0 else 10, "depth": depth * (1 + two), "two": two}
    return independent.Job(
        ports=ports,
        epoch=7 + number,
        lists=lists,
        descriptors=descriptors,
        program=program,
        **sizes,
    )


def some_frame(rng, model):
    """Draw a port, and a frame that is mostly one that a worker there may send."""
    number = rng.choice(list(model.active))
    job = model.active[number]
    port = rng.choice([port for port in range(model.ports) if job.ports >> port & 1])
    kind = rng.choice((*KINDS, *range(4, 13)))
    turn = max(0, job.lo + rng.choice((0,) * 6 + (1, 1, -1, 2)))
    base = independent.lowest(job.come.get((turn, port), ()))
    rows = rng.choice((1, 1, 2, 3, 0)) if kind == frames.FEATURE else 0
    size = job.depth // (1 + job.two) * model.banks
    frame = frames.Frame(
        kind=kind,
        bm=1 << port,
        job=number,
        epoch=job.epoch,
        turn=turn,
        seq=max(0, base + rng.choice((0, 0, 0, 1, 1, 2, 3, -1, 4, 9))),
        list=rng.randrange(len(job.lists) if kind == frames.FEATURE else size + 1),
        source=rng.getrandbits(32),
        raw=rng.choice((0, 0, rng.getrandbits(5))),
        rows=rows,
    )
    if kind in frames.LANE_BYTES:
        most = 1 << 8 * frames.LANE_BYTES[kind] - 1
        payload = [
            rng.choice((-most, most - 1, rng.randrange(-most, most))) for _ in range(model.lanes)
        ]
        frame = replace(frame, payload=tuple(payload))
    if rng.random() < 0.1:
        name = rng.choice(("bm", "job", "epoch", "turn"))
        frame = replace(frame, **{name: getattr(frame, name) ^ 1 << rng.randrange(4)})
    return port, frame


def spoilt(rng, octets):
    """Return a frame, now and then with a bit or a length that no frame has."""
    if rng.random() < 0.95:
        return octets
    if rng.random() < 0.5:
        at = rng.randrange(len(octets))
        return octets[:at] + bytes([octets[at] ^ 1 << rng.randrange(8)]) + octets[at + 1 :]
    return octets[: rng.randrange(20, len(octets))] + rng.randbytes(rng.choice((0, 0, 1, 4, 64)))


async def compare(dut, two, count, verdicts=frozenset(), errors=frozenset()):
    """Send frames one by one through the hardware and the model, until ``count`` have been sent
    and all ``verdicts`` and ``errors`` met.
    """
    rng = random.Random(random.getrandbits(32))  # cocotb seeds the one inside
    host = Host(dut)
    model = await host.begin(rng.randbytes(6), rng.randbytes(6))
    for number in range(2):
        job = some_job(rng, host, number, two)
        assert await host.start(number, job, 20 * number, 30 * number) == "NONE"
        assert model.start(number, job) == "NONE"
    await host.bench.idle(SETTLED + IN_MEMORY * host.params.in_memory)

    def unmet():
        met = {name for job in model.active.values() for name in job.errors}
        return (verdicts - {name for _, name in model.counts}) | (errors - met)

    for number in range(MOST * count):
        if number >= count and not unmet():
            break
        port, frame = some_frame(rng, model)
        octets = spoilt(rng, frame.octets(model.lanes, host.address, host.group))
        corrupt = rng.random() < 0.02
        found = await host.throw(port, octets, corrupt)
        assert told(found) == told(model.take(port, octets, corrupt)), (port, frame)
    await host.check_counts(model.counts)
    for number, job in model.active.items():
        await host.check_errors(number, job)
    assert not unmet()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_are_answered_alike(dut):
    await compare(dut, 1, 300, VERDICTS, {"OUTSIDE", "UNUSED", "COMPLETE"})


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_of_one_open_turn_are_answered_alike(dut):
    await compare(dut, 0, 100)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_known_answer_is_right(dut):
    host = Host(dut)
    known = host.told["known"]
    address, group = bytes.fromhex(known["switch"]), bytes.fromhex(known["group"])
    await host.begin(address, group)
    banks = host.told["P"]
    words = [0] * banks
    words[known["aggregator"]] = int(known["descriptor"], 16)
    job = independent.Job(
        ports=3,
        epoch=known["epoch"],
        base=0,
        depth=1,
        two=0,
        lists=[int(known["list"], 16)],
        descriptors=[words],
        program=[(0, 1, 1)],
    )
    assert await host.start(known["job"], job, 0, 0) == "NONE"
    await host.bench.idle(SETTLED)
    for step in known["steps"]:
        found = await host.throw(step["port"], octets_of(step))
        right = [
            (one["port"], frames.parsed(octets_of(one), host.told["L"])) for one in step["left"]
        ]
        assert told(found) == told(right)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def jobs_are_refused_alike(dut):
    rng = random.Random(random.getrandbits(32))
    host = Host(dut)
    model = await host.begin(rng.randbytes(6), rng.randbytes(6))
    met = set()
    for k in range(40):
        job = some_job(rng, host, 0, 0)
        job.ports, job.base = rng.choice((1, 2, 6, 0, 32)), rng.choice((0, 3, 14))
        number = rng.randrange(3)
        if k < 2:  # two jobs that want the same slots, before others have the ports of both
            job.ports, job.base, number = 1 + k, 0, k
        reason = model.start(number, job)
        assert await host.start(number, job, 0, 0) == reason
        met.add(reason)
    assert met == {name for _, name, _ in host.told["reasons"]} - {"BUSY"}


def octets_of(told):
    """Return the bytes of a frame of which the guide shows those that are not zero."""
    shown = bytes.fromhex("".join(line.partition(":")[2] for line in told["lines"]))
    return shown[: told["bytes"]].ljust(told["bytes"], b"\0")
