"""Queues, at an input, the packets for one output: where their beats are, by class."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.switch.forwarding.params import ForwardingParams


class OutputQueues(Component):
    """Holds a queue of beats for each class; a packet's beats can be read when it has ended.

    ``write`` adds ``beat`` to the queue ``class_``. ``ends``, which comes only for packets to this
    output, ends the packet; without ``keep`` its beats are forgotten. ``requesting`` has a bit for
    each class that is ``open`` with a packet to read. With ``reads`` the beats of ``reads_class``
    appear one after the other in ``o``, where ``shown`` says so, from the next cycle on; each is
    then gone. In the cycle after one without ``reads`` none is shown, and only then may
    ``reads_class`` change. ``more``: a packet waits behind the one that is shown; it may say so two
    cycles late.
    """

    def __init__(self, params: ForwardingParams) -> None:
        super().__init__(
            params,
            write=In(1),
            ends=In(1),
            keep=In(1),
            class_=In(params.class_bits),
            beat=In(params.queued),
            open=In(params.classes),
            requesting=Out(params.classes),
            reads=In(1),
            reads_class=In(params.class_bits),
            o=Out(params.queued),
            shown=Out(1),
            more=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        memory = DualPortMemory.sized(
            shape=params.queued.size, depth=params.beats, style="block", output_registers=0
        )
        m.submodules.beats = memory
        bits = params.address_bits - params.class_bits
        written, stored, read = (
            [Signal(bits, name=f"{name}_{k}") for k in range(params.classes)]
            for name in ("written", "stored", "read")
        )
        write_at, read_at, after = Signal(bits), Signal(bits), Signal(bits)
        several = Signal(params.classes)  # at least two packets wait
        goes = self.shown & self.o.last
        m.d.comb += [
            write_at.eq(Array(written)[self.class_]),
            after.eq((write_at + self.write)[:bits]),
            read_at.eq((Array(read)[self.reads_class] + self.shown)[:bits]),
            memory.write.eq(self.write),
            memory.write_address.eq(Cat(write_at, self.class_)),
            memory.write_data.eq(self.beat),
            memory.read_address.eq(Cat(read_at, self.reads_class)),
            Value.cast(self.o).eq(memory.read_data),
            self.more.eq(Array(several)[self.reads_class]),
        ]
        m.d.sync += self.shown.eq(self.reads)
        for k in range(params.classes):
            packets = Signal(bits, name=f"packets_{k}")
            comes, leaves = Signal(name=f"comes_{k}"), Signal(name=f"leaves_{k}")
            m.d.comb += [
                comes.eq(self.ends & self.keep & (self.class_ == k)),
                leaves.eq(goes & (self.reads_class == k)),
            ]
            with m.If(self.class_ == k):
                m.d.sync += written[k].eq(Mux(self.ends & ~self.keep, stored[k], after))
            with m.If(comes):
                m.d.sync += stored[k].eq(after)
            with m.If(self.shown & (self.reads_class == k)):
                m.d.sync += read[k].eq(read_at)
            more = packets[1:].any()
            m.d.sync += [
                packets.eq((packets + comes - leaves)[:bits]),
                self.requesting[k].eq((comes | more | (packets[0] & ~leaves)) & self.open[k]),
                several[k].eq(packets[2:].any() | (more & (packets[0] | ~leaves))),
            ]
