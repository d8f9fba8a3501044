import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.stream_arbiter import StreamArbiterParams
from hdl.u280.class_turns import ClassTurns
from sim.harness.streams import never, often, start
from sim.harness.verilator import simulate
from tests.hdl.u280.packet_bench import send, take, until


def test_class_turns():
    simulate(ClassTurns(), __name__)


def test_a_single_input_cannot_be_held():
    with pytest.raises(ValueError, match="holds needs at least two inputs"):
        StreamArbiterParams(width=1, count=1, holds=True)


def packets_of(kind, count):
    """Return numbered packets of any size; the last byte of each says its class."""
    sizes = random.choices([64, 128, 192, 640], k=count)
    return [
        number.to_bytes(4, "big") + random.randbytes(size - 5) + bytes([kind])
        for number, size in enumerate(sizes)
    ]


async def begin(dut):
    for k in range(2):
        getattr(dut, f"i_{k}_tvalid").value = 0
    dut.pause.value = 0
    dut.mac_tready.value = 0
    await start(dut)


def of_kind(packets, kind):
    return [packet for packet in packets if packet[-1] == kind]


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stall=[never, often])
async def both_classes_in_turn_and_whole(dut, stall):
    await begin(dut)
    sent = [packets_of(k, 60) for k in range(2)]
    taken = []
    cocotb.start_soon(take(dut, "mac", taken, stall, whole=True))
    for k in range(2):
        cocotb.start_soon(send(dut, f"i_{k}", sent[k]))
    await until(dut, lambda: len(taken) == 120)
    assert [of_kind(taken, k) for k in range(2)] == sent
    # Neither waits for more than one packet of the other.
    assert [packet[-1] for packet in taken] in ([0, 1] * 60, [1, 0] * 60)


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(stall=[never, often], kind=[0, 1])
async def a_paused_class_stops_and_the_other_goes_on(dut, stall, kind):
    await begin(dut)
    sent = [packets_of(k, 1200) for k in range(2)]
    taken = []
    cocotb.start_soon(take(dut, "mac", taken, stall, whole=True))
    gap = never if stall is never else lambda: random.random() < 0.7
    tasks = [cocotb.start_soon(send(dut, f"i_{k}", sent[k], gap=gap)) for k in range(2)]
    for _ in range(12):
        await ClockCycles(dut.clk, random.randrange(1, 60))
        assert not dut.ack.value
        dut.pause.value = 1 << kind
        await RisingEdge(dut.clk)
        waited = 0
        while not dut.ack.value:
            waited += 1
            assert waited < 100, "a class that is paused does not come to stand"
            await RisingEdge(dut.clk)
        assert dut.ack.value == 1 << kind
        before = [len(of_kind(taken, k)) for k in range(2)]
        for _ in range(150):
            await RisingEdge(dut.clk)
            assert dut.ack.value == 1 << kind
            assert not dut.mac_tvalid.value or tag(dut) in (None, 1 - kind)
            assert dut.mac_tvalid.value or stall is not never  # the other has all of the wire
        after = [len(of_kind(taken, k)) for k in range(2)]
        assert after[kind] == before[kind]
        assert after[1 - kind] > before[1 - kind] + 5
        dut.pause.value = 0
        await ClockCycles(dut.clk, ClassTurns.release + 1)
        assert not dut.ack.value
    await until(dut, lambda: len(taken) == 2400, 30000)
    assert [of_kind(taken, k) for k in range(2)] == sent
    assert all(task.done() for task in tasks)


def tag(dut):
    """Return the class of the beat at the output, if it is a last one."""
    if not dut.mac_tlast.value:
        return None
    keep = int(dut.mac_tkeep.value).bit_length()
    return int(dut.mac_tdata.value) >> (8 * (keep - 1)) & 0xFF


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_pause_in_the_middle_lets_the_packet_go_on(dut):
    """The acknowledgement waits for the packet's end, even while the MAC takes nothing."""
    await begin(dut)
    (packet,) = [bytes(4) + random.randbytes(627) + b"\0"]
    taken, gate = [], [False]
    cocotb.start_soon(take(dut, "mac", taken, lambda: gate[0], whole=False))
    cocotb.start_soon(send(dut, "i_0", [packet, packet]))
    while not dut.mac_tvalid.value:
        await RisingEdge(dut.clk)
    dut.pause.value = 0b11
    gate[0] = True
    for _ in range(40):
        await RisingEdge(dut.clk)
        assert dut.ack.value in (0, 2)
    assert dut.ack.value == 2  # nothing of the other class was inside
    gate[0] = False
    await until(dut, lambda: dut.ack.value == 3)
    assert taken == [packet]
    dut.pause.value = 0
    await until(dut, lambda: len(taken) == 2)
