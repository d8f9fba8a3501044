"""Keeps the missing items of each turn: a bit for every aggregator and every source."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, memory, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.switchgnn.endpoint.bundles import SLOT_BITS, SLOTS
from hdl.switchgnn.endpoint.memory_layouts import WORD_BITS
from hdl.switchgnn.endpoint.params import EndpointParams


class RequiredTable(Component):
    """Keeps the words of ``required`` of all slots, in which a one marks a missing item.

    ``look`` reads word ``place`` (the number of the word, with the slot above it): ``word`` has it
    from the next cycle until the next read. ``scan`` reads in the same way with its own place, and
    is taken in a cycle without ``look``. ``clear`` writes ``cleared`` to ``cleared_place``, and
    subtracts one from the slot's number of missing items; a read in the same cycle returns the new
    word. ``loads`` are words of a slot that is not read yet, and are taken in a cycle without
    ``clear``. ``set`` gives the number of ones of ``set_slot``, when all its words are loaded.

    Throughput: one of the reads and one of the writes a cycle. Latency: :attr:`latency`.
    """

    latency = 1

    def __init__(self, params: EndpointParams) -> None:
        place = params.table_bits
        super().__init__(
            params,
            look=In(1),
            place=In(place),
            scan=In(stream.Signature(place)),
            word=Out(WORD_BITS),
            clear=In(1),
            cleared_place=In(place),
            cleared=In(WORD_BITS),
            loads=In(stream.Signature(data.StructLayout({"place": place, "word": WORD_BITS}))),
            set=In(1),
            set_slot=In(SLOT_BITS),
            set_missing=In(params.missing_bits),
            empty=Out(SLOTS),
        )

    def build(self, m: Module) -> None:
        params, load = self.params, self.loads.payload
        m.submodules.words = words = memory.Memory(
            shape=WORD_BITS, depth=1 << params.table_bits, init=[], attrs={"ram_style": "block"}
        )
        write = words.write_port()
        read = words.read_port(transparent_for=[write])
        m.d.comb += [
            self.scan.ready.eq(~self.look),
            read.en.eq(self.look | self.scan.valid),
            read.addr.eq(Mux(self.look, self.place, self.scan.payload)),
            self.word.eq(read.data),
            self.loads.ready.eq(~self.clear),
            write.en.eq(self.clear | self.loads.valid),
            write.addr.eq(Mux(self.clear, self.cleared_place, load.place)),
            write.data.eq(Mux(self.clear, self.cleared, load.word)),
        ]
        slot = self.cleared_place[-SLOT_BITS:]
        missing = [
            Signal(params.missing_bits, name=f"missing_{k}", reset_less=True) for k in range(SLOTS)
        ]
        for k, count in enumerate(missing):
            with m.If(self.set & (self.set_slot == k)):
                m.d.sync += count.eq(self.set_missing)
            with m.Elif(self.clear & (slot == k)):
                m.d.sync += count.eq(count - 1)
            m.d.comb += self.empty[k].eq(~count.any())
        expect(
            m,
            self,
            clears_what_is_missing=lambda: ~self.clear | Array(missing)[slot].any(),
        )
