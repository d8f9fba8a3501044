import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.protocol import PRIORITIES
from hdl.u280.flow_control import HOLD_CYCLES, FlowControlParams
from hdl.u280.mac_signals import PAUSE_EVENTS
from hdl.u280.pauses import Pauses
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.u280.packet_bench import send, take, until

CLASSES = range(2)


def test_pauses():
    simulate(Pauses(FlowControlParams()), __name__)


async def begin(dut):
    for k in CLASSES:
        getattr(dut, f"i_{k}_tvalid").value = 0
        getattr(dut, f"used_{k}").value = 0
    dut.stat_rx_pause_req.value = 0
    dut.mac_tready.value = 0
    await start(dut)


async def cycles(dut, count, counts=None):
    """Play some cycles; return how many of each event they count."""
    for _ in range(count):
        await RisingEdge(dut.clk)
        for index, name in enumerate(PAUSE_EVENTS):
            if counts is not None:
                counts[name] = counts.get(name, 0) + (int(dut.events.value) >> index & 1)
    return counts


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(kind=CLASSES)
async def asks_for_the_class_that_has_no_room(dut, kind):
    params = params_in_simulator(FlowControlParams)
    await begin(dut)
    counts = await cycles(dut, HOLD_CYCLES, {})
    assert not any(counts.values())
    name = ("reads", "responses")[kind]
    for _ in range(3):
        getattr(dut, f"used_{kind}").value = params.stop_above + 1
        counts = await cycles(dut, 40, {})
        assert dut.ctl_tx_pause_req.value == 1 << PRIORITIES[kind]
        assert {event for event, count in counts.items() if count} == {f"pauses_{name}"}
        assert counts[f"pauses_{name}"] == 1
        getattr(dut, f"used_{kind}").value = params.resume_at
        await cycles(dut, 40)
        assert dut.ctl_tx_pause_req.value == 0


def beside(limit, bits):
    """Return numbers up to ``limit`` and numbers above it; each bit decides for one of them."""
    upto, above = [limit], [limit + 1]
    for bit in range(bits):
        low = (1 << bit) - 1
        if limit >> bit & 1:
            upto.append(limit ^ 1 << bit | low)
        else:
            above.append((limit | 1 << bit) & ~low)
    return upto, above


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(kind=CLASSES)
async def no_bit_of_what_is_used_is_overlooked(dut, kind):
    params = params_in_simulator(FlowControlParams)
    await begin(dut)
    used = getattr(dut, f"used_{kind}")
    upto_stop, above_stop = beside(params.stop_above, len(used))
    upto_resume, above_resume = beside(params.resume_at, len(used))
    for asks, stay, change in ((0, upto_stop, above_stop), (1, above_resume, upto_resume)):
        for last in change:
            for value, then in ((0, 0), (params.stop_above + 1, 1))[: asks + 1]:
                used.value = value
                await cycles(dut, 2 * HOLD_CYCLES)
                assert dut.ctl_tx_pause_req.value == then << PRIORITIES[kind]
            for value in stay:
                used.value = value
                await cycles(dut, 3)
            assert dut.ctl_tx_pause_req.value == asks << PRIORITIES[kind]
            used.value = last
            await cycles(dut, 3)
            assert dut.ctl_tx_pause_req.value == (1 - asks) << PRIORITIES[kind], last


@cocotb.test(timeout_time=100, timeout_unit="us")
async def obeys_for_the_class_that_is_paused(dut):
    await begin(dut)
    taken = []
    cocotb.start_soon(take(dut, "mac", taken))
    for paused in (0, 1 << PRIORITIES[0], 1 << PRIORITIES[1], 0x1FF, 0x1E7):
        bits = sum(1 << PRIORITIES[k] for k in CLASSES) & paused
        dut.stat_rx_pause_req.value = paused
        await cycles(dut, 5)
        counts = await cycles(dut, 20, {})
        assert dut.ctl_rx_pause_ack.value == bits  # other priorities, and all at once, are not ours
        for k, name in enumerate(("reads", "responses")):
            assert counts[f"paused_{name}"] == (20 if bits >> PRIORITIES[k] & 1 else 0)
        packets = [random.randbytes(192) for _ in CLASSES]
        for k in CLASSES:
            cocotb.start_soon(send(dut, f"i_{k}", [packets[k]]))
        await cycles(dut, 30)
        assert taken == [p for k, p in enumerate(packets) if not bits >> PRIORITIES[k] & 1] or (
            bits == 0 and sorted(taken) == sorted(packets)
        )
        dut.stat_rx_pause_req.value = 0
        await until(dut, lambda sent=packets: sorted(taken) == sorted(sent))
        taken.clear()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def packets_of_both_classes_pass(dut):
    await begin(dut)
    taken = []
    cocotb.start_soon(take(dut, "mac", taken, lambda: random.random() < 0.5))
    sent = [[random.randbytes(random.choice([65, 128, 200])) for _ in range(80)] for _ in CLASSES]
    for k in CLASSES:
        packets = send(dut, f"i_{k}", sent[k], gap=lambda: random.random() < 0.85)
        cocotb.start_soon(packets)
    while len(taken) < 160:
        await RisingEdge(dut.clk)
        assert not dut.mac_tuser.value
    await cycles(dut, 10)
    assert [[packet for packet in taken if packet in mine] for mine in sent] == sent
