"""How often each port met each verdict."""

from amaranth.hdl import Cat, Module, Mux, Shape, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, index_of
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.switch.params import PacketSwitchParams
from hdl.switch.update_memory import UpdateMemory

COUNTER_BITS = 32


class VerdictCounters(Component):
    """Counts what ``verdict`` says of the packet that came by ``sender``; NONE is no packet.

    Counters wrap. ``value`` is the one of port ``port`` and verdict ``of``, up to date four
    cycles after both. ``clear`` sets all of them to zero, as does a reset: ``busy`` for as many
    cycles as there are counters, in which nothing is counted.

    Throughput: one verdict a cycle, the same one over and over included.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        kinds = 1 << Shape.cast(params.verdict).width
        self.memory = MemoryParams(
            bits=COUNTER_BITS, depth=kinds << params.port_bits, style="block"
        )
        super().__init__(
            params,
            {
                "clear": In(1),
                "busy": Out(1),
                "verdict": In(params.verdict),
                "sender": In(params.ports),
                "port": In(params.port_bits),
                "of": In(params.verdict),
                "value": Out(COUNTER_BITS),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.counts = counts = UpdateMemory(self.memory)
        m.submodules.copy = copy = DualPortMemory(self.memory)  # for the host to read
        walk = Signal(self.memory.address_bits)
        walking = Signal(init=1)
        with m.If(walking):
            m.d.sync += [walk.eq(walk + 1), walking.eq(walk != self.memory.depth - 1)]
        with m.Elif(self.clear):
            m.d.sync += walking.eq(1)
        address = Signal(self.memory.address_bits, reset_less=True)
        happened = Signal()
        wipe = Signal()
        m.d.sync += [
            address.eq(Mux(walking, walk, Cat(self.verdict, index_of(self.sender)))),
            happened.eq(self.verdict != self.params.verdict.NONE),
            wipe.eq(walking),
        ]
        wiping = delay(m, wipe, counts.lead, "wipe", reset_less=False)
        counting = delay(m, happened, counts.lead, "happened", reset_less=False)
        m.d.comb += [
            self.busy.eq(walking),
            counts.address.eq(address),
            counts.after.eq(Mux(wiping, 0, counts.before + 1)[:COUNTER_BITS]),
            counts.write.eq(wiping | counting),
            copy.write.eq(counts.written.valid),
            copy.write_address.eq(counts.written.address),
            copy.write_data.eq(counts.written.contents),
            copy.read_address.eq(Cat(self.of, self.port)),
            self.value.eq(copy.read_data),
        ]
        return m
