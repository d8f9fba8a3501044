"""Compares answers that go up and down, as bytes, with the golden model's frames."""

import random

import cocotb
from cocotb.triggers import Timer

from hdl.p4sgd.network.frame import ETHERTYPE_ON_WIRE, VERSION, Frame
from hdl.p4sgd.network.tree_frame import TREE_ANSWER
from hdl.p4sgd.network.tree_writer import TreeWriter
from sim.golden.reduction.frames import WireFrame
from sim.golden.reduction.tree_frames import long_frame
from sim.harness.payloads import pack, unpack
from sim.harness.verilator import simulate


def test_tree_writer():
    simulate(TreeWriter(), __name__)


def some_answer():
    """Draw one of a kind there is: a sum or acked; pending beside what goes up, or nothing."""
    answer = unpack(TREE_ANSWER, random.getrandbits(TREE_ANSWER.size))
    if not answer["up"] and not answer["acked"]:
        answer["is_agg"] = 1
        low = [value % (1 << 32) for value in answer["payload"]]
        answer["payload"] = [value - (value >> 31 << 32) for value in low]
    if answer["acked"] or answer["up"]:
        answer["saturated"] = 0
    if not answer["partial"] and answer["up"]:
        answer["payload"] = [0] * 8
    return answer


def golden(answer, source, destination, above, place):
    """Return the frame of an answer."""
    up, down = answer["up"], not answer["up"]
    fields = {name: answer[name] for name in ("job", "epoch", "seq", "use", "saturated")}
    payload = tuple(answer["payload"])
    frame = WireFrame(
        destination=above if up else destination,
        source=source,
        is_agg=bool(answer["partial"] if up else answer["is_agg"]),
        acked=bool(down and answer["acked"]),
        bm=1 << place if up else answer["bm"],
        payload=(0,) * 8 if up or answer["acked"] else payload,
        **fields,
    )
    return long_frame(frame, payload) if up and answer["partial"] else frame.to_bytes()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def equals_the_golden_model(dut):
    for _ in range(3000):
        answer, place = some_answer(), random.randrange(32)
        source, destination, above = (random.randbytes(6) for _ in range(3))
        around = dict.fromkeys((name for name, _ in Frame.as_shape()), 0)
        around |= {"ethertype": ETHERTYPE_ON_WIRE, "version": VERSION, "payload": [0] * 8}
        around["source"] = int.from_bytes(source, "little")
        around["destination"] = int.from_bytes(destination, "little")
        dut.answer.value = pack(TREE_ANSWER, answer)
        dut.around.value = pack(Frame, around)
        dut.above.value, dut.place.value = int.from_bytes(above, "little"), 1 << place
        await Timer(1, "ns")
        long = int(dut.longer.value)
        wire = int(dut.frame.value).to_bytes(60, "little")
        more = int(dut.more.value).to_bytes(4, "little")
        assert long or more == bytes(4)
        assert wire + more * long == golden(answer, source, destination, above, place)
