"""Compares the whole switch with its golden model on a hundred thousand frames, most legal."""

import random
from dataclasses import replace

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiResp

from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.params import Verdict as Counted
from hdl.p4sgd.switch.registers import switch_registers
from hdl.p4sgd.switch.switch import Switch
from sim.golden.reduction.frames import WireFrame
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from sim.host.switch.traffic import bits_of, choose_packet, choose_payload
from tests.hdl.common.register_pace import registers_at_any_pace
from tests.hdl.p4sgd.switch.bench import Arrival, Schedule, begin, refusal
from tests.long import short_and_long

SMALL = SwitchParams(slots=64, jobs=4, ingress_depth=16, egress_depth=16)
SHADOW = SwitchParams(slots=64, jobs=4, ingress_depth=16, egress_depth=16, shadow=True)
#: sizes, batches, frames of a batch
SIZES = {
    "small": (SMALL, 12, 6000),
    "default": (SwitchParams(), 2, 10000),
    "two_ports": (SwitchParams(ports=2, slots=2, jobs=1, ingress_depth=4, egress_depth=4), 2, 3000),
    "shadow": (SHADOW, 4, 6000),
    "many_ports": (SwitchParams(ports=32, slots=128, jobs=32, ingress_depth=4), 2, 3000),
}
#: registers that commands look at, and their bits
OPERANDS = {"job_number": 16, "job_epoch": 16, "job_ports": 32, "job_base": 16, "job_slots": 17}


@pytest.mark.parametrize("name", short_and_long(SIZES, ["small", "default", "two_ports", "shadow"]))
def test_switch(name):
    simulate(Switch(SIZES[name][0]), __name__, registers=["contents_1_1"])


def test_latency_of_the_default():
    assert Switch(SwitchParams()).latency == 10
    assert Switch(SwitchParams(slots=1 << 15)).latency == 8


def test_frames_in_all():
    assert sum(batches * count for _, batches, count in SIZES.values()) >= 100_000


FIELDS = {
    "destination": lambda: random.randbytes(6),
    "source": lambda: random.randbytes(6),
    "ethertype": lambda: random.choice((0x88B4, 0xB588, random.getrandbits(16))),
    "version": lambda: random.choice((0, 1, 3, random.randrange(256))),
    "acked": lambda: True,
    "no_flags": lambda: random.choice((1, 0x20, random.randrange(64))),
    "bm": lambda: random.choice((0, 3, 0xFFFFFFFF, 1 << random.randrange(32))),
    "job": lambda: random.choice((random.randrange(8), random.getrandbits(16))),
    "epoch": lambda: random.getrandbits(16),
    "seq": lambda: random.choice((random.randrange(200), random.getrandbits(16))),
    "use": lambda: random.randrange(256),
    "saturated": lambda: random.randrange(256),
}


def mutated(bench, port, frame: WireFrame):
    """Return ``frame`` with a change: a field, the port, a bit, the length, the checksum."""
    kind = random.randrange(8)
    if kind < 3:
        name = random.choice(list(FIELDS))
        return Arrival(port, replace(frame, **{name: FIELDS[name]()}).to_bytes())
    if kind == 3:
        epoch = (frame.epoch - random.choice((1, 1, 2))) & 0xFFFF
        return Arrival(port, replace(frame, epoch=epoch).to_bytes())
    if kind == 4:
        return Arrival(random.randrange(bench.params.ports), frame.to_bytes())
    data = bytearray(frame.to_bytes())
    if kind == 5:
        data[random.randrange(60)] ^= 1 << random.randrange(8)
        return Arrival(port, bytes(data))
    if kind == 6:
        length = random.choice((59, 61, 63, 64, 65, 124, 128, *[random.randint(1, 200)] * 3))
        data = (data + random.randbytes(length))[:length]
        return Arrival(port, bytes(data), corrupt=random.random() < 0.1)
    return Arrival(port, bytes(data), corrupt=True)


def traffic(bench, count):
    """Draw frames of all jobs side by side, every fourth of them spoilt."""
    model = bench.model
    jobs = list(model.active.items())
    hot = {number: random.randrange(job.base, job.base + job.count) for number, job in jobs}
    for k in range(count):
        number, job = random.choice(jobs)
        if k % 500 == 0:
            hot = {n: random.randrange(j.base, j.base + j.count) for n, j in jobs}
        near = range(job.base, job.base + min(job.count, 8))
        seq = random.choice((hot[number], hot[number], random.choice(near)))
        if random.random() < 0.05:
            seq = random.choice((job.base, job.base + job.count - 1))
        is_agg, worker, use = choose_packet(random, job.slot(seq), job.ports)
        frame = bench.frame(worker, number, seq, use, choose_payload(random, 8), is_agg=is_agg)
        if random.random() < 0.25:
            yield mutated(bench, worker, frame)
        else:
            yield Arrival(worker, frame.to_bytes())


def probes(bench):
    """Return frames after which each field of each slot was seen: the used, and 64 unused."""
    for number, job in list(bench.model.active.items()):
        unused = set(range(job.base, job.base + job.count)) - set(job.slots)
        for seq in [*job.slots, *random.sample(sorted(unused), min(64, len(unused)))]:
            use = job.slot(seq).use
            kinds = (
                ((use, True), (use - 1 & 255, True)) if job.shadow else ((use, True), (use, False))
            )
            for use, is_agg in kinds:
                for worker in bits_of(job.ports):
                    frame = bench.frame(
                        worker, number, seq, use, choose_payload(random, 8), is_agg=is_agg
                    )
                    yield Arrival(worker, frame.to_bytes())


def layout(params):
    """Draw jobs that share out ports and slots: (job, ports, base, slots)."""
    count = min(params.jobs, params.ports, params.slots, 5)
    numbers = random.sample(range(params.jobs), count)
    if params.jobs > 5:
        numbers[0] = params.jobs - 1
    owners = [random.randrange(count) for _ in range(params.ports)]
    for index, port in enumerate(random.sample(range(params.ports), count)):
        owners[port] = index
    limit = min(params.slots, 2048)  # slots to be cleared take a cycle each
    cuts = sorted(random.sample(range(1, limit), count - 1))
    edges = [0, *cuts, limit]
    shift = params.slots - limit if random.random() < 0.5 else 0  # the upper end, too
    for index, number in enumerate(numbers):
        ports = sum(1 << port for port, owner in enumerate(owners) if owner == index)
        base = edges[index] + shift
        yield number, ports, base, edges[index + 1] - edges[index]


async def disturb(bench):
    """Write what changes nothing without a command; there are no registers after these."""
    for name, bits in OPERANDS.items():
        value = random.getrandbits(bits)
        await bench.host.write(**{name: value})
        assert await bench.host.read(name) == value
    map = bench.host.map
    address = random.randrange(map.placed[-1].address + 8, 1 << map.address_bits, 4)
    assert (await bench.host.axil.read(address, 4)).resp == AxiResp.SLVERR
    assert (await bench.host.axil.write(address, random.randbytes(4))).resp == AxiResp.SLVERR
    active = sum(1 << number for number in bench.model.active)
    assert await bench.host.read("active_jobs") == active
    await ClockCycles(bench.dut.clk, 2)  # then nothing is under way
    for channel in ("aw", "w", "ar"):
        assert getattr(bench.dut, f"s_axil_{channel}ready").value


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_keep_up(dut):
    await start(dut)
    await registers_at_any_pace(dut, switch_registers(params_in_simulator(SwitchParams)))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def equals_the_golden_model(dut):
    bench = await begin(dut)
    _, batches, count = next(row for row in SIZES.values() if row[0] == bench.params)
    for batch in range(batches):
        for number in list(bench.model.active):
            bench.model.stop_job(number)
            await bench.host.stop_job(number)
        await bench.change_addresses()
        for number, ports, base, slots in layout(bench.params):
            epoch = random.choice((0, 0xFFFF, random.getrandbits(16)))
            await bench.start_job(number, ports=ports, epoch=epoch, base=base, slots=slots)
        await disturb(bench)
        await bench.exchange(traffic(bench, count // 2))
        # A job starts anew while the others' slots are in use.
        number, job = random.choice(list(bench.model.active.items()))
        await bench.start_job(
            number, ports=job.ports, epoch=job.epoch + 1 & 0xFFFF, base=job.base, slots=job.count
        )
        await bench.exchange(traffic(bench, count - count // 2))
        await bench.exchange(probes(bench))
        if batch in (0, batches - 1):
            await bench.check_verdicts()
    counts = await bench.host.port_counters()
    assert all(row["overflows"] == row["answers_dropped"] == 0 for row in counts.values())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reports_commands_and_ports(dut):
    """It tells each job and all, why a command was refused, and which counters exist."""
    bench = await begin(dut)
    params, host = bench.params, bench.host
    jobs = range(min(params.jobs, params.ports, params.slots))
    last = len(jobs) - 1
    for job in jobs:
        await bench.start_job(job, ports=1 << job, epoch=0, base=job, slots=1)
        assert await host.read("active_jobs") == (2 << job) - 1
    for job, ports, base, slots in (
        (params.jobs, 1, 0, 1),
        (0, 0, 0, 1),
        (0, 1 << 31, 0, 1),
        (0, 1, 0, 0),
        (0, 1 << last, 0, 1),
        (0, 1, last, 1),
    ):
        reason = bench.model.start_job(job, ports=ports, epoch=0, base=base, count=slots)
        assert await refusal(bench, job, ports, 0, base, slots) == (reason and reason.name)
    for job in jobs:
        await host.stop_job(job)
        assert await host.read("active_jobs") == (2 << last) - (2 << job)
    for port in {0, params.ports - 1, params.ports % 32, 31}:
        await host.write(counter_port=port)
        assert await host.read("counter_exists") == (port < params.ports)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def shows_every_bit_of_a_counter(dut):
    """What is being written is set in every cycle of a packet that is counted."""
    bench = await begin(dut)
    port = random.randrange(bench.params.ports)
    await bench.host.write(counter_port=port, counter_verdict=Counted.WRONG_JOB.value)
    for value in (0xFFFFFFFF, 0x55555555, 0xAAAAAAAA):

        async def hold(value=value):
            while True:
                dut.verdicts.counts.contents_1_1.value = value
                await RisingEdge(dut.clk)

        holding = cocotb.start_soon(hold())
        await bench.exchange([Arrival(port, bench.frame(port, 0, 0, 0).to_bytes())])
        holding.cancel()
        assert await bench.host.read("counter_value") == value


def whole_sums(bench, job, slot, uses):
    """Send a packet of every port for a sum, and another for its acknowledgement."""
    for use in range(uses):
        for is_agg in (True, False):
            for port in bits_of(bench.model.active[job].ports):
                frame = bench.frame(port, job, slot, use, choose_payload(random, 8), is_agg=is_agg)
                yield Arrival(port, frame.to_bytes())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_what_it_sends_and_loses(dut):
    bench = await begin(dut)
    params, host = bench.params, bench.host
    count, capacity = min(params.slots, 256), params.egress_fifo.capacity
    sums = capacity * params.copies // 2 + 3  # each is answered, and its acknowledgement, if any
    job = {"ports": (1 << params.ports) - 1, "epoch": random.getrandbits(16), "base": 0}
    bench.model.start_job(0, **job, count=count)
    await bench.begin_job(0, **job, slots=count)
    # No packet waits: each cycle is one of the slots.
    await ClockCycles(dut.clk, count * params.copies + params.jobs + 8)
    assert not await host.read("busy")
    await host.clear_counters()
    # All answers come to all ports, which take none of them until the end.
    frames = list(whole_sums(bench, 0, random.randrange(count), sums))
    schedule, expected = bench.answers(frames)
    await bench.play(schedule, ready=lambda port: False)
    assert not any(bench.seen.values())
    await bench.play(Schedule(), after=capacity + 4, ready=lambda port: True)
    golden = {
        "overflows": 0,
        "answers_sent": capacity,
        "answers_dropped": len(expected[0]) - capacity,
    }
    assert await host.port_counters() == dict.fromkeys(range(params.ports), golden)
    for port, answers in expected.items():
        assert [data for _, data in bench.seen[port]] == [data for _, data in answers[:capacity]]
    packets, cycles = await host.read("packets"), await host.read("cycles")
    assert (packets, cycles) == (len(frames), len(frames))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_start_takes_the_cycles_that_others_leave(dut):
    """Another job's packets in every second cycle are not delayed."""
    bench = await begin(dut)
    params = bench.params
    if params.jobs < 2:
        return
    last, half = params.ports - 1, params.slots // 2
    await bench.start_job(0, ports=(1 << last) - 1, epoch=7, base=0, slots=2)
    job = {"ports": 1 << last, "epoch": 8, "base": half}
    assert bench.model.start_job(1, **job, count=half) is None
    starting = cocotb.start_soon(bench.begin_job(1, **job, slots=half))
    schedule, expected = Schedule(), {port: [] for port in range(params.ports)}
    phase = random.randrange(4)  # of packets, to the cycles in which a slot is cleared in any case
    for at in range(phase, 600 + phase, 2):
        port = random.randrange(last)
        # An answer to this port alone: the sum of the use before the first, which is complete.
        data = bench.frame(port, 0, random.randrange(2), 255).to_bytes()
        assert schedule.add(Arrival(port, data), at) == at
        for to, answer in bench.model.take(port, data):
            expected[to].append((at + bench.latency, answer))
    await bench.play(schedule)
    bench.compare(expected)
    assert starting.done()
    assert await bench.host.read("busy") == (half * params.copies >= 100)
    await bench.idle()
    assert await bench.host.read("active_jobs") == 0b11
