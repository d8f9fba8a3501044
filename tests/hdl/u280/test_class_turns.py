import random

import cocotb
import pytest

from hdl.common.stream_arbiter import StreamArbiterParams
from hdl.u280.class_turns import ClassTurns
from sim.harness.records import Recorder
from sim.harness.streams import cycle, edges, never, often, start, until
from sim.harness.verilator import simulate
from tests.hdl.u280.packet_bench import Sender, Taker, count_beats

LAST = dict.fromkeys(("mac_tlast", "mac_tkeep", "mac_tdata"))  #: what says a beat's class


def test_class_turns():
    simulate(ClassTurns(), __name__)


def test_a_single_input_cannot_be_held():
    with pytest.raises(ValueError, match="holds needs at least two inputs"):
        StreamArbiterParams(shape=1, count=1, holds=True)


def packets_of(kind, count):
    """Return numbered packets of any size; the last byte of each says its class."""
    sizes = random.choices([64, 128, 192, 640], k=count)
    return [
        number.to_bytes(4, "big") + random.randbytes(size - 5) + bytes([kind])
        for number, size in enumerate(sizes)
    ]


async def begin(dut, stall=never, gap=None, **taking):
    """Return what sends each class, and what takes both."""
    senders = [Sender(dut, f"i_{k}", gap=gap) for k in range(2)]
    dut.pause.value = 0
    taker = Taker(dut, "mac", stall=stall, **taking)
    await start(dut)
    return senders, taker


def started(senders, sent):
    for sender, packets in zip(senders, sent, strict=True):
        cocotb.start_soon(sender.send(packets))


def of_kind(packets, kind):
    return [packet for packet in packets if packet[-1] == kind]


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stall=[never, often])
async def both_classes_in_turn_and_whole(dut, stall):
    senders, taker = await begin(dut, stall, whole=True)
    sent = [packets_of(k, 60) for k in range(2)]
    started(senders, sent)
    await taker.wait_for(count_beats(*sent))
    taken = taker.packets()
    assert [of_kind(taken, k) for k in range(2)] == sent
    # Neither waits for more than one packet of the other.
    assert [packet[-1] for packet in taken] in ([0, 1] * 60, [1, 0] * 60)


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(stall=[never, often], kind=[0, 1])
async def a_paused_class_stops_and_the_other_goes_on(dut, stall, kind):
    gap = None if stall is never else lambda: random.random() < 0.7
    senders, taker = await begin(dut, stall, gap, whole=True)
    acks, shown = Recorder(dut, "ack", {"ack": None}), Recorder(dut, "mac_tvalid", LAST)
    sent = [packets_of(k, 1200) for k in range(2)]
    started(senders, sent)
    for _ in range(12):
        await edges(dut.clk, random.randrange(1, 60))
        assert not dut.ack.value
        dut.pause.value, requested = 1 << kind, cycle()
        await until(dut.clk, dut.ack, 1 << kind)
        assert cycle() - requested <= 100, "a class that is paused does not come to stand"
        before = [len(item.beats) for item in (acks, shown, taker)]
        await edges(dut.clk, 150)
        reported, tags, moved = (
            item.beats[count:] for item, count in zip((acks, shown, taker), before, strict=True)
        )
        assert len(reported) == 150
        assert {tag(beat, "mac_") for beat in tags} == {None, 1 - kind}
        assert len(tags) == 150 or stall is not never  # the other has all of the wire
        assert [tag(beat) for beat in moved].count(1 - kind) > 5
        dut.pause.value = 0
        await edges(dut.clk, ClassTurns.release + 1)
        assert not dut.ack.value
    await taker.wait_for(count_beats(*sent))
    taken = taker.packets()
    assert [of_kind(taken, k) for k in range(2)] == sent
    assert {item["ack"] for item in acks.beats} == {1 << kind}


def tag(beat, prefix=""):
    """Return the class of a beat, if it is a last one."""
    last, keep, data = (beat[f"{prefix}{name}"] for name in ("tlast", "tkeep", "tdata"))
    return data >> 8 * (keep.bit_length() - 1) & 0xFF if last else None


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_pause_in_the_middle_lets_the_packet_go_on(dut):
    """The acknowledgement waits for the packet's end, even while the MAC takes nothing."""
    gate, packet = [False], bytes(4) + random.randbytes(627) + b"\0"
    senders, taker = await begin(dut, lambda: gate[0])
    acks = Recorder(dut, "ack", {"ack": None})
    started(senders, [[packet, packet], []])
    await until(dut.clk, dut.mac_tvalid, 1)
    dut.pause.value = 0b11
    gate[0] = True
    await edges(dut.clk, 40)
    assert dut.ack.value == 2  # nothing of the other class was inside
    assert {item["ack"] for item in acks.beats} == {2}
    gate[0] = False
    await until(dut.clk, dut.ack, 3)
    assert taker.packets() == [packet]
    dut.pause.value = 0
    await taker.wait_for(count_beats([packet, packet]))
    assert taker.packets() == [packet, packet]
