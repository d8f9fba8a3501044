"""Tests a worker between registers, memories and network: faults, and how it recovers."""

import os
import pickle
import random

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiResp

from gen.base.emission.emit import module_name
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.engine.params import BURST_BEATS, PORT_BITS, EngineParams
from hdl.p4sgd.host.control import START_CYCLES, Cause
from hdl.p4sgd.host.registers import IDENTITY, worker_registers
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import Loss
from sim.golden.reduction.allreduce import Packet
from sim.harness import streams
from sim.harness.payloads import pack
from sim.harness.stimulus import clocks
from sim.harness.verilator import params_in_simulator, simulate
from sim.p4sgd.surroundings.worker_system import WorkerSystem, memory_count, memory_params
from sim.p4sgd.train import memory_arguments
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import MemorySettings
from sim.p4sgd.training_workload import TrainingWorkload
from sim.p4sgd.worker_driver import BusError, WorkerDriver, WorkerFailure
from sim.surroundings.axi_ram import RAM_ARRAY, Fault
from sim.workloads.layout import model_to_weights, weights_to_model
from tests.hdl.common.register_pace import registers_at_any_pace
from tests.hdl.p4sgd.bench import random_data
from tests.hdl.p4sgd.transport.bench import (
    LANES,
    FramePort,
    Network,
    Others,
    frame,
    settings,
)
from tests.long import short_and_long

TRAINING = "INGATHER_TEST_TRAINING"
BEAT_BYTES = PORT_BITS // 8
ENGINE = EngineParams(lanes=32, chunks=8, fifo_words=48)
SIZES = {
    "one die": WorkerParams(engines=2, engine=ENGINE, address_bits=36),
    "three dies": WorkerParams(engines=3, engine=ENGINE, slrs=3),
}


@pytest.mark.parametrize("size", short_and_long(SIZES, ["three dies"]))
def test_worker(size, tmp_path, rng):
    hardware = SIZES[size]
    data = random_data(rng, 75, 150 * hardware.engines, Loss.LOGISTIC)
    training = TrainingRun(data, hardware, TrainingWorkload(eta=1.0, bits=4, batch=16, epochs=2))
    # So many beats precede what is read that a run's first burst ends within its window.
    ahead = BURST_BEATS * int(rng.integers(256)) + int(rng.integers(8, BURST_BEATS))
    (tmp_path / "training.pickle").write_bytes(pickle.dumps((training, ahead)))
    memories = memory_arguments(training, tmp_path)
    for image in tmp_path.glob("memory_*.bin"):
        image.write_bytes(rng.bytes(BEAT_BYTES * ahead) + image.read_bytes())
    simulate(
        WorkerSystem(hardware),
        __name__,
        extra_sources=[RAM_ARRAY],
        hier_blocks=[module_name(Engine(hardware.engine))],
        plusargs=memories,
        env={TRAINING: str(tmp_path / "training.pickle")},
    )


MEMORIES = ["first words", "last words", "labels"]


def number_of(memory):
    """Return that of the port that it is behind."""
    labels = memory_count(hardware()) - 1
    return {"first words": 0, "last words": labels - 1, "labels": labels}[memory]


def hardware():
    return params_in_simulator(WorkerParams)


def planned():
    """Return the training, and each memory's beats before the first that is read."""
    with open(os.environ[TRAINING], "rb") as file:
        return pickle.load(file)


def first_beat():
    return planned()[1]


def legal_settings():
    """Return the registers for an epoch of the training."""
    training, ahead = planned()
    address = BEAT_BYTES * ahead
    return training.settings(epochs=1) | {"word_address_low": address, "label_address_low": address}


async def begin(dut, **memory):
    """Return a worker out of reset, set up for training and loaded with random weights."""
    training, _ = planned()
    settings = MemorySettings(**({"latency": 40} | memory))
    dut.memory.value = pack(memory_params(hardware()).settings, settings.fields)
    dut.fail_index.value = settings.fail_index
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 0
    dut.first_memory.value = 0
    await streams.start(dut)
    driver = WorkerDriver(dut, params_in_simulator())
    await driver.write(**legal_settings())
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    weights = rng.integers(-(1 << 24), 1 << 24, size=training.features)
    await driver.load(weights_to_model(weights, training.geometry, 0))
    return training, driver, weights


async def weights_of(training, driver):
    model = await driver.read_model(training.chunks)
    return model_to_weights([model], training.geometry, training.features)


async def train_once(training, driver, weights):
    """Check that a run from ``weights`` ends as the golden model does."""
    await driver.load(weights_to_model(weights, training.geometry, 0))
    await driver.write(clear_counters=1)
    await driver.run()
    assert await driver.read("done")
    golden, _ = training.golden(weights)
    assert (await weights_of(training, driver) == golden).all()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def hosts_transfers_wake_python_at_their_end(dut):
    _, driver, _ = await begin(dut)
    before, first = clocks.engine().wakes(), streams.cycle()
    await driver.counters()
    await driver.read_model(1)
    await driver.load(await driver.read_model(driver.params.engine.chunks))
    assert streams.cycle() - first > 100
    assert clocks.engine().wakes() - before <= 2 + 3 * driver.params.engines


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_keep_up(dut):
    dut.memory.value, dut.s_axis_tvalid.value, dut.m_axis_tready.value = 0, 0, 0
    await streams.start(dut)
    await registers_at_any_pace(dut, worker_registers(hardware()))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def tells_what_it_is(dut):
    _, driver, _ = await begin(dut)
    assert await driver.read("identity") == IDENTITY
    engine = hardware().engine
    for name, value in {
        "engines": hardware().engines,
        "banks": engine.banks,
        "lanes": engine.lanes,
        "max_bits": engine.max_bits,
        "fraction_bits": engine.fraction_bits,
        "l2_built": engine.l2,
        "max_chunks": engine.chunks,
        "address_bits": hardware().address_bits,
        "fifo_words": engine.fifo_words,
        "slots": hardware().slots,
    }.items():
        assert await driver.read(name) == value, name


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def settings_keep_what_is_written(dut):
    _, driver, _ = await begin(dut)
    fields = [f for one in driver.map.registers for f in one.fields if f.access == "rw"]
    assert len(fields) > 20
    for _ in range(4):
        written = {field.name: random.getrandbits(field.bits) for field in fields}
        await driver.write(**written)
        for name, value in written.items():
            assert await driver.read(name) == value, name


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def many_epochs_in_one_run(dut):
    training, driver, weights = await begin(dut, ar_stall=30, r_stall=30)
    await driver.write(epochs=3)
    await driver.run()
    for _ in range(3):
        weights, _ = training.golden(weights)
    assert (await weights_of(training, driver) == weights).all()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_cycle_of_the_forward_stages_has_a_cause(dut):
    training, driver, weights = await begin(dut, r_stall=60)
    await train_once(training, driver, weights)
    counters = await driver.counters()
    words = training.micro_batches * training.chunks * training.asked.bits
    assert counters["words"] == words * hardware().engines
    waits = sum(count for name, count in counters.items() if name.endswith("stalls"))
    busy = counters["words"] + waits
    assert counters["memory_stalls"] > 0
    assert counters["dependency_stalls"] > 0
    assert counters["allreduce_cycles"] == 0  # it is alone
    # What is left of a run is the way of the last micro-batch, after its last word.
    tail = hardware().engines * counters["cycles"] - busy
    assert 0 < tail < hardware().engines * (40 + 2 * training.chunks * training.asked.bits)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_saturates_takes_no_cycle(dut):
    """With weights at their limits, values differ, but cycles do not."""
    training, driver, weights = await begin(dut)
    limits = random.choices([(1 << 31) - 1, -(1 << 31)], k=training.features)
    counts = []
    for before in (weights, np.array(limits)):
        await train_once(training, driver, before)
        counts.append(await driver.counters())
    others = [name for name in counts[0] if not name.endswith("saturations")]
    assert [counts[0][name] for name in others] == [counts[1][name] for name in others]
    assert counts[0]["model_saturations"] == 0 < counts[1]["model_saturations"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_frame_says_what_is_set(dut):
    """Each bit of addresses, worker, job, its run and its slots has both values."""
    _, driver, _ = await begin(dut)
    port, slots = FramePort(dut), 6
    widths = {"address": 48, "switch_address": 48, "worker": 5, "job": 16, "epoch": 16}
    fields = {name: random.getrandbits(width) for name, width in widths.items()}
    base = random.randrange(slots, (1 << 16) - slots)
    dut.m_axis_tready.value = 1
    for flip in (0, -1):
        says = {name: (fields[name] ^ flip) % (1 << width) for name, width in widths.items()}
        place = {"workers": 1 << says["worker"], "slot_base": (base ^ flip) % (1 << 16)}
        await driver.start_job(**settings(slots, 1) | says | place)
        await driver.write(join=0, start=1)
        while (sent := port.taken()) is None:
            await RisingEdge(dut.clk)
        assert (sent["destination"], sent["source"]) == (says["switch_address"], says["address"])
        assert (sent["bm"], sent["seq"]) == (place["workers"], place["slot_base"])
        assert (sent["job"], sent["epoch"]) == (says["job"], says["epoch"])
        await driver.soft_reset()


async def join_network(dut, driver, training, *, slots=6, runs=2, **network):
    """Join a job of two, of whom the other adds nothing, mostly with more work than slots."""
    await driver.start_job(**settings(slots, 2, timeout=400, retries=20))
    await driver.write(join=0)
    nothing = [[0] * LANES] * (runs * training.micro_batches)
    return Others(dut, slots, 2, Network(**network), {0: nothing})


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(network=[{}, {"drop": 0.2, "duplicate": 0.2, "reorder": 0.2}])
async def activations_through_the_network(dut, network):
    """With ``join`` off, micro-batches go out and come back, in each of two runs."""
    training, driver, weights = await begin(dut)
    others = await join_network(dut, driver, training, **network)
    for _ in range(2):
        await train_once(training, driver, weights)
        counters = await driver.counters()
        assert counters["full_packets"] == counters["freed_packets"] == training.micro_batches
        again = counters["retransmissions"]
        assert counters["sent_packets"] - again == 2 * training.micro_batches
        assert (again > 0) == bool(network)
        assert counters["network_stalls"] > 50
    assert await driver.read("network_idle")
    others.task.cancel()


async def write_together(driver, *writes):
    """Write words back to back as fast as the bus takes them; the last one acts."""
    words = [word for fields in writes for word in driver.registers.writes(**fields)]
    data = [(address, word.to_bytes(4, "little")) for address, word in words]
    started = [cocotb.start_soon(driver.axil.write(*write)) for write in data]
    for write in started:
        await write
    await ClockCycles(driver.dut.clk, START_CYCLES)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_run_starts_when_its_job_opens(dut):
    """``start`` is written with ``start_job``, right after, and around the opening."""
    training, driver, _ = await begin(dut)
    await join_network(dut, driver, training)
    started = []

    async def check():
        await ClockCycles(dut.clk, 2 * hardware().slots)
        assert (await driver.read("cause"), await driver.read("failed")) == (0, 0), started
        assert await driver.read("words"), started
        await driver.soft_reset()
        await driver.write(clear_counters=1)

    await write_together(driver, {"start_job": 1, "start": 1})
    await check()
    await write_together(driver, {"start_job": 1}, {"start_job": 0, "start": 1})
    await check()
    for behind in [0, 1, 2, 5, *range(hardware().slots - 16, hardware().slots + 4)]:
        started = [behind]
        await driver.write(start_job=1)
        await ClockCycles(dut.clk, behind)
        await driver.write(start=1)
        await check()
    # A setting of a job is judged as well when it comes together with both.
    await write_together(driver, {"slot_count": 0}, {"start_job": 1, "start": 1})
    with pytest.raises(WorkerFailure) as failure:
        await driver.wait()
    assert failure.value.cause == Cause.CONFIGURATION


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_run_starts_with_the_settings_before_it(dut):
    """Each setting decides, however close before ``start`` it is written."""
    training, driver, weights = await begin(dut)
    legal = legal_settings()
    for setting in ({"bits": 9}, {"epochs": 0}, {"exponent": 0}, {"loss": 3}, {"join": 0}):
        await write_together(driver, setting, {"start": 1})
        with pytest.raises(WorkerFailure) as failure:
            await driver.wait()
        assert failure.value.cause == Cause.CONFIGURATION, setting
        await driver.soft_reset()
        (name,) = setting
        await write_together(driver, {name: legal.get(name, 1)}, {"start": 1})
        await driver.wait()
    await train_once(training, driver, weights)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def vanilla_order(dut):
    """Weights are the same, but no backward pass begins before its mini-batch is back."""
    training, driver, weights = await begin(dut)
    others = await join_network(dut, driver, training)
    await train_once(training, driver, weights)
    pipelined = await driver.read("cycles")
    await driver.write(vanilla=1)
    await train_once(training, driver, weights)
    assert await driver.read("cycles") > pipelined
    others.task.cancel()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_switch_that_is_gone_stops_it(dut):
    training, driver, weights = await begin(dut)
    others = await join_network(dut, driver, training)
    others.task.cancel()
    dut.m_axis_tready.value = 1
    with pytest.raises(WorkerFailure) as failure:
        await driver.run()
    assert failure.value.cause == Cause.NETWORK
    assert await driver.read("stuck_slot") == await driver.read("oldest_slot") == 0
    assert await driver.read("retransmissions") >= 20
    await driver.soft_reset()
    assert not await driver.read("job_open")
    with pytest.raises(WorkerFailure) as failure:  # no job is open
        await driver.run()
    assert failure.value.cause == Cause.CONFIGURATION
    await driver.soft_reset()
    others = await join_network(dut, driver, training)
    await train_once(training, driver, weights)
    others.task.cancel()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_switch_that_is_lost_on_the_way_stops_it(dut):
    """The host learns how far the job has come."""
    training, driver, _ = await begin(dut)
    epochs = 7
    others = await join_network(dut, driver, training, slots=100, runs=epochs, delay=2)
    await driver.write(epochs=epochs)
    await driver.run()
    done = epochs * training.micro_batches
    assert 64 < done < 100
    assert await driver.read("oldest_slot") == done
    others.task.cancel()
    await driver.write(epochs=1)
    dut.m_axis_tready.value = 1
    with pytest.raises(WorkerFailure, match=f"slot {done} got no answer"):
        await driver.run()
    assert await driver.read("stuck_slot") == await driver.read("oldest_slot") == done


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def all_weights_are_the_host_s(dut):
    """Those that the training does not use are, too."""
    _, driver, _ = await begin(dut)
    engine, rng = hardware().engine, np.random.default_rng(cocotb.RANDOM_SEED)
    shape = (hardware().engines, engine.chunks, engine.lanes)
    model = rng.integers(-(1 << 31), 1 << 31, size=shape).astype(np.int32)
    await driver.load(model)
    for e in range(hardware().engines):
        for chunk in range(engine.chunks):
            address = driver.model_address(e, chunk)
            read = await driver.model.read(address, model[e, chunk].nbytes)
            assert read.data == model[e, chunk].tobytes()


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(memory=MEMORIES, beat=[0, 3])
async def an_error_of_the_memory_stops_it(dut, memory, beat):
    labels, index = memory == "labels", number_of(memory)
    training, driver, weights = await begin(dut, fail_index=index, fail_beat=first_beat() + beat)
    with pytest.raises(WorkerFailure) as failure:
        await driver.run()
    assert failure.value.cause == (Cause.LABEL_READ if labels else Cause.WORD_READ)
    assert await driver.read("failed")
    assert not await driver.read("done")
    assert await driver.read("read_errors") == 1
    with pytest.raises(BusError, match="SLVERR"):
        await driver.read_model(1)
    await driver.write(start=1)  # ignored
    assert await driver.read("failed")

    dut.memory.value = pack(memory_params(hardware()).settings, MemorySettings().fields)
    await driver.soft_reset()
    assert await driver.read("cause") == Cause.NONE.value
    await train_once(training, driver, weights)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(
    (
        ("memory", "fault"),
        [
            ("first words", Fault.LAST),
            ("first words", Fault.MUTE),
            ("last words", Fault.EXTRA),
            ("last words", Fault.DEAF),
            ("labels", Fault.LAST),
            ("labels", Fault.MUTE),
        ],
    )
)
async def a_memory_that_answers_otherwise_stops_it(dut, memory, fault):
    """The cause is its own; a reset ends, and late answers belong to no later run."""
    index = number_of(memory)
    training, driver, weights = await begin(dut)
    await driver.write(memory_timeout=300, epochs=3)
    beat = first_beat() + 9
    wrong = MemorySettings(latency=40, fail_index=index, fail_beat=beat, fault=fault.value)
    silent = fault in (Fault.MUTE, Fault.DEAF)
    cause = Cause.MEMORY_SILENT if silent else Cause.MEMORY_BEATS
    dut.fail_index.value = index
    dut.memory.value = pack(memory_params(hardware()).settings, wrong.fields)
    begun = streams.cycle()
    for _ in range(2):
        with pytest.raises(WorkerFailure) as failure:
            await driver.run()
        assert failure.value.cause == cause
        assert f"ports: [{index}]" in str(failure.value)
        assert await driver.read("broken_ports") == 1 << index
        if not silent:
            break
        # The memory does not come to itself: the reset ends, and the next run fails at once.
        await driver.soft_reset()
        assert streams.cycle() - begun < 5000
        assert await driver.read("memory_owes")
        assert await driver.read("broken_ports") == 1 << index

    dut.memory.value = pack(memory_params(hardware()).settings, MemorySettings().fields)
    await driver.soft_reset()
    assert await driver.read("broken_ports") == 0
    assert not await driver.read("memory_owes")
    assert await driver.read("dropped_beats") > 0
    await driver.write(epochs=1)
    await train_once(training, driver, weights)
    assert await driver.read("dropped_beats") == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(memory=MEMORIES)
async def one_slow_memory_is_waited_for(dut, memory):
    """Whichever it is, a run goes on when it does, and a reset lasts until it has answered."""
    index = number_of(memory)
    training, driver, weights = await begin(dut)
    shape, settings = memory_params(hardware()).settings, MemorySettings(latency=40)
    beat = first_beat() + 9
    mute = MemorySettings(latency=40, fail_index=index, fail_beat=beat, fault=Fault.MUTE.value)
    dut.fail_index.value = index
    dut.memory.value = pack(shape, mute.fields)
    await driver.write(start=1)
    await ClockCycles(dut.clk, 800)
    assert await driver.read("busy")
    dut.memory.value = pack(shape, settings.fields)
    await driver.wait()
    assert await driver.read("done")
    assert (await weights_of(training, driver) == training.golden(weights)[0]).all()

    dut.memory.value = pack(shape, mute.fields)
    await driver.write(start=1)
    await ClockCycles(dut.clk, 300)
    await driver.write(soft_reset=1)
    await ClockCycles(dut.clk, 800)
    assert await driver.read("busy")
    dut.memory.value = pack(shape, settings.fields)
    while await driver.read("busy"):
        pass
    await train_once(training, driver, weights)


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(memory=["words", "labels"])
async def memory_above_4_gb_is_reached(dut, memory):
    """A beat there that answers an error is read where the plan says so, and only there."""
    labels, top = memory == "labels", 1 << hardware().address_bits - 1
    index = memory_count(hardware()) - 2 + labels
    training, driver, weights = await begin(dut, fail_index=index, fail_beat=top // 32 + 2)
    await train_once(training, driver, weights)
    await driver.write_wide(**{f"{memory[:-1]}_address": top})
    with pytest.raises(WorkerFailure) as failure:
        await driver.run()
    assert failure.value.cause == (Cause.LABEL_READ if labels else Cause.WORD_READ)
    await driver.soft_reset()
    await driver.write_wide(**{f"{memory[:-1]}_address": top + 32 * 3})
    await driver.run()  # behind it


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(taken=[0, 3])
async def a_soft_reset_leaves_the_frame_that_was_offered(dut, taken):
    """It waits for the MAC unchanged, whatever the host sets, and is the last one."""
    training, driver, weights = await begin(dut)
    others = await join_network(dut, driver, training)
    others.task.cancel()
    dut.m_axis_tready.value = 0
    await driver.write(start=1)
    await RisingEdge(dut.m_axis_tvalid)
    for _ in range(taken):
        dut.m_axis_tready.value = 1
        await RisingEdge(dut.clk)
        dut.m_axis_tready.value = 0
        await ClockCycles(dut.clk, 200)
    frame = dut.m_axis_tdata.value
    waits = cocotb.start_soon(stands_still(dut, frame))
    await driver.soft_reset()
    await driver.write(job=99, epoch=17, slot_base=5, address_low=123)
    await driver.write(start_job=1)
    await ClockCycles(dut.clk, 2 * hardware().slots)
    waits.cancel()
    dut.m_axis_tready.value = 1
    await ClockCycles(dut.clk, 2)
    for _ in range(20):
        await RisingEdge(dut.clk)
        assert not dut.m_axis_tvalid.value
    await driver.write(slot_base=1000)
    others = await join_network(dut, driver, training)
    await train_once(training, driver, weights)
    others.task.cancel()


async def stands_still(dut, frame):
    """Check an offer of a frame that is not taken."""
    while True:
        await RisingEdge(dut.clk)
        assert dut.m_axis_tvalid.value
        assert dut.m_axis_tdata.value == frame


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def half_a_packet_behind_a_soft_reset_is_no_frame(dut):
    """Its rest counts as malformed, though it looks like a frame of the new job."""
    training, driver, weights = await begin(dut)
    others = await join_network(dut, driver, training)
    others.task.cancel()
    dut.m_axis_tready.value = 1
    port = FramePort(dut)
    good = frame(Packet(True, 0b11, 0, payload=(0,) * LANES), 0)
    port.offer(good, last=0)
    await RisingEdge(dut.clk)
    port.offer(None)
    await driver.soft_reset()
    await driver.write(start_job=1, clear_counters=1)
    await ClockCycles(dut.clk, 2 * hardware().slots)
    port.offer(good)
    await RisingEdge(dut.clk)
    port.offer(None)
    await ClockCycles(dut.clk, 10)
    counters = await driver.counters()
    assert counters["malformed_packets"] == 1
    assert not any(counters[f"{name}_packets"] for name in ("full", "stale", "repeated"))
    others = await join_network(dut, driver, training)
    await train_once(training, driver, weights)
    others.task.cancel()


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(after=[0, 30, 77, 200, 500])
async def soft_reset_in_the_middle_of_a_run(dut, after):
    training, driver, weights = await begin(dut, latency=100, ar_stall=100, r_stall=100)
    await driver.write(start=1)
    await ClockCycles(dut.clk, after)
    await driver.soft_reset()
    assert not await driver.read("done")
    await train_once(training, driver, weights)


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(
    setting=[
        {"bits": 0},
        {"bits": 9},
        {"chunks": 0},
        {"chunks": 9},
        {"chunks": 8, "bits": 7},  # 56 words in a FIFO of 48
        {"chunks": 16 + 2},  # as large as 2 where its upper bits are cut off
        {"word_address_low": 16},  # half a beat
        {"label_address_high": 0x80},  # beyond memory
        {"batch_micro_batches": 0},
        {"epoch_micro_batches": 0},
        {"tail_samples": 0},
        {"tail_samples": 9},
        {"epochs": 0},
        {"exponent": 0},
        {"loss": 3},
        {"l2_shift": 5},  # not built
    ]
)
async def an_illegal_setting_is_refused(dut, setting):
    training, driver, weights = await begin(dut)
    legal = {name: legal_settings()[name] for name in setting}
    await driver.write(**setting)
    with pytest.raises(WorkerFailure) as failure:
        await driver.run()
    assert failure.value.cause == Cause.CONFIGURATION
    assert (await driver.counters())["words"] == 0
    await driver.soft_reset()
    assert (await weights_of(training, driver) == weights).all()
    await driver.write(**legal)
    await train_once(training, driver, weights)


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(
    (
        ("name", "change", "cause"),
        [
            ("word_beats", -1, Cause.SHORT_PLAN),
            ("word_beats", 1, Cause.LONG_PLAN),
            ("label_beats", -1, Cause.SHORT_PLAN),
            ("label_beats", 1, Cause.LONG_PLAN),
        ],
    )
)
async def a_plan_that_does_not_fit_is_told(dut, name, change, cause):
    training, driver, weights = await begin(dut)
    fits = legal_settings()[name]
    await driver.write(**{name: fits + change})
    with pytest.raises(WorkerFailure) as failure:
        await driver.run()
    assert failure.value.cause == cause
    await driver.soft_reset()
    await driver.write(**{name: fits})
    await train_once(training, driver, weights)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_model_is_closed_while_it_runs(dut):
    training, driver, weights = await begin(dut, latency=200)
    await driver.write(start=1)
    with pytest.raises(BusError, match="SLVERR"):
        await driver.load(weights_to_model(weights, training.geometry, 0))
    await driver.wait()
    golden, _ = training.golden(weights)
    assert (await weights_of(training, driver) == golden).all()


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(command=["start", "soft_reset"], wait=range(0, 40, 3))
async def an_access_to_the_model_that_has_begun_is_finished(dut, command, wait):
    """Reads and writes that a run or reset overtakes are answered, and do no harm."""
    training, driver, weights = await begin(dut)
    model = weights_to_model(weights, training.geometry, 0)
    address = driver.model_address(1)
    writing = cocotb.start_soon(driver.model.write(address, model[1].astype("<i4").tobytes()))
    reading = cocotb.start_soon(driver.model.read(driver.model_address(0), model[0].nbytes))
    await ClockCycles(dut.clk, wait)
    await driver.write(**{command: 1})
    read = await reading
    assert (await writing).resp in (AxiResp.OKAY, AxiResp.SLVERR)
    if read.resp == AxiResp.OKAY:
        assert read.data == model[0].astype("<i4").tobytes()
    await driver.wait()
    expected = training.golden(weights)[0] if command == "start" else weights
    assert (await weights_of(training, driver) == expected).all()
    await train_once(training, driver, weights)
