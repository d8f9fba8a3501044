"""States what is proven of the stream arbiter, and with it of the round robin."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In

from hdl.common.arithmetic import count_ones, index_of
from hdl.common.component import Component
from hdl.common.stream_arbiter import StreamArbiter, StreamArbiterParams
from tests.formal.claims import check, claim, granted, reach
from tests.hdl.common.fifo_proof import follow_beats, keeps_waiting


class ArbiterProof(Component):
    """Has a :class:`StreamArbiter` with free streams.

    One input is taken at a time, and there are no two cycles in which one could be and none is;
    every beat leaves unchanged, with its index, in the order in which beats were taken; packets
    are not mixed; an input that waits sees no other one begin a packet twice. Assumed is that
    what waits does not go away.
    """

    def __init__(self, params: StreamArbiterParams) -> None:
        count = params.count
        hidden = {  # inputs that are wired to what is inside instead
            "chosen": (count, "dut.chosen"),
            "spare": (params.output, "dut.out.spare"),
            "spare_free": (1, "dut.out.ready"),
        }
        if params.last_bit is not None:
            hidden["inside"] = 1, "dut.inside"
        self.peeks = {name: source for name, (_, source) in hidden.items()}
        super().__init__(
            params,
            mark=In(1),
            i=In(stream.Signature(params.width)).array(count),
            o_ready=In(1),
            **{name: In(shape) for name, (shape, _) in hidden.items()},
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.dut = dut = granted(StreamArbiter(params))
        taken = Signal(params.count)
        beat = Signal(params.output)  # that is taken
        for k, port in enumerate(self.i):
            m.d.comb += [
                dut.i[k].payload.eq(port.payload),
                dut.i[k].valid.eq(port.valid),
                port.ready.eq(dut.i[k].ready),
                taken[k].eq(port.valid & port.ready),
            ]
            with m.If(taken[k]):
                m.d.comb += [beat.payload.eq(port.payload), beat.index.eq(k)]
        m.d.comb += dut.o.ready.eq(self.o_ready)
        claim(m, "one_at_a_time", count_ones(list(taken)) <= 1)
        # The registered stage at the output, whose front is the output.
        behind = [(dut.o.valid, dut.o.payload), (~self.spare_free, self.spare)]
        comes = taken.any(), beat.as_value()
        leaves = dut.o.valid & dut.o.ready, Value.cast(dut.o.payload)
        follow_beats(m, self.mark, comes, leaves, [(v, Value.cast(b)) for v, b in behind])
        keeps_waiting(m, dut.o)
        check(m, "spare_behind_front", self.spare_free | dut.o.valid)
        inside = self.packets(m, dut, behind, taken, beat)
        self.turns(m, taken, inside)

    def packets(self, m: Module, dut: StreamArbiter, behind, taken, beat) -> Value:
        """Claim that a packet goes on with its own beats; return whether one has begun, at the
        inputs.
        """
        last_bit = self.params.last_bit
        requesting = Cat(port.valid for port in self.i)
        if last_bit is None:
            self.progress(m, taken, requesting.any())
            return Value.cast(0)
        entered = Signal()
        entered_index = Signal.like(beat.index)
        left = Signal()
        left_index = Signal.like(beat.index)
        with m.If(taken.any()):
            m.d.sync += [entered.eq(~beat.payload[last_bit]), entered_index.eq(beat.index)]
            claim(m, "goes_on", ~entered | (beat.index == entered_index))
        with m.If(dut.o.valid & dut.o.ready):
            m.d.sync += [
                left.eq(~dut.o.payload.payload[last_bit]),
                left_index.eq(dut.o.payload.index),
            ]
            claim(m, "leaves_unmixed", ~left | (dut.o.payload.index == left_index))
        # The two meet in the beats between them.
        open_, index = left, left_index
        for far, between in behind:
            check(m, "unmixed", ~far | ~open_ | (between.index == index))
            open_ = Mux(far, ~between.payload[last_bit], open_)
            index = Mux(far, between.index, index)
        check(m, "no_packet_open", open_ == entered)
        check(m, "the_packet_open", ~entered | (index == entered_index))
        check(m, "held", self.inside == entered)
        owner = Cat(entered_index == k for k in range(self.params.count))
        check(m, "held_for_its_owner", ~entered | (self.chosen == owner))
        self.progress(m, taken, Mux(entered, (requesting & owner).any(), requesting.any()))
        reach(m, "waits_for_a_packet", entered & requesting.any() & ~taken.any() & self.spare_free)
        reach(m, "packet_behind_packet", left & entered & (left_index != entered_index))
        return entered

    def progress(self, m: Module, taken, may) -> None:
        """Claim that who may go and has room goes, at the latest a cycle later."""
        idle = Signal()
        idles = may & ~taken.any() & self.spare_free
        m.d.sync += idle.eq(idles)
        claim(m, "none_idle_twice", ~(idle & idles))
        reach(m, "idle_once", idle & taken.any())
        reach(m, "waits_for_room", may & ~self.spare_free)

    def turns(self, m: Module, taken, inside) -> None:
        """Claim whose turn it is: that of the first after the last one that was chosen."""
        count = self.params.count
        begins = Signal(count)
        m.d.comb += begins.eq(Mux(inside, 0, taken))
        last = index_of(self.chosen)
        check(m, "one_is_chosen", count_ones(list(self.chosen)) == 1)
        distance = [Mux(k > last, k - last - 1, k + count - 1 - last) for k in range(count)]
        for k in range(count):
            passed = Signal(count, name=f"passed_{k}")  # those who began while k waits
            waits = Signal(name=f"waits_{k}")
            waited = Signal(name=f"waited_{k}")
            m.d.comb += waits.eq(self.i[k].valid & ~taken[k])
            m.d.sync += [waited.eq(waits), passed.eq(Mux(waits, passed | begins, 0))]
            claim(m, "nobody_twice", (begins & passed) == 0)
            check(m, "passed_while_waiting", (passed == 0) | waited)
            check(m, "passed_and_chosen", ((passed & self.chosen) == 0) | inside)
            for j in range(count):
                behind = distance[j] > distance[k]
                check(m, "passed_is_behind", ~passed[j] | behind | self.chosen[k])
            reach(m, "waits_for_all_others", begins[k] & (passed == (1 << count) - 1 - (1 << k)))
