import random
from itertools import product

import cocotb
import pytest
from amaranth.hdl import Shape

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.host.control import RESET_CYCLES, Cause, Control
from hdl.p4sgd.transport.params import NETWORK_SETTINGS
from hdl.p4sgd.worker_params import Loss, WorkerParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import clock, play, port_shapes, pulse, put

SIZES = [
    EngineParams(chunks=100, fifo_words=300),
    EngineParams(banks=4, max_bits=3, chunks=64, fifo_words=100, l2=True),
    EngineParams(banks=2, lanes=128, chunks=50, fifo_words=100, data_parallel=True),
]
LEGAL = {
    "bits": 1,
    "chunks": 1,
    "batch_micro_batches": 1,
    "epoch_micro_batches": 1,
    "tail_samples": 1,
    "epochs": 1,
}
LOSS = {"loss": Loss.LINEAR, "mantissa": 1, "exponent": 1}
NETWORK = {"worker": 2, "workers": 0b101, "slot_count": 8, "timeout": 1}
INPUTS = (
    "start",
    "soft_reset",
    "memory_broken",
    "memory_silent",
    "memory_owes",
    "tick",
    "words_failed",
    "labels_failed",
    "readers_busy",
    "starved",
    "network_open",
    "network_busy",
    "gave_up",
    "peers_missing",
)
WIDE = ("batch_micro_batches", "epoch_micro_batches", "epochs")  #: any number but zero
OUTPUTS = ("begin", "idle", "busy", "running", "halt", "core_reset", "done", "failed")
LATENCY = Control.check_latency
IDLE, FAILED = {"idle"}, {"failed", "halt"}
RUNNING, RESET = {"busy", "running"}, {"busy", "core_reset"}


@pytest.mark.parametrize("engine", SIZES, ids=lambda params: params.suffix)
def test_control(engine):
    simulate(Control(WorkerParams(engines=1, engine=engine)), __name__)


def shown(dut):
    """Return the outputs that are high."""
    return {name for name in OUTPUTS if getattr(dut, name).value}


def bits_of(name):
    """Return the bits of a field of the settings."""
    return port_shapes()["settings"][name].width


def powers_below(*ends):
    """Return powers of two that are at most each of ``ends``, in all combinations."""
    return product(*([1 << bit for bit in range(end.bit_length())] for end in ends))


def cause(dut):
    return Cause(int(dut.cause.value))


async def begin(dut, settings=None, loss=None, before=None):
    """Set legal settings except for those given, as late as can be; trace from ``start`` on.

    ``before`` stands until the cycle in which ``start`` and the settings come together.
    """
    put(dut, settings=LEGAL | (before or {}), loss=LOSS)
    await clock(dut, 5)
    put(dut, settings=LEGAL | (settings or {}), loss=LOSS | (loss or {}))
    return await play(dut, [{"start": 1}, *[{"start": 0}] * 9], *OUTPUTS)


def begins(trace):
    """Return whether the run begins, and check that it does so when it should."""
    assert sum(trace["begin"]) == trace["begin"][LATENCY]
    assert trace["failed"] == [0] * (LATENCY + 1) + [not trace["begin"][LATENCY]] * (9 - LATENCY)
    return bool(trace["begin"][LATENCY])


async def reset(dut):
    """Reset, so that nothing of the test before is left."""
    zero = dict.fromkeys(INPUTS, 0)
    put(dut, finished=0, join=1, vanilla=0, network_idle=0, model_busy=0, **zero)
    put(dut, word_address=0, label_address=0)
    await streams.start(dut)
    await clock(dut)
    assert shown(dut) == IDLE


async def recover(dut):
    """Do a soft reset with idle readers."""
    await pulse(dut, "soft_reset")
    await clock(dut, RESET_CYCLES + 1)
    assert shown(dut) == IDLE
    assert cause(dut) is Cause.NONE


@cocotb.test(timeout_time=10, timeout_unit="us")
async def runs_to_the_end(dut):
    await reset(dut)
    for _ in range(3):
        trace = await begin(dut)
        assert begins(trace)
        assert trace["busy"] == [0] + [1] * 9
        assert trace["running"] == [0] * (LATENCY + 1) + [1] * (9 - LATENCY)
        assert not any(trace["failed"] + trace["halt"] + trace["core_reset"])
        assert trace["done"][1:] == [0] * 9
        await pulse(dut, "finished")
        await clock(dut)
        assert shown(dut) == IDLE | {"done"}
        assert cause(dut) is Cause.NONE


@cocotb.test(timeout_time=40, timeout_unit="us")
async def accepts_every_legal_setting(dut):
    """Settings are at the edges of what is legal."""
    engine = params_in_simulator(WorkerParams).engine
    legal = [
        {"bits": engine.max_bits},
        *({"bits": 1 << bit} for bit in range(engine.max_bits.bit_length())),
        {"chunks": engine.chunks},
        *({"chunks": 1 << bit} for bit in range(engine.chunks.bit_length())),
        *({"tail_samples": 1 << bit} for bit in range(engine.banks.bit_length())),
        {"bits": 2, "chunks": min(engine.chunks, engine.fifo_words // 2)},
        {"bits": 3, "chunks": engine.fifo_words // 3},
        {"batch_micro_batches": 0xFFFF, "epoch_micro_batches": 0xFFFF_FFFF, "epochs": 0xFFFF_FFFF},
        {"tail_samples": engine.banks},
        {"signed_features": 1},
        *({name: 1 << bit} for name in WIDE for bit in range(bits_of(name))),
        *({"l2_shift": shift * engine.l2} for shift in range(4, 24)),
    ]
    await reset(dut)
    for settings in legal:
        assert begins(await begin(dut, settings, before={"chunks": 0})), settings
        await pulse(dut, "finished")
    exponents = [{"exponent": exponent} for exponent in (63, *(1 << bit for bit in range(6)))]
    for loss in [*({"loss": loss} for loss in Loss), {"mantissa": -1}, *exponents]:
        assert begins(await begin(dut, loss=loss)), loss
        await pulse(dut, "finished")


@cocotb.test(timeout_time=40, timeout_unit="us")
async def refuses_every_illegal_setting(dut):
    engine = params_in_simulator(WorkerParams).engine
    l2 = [1, 2, 3, 24, 31] if engine.l2 else range(1, 32)
    illegal = [
        *({name: 0} for name in LEGAL),
        *({"bits": bits} for bits in range(engine.max_bits + 1, 1 << bits_of("bits"))),
        {"chunks": engine.chunks + 1},
        # Such as are legal where the registers' upper bits are cut off.
        *({"chunks": 1 | 1 << bit} for bit in range(engine.chunks.bit_length(), bits_of("chunks"))),
        {"bits": 3, "chunks": engine.fifo_words // 3 + 1},
        *(
            {"bits": bits, "chunks": chunks}
            for bits, chunks in powers_below(engine.max_bits, engine.chunks)
            if bits * chunks > engine.fifo_words
        ),
        *({"tail_samples": tail} for tail in range(engine.banks + 1, 16)),
        *({"l2_shift": shift} for shift in l2),
        {"data_parallel": 1},  # without a network
    ]
    await reset(dut)
    for settings, loss in [*((s, {}) for s in illegal), ({}, {"exponent": 0}), ({}, {"loss": 3})]:
        trace = await begin(dut, settings, loss)
        assert not begins(trace), settings
        assert not any(trace["running"])
        assert shown(dut) == FAILED, settings
        assert cause(dut) is Cause.CONFIGURATION
        await recover(dut)


@cocotb.test(timeout_time=40, timeout_unit="us")
@cocotb.parametrize(name=["word_address", "label_address"])
async def refuses_what_is_no_address_of_a_beat(dut, name):
    """It does whichever bit it is that memory, or a beat, has not."""
    legal = range(5, params_in_simulator(WorkerParams).address_bits)
    await reset(dut)
    for bit in range(Shape.cast(port_shapes()[name]).width):
        put(dut, **{name: 1 << bit})
        assert begins(await begin(dut)) == (bit in legal), bit
        await recover(dut)


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(
    fault=[
        ("memory_broken", Cause.MEMORY_BEATS),
        ("words_failed", Cause.WORD_READ),
        ("labels_failed", Cause.LABEL_READ),
        ("starved", Cause.SHORT_PLAN),
    ],
    finished=[0, 1],
)
async def fails_with_its_cause(dut, fault, finished):
    """It does in the cycle in which the run ends, too, but then nobody can be starved."""
    name, expected = fault
    await reset(dut)
    await begin(dut)
    put(dut, finished=finished)
    await pulse(dut, name)
    put(dut, finished=0)
    await clock(dut)
    if name == "starved" and finished:
        assert shown(dut) == IDLE | {"done"}
        return
    for _ in range(5):
        assert shown(dut) == FAILED
        assert cause(dut) is expected
        put(dut, words_failed=1, labels_failed=1, starved=1, finished=1)  # nothing more to say
        await clock(dut)
    put(dut, words_failed=0, labels_failed=0, starved=0, finished=0)
    await recover(dut)
    assert begins(await begin(dut))


@cocotb.test(timeout_time=20, timeout_unit="us")
async def names_one_cause_of_several(dut):
    await reset(dut)
    await begin(dut)
    put(dut, words_failed=1, labels_failed=1, starved=1)
    await clock(dut, 2)
    assert cause(dut) is Cause.WORD_READ
    put(dut, words_failed=0, labels_failed=0, starved=0)
    await recover(dut)
    await begin(dut)
    put(dut, memory_broken=1, memory_silent=1, words_failed=1, starved=1)
    await clock(dut, 2)
    assert cause(dut) is Cause.MEMORY_SILENT
    await recover(dut)
    put(dut, memory_broken=0, memory_silent=0, words_failed=0, starved=0)
    await open_job(dut)
    await begin(dut)
    put(dut, words_failed=1, gave_up=1)
    await clock(dut, 2)
    assert cause(dut) is Cause.WORD_READ


@cocotb.test(timeout_time=20, timeout_unit="us")
async def finds_what_is_left_over(dut):
    await reset(dut)
    await begin(dut)
    put(dut, readers_busy=1)
    await pulse(dut, "finished")
    await clock(dut, 2)
    assert shown(dut) == FAILED
    assert cause(dut) is Cause.LONG_PLAN


@cocotb.test(timeout_time=20, timeout_unit="us")
async def settles_before_it_listens_to_the_core(dut):
    """An old ``finished`` or ``starved`` ends nothing; errors count."""
    await reset(dut)
    put(dut, settings=LEGAL, loss=LOSS, finished=1, starved=1)
    judged = [{"start": 1}, {"start": 0}, *[{}] * (LATENCY - 1)]
    rows = [*judged, {}, {"finished": 0, "starved": 0}, *[{}] * 5]
    trace = await play(dut, rows, "running", "failed")
    assert trace["running"] == [0] * (LATENCY + 1) + [1] * 7
    await recover(dut)
    rows = [*judged, {"labels_failed": 1}, {"labels_failed": 0}, {}]
    assert (await play(dut, rows, "failed"))["failed"][-1]
    assert cause(dut) is Cause.LABEL_READ


async def go_to(dut, state):
    """Bring the worker into a state; it is there in the next cycle."""
    if state in ("FAILED", "RUN"):
        await begin(dut, {"bits": 0} if state == "FAILED" else {})
    if state in ("BEGIN", "SETTLE"):
        put(dut, settings=LEGAL, loss=LOSS)
        await pulse(dut, "start")
        await clock(dut, LATENCY * (state == "SETTLE"))
    if state == "RESET":
        await pulse(dut, "soft_reset")
        await clock(dut, 5)


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(
    state=["IDLE", "BEGIN", "SETTLE", "RUN", "FAILED", "RESET"], outstanding=[0, 40]
)
async def soft_reset_recovers(dut, state, outstanding):
    await reset(dut)
    await go_to(dut, state)
    put(dut, readers_busy=outstanding > 0)
    await pulse(dut, "soft_reset")
    put(dut, start=1, finished=1, words_failed=1)  # nobody listens
    await clock(dut)
    assert shown(dut) == RESET | {"halt"}
    cycles = max(RESET_CYCLES, outstanding)
    for _ in range(cycles - 2):
        await clock(dut)
        assert shown(dut) == RESET
    put(dut, readers_busy=0, start=0, finished=0, words_failed=0)
    await clock(dut, 3)
    assert shown(dut) == IDLE
    assert cause(dut) is Cause.NONE
    assert begins(await begin(dut))


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(ticks=[1, 3, 4, 5, 9], before=[0, 3])
async def a_reset_waits_for_the_memory_for_four_ticks(dut, ticks, before):
    """It also waits while they owe the readers something, which give up then.

    Ticks ``before`` are those of another reset, which this one comes in the middle of.
    """
    await reset(dut)
    await go_to(dut, "RUN")
    put(dut, memory_owes=1, readers_busy=1)
    if before:
        await pulse(dut, "soft_reset")
    for _ in range(before):
        await pulse(dut, "tick")
    await pulse(dut, "soft_reset")
    for _ in range(ticks):
        await clock(dut, 30)
        assert shown(dut) == RESET
        assert dut.revive.value
        await pulse(dut, "tick")
    await clock(dut, 10)
    assert shown(dut) == RESET
    put(dut, readers_busy=0)
    await clock(dut, 3)
    assert shown(dut) == (RESET if ticks < 4 else IDLE)
    put(dut, memory_owes=0)
    await clock(dut, 3)
    assert shown(dut) == IDLE
    assert not dut.revive.value
    assert any((await begin(dut))["begin"])


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(state=["BEGIN", "SETTLE", "RUN", "FAILED", "RESET"])
async def start_is_ignored_when_busy(dut, state):
    await reset(dut)
    await go_to(dut, state)
    trace = await play(dut, [{"start": 1}, *[{"start": 0}] * 30], "begin", "running")
    assert sum(trace["begin"]) == (state == "BEGIN")  # that of its own start
    assert trace["running"][-1] == (state in ("BEGIN", "SETTLE", "RUN"))
    expected = {"FAILED": FAILED, "RESET": IDLE}
    assert shown(dut) == expected.get(state, RUNNING)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def waits_for_an_access_to_the_model(dut):
    """A run and a reset begin after it."""
    await reset(dut)
    put(dut, model_busy=1)
    trace = await begin(dut)
    assert not any(trace["begin"] + trace["failed"])
    trace = await play(dut, [{"model_busy": 0}, *[{}] * 9], "begin", "running")
    assert trace["begin"] == [1] + [0] * 9
    assert trace["running"] == [0] + [1] * 9
    put(dut, model_busy=1)
    await pulse(dut, "soft_reset")
    for _ in range(2 * RESET_CYCLES):
        await clock(dut)
        assert not dut.core_reset.value
        assert dut.busy.value
    put(dut, model_busy=0)
    trace = await play(dut, [{}] * (RESET_CYCLES + 1), "core_reset")
    assert trace["core_reset"] == [1] * RESET_CYCLES + [0]
    assert shown(dut) == IDLE


async def open_job(dut, **network):
    await reset(dut)
    put(dut, join=0, network_open=1, network=NETWORK | network)


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(
    network=[{}, {"slot_base": (1 << 16) - 8}, {"timeout": 1 << 22}, {"retries": 0}]
)
async def runs_over_the_network(dut, network):
    """It runs until the core is finished and nothing is under way."""
    await open_job(dut, **network)
    put(dut, gave_up=0)
    assert begins(await begin(dut))
    put(dut, finished=1)
    await clock(dut, 5)
    assert shown(dut) == RUNNING
    put(dut, network_idle=1)
    await clock(dut, 2)
    assert shown(dut) == IDLE | {"done"}


@cocotb.test(timeout_time=40, timeout_unit="us")
async def accepts_every_legal_job(dut):
    """Every bit of a time-out, of a number of slots and of the first slot comes alone."""
    slots = params_in_simulator(WorkerParams).slots
    legal = [
        *({"timeout": 1 << bit} for bit in range(NETWORK_SETTINGS["timeout"].width)),
        *({"slot_count": 1 << bit} for bit in range(slots.bit_length())),
        *({"slot_base": 1 << bit} for bit in range(16)),
    ]
    for network in legal:
        await open_job(dut, **network)
        assert begins(await begin(dut)), network
        await pulse(dut, "soft_reset")


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(slots=[1, 0])
async def waits_for_a_job_that_begins(dut, slots):
    """It is busy from the cycle after the pulse, then open at once, as the slots' table is."""
    clearing = 8
    for start in range(clearing + 3):  # this many cycles behind the pulse
        await open_job(dut, slot_count=slots)
        put(dut, network_open=0, settings=LEGAL, loss=LOSS)
        await clock(dut, 5)
        rows = [
            {
                "network_busy": 0 < k <= clearing,
                "network_open": k > clearing,
                "start": k == start,
            }
            for k in range(2 * clearing)
        ]
        trace = await play(dut, rows, "begin", "failed")
        begin = max(start, clearing) + LATENCY
        assert trace["begin"] == [slots and k == begin for k in range(2 * clearing)], start
        assert trace["failed"] == [not slots and k > begin for k in range(2 * clearing)], start
        await recover(dut)


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(finished=[0, 1], join=[0, 1], missing=[0, 1])
async def fails_when_the_network_gives_up(dut, finished, join, missing):
    """It does when only confirmations are left, too; with ``join`` nobody cares."""
    await open_job(dut)
    put(dut, join=join)
    assert begins(await begin(dut))
    put(dut, finished=finished, peers_missing=missing)
    await pulse(dut, "gave_up")
    await clock(dut)
    if join:
        assert shown(dut) == (IDLE | {"done"} if finished else RUNNING)
        return
    assert shown(dut) == FAILED
    assert cause(dut) is (Cause.PEERS if missing else Cause.NETWORK)
    put(dut, finished=0)
    await recover(dut)


@cocotb.test(timeout_time=40, timeout_unit="us")
async def refuses_a_network_that_is_not_ready(dut):
    params = params_in_simulator(WorkerParams)
    for inputs, network in (
        ({"network_open": 0}, {}),
        ({}, {"slot_count": 0}),
        ({}, {"slot_count": params.slots + 1}),
        *(({}, {"slot_count": (1 << bit) | 8}) for bit in range(params.slots.bit_length() - 1, 17)),
        ({}, {"worker": 1}),
        ({}, {"worker": 31}),
        ({}, {"timeout": 0}),
        ({}, {"slot_base": (1 << 16) - 7}),
        *(({}, {"slot_base": (1 << 16) - count, "slot_count": 2 * count}) for count in (1, 16, 64)),
    ):
        await open_job(dut, **network)
        put(dut, **inputs)
        assert not begins(await begin(dut)), (inputs, network)
        assert cause(dut) is Cause.CONFIGURATION
        put(dut, join=1)  # which does not use it
        await recover(dut)
        assert begins(await begin(dut))


@cocotb.test(timeout_time=80, timeout_unit="us")
async def is_one_of_the_job_s_workers(dut):
    alone = [(worker, workers ^ 1 << worker) for worker in range(32) for workers in (0, ~0 % 2**32)]
    some = [(random.randrange(32), random.getrandbits(32)) for _ in range(24)]
    for worker, workers in alone + some:
        await open_job(dut, worker=worker, workers=workers)
        legal = workers >> worker & 1
        assert begins(await begin(dut)) == legal, (worker, workers)
        put(dut, join=1)
        await recover(dut)


@cocotb.test(timeout_time=40, timeout_unit="us")
async def models_are_exchanged_over_the_network(dut):
    """They are where that is built, and in the order of the pipeline."""
    built = params_in_simulator(WorkerParams).engine.data_parallel
    for join, vanilla, legal in ((0, 0, built), (0, 1, False), (1, 0, False)):
        await open_job(dut)
        put(dut, join=join, vanilla=vanilla)
        assert begins(await begin(dut, {"data_parallel": 1})) == legal, (join, vanilla)


@cocotb.test(timeout_time=40, timeout_unit="us")
async def refuses_a_vanilla_order_that_would_hang(dut):
    """A mini-batch must fit the word FIFO and the slots."""
    params = params_in_simulator(WorkerParams)
    fits = params.engine.fifo_words // 6
    for join, settings, slots, legal in (
        (0, {"bits": 3, "chunks": 1, "batch_micro_batches": 8}, 8, True),
        (0, {"bits": 3, "chunks": 1, "batch_micro_batches": 9}, 8, False),
        (0, {"bits": 3, "chunks": fits, "batch_micro_batches": 2}, 8, True),
        (0, {"bits": 3, "chunks": fits + 1, "batch_micro_batches": 2}, 8, False),
        (1, {"bits": 3, "chunks": 1, "batch_micro_batches": 8}, 8, False),
    ):
        await open_job(dut, slot_count=slots)
        put(dut, join=join, vanilla=1)
        assert begins(await begin(dut, settings)) == legal, (join, settings)
        put(dut, join=1, vanilla=0)
        await pulse(dut, "soft_reset")
        await clock(dut, RESET_CYCLES + 2)


@cocotb.test(timeout_time=80, timeout_unit="us")
async def no_bit_of_a_mini_batch_s_words_is_overlooked(dut):
    """In vanilla order, with all slots, words and micro-batches are powers of two."""
    params = params_in_simulator(WorkerParams)
    engine = params.engine
    for bits, chunks, batch in powers_below(engine.max_bits, engine.chunks, params.slots):
        if bits * chunks > engine.fifo_words or bits not in (1, engine.max_bits):
            continue
        await open_job(dut, slot_count=params.slots)
        put(dut, vanilla=1)
        settings = {"bits": bits, "chunks": chunks, "batch_micro_batches": batch}
        legal = bits * chunks * batch <= engine.fifo_words
        assert begins(await begin(dut, settings)) == legal, settings
        put(dut, join=1, vanilla=0)
        await pulse(dut, "soft_reset")
        await clock(dut, RESET_CYCLES + 2)
