"""States what is proven of the order of marked packets."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In

from hdl.common.component import Component
from hdl.netsparse.concat.mark_order import MarkOrder
from tests.formal.claims import check, claim, granted, reach
from tests.hdl.netsparse.concat.line_pool_proof import SmallParams


class MarkOrderProof(Component):
    """Has a :class:`MarkOrder` with free packets, which carry the numbers they should leave with.

    Packets enter the queue without a gap in the order of their numbers: of two that are marked in
    one cycle the one that expires comes first. The queue itself is proven by ``FifoProof``.
    Assumed is what ``QueueTable`` is proven to keep: while one waits only one more is marked; and
    that there is room, as a concatenator counts its packets.
    """

    #: Inputs that are wired to what is inside instead.
    peeks = {"second": "dut.second"}

    def __init__(self, params: SmallParams) -> None:
        super().__init__(params, expires=In(1), arrives=In(1), ready=In(1), second=In(params.mark))

    def build(self, m: Module) -> None:
        m.submodules.dut = dut = granted(MarkOrder(self.params))
        bits = self.params.used_bits
        marked = Signal(bits)  # how many have been
        entered = Signal(bits)
        m.d.comb += [
            dut.expires.eq(self.expires),
            dut.expired.used.eq(marked),
            dut.arrives.eq(self.arrives),
            dut.arrived.used.eq((marked + self.expires)[:bits]),
            dut.marks.ready.eq(self.ready),
        ]
        m.d.sync += [
            marked.eq(marked + self.expires + self.arrives),
            entered.eq(entered + dut.enters),
        ]
        with m.If(dut.enters):
            claim(m, "enters_in_its_turn", dut.entering.used == entered)
        claim(m, "enters_at_once", dut.enters == (self.expires | self.arrives | dut.waits))
        claim(m, "none_lost_or_invented", (marked - entered)[:bits] == dut.waits)
        check(m, "the_second_waits", ~dut.waits | (self.second.used == entered))
        waited = Signal(range(3))  # cycles in which one has waited so far
        with m.If(dut.waits):
            m.d.sync += waited.eq(waited + (waited != 2))
        with m.Else():
            m.d.sync += waited.eq(0)
        reach(m, "two_in_a_cycle", self.expires & self.arrives)
        reach(m, "arrives_behind_one_that_waits", dut.waits & self.arrives)
        reach(m, "expires_behind_one_that_waits", dut.waits & self.expires)
        reach(m, "waits_for_three_cycles", dut.waits & (waited == 2))
