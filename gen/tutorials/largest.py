"""Hardware, golden model and test of one component: what :mod:`add_component` walks through.

In a checkout these are three files: ``hdl/SYSTEM/largest.py``, ``sim/SYSTEM/golden/largest.py`` and
``tests/hdl/SYSTEM/test_largest.py``.
"""

import random
from collections.abc import Iterable

import cocotb
from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.params import Params, whole
from sim.harness.streams import STALLS, receive, send, start
from sim.harness.verilator import params_in_simulator


def largest_of_groups(numbers: Iterable[int], group: int) -> list[int]:
    """Return the largest of every ``group`` numbers: the golden model.

    It says what comes out, and not how: it shares no step with the hardware, so that the two are
    not wrong together.
    """
    numbers = list(numbers)
    return [max(numbers[k : k + group]) for k in range(0, len(numbers), group)]


class LargestParams(Params, suffix="{bits}_of_{group}"):
    """Sizes of :class:`Largest`."""

    bits: int = whole(1, 64)  #: width of a number
    group: int = whole(2, 256)  #: numbers of which the largest is wanted


class Largest(Component):
    """Gives the largest of every ``params.group`` unsigned numbers of ``i`` to ``o``.

    Throughput: a number a cycle. Latency: ``latency`` cycles from the last number of a group.
    Stalls: a result that waits holds back the next numbers.
    """

    latency = 1

    def __init__(self, params: LargestParams) -> None:
        number = stream.Signature(unsigned(params.bits))
        super().__init__(params, i=In(number), o=Out(number))

    def build(self, m: Module) -> None:
        best = Signal(self.params.bits, reset_less=True)
        count = Signal(range(self.params.group))
        first, last = count == 0, count == self.params.group - 1
        better = Mux(first | (self.i.payload > best), self.i.payload, best)
        m.d.comb += [self.i.ready.eq(~self.o.valid | self.o.ready), self.o.payload.eq(best)]
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid & last)
            with m.If(self.i.valid):
                m.d.sync += [best.eq(better), count.eq(Mux(last, 0, count + 1))]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def the_largest_of_each_group_leaves(dut, stalls):
    """Extremes and random numbers, while nobody pauses, the source does, the sink does."""
    params = params_in_simulator(LargestParams)
    top = (1 << params.bits) - 1
    numbers = [0] * params.group + [top] * params.group
    numbers += [random.randint(0, top) for _ in range(50 * params.group)]
    await start(dut)
    sending = cocotb.start_soon(send(dut, "i", numbers, stalls.value[0]))
    expected = largest_of_groups(numbers, params.group)
    received, cycles = await receive(dut, "o", len(expected), stalls.value[1])
    sent = await sending
    assert received == expected
    if stalls.absent:
        assert sent == list(range(sent[0], sent[0] + len(numbers)))
        assert cycles == [when + Largest.latency for when in sent[params.group - 1 :: params.group]]
