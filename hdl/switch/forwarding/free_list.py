"""Lists the free addresses of a packet memory; those of a dropped packet are free again at once."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.switch.forwarding.params import ForwardingParams


class FreeList(Component):
    """Gives the free address ``address``, another after every cycle with ``takes``.

    ``ends`` ends a packet: with ``keep`` the addresses that it has taken are in use until
    ``frees`` returns each in ``freed``; without, they are free again. In the cycles after a reset
    all addresses are entered, now ``entered``; ``ready`` is low meanwhile, and nothing may be
    taken. At most all addresses but SPARE may be in use.
    """

    def __init__(self, params: ForwardingParams) -> None:
        super().__init__(
            params,
            address=Out(params.address_bits),
            takes=In(1),
            ends=In(1),
            keep=In(1),
            frees=In(1),
            freed=In(params.address_bits),
            entered=Out(params.address_bits),
            ready=Out(1),
        )

    def build(self, m: Module) -> None:
        bits = self.params.address_bits
        memory = DualPortMemory.sized(
            shape=bits, depth=self.params.beats, style="block", output_registers=0
        )
        m.submodules.places = memory
        # Of the packet's free addresses the next two are registers, and the memory reads the third.
        at, begin, end = Signal(bits, init=2), Signal(bits, init=2), Signal(bits)
        now, later = Signal(bits), Signal(bits, init=1)
        first, second = Signal(bits), Signal(bits, init=1)
        next_at, next_now, next_later = Signal(bits), Signal(bits), Signal(bits)
        back = self.ends & ~self.keep
        m.d.comb += [
            self.address.eq(now),
            self.entered.eq(end),
            next_at.eq(Mux(back, begin, (at + self.takes)[:bits])),
            next_now.eq(Mux(back, first, Mux(self.takes, later, now))),
            next_later.eq(Mux(back, second, Mux(self.takes, memory.read_data, later))),
            memory.read_address.eq(next_at),
            memory.write.eq(self.frees | ~self.ready),
            memory.write_address.eq(end),
            memory.write_data.eq(Mux(self.ready, self.freed, end)),
        ]
        m.d.sync += [at.eq(next_at), now.eq(next_now), later.eq(next_later)]
        with m.If(self.ends & self.keep):
            m.d.sync += [begin.eq(next_at), first.eq(next_now), second.eq(next_later)]
        with m.If(self.frees | ~self.ready):
            m.d.sync += end.eq(end + 1)
        with m.If(end.all()):
            m.d.sync += self.ready.eq(1)
