"""Builds queues from memory: no other part of the project does."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import memory, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.memory import STYLES, parts_of, ram_style
from hdl.common.params import choice, tagged, whole
from hdl.common.shaped import ShapedParams

DISTRIBUTED_WORDS = 64  #: most words of which a LUT holds a bit each


class FifoParams(ShapedParams, suffix="{width}x{depth}_{style}"):
    """Sets the shape of a beat, the size of a queue, and the memory that it is made of."""

    depth: int = whole(2, 1 << 16)  #: number of words of memory
    #: auto means distributed up to 64 words, else block
    style: str = choice(*STYLES, default="auto")
    #: block and ultra: one more register after the memory's own
    output_register: bool = tagged("_r", default=False)
    #: ``i.ready`` is low while it is full; else no beat may come then
    refuses: bool = tagged("_never_full", default=True)
    mixed: bool = tagged("_mixed", default=False)  #: bits beyond columns of UltraRAM: block RAM
    #: a beat that comes while it is empty is at ``o`` in the same cycle, or with output_register in
    #: the next one
    passes: bool = tagged("_passing", default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.style == "auto":  # resolved here, so that equal queues have equal parameters
            style = "distributed" if self.depth <= DISTRIBUTED_WORDS else "block"
            object.__setattr__(self, "style", style)
        if self.passes and self.stages == 1:
            raise ValueError("passes needs output_register, or style distributed, to hold a beat")
        if self.output_register and self.style == "distributed":
            raise ValueError(
                "output_register needs style block or ultra, because a distributed memory is read"
                " without a clock"
            )

    @property
    def stages(self) -> int:
        """Return the number of registers between the memory and ``o``."""
        return 0 if self.style == "distributed" else 1 + self.output_register

    @property
    def capacity(self) -> int:
        """Return the number of beats that the queue holds while ``o`` is stalled."""
        return self.depth + self.stages

    @property
    def latency(self) -> int:
        """Return the cycles from a beat at ``i`` to the same beat at ``o``, if it is empty."""
        return int(self.output_register) if self.passes else 1 + self.stages


class Fifo(Component):
    """Queues words: beats leave ``o`` in the order in which they came at ``i``.

    ``level`` is the number of beats inside, up to ``params.capacity``. Throughput: a beat in and a
    beat out every cycle, full or empty. Latency: ``latency``. Full: ``i.ready``, which depends on
    registers only, goes low; no beat is lost. Without ``params.refuses`` the sender must know that
    the queue is not full when it sends a beat; then ``i.ready`` is always high, and the path of
    ``i.valid`` has fewer logic levels. With ``params.passes``, ``o`` follows ``i`` in the same
    cycle while it is empty, or in the next one if it is a register. ``depth`` is exactly the number
    of memory words, which need not be a power of two.
    """

    def __init__(self, params: FifoParams) -> None:
        self.latency = params.latency
        super().__init__(
            params,
            i=In(stream.Signature(params.shape)),
            o=Out(stream.Signature(params.shape)),
            level=Out(bits_for(params.capacity)),
        )

    def build(self, m: Module) -> None:
        depth = self.params.depth
        push = Signal()  # a beat goes into the memory
        pop = Signal()  # a beat leaves the memory
        free = Signal(init=1)  # a register, since it drives many loads, or constant 1
        filled = Signal()  # register: the memory is not empty
        stored = Signal(range(depth + 1))
        passed = Signal()  # a beat goes from ``i`` to ``o``, or its register, past the memory
        m.d.comb += [self.i.ready.eq(free), push.eq(self.i.valid & free & ~passed)]
        places = [self.count_places(m, "write_at", push), self.count_places(m, "read_at", pop)]
        fresh = self.add_words(m, push, pop, *places)
        # ``pop`` often comes late, and is the enable of these registers only.
        with m.If(push ^ pop):
            m.d.sync += stored.eq(Mux(push, stored + 1, stored - 1)[: len(stored)])
            m.d.sync += filled.eq(push | (stored != 1))
            if self.params.refuses:
                m.d.sync += free.eq(~push | (stored != depth - 1))
        if not self.params.refuses:
            expect(m, self, comes_to_a_free_place=lambda: ~push | (stored != depth))
        m.d.comb += self.level.eq(stored)
        if self.params.stages:
            self.add_stages(m, fresh, filled, pop, stored, passed)
        else:
            m.d.comb += [
                pop.eq(filled & self.o.ready),
                self.o.valid.eq(filled),
                self.o.payload.eq(fresh),
            ]
            if self.params.passes:
                m.d.comb += [
                    passed.eq(~filled & self.o.ready),
                    self.o.valid.eq(filled | self.i.valid),
                    self.o.payload.eq(Mux(filled, fresh, self.i.payload)),
                ]

    def count_places(self, m: Module, name: str, step: Signal) -> Signal:
        """Return a register that goes through all places of the memory with ``step``."""
        depth = self.params.depth
        place = Signal(ceil_log2(depth), name=name)
        with m.If(step):
            m.d.sync += place.eq(place + 1)
            if depth != 1 << ceil_log2(depth):
                with m.If(place == depth - 1):
                    m.d.sync += place.eq(0)
        return place

    def add_words(self, m: Module, push, pop, write_at, read_at) -> Value:
        """Add the memory; return the word that is read."""
        params, fresh = self.params, []
        parts = parts_of(params.style, params.width, params.depth, params.mixed)
        for name, (bits, style) in zip(("words", "rest"), parts, strict=False):
            width = bits.stop - bits.start
            attrs = ram_style(style, width, params.depth)
            words = memory.Memory(shape=width, depth=params.depth, init=[], attrs=attrs)
            m.submodules[name] = words
            write = words.write_port()
            read = words.read_port(domain="sync" if params.stages else "comb")
            m.d.comb += [
                write.en.eq(push),
                write.addr.eq(write_at),
                write.data.eq(Value.cast(self.i.payload)[bits]),
                read.addr.eq(read_at),
            ]
            if params.stages:
                m.d.comb += read.en.eq(pop)
            fresh.append(read.data)
        return Cat(fresh)

    def add_stages(self, m: Module, fresh, filled, pop, stored, passed) -> None:
        """Add the memory's read register and one more; each holds a beat like a pipeline stage."""
        holds = Signal()
        if self.params.output_register:
            data = Signal(self.params.width, reset_less=True)
            valid = Signal()
            leaves = ~valid | self.o.ready
            with m.If(leaves):
                m.d.sync += [data.eq(fresh), valid.eq(holds)]
            if self.params.passes:
                m.d.comb += passed.eq(leaves & ~filled & ~holds)
                with m.If(passed & self.i.valid):
                    m.d.sync += [data.eq(self.i.payload), valid.eq(1)]
            m.d.comb += [self.o.valid.eq(valid), self.o.payload.eq(data)]
        else:
            valid = 0
            leaves = self.o.ready
            m.d.comb += [self.o.valid.eq(holds), self.o.payload.eq(fresh)]
        advance = Signal()
        m.d.comb += [advance.eq(~holds | leaves), pop.eq(filled & advance)]
        with m.If(advance):
            m.d.sync += holds.eq(filled)
        # One of the bits is the carry into the only carry chain.
        doubled = Cat(1, stored) + Cat(valid, holds)
        m.d.comb += self.level.eq(doubled[1:][: len(self.level)])
