"""Stops and resets endpoints, lets their memories fail, and sends them any packets."""

import random
from dataclasses import replace

import cocotb
from cocotb.triggers import ClockCycles

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.memory_layouts import SendRecord, TurnRecord
from hdl.switchgnn.endpoint.params import PRESETS
from sim.surroundings.axi_ram import Fault
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.network.wires import Faults
from sim.switchgnn.wire import SWITCH, Addresses, own_address, to_octets
from tests.hdl.switchgnn.endpoint.bench import EPOCH, JOB, Bench, run_cluster

BAD = {"lose": 0.1, "double": 0.2, "late": 0.2}
TIMEOUT = 300  #: of memories
SHORT = 200  #: cycles in which a run may end if no worker gets anything
LONG = 1000  #: cycles in which other small runs may end


def test_faults(tmp_path):
    run_cluster(__name__, tmp_path, PRESETS["tiny"])


async def bring_up(dut, **faults):
    bench = Bench(dut, Faults(**faults))
    await bench.begin()
    return bench


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(open_turns=[1, 2])
async def a_stop_leaves_nothing(dut, open_turns):
    """A stop may come at any time; the next run of the job, with another epoch, is right."""
    bench = await bring_up(dut, **BAD)
    cut = bench.cut(open_turns=open_turns)
    for run in range(6):
        await bench.launch(cut, epoch=run, load=run == 0)
        pause = random.choice([1, 50, SHORT, LONG])
        await ClockCycles(dut.clk, pause)
        for worker in bench.workers:
            await worker.write(stop=1)
        ends = {"IDLE"} if pause < SHORT else {"IDLE", "FINISHED"}  # a small run may be over
        for worker in bench.workers:
            assert await worker.ends() in ends
            assert (await worker.read("cause")).name == "NONE"
        sent = [len(wire.sent) for wire in bench.wires]
        await ClockCycles(dut.clk, 500)
        assert sent == [len(wire.sent) for wire in bench.wires]
    await bench.run(cut, epoch=100)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_reset_leaves_nothing(dut):
    """A reset may come in the middle of a frame of either direction."""
    bench = await bring_up(dut)
    cut = bench.cut()
    for run in range(4):
        await bench.launch(cut, epoch=run, load=run == 0)
        await ClockCycles(dut.clk, random.randrange(400))
        bench.switch = None
        dut.rst.value = 1
        await ClockCycles(dut.clk, 2)
        dut.rst.value = 0
        for wire in bench.wires:
            wire.clear()
        await ClockCycles(dut.clk, 20)
        for worker in bench.workers:
            assert await worker.ends() == "IDLE"
    await bench.run(cut, epoch=100)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(
    bus=["tables", "features", "sums"],
    fault=[Fault.ERROR, Fault.MUTE, Fault.DEAF, Fault.LAST],
)
async def a_memory_that_fails_ends_the_job(dut, bus, fault):
    """The host reads why; when the memory is well again, so is the endpoint."""
    if bus == "sums" and fault is Fault.LAST:
        fault = Fault.ERROR  # B has no last beat
    bench = await bring_up(dut)
    victim = random.choice(bench.workers)
    path = "write" if bus == "sums" else "read"
    expected = {"features": "sends", "sums": "sums"}.get(bus, "sends")
    shares = []
    while not any(getattr(share, expected) for share in shares):
        cut = bench.cut()
        setup = cut.worker(victim.port, JOB, EPOCH).setup
        shares = [setup.share(turn) for turn in range(setup.turns)]
    await victim.load(setup)
    turn = next(k for k, share in enumerate(shares) if getattr(share, expected))
    if bus == "tables":
        at = victim.layout.program
    elif bus == "sums":
        at = victim.layout.placed[turn].sums + 8 * shares[turn].sums[0]
    else:
        at = victim.layout.placed[turn].features
    failing = {f"fail_{path}": 1, f"fail_{path}_beat": at // BEAT_BYTES, "fault": fault}
    ram = "tables" if bus == "tables" else "data"
    victim.memory.set(ram, **failing, fail_response=2)
    await bench.launch(cut, memory=TIMEOUT)
    cause = {"tables": "TABLES", "features": "FEATURES", "sums": "SUMS"}[bus]
    assert await victim.ends() == cause
    broken = fault is not Fault.ERROR
    assert await victim.read(f"{bus}_broken") == broken
    assert await victim.read(f"{bus}_silent") == (fault in (Fault.MUTE, Fault.DEAF))
    victim.memory.set(ram)
    for worker in bench.workers:
        await worker.write(stop=1)
        await worker.ends()
    await ClockCycles(dut.clk, 3 * TIMEOUT)  # where a count was wrong, only time tells
    assert await victim.read(f"{bus}_owes") == 0
    await victim.write(revive_buses=1)
    await ClockCycles(dut.clk, 10)
    assert await victim.read(f"{bus}_broken") == 0
    await bench.run(cut, epoch=77)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def records_that_are_none(dut):
    """The host reads which table is wrong, and nothing of that table is sent."""
    bench = await bring_up(dut)
    worker = bench.workers[0]
    cut = bench.cut(blocks=1)
    while not cut.shares[0, 0].sends:
        cut = bench.cut(blocks=1)
    setup = cut.worker(0, JOB, EPOCH).setup
    await worker.set_up()
    await worker.load(setup)
    *_, (program, records) = worker.layout.tables
    for name in ("list", "features", "sums", "copies", "required", "sources"):
        for wrong in (1, 256, 1 << 20, 1 << 63):
            record = bytearray(records)
            field = TurnRecord.as_shape()[name].offset // 8
            number = int.from_bytes(record[field : field + 8], "little") ^ wrong
            record[field : field + 8] = number.to_bytes(8, "little")
            await worker.memory.write_memory(program, bytes(record))
            await worker.start(setup, job=JOB, epoch=EPOCH)
            assert await worker.ends() == "PROGRAM"
    await worker.memory.write_memory(program, records)
    (place, sends), kind = worker.layout.tables[0], SendRecord.as_shape()["kind"].offset // 8
    size = SendRecord.as_shape().size // 8
    for record in range(len(sends) // size):
        at = place + size * record + kind
        await worker.memory.write_memory(at, bytes([random.choice([0, 6, 7, 255])]))
    await worker.start(setup, job=JOB, epoch=EPOCH)
    assert await worker.ends() == "LIST"
    assert all(octets[15] not in (4, 5) for _, _, octets in bench.wires[0].sent)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def any_packets_between(dut):
    """Packets that are malformed, foreign, of other jobs or senseless come while a job runs."""
    bench = await bring_up(dut, **BAD)
    cut = bench.waiting_cut(open_turns=2)
    await bench.launch(cut, ready=0)
    noise = cocotb.start_soon(make_noise(bench))
    for worker in bench.workers:
        while not counts_all_noise(await worker.counters()):
            await ClockCycles(dut.clk, 20)
    for worker in bench.workers:
        await worker.set_ready(cut.turns)
    await bench.finish(cut)
    noise.cancel()


def counts_all_noise(counts):
    """Return whether a worker has received packets that are malformed, foreign and senseless."""
    senseless = counts["taken_unwanted"] + counts["taken_closed"]
    return counts["taken_malformed"] and counts["taken_foreign"] and senseless


async def make_noise(bench):
    """Send all workers packets that the switch has not sent."""
    lanes = bench.lanes
    while True:
        for wire in bench.wires:
            kind = random.choice(list(Kind))
            own = {"bm": 1 << wire.port, "job": JOB, "epoch": EPOCH}
            own |= random.choice([{"job": JOB + 1}, {"bm": 0}, {"epoch": EPOCH + 1}, {}])
            frame = Frame(kind=kind, turn=random.choice([0, 1, 2, 1 << 31]), **own)
            if kind in (Kind.RESULT, Kind.RAW, Kind.FEATURE, Kind.PARTIAL):
                odd = random.choice([16, 64, 1 << 31])
                frame = replace(frame, payload=[0] * lanes, list=odd, source=max(odd, 64))
            if kind in (Kind.ADVANCE, Kind.ACK):
                frame = replace(frame, turn=1 << 20, seq=1 << 20)
            octets = to_octets(frame, lanes, Addresses(own_address(wire.port), SWITCH))
            if random.random() < 0.3:
                octets = octets[: random.randrange(1, len(octets))]
            if random.random() < 0.2:
                octets = random.randbytes(random.choice([1, 60, 64, 200]))
            wire.send(octets)
        await ClockCycles(bench.dut.clk, 20)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(open_turns=[1, 2])
async def turns_wait_for_their_features(dut, open_turns):
    """Nothing of a turn is sent before the host says that its features are there."""
    bench = await bring_up(dut)
    cut = bench.waiting_cut(open_turns=open_turns)
    await bench.launch(cut, ready=0)
    for ready in range(cut.turns + 1):
        for worker in bench.workers if ready else ():  # 0 is what the job was started with
            await worker.set_ready(ready)
        await ClockCycles(dut.clk, 2500)
        for wire in bench.wires:
            turns = [octets[24] for _, _, octets in wire.sent if octets[15] in (4, 5)]
            assert all(turn < ready for turn in turns)
        if ready == cut.turns - 1:
            await nothing_follows_the_last_turn(bench, cut)
    await bench.finish(cut)


async def nothing_follows_the_last_turn(bench, cut):
    """While it waits, a sum of the turn after it belongs to a turn that is closed."""
    frame = Frame(kind=Kind.RESULT, turn=cut.turns, job=JOB, epoch=EPOCH, payload=[0] * bench.lanes)
    before = [await worker.counters() for worker in bench.workers]
    for wire in bench.wires:
        frame = replace(frame, bm=1 << wire.port)
        wire.send(to_octets(frame, bench.lanes, Addresses(own_address(wire.port), SWITCH)))
    await ClockCycles(bench.dut.clk, 200)
    for worker, was in zip(bench.workers, before, strict=True):
        counts = await worker.counters()
        assert counts["taken_closed"] == was["taken_closed"] + 1
        assert counts["taken_unwanted"] == was["taken_unwanted"]
        assert counts["taken_unloaded"] == was["taken_unloaded"]
