"""Tests a worker between registers, memories and network: faults, and how it recovers."""

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.p4sgd.host.control import Cause
from sim.golden.reduction.allreduce import Packet
from sim.harness import streams
from sim.harness.register_driver import BusError
from sim.harness.streams import crossed
from sim.surroundings.axi_ram import Fault
from tests.hdl.p4sgd.transport.bench import LANES, FramePort, frame
from tests.hdl.p4sgd.worker_bench import WorkerBench, workers

test_worker_faults = workers(__name__)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_switch_that_is_gone_stops_it(dut):
    bench = await WorkerBench(dut).begin()
    others = await bench.join_network()
    others.task.cancel()
    dut.m_axis_tready.value = 1
    await bench.fails(Cause.NETWORK)
    assert await bench.read("stuck_slot") == await bench.read("oldest_slot") == 0
    assert await bench.read("retransmissions") >= 20
    await bench.driver.reset()
    assert not await bench.read("job_open")
    await bench.fails(Cause.CONFIGURATION)
    await bench.driver.reset()
    await bench.join_network()
    await bench.train_once()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_switch_that_is_lost_on_the_path_stops_it(dut):
    """The host learns how far the job has come."""
    bench = await WorkerBench(dut).begin()
    each, slots = bench.training.micro_batches * bench.params.packets, 120
    epochs = (slots - 1) // each
    others = await bench.join_network(slots=slots, runs=epochs, delay=2)
    await bench.write(epochs=epochs)
    await bench.driver.train()
    done = epochs * each
    assert 64 < done < slots
    assert await bench.read("oldest_slot") == done
    others.task.cancel()
    await bench.write(epochs=1)
    dut.m_axis_tready.value = 1
    assert (await bench.fails(Cause.NETWORK)).endswith(f": slot {done}")
    assert await bench.read("stuck_slot") == await bench.read("oldest_slot") == done


@crossed(memory=["first words", "last words", "labels"], beat=[0, 3], ms=2)
async def an_error_of_the_memory_stops_it(dut, memory, beat):
    bench = WorkerBench(dut)
    index = bench.memories[memory]
    await bench.begin(fail_index=index, fail_beat=bench.first_beat + beat)
    await bench.fails(Cause.LABEL_READ if memory == "labels" else Cause.WORD_READ)
    assert await bench.read("failed")
    assert not await bench.read("done")
    assert await bench.read("read_errors") == len(bench.ports_of(memory))
    with pytest.raises(BusError, match="SLVERR"):
        await bench.driver.model(1)
    await bench.write(start=1)  # ignored
    assert await bench.read("failed")

    bench.set_memory()
    await bench.driver.reset()
    assert await bench.read("cause") == Cause.NONE.value
    await bench.train_once()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def an_error_of_the_weights_memory_stops_it(dut):
    bench = await WorkerBench(dut).begin()
    if not bench.params.movers:
        return
    bench.set_memory(fail_index=bench.memories["weights"], fail_beat=9)
    await bench.fails(Cause.WEIGHTS)
    assert await bench.read("read_errors") > 0
    bench.set_memory()
    await bench.driver.reset()
    await bench.train_once()


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
            ("weights", Fault.EXTRA),
            ("weights", Fault.MUTE),
        ],
    )
)
async def a_memory_that_answers_otherwise_stops_it(dut, memory, fault):
    """The cause is its own; a reset ends, and late answers belong to no later run."""
    bench = await WorkerBench(dut).begin()
    index, ports = bench.memories[memory], bench.ports_of(memory)
    broken = sum(1 << port for port in ports)
    await bench.write(memory_timeout=300, epochs=3)
    silent = fault in (Fault.MUTE, Fault.DEAF)
    cause = Cause.MEMORY_SILENT if silent else Cause.MEMORY_BEATS
    first = 0 if index == bench.memories["weights"] and bench.params.movers else bench.first_beat
    bench.set_memory(fail_index=index, fail_beat=first + 9, fault=fault.value)
    begun = streams.cycle()
    for _ in range(2):
        assert f": ports {ports}" in await bench.fails(cause)
        assert await bench.read("broken_ports") == broken
        if not silent:
            break
        # The memory does not come to itself: the reset ends, and the next run fails at once.
        await bench.driver.reset()
        assert streams.cycle() - begun < 5000
        assert await bench.read("memory_owes")
        assert await bench.read("broken_ports") == broken

    bench.set_memory()
    await bench.driver.reset()
    assert await bench.read("broken_ports") == 0
    assert not await bench.read("memory_owes")
    assert await bench.read("dropped_beats") > 0
    await bench.write(epochs=1)
    await bench.train_once()
    assert await bench.read("dropped_beats") == 0


@crossed(memory=["first words", "last words", "labels"], ms=2)
async def one_slow_memory_is_waited_for(dut, memory):
    """Whichever it is, a run goes on when it does, and a reset lasts until it has answered."""
    bench = await WorkerBench(dut).begin()
    mute = {"fail_index": bench.memories[memory], "fail_beat": bench.first_beat + 9}
    mute["fault"] = Fault.MUTE.value
    bench.set_memory(**mute)
    await bench.write(start=1)
    await bench.wait(800)
    assert await bench.read("busy")
    bench.set_memory()
    await bench.driver.wait()
    assert await bench.read("done")
    assert await bench.has(bench.trained())

    bench.set_memory(**mute)
    await bench.write(start=1)
    await bench.wait(300)
    await bench.write(soft_reset=1)
    await bench.wait(800)
    assert await bench.read("busy")
    bench.set_memory()
    while await bench.read("busy"):
        pass
    await bench.train_once()


@crossed(memory=["words", "labels"], ms=3)
async def memory_above_4_gb_is_reached(dut, memory):
    """A beat there that answers an error is read where the plan says so, and only there."""
    bench = WorkerBench(dut)
    top = 1 << bench.params.address_bits - 1
    index = bench.memories["labels" if memory == "labels" else "last words"]
    await bench.begin(fail_index=index, fail_beat=top // 32 + 2)
    await bench.train_once()
    await bench.driver.write_wide(**{f"{memory[:-1]}_address": top})
    await bench.fails(Cause.LABEL_READ if memory == "labels" else Cause.WORD_READ)
    await bench.driver.reset()
    await bench.driver.write_wide(**{f"{memory[:-1]}_address": top + 32 * 3})
    await bench.driver.train()  # behind it


@crossed(taken=[0, 3], ms=3)
async def a_soft_reset_leaves_the_frame_that_was_offered(dut, taken):
    """It waits for the MAC unchanged, whatever the host sets, and is the last one."""
    bench = await WorkerBench(dut).begin()
    others = await bench.join_network()
    others.task.cancel()
    dut.m_axis_tready.value = 0
    await bench.write(start=1)
    await RisingEdge(dut.m_axis_tvalid)
    for _ in range(taken):
        dut.m_axis_tready.value = 1
        await bench.wait()
        dut.m_axis_tready.value = 0
        await bench.wait(200)
    offered = int(dut.m_axis_tdata.value)
    shown = bench.record("", "m_axis_tvalid", "m_axis_tdata")
    await bench.driver.reset()
    await bench.write(job=99, epoch=17, slot_base=5, address_low=123)
    await bench.write(start_job=1)
    await bench.settle_job()
    shown.stop()
    assert all(item == {"m_axis_tvalid": 1, "m_axis_tdata": offered} for item in shown.beats)
    dut.m_axis_tready.value = 1
    await bench.wait(2)
    for _ in range(20):
        await bench.wait()
        assert not dut.m_axis_tvalid.value
    await bench.write(slot_base=1000)
    await bench.join_network()
    await bench.train_once()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def half_a_packet_behind_a_soft_reset_is_no_frame(dut):
    """Its rest counts as malformed, though it looks like a frame of the new job."""
    bench = await WorkerBench(dut).begin()
    others = await bench.join_network()
    others.task.cancel()
    dut.m_axis_tready.value = 1
    port = FramePort(dut)
    good = frame(Packet(True, 0b11, 0, payload=(0,) * LANES), 0)
    port.offer(good, last=0)
    await bench.wait()
    port.offer(None)
    await bench.driver.reset()
    await bench.write(start_job=1, clear_counters=1)
    await bench.settle_job()
    port.offer(good)
    await bench.wait()
    port.offer(None)
    await bench.wait(10)
    counters = await bench.driver.counters()
    assert counters["malformed_packets"] == 1
    assert not any(counters[f"{name}_packets"] for name in ("full", "stale", "repeated"))
    await bench.join_network()
    await bench.train_once()


@crossed(after=[0, 30, 77, 200, 500], ms=3)
async def soft_reset_in_the_middle_of_a_run(dut, after):
    bench = await WorkerBench(dut).begin(latency=100, ar_stall=100, r_stall=100)
    await bench.write(start=1)
    await bench.wait(after)
    await bench.driver.reset()
    assert not await bench.read("done")
    await bench.train_once()


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(
    setting=[
        {"bits": 0},
        {"bits": 17},
        {"chunks": 0},
        {"chunks": 9},
        {"chunks": 8, "bits": 7},  # 56 words in a FIFO of 48
        {"chunks": 16 + 2},  # as large as 2 where its upper bits are cut off
        {"word_address_low": 16},  # half a beat
        {"label_address_high": 0x80},  # beyond memory
        {"batch_micro_batches": 0},
        {"epoch_micro_batches": 0},
        {"tail_samples": 0},
        {"tail_samples": 17},
        {"epochs": 0},
        {"exponent": 0},
        {"loss": 3},
        {"l2_shift": 5},  # not built
        {"tile": 2},  # four micro-batches, which is not built
    ]
)
async def an_illegal_setting_is_refused(dut, setting):
    bench = await WorkerBench(dut).begin()
    if bench.params.movers and setting.keys() == {"chunks", "bits"}:
        return  # there is no FIFO
    await bench.write(**setting)
    await bench.fails(Cause.CONFIGURATION)
    assert (await bench.driver.counters())["words"] == 0
    await bench.driver.reset()
    assert await bench.has(bench.weights)
    await bench.write(**{name: bench.legal[name] for name in setting})
    await bench.train_once()


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
async def a_plan_that_does_not_fit_is_reported(dut, name, change, cause):
    bench = await WorkerBench(dut).begin()
    fits = bench.legal[name]
    await bench.write(**{name: fits + change})
    await bench.fails(cause)
    await bench.driver.reset()
    await bench.write(**{name: fits})
    await bench.train_once()
