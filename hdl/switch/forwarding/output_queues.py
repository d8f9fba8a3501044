"""Queues, at an input, the packets for one output: where their beats are, by class."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.switch.forwarding.params import ForwardingParams


class OutputQueues(Component):
    """Holds a queue of beats for each class; a packet's beats can be read when it has ended.

    ``write`` adds ``beat`` to the queue ``class_``. ``ends`` ends the packet; without ``keep`` its
    beats are forgotten. ``waiting`` has a bit for each class with a packet to read. With ``reads``
    the beats of ``reads_class`` appear one after the other in ``o``, where ``shown`` says so, from
    the next cycle on; each is then gone. A beat that is shown in the last cycle with ``reads``
    is the last. ``more``: another packet waits behind the beat that is shown.
    """

    def __init__(self, params: ForwardingParams) -> None:
        super().__init__(
            params,
            {
                "write": In(1),
                "ends": In(1),
                "keep": In(1),
                "class_": In(params.class_bits),
                "beat": In(params.queued),
                "waiting": Out(params.classes),
                "reads": In(1),
                "reads_class": In(params.class_bits),
                "o": Out(params.queued),
                "shown": Out(1),
                "more": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        memory = DualPortMemory.sized(
            shape=params.queued.size, depth=params.beats, style="block", output_registers=0
        )
        m.submodules.beats = memory
        place_bits = params.address_bits - params.class_bits
        places = {
            name: [Signal(place_bits, name=f"{name}_{k}") for k in range(params.classes)]
            for name in ("written", "stored", "read")
        }
        written, stored, read = places.values()
        write_at, read_at = Signal(place_bits), Signal(place_bits)
        after = Signal(place_bits)
        m.d.comb += [
            write_at.eq(Array(written)[self.class_]),
            after.eq((write_at + self.write)[:place_bits]),
            read_at.eq((Array(read)[self.reads_class] + self.shown)[:place_bits]),
            memory.write.eq(self.write),
            memory.write_address.eq(Cat(write_at, self.class_)),
            memory.write_data.eq(self.beat),
            memory.read_address.eq(Cat(read_at, self.reads_class)),
            self.o.eq(memory.read_data),
            self.more.eq(read_at != Array(stored)[self.reads_class]),
        ]
        m.d.sync += self.shown.eq(self.reads & self.more)
        for k in range(params.classes):
            mine = self.class_ == k
            with m.If(mine):
                back = self.ends & ~self.keep
                m.d.sync += written[k].eq(Mux(back, stored[k], after))
                with m.If(self.ends & self.keep):
                    m.d.sync += stored[k].eq(after)
            leaves = self.shown & (self.reads_class == k)
            with m.If(leaves):
                m.d.sync += read[k].eq(read_at)
            rest = Mux(leaves, self.more, read[k] != stored[k])
            m.d.sync += self.waiting[k].eq(rest | (mine & self.ends & self.keep))
        return m
