"""Compares how frames of 60 and 64 bytes are read with the golden model."""

import random
from dataclasses import replace

import cocotb
from cocotb.triggers import Timer

from hdl.p4sgd.network.tree_frame import TREE_FIELDS
from hdl.p4sgd.network.tree_reader import TreeReader
from sim.golden.reduction.frames import BYTES, WireFrame
from sim.golden.reduction.tree_frames import long_frame, may_come_down, may_go_up, read
from sim.harness.payloads import unpack
from sim.harness.verilator import simulate


def test_tree_reader():
    simulate(TreeReader(), __name__)


def some_frame():
    """Draw a frame of any kind; what was saturated is mostly nothing."""
    lanes = [random.choice((0, 1, 1 << 31, 1 << 32, random.getrandbits(37))) for _ in range(8)]
    sums = tuple(value - (value >> 36 << 37) for value in lanes)
    frame = WireFrame(
        source=random.randbytes(6),
        is_agg=random.random() < 0.5,
        acked=random.random() < 0.5,
        bm=random.getrandbits(32),
        job=random.getrandbits(16),
        epoch=random.getrandbits(16),
        seq=random.getrandbits(16),
        use=random.getrandbits(8),
    )
    if random.random() < 0.5:
        return long_frame(frame, sums)
    payload = tuple((value + (1 << 31)) % (1 << 32) - (1 << 31) for value in sums)
    saturated = random.choice((0, 1 << random.randrange(8)))
    return replace(frame, payload=payload, saturated=saturated).to_bytes()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def equals_the_golden_model(dut):
    for _ in range(3000):
        wire = some_frame()
        frame, long = read(wire)
        dut.frame.value = int.from_bytes(wire[:BYTES], "little")
        more = wire[BYTES:] or random.randbytes(4)  # of a short frame anything
        dut.more.value = int.from_bytes(more, "little")
        dut.longer.value = int(long)
        await Timer(1, "ns")
        fields = unpack(TREE_FIELDS, int(dut.fields.value))
        up, down = may_go_up(frame, long), may_come_down(frame, long)
        if long:
            fields["saturated"] = 0  # bits of the sums
        assert fields == {
            "is_agg": frame.is_agg,
            "acked": frame.acked,
            **{name: getattr(frame, name) for name in ("bm", "job", "epoch", "seq", "use")},
            "saturated": frame.saturated,
            "payload": list(frame.payload),
            "longer": long,
            "up": up,
            "down": down,
            "neither": not (up or down),
        }
