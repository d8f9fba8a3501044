"""Tests a worker between registers, memories and network: what it computes, and its registers."""

import random

import cocotb
import numpy as np
import pytest
from cocotbext.axi import AxiResp

from hdl.p4sgd.host.control import Cause
from hdl.p4sgd.host.registers import IDENTITY, worker_registers
from sim.harness import streams
from sim.harness.register_driver import BusError
from sim.harness.stimulus import clocks
from sim.workloads.layout import model_images
from tests.hdl.common.register_pace import registers_at_any_pace
from tests.hdl.p4sgd.transport.bench import FramePort, settings
from tests.hdl.p4sgd.worker_bench import WorkerBench, workers

test_worker = workers(__name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def hosts_transfers_wake_python_at_their_end(dut):
    bench = await WorkerBench(dut).begin()
    await bench.driver.check()  # the first call compares the design with what the software is for
    before, first = clocks.engine().wakes(), streams.cycle()
    await bench.driver.counters()
    await bench.driver.model(1)
    await bench.driver.load(await bench.driver.model(bench.params.engine.chunks))
    assert streams.cycle() - first > 100
    assert clocks.engine().wakes() - before <= 2 + 3 * bench.params.engines


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_keep_up(dut):
    params = WorkerBench(dut).params
    await streams.start(dut)
    await registers_at_any_pace(dut, worker_registers(params))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reports_what_it_is(dut):
    bench = await WorkerBench(dut).begin()
    assert await bench.read("identity") == IDENTITY
    engine = bench.params.engine
    for name, value in {
        "engines": bench.params.engines,
        "banks": engine.banks,
        "lanes": engine.lanes,
        "min_bits": engine.min_bits,
        "max_bits": engine.max_bits,
        "fraction_bits": engine.fraction_bits,
        "l2_built": engine.l2,
        "max_chunks": engine.chunks,
        "address_bits": bench.params.address_bits,
        "classes": bench.params.classes,
        "fifo_words": engine.fifo_words,
        "slots": bench.params.slots,
    }.items():
        assert await bench.read(name) == value, name


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def settings_keep_what_is_written(dut):
    bench = await WorkerBench(dut).begin()
    fields = [f for item in bench.driver.map.registers for f in item.fields if f.access == "rw"]
    assert len(fields) > 20
    for _ in range(4):
        written = {field.name: random.getrandbits(field.bits) for field in fields}
        await bench.write(**written)
        for name, value in written.items():
            assert await bench.read(name) == value, name


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def many_epochs_in_one_run(dut):
    bench = await WorkerBench(dut).begin(ar_stall=30, r_stall=30)
    await bench.write(epochs=3)
    await bench.driver.train()
    weights = bench.weights
    for _ in range(3):
        weights = bench.trained(weights)
    assert await bench.has(weights)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_cycle_of_the_forward_stages_has_a_cause(dut):
    bench = await WorkerBench(dut).begin(r_stall=60)
    await bench.train_once()
    counters = await bench.driver.counters()
    training, engines = bench.training, bench.params.engines
    each = training.chunks * training.requested.bits  # words of a micro-batch
    assert counters["words"] == training.micro_batches * each * engines
    waits = sum(count for name, count in counters.items() if name.endswith("stalls"))
    busy = counters["words"] + waits
    tile = (
        bench.params.engine.max_tile
    )  # words are read ahead while weights of a first tile are due
    assert (counters["memory_stalls"] > 0) != bool(tile)
    assert counters["dependency_stalls"] > 0
    assert counters["allreduce_cycles"] == 0  # it is alone
    # What is left of a run is the way of the last micro-batch, or tile, after its last word.
    last = max(1, tile) * each + 8 * tile
    assert 0 < engines * counters["cycles"] - busy < engines * (40 + each + last)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_saturates_takes_no_cycle(dut):
    """With weights at their limits, values differ, but cycles do not."""
    bench = await WorkerBench(dut).begin()
    limits = np.random.default_rng(cocotb.RANDOM_SEED).choice(
        [(1 << 31) - 1, -(1 << 31)], bench.training.shape
    )
    counts = []
    for before in (bench.weights, limits):
        await bench.train_once(before)
        counts.append(await bench.driver.counters())
    others = [name for name in counts[0] if not name.endswith("saturations")]
    assert [counts[0][name] for name in others] == [counts[1][name] for name in others]
    assert counts[0]["model_saturations"] == 0 < counts[1]["model_saturations"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_frame_says_what_is_set(dut):
    """Each bit of addresses, worker, job, its run and its slots has both values."""
    bench = await WorkerBench(dut).begin()
    port, slots = FramePort(dut), 6
    widths = {"address": 48, "switch_address": 48, "worker": 5, "job": 16, "epoch": 16}
    fields = {name: random.getrandbits(width) for name, width in widths.items()}
    base = random.randrange(slots, (1 << 16) - slots)
    dut.m_axis_tready.value = 1
    for flip in (0, -1):
        says = {name: (fields[name] ^ flip) % (1 << width) for name, width in widths.items()}
        place = {"workers": 1 << says["worker"], "slot_base": (base ^ flip) % (1 << 16)}
        await bench.driver.open_job(**settings(slots, 1) | says | place)
        await bench.write(join=0, start=1)
        while (sent := port.taken()) is None:
            await bench.wait()
        assert (sent["destination"], sent["source"]) == (says["switch_address"], says["address"])
        assert (sent["bm"], sent["seq"]) == (place["workers"], place["slot_base"])
        assert (sent["job"], sent["epoch"]) == (says["job"], says["epoch"])
        await bench.driver.reset()


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(network=[{}, {"drop": 0.2, "duplicate": 0.2, "reorder": 0.2}])
async def activations_through_the_network(dut, network):
    """With ``join`` off, micro-batches go out and come back, in each of two runs."""
    bench = await WorkerBench(dut).begin()
    await bench.join_network(**network)
    packets = bench.params.packets * bench.training.micro_batches
    for _ in range(2):
        await bench.train_once()
        counters = await bench.driver.counters()
        assert counters["full_packets"] == counters["freed_packets"] == packets
        again = counters["retransmissions"]
        assert counters["sent_packets"] - again == 2 * packets
        assert (again > 0) == bool(network)
        assert counters["network_stalls"] > 50
    assert await bench.read("network_idle")


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_run_starts_when_its_job_opens(dut):
    """``start`` is written with ``start_job``, right after, and around the opening."""
    bench = await WorkerBench(dut).begin()
    await bench.join_network()
    started = []

    async def check():
        await bench.settle_job()
        assert (await bench.read("cause"), await bench.read("failed")) == (0, 0), started
        assert await bench.read("words"), started
        await bench.driver.reset()
        await bench.write(clear_counters=1)

    await bench.write_together({"start_job": 1, "start": 1})
    await check()
    await bench.write_together({"start_job": 1}, {"start_job": 0, "start": 1})
    await check()
    for behind in [0, 1, 2, 5, *range(bench.params.slots - 16, bench.params.slots + 4)]:
        started = [behind]
        await bench.write(start_job=1)
        await bench.wait(behind)
        await bench.write(start=1)
        await check()
    # A setting of a job is judged as well when it comes together with both.
    await bench.write_together({"slot_count": 0}, {"start_job": 1, "start": 1})
    await bench.fails(Cause.CONFIGURATION, starts=False)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_run_starts_with_the_settings_before_it(dut):
    """Each setting decides, however close before ``start`` it is written."""
    bench = await WorkerBench(dut).begin()
    too_many = {"bits": bench.params.engine.max_bits + 1}
    too_far = [{name: (1 << 29) - 1} for name in ("word_beats", "word_runs", "label_beats")]
    for setting in (too_many, *too_far, {"epochs": 0}, {"exponent": 0}, {"loss": 3}, {"join": 0}):
        await bench.write_together(setting, {"start": 1})
        await bench.fails(Cause.CONFIGURATION, starts=False)
        await bench.driver.reset()
        (name,) = setting
        await bench.write_together({name: bench.legal.get(name, 1)}, {"start": 1})
        await bench.driver.wait()
    await bench.train_once()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def vanilla_order(dut):
    """Weights are the same, but no backward pass begins before its mini-batch is back."""
    bench = await WorkerBench(dut).begin()
    batch = bench.training.settings(1)["batch_micro_batches"] * bench.params.packets
    await bench.join_network(slots=max(6, batch))
    await bench.train_once()
    pipelined = await bench.read("cycles")
    await bench.write(vanilla=1)
    if bench.params.engine.max_tile:
        await bench.fails(Cause.CONFIGURATION)
        return
    await bench.train_once()
    assert await bench.read("cycles") > pipelined


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def all_weights_are_the_host_s(dut):
    """Those that the training does not use are, too."""
    bench = await WorkerBench(dut).begin()
    engine, rng = bench.params.engine, np.random.default_rng(cocotb.RANDOM_SEED)
    shape = (bench.params.engines, engine.chunks, engine.lanes)
    model = rng.integers(-(1 << 31), 1 << 31, size=shape).astype(np.int32)
    await bench.driver.load(model)
    for e in range(bench.params.engines):
        for chunk in range(engine.chunks):
            address = bench.driver.model_address(e, chunk)
            read = await bench.driver.memory.bus.read(address, bench.driver.model_address(0, 1))
            assert read.data[: model[e, chunk].nbytes] == model[e, chunk].tobytes()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_model_is_closed_while_it_runs(dut):
    bench = await WorkerBench(dut).begin(latency=200)
    await bench.write(start=1)
    with pytest.raises(BusError, match="SLVERR"):
        await bench.load()
    await bench.driver.wait()
    assert await bench.has(bench.trained())


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(command=["start", "soft_reset"], wait=range(0, 40, 3))
async def an_access_to_the_model_that_has_begun_is_finished(dut, command, wait):
    """Reads and writes that a run or reset overtakes are answered, and do no harm."""
    bench = await WorkerBench(dut).begin()
    at, port = bench.driver.model_address, bench.driver.memory.bus
    stride = at(0, 1)
    first, second = model_images(bench.model()[:2], stride)
    writing = cocotb.start_soon(port.write(at(1), second))
    reading = cocotb.start_soon(port.read(at(0), len(first)))
    await bench.wait(wait)
    await bench.write(**{command: 1})
    read = await reading
    assert (await writing).resp in (AxiResp.OKAY, AxiResp.SLVERR)
    if read.resp == AxiResp.OKAY:
        assert read.data == first
    await bench.driver.wait()
    assert await bench.has(bench.trained() if command == "start" else bench.weights)
    await bench.train_once()
