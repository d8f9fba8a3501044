import random

import cocotb

from hdl.netsparse.protocol import PRIORITIES
from hdl.u280.flow_control import HOLD_CYCLES
from hdl.u280.mac_signals import EVENTS, events_of
from hdl.u280.pauses import Pauses, PausesParams
from sim.harness.records import Recorder
from sim.harness.streams import edges, never, often, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.u280.packet_bench import Sender, Taker, count_beats

CLASSES = range(2)
PAUSE_EVENTS = events_of("kinds")[len(EVENTS) :]


def test_pauses():
    simulate(Pauses(PausesParams(flow="kinds")), __name__)


async def begin(dut, stall=never, gap=None):
    """Return what sends each class, what takes both, and what records the events."""
    senders = [Sender(dut, f"i_{k}", gap=gap) for k in CLASSES]
    for name in ("used_0", "used_1", "stat_rx_pause_req"):
        getattr(dut, name).value = 0
    taker = Taker(dut, "mac", stall=stall)
    await start(dut)
    return senders, taker, Recorder(dut, "events", {"events": None})


async def counted(dut, count, events):
    """Play some cycles; return how many of each event they count."""
    before = len(events.beats)
    await edges(dut.clk, count)
    seen = [item["events"] for item in events.beats[before:]]
    return {name: sum(bits >> k & 1 for bits in seen) for k, name in enumerate(PAUSE_EVENTS)}


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(kind=CLASSES)
async def requests_the_class_that_has_no_room(dut, kind):
    params = params_in_simulator(PausesParams).link
    *_, events = await begin(dut)
    counts = await counted(dut, HOLD_CYCLES, events)
    assert not any(counts.values())
    name = ("reads", "responses")[kind]
    for _ in range(3):
        getattr(dut, f"used_{kind}").value = params.stop_above + 1
        counts = await counted(dut, 40, events)
        assert dut.ctl_tx_pause_req.value == 1 << PRIORITIES[kind]
        assert {event for event, count in counts.items() if count} == {f"pauses_{name}"}
        assert counts[f"pauses_{name}"] == 1
        getattr(dut, f"used_{kind}").value = params.resume_at
        await edges(dut.clk, 40)
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
    params = params_in_simulator(PausesParams).link
    await begin(dut)
    used = getattr(dut, f"used_{kind}")
    upto_stop, above_stop = beside(params.stop_above, len(used))
    upto_resume, above_resume = beside(params.resume_at, len(used))
    for demands, stay, change in ((0, upto_stop, above_stop), (1, above_resume, upto_resume)):
        for last in change:
            for value, then in ((0, 0), (params.stop_above + 1, 1))[: demands + 1]:
                used.value = value
                await edges(dut.clk, 2 * HOLD_CYCLES)
                assert dut.ctl_tx_pause_req.value == then << PRIORITIES[kind]
            for value in stay:
                used.value = value
                await edges(dut.clk, 3)
            assert dut.ctl_tx_pause_req.value == demands << PRIORITIES[kind]
            used.value = last
            await edges(dut.clk, 3)
            assert dut.ctl_tx_pause_req.value == (1 - demands) << PRIORITIES[kind], last


@cocotb.test(timeout_time=100, timeout_unit="us")
async def obeys_for_the_class_that_is_paused(dut):
    senders, taker, events = await begin(dut)
    for paused in (0, 1 << PRIORITIES[0], 1 << PRIORITIES[1], 0x1FF, 0x1E7):
        bits = sum(1 << PRIORITIES[k] for k in CLASSES) & paused
        dut.stat_rx_pause_req.value = paused
        await edges(dut.clk, 5)
        counts = await counted(dut, 20, events)
        assert dut.ctl_rx_pause_ack.value == bits  # other priorities, and all at once, are not ours
        for k, name in enumerate(("reads", "responses")):
            assert counts[f"paused_{name}"] == (20 if bits >> PRIORITIES[k] & 1 else 0)
        packets, before = [random.randbytes(192) for _ in CLASSES], len(taker.packets())
        for sender, packet in zip(senders, packets, strict=True):
            cocotb.start_soon(sender.send([packet]))
        await edges(dut.clk, 30)
        taken = taker.packets()[before:]
        assert taken == [p for k, p in enumerate(packets) if not bits >> PRIORITIES[k] & 1] or (
            bits == 0 and sorted(taken) == sorted(packets)
        )
        dut.stat_rx_pause_req.value = 0
        await taker.wait_for(len(taker.beats) + count_beats(packets) - count_beats(taken))
        assert sorted(taker.packets()[before:]) == sorted(packets)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def packets_of_both_classes_pass(dut):
    senders, taker, _ = await begin(dut, often, gap=lambda: random.random() < 0.85)
    sent = [[random.randbytes(random.choice([65, 128, 200])) for _ in range(80)] for _ in CLASSES]
    for sender, packets in zip(senders, sent, strict=True):
        cocotb.start_soon(sender.send(packets))
    await taker.wait_for(count_beats(*sent))
    await edges(dut.clk, 10)
    assert not any(beat["tuser"] for beat in taker.beats)
    taken = taker.packets()
    assert [[packet for packet in taken if packet in own] for own in sent] == sent
