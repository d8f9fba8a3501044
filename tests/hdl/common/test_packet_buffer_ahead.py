"""Reads a packet buffer ahead of decisions; only last words wait."""

import random

import cocotb
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packet_buffer import PacketBuffer, PacketBufferParams
from sim.harness.streams import STALLS, crossed, cycle, started
from sim.harness.verilator import simulate
from tests.hdl.common.packet_buffer_bench import WIDTH, Bench


class AheadBuffer(Component):
    """A buffer that is read ahead; only a packet's last word, whose highest bit is set, waits."""

    def __init__(self, params):
        super().__init__(
            params,
            {name: In(1) for name in ("write", "ends", "keep", "o_ready")}
            | {name: Out(1) for name in ("room", "o_valid", "o_taken", "undone")}
            | {"word": In(params.width), "o_payload": Out(params.width), "used": Out(8)},
        )

    def build(self, m):
        m.submodules.buffer = buffer = PacketBuffer(self.params)
        ready = self.o_ready | ~buffer.o.payload[-1]
        m.d.comb += [
            *(getattr(buffer, name).eq(getattr(self, name)) for name in ("write", "word", "ends")),
            buffer.keep.eq(self.keep),
            buffer.o.ready.eq(ready),
            *(getattr(self, name).eq(getattr(buffer, name)) for name in ("room", "undone", "used")),
            self.o_valid.eq(buffer.o.valid),
            self.o_payload.eq(buffer.o.payload),
            self.o_taken.eq(buffer.o.valid & ready),
        ]


def test_read_ahead():
    params = PacketBufferParams(shape=WIDTH, words=32, behind=1, ahead=True)
    simulate(AheadBuffer(params), __name__)


@crossed(stalls=STALLS)
async def what_is_left_was_kept(dut, stalls):
    """Without what is undone later, what leaves is what was kept, in order."""
    source, sink = stalls
    bench = await started(Bench(dut, source))
    top = 1 << WIDTH - 1
    for _ in range(500):
        count, keep = random.choice([1, 2, 3, 5, random.randint(1, 29)]), random.random() < 0.6
        words = [random.getrandbits(WIDTH - 1) for _ in range(count - 1)]
        words.append(random.getrandbits(WIDTH - 1) | top)
        bench.words += [(word, k == count - 1, keep) for k, word in enumerate(words)]
        if not keep and random.random() < 0.3:  # too long: its end comes behind its words
            bench.words[-1:] = [(random.getrandbits(WIDTH - 1), False, False), (None, True, False)]
        bench.expected += words if keep else []
    result, whole, quiet = [], 0, 0
    while quiet < 60:
        dut.o_ready.value = int(not sink())
        await bench.edge
        quiet = 0 if bench.words or dut.o_valid.value else quiet + 1
        if dut.o_taken.value:
            result.append(int(dut.o_payload.value))
            if result[-1] & top:
                whole = len(result)
        if dut.undone.value:
            assert len(result) > whole
            del result[whole:]
    assert result == bench.expected
    assert dut.used.value == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def leaves_soon(dut):
    """A packet's last word leaves as soon as if it were its only one."""
    bench = await started(Bench(dut))
    dut.o_ready.value = 1
    ends = []
    for _ in range(20):
        count = random.randint(1, 20)
        bench.words += [(k, False, False) for k in range(count)]
        bench.words.append((1 << WIDTH - 1, True, True))
    for _ in range(400):
        await bench.edge
        if dut.o_taken.value and int(dut.o_payload.value) >> WIDTH - 1:
            ends.append(cycle())
    assert ends == [stored + PacketBuffer.latency for stored in bench.kept_in]
