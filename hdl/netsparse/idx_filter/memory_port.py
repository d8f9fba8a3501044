"""Connects the banks of the Idx Filter's cache to the SNIC's memory: one AXI4 master."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from hdl.common.arithmetic import index_of
from hdl.common.axi_read_port import AxiReadPort, full_bus
from hdl.common.axi_write_port import AxiWritePort
from hdl.common.bus_watch import BUS, WATCH, any_of
from hdl.common.component import Component
from hdl.common.crossbar import add_choice, chosen
from hdl.common.streams import Fork, StreamRegister, forward
from hdl.netsparse.idx_filter.params import LINE_IDXS, FilterCacheParams


class FilterMemoryPort(Component):
    """Sends each bank's ``fills`` and ``write_backs``, and ``zeros``, as bursts of one beat.

    Banks are granted in round-robin order; ``zeros``, the addresses of lines to clear, come while
    the banks are idle. Identifiers are all 0, so the memory answers in order. Bit k of
    ``filled``, with ``fill_data`` and ``fill_error``, reports a fill for bank k, and bit k of
    ``written`` a write; ``write_error`` comes with a write that failed, and any bit of ``written``
    with one of ``zeros``. An error means that the response was not OKAY, or that the bus is broken
    (``bus``, see :class:`AxiReadPort`).

    Throughput: one fill and one write a cycle. Latency: :attr:`latency` from ``fills`` taken to
    ``filled``, plus that of the memory. R and B are taken in every cycle, and AW and W wait only
    for their own ``ready``, so the memory never waits for the cache.
    """

    latency = 2

    def __init__(self, params: FilterCacheParams) -> None:
        self.write = data.StructLayout(
            {"bank": params.write_port.tag_bits, "line": params.eviction}
        )
        super().__init__(
            params,
            fills=In(stream.Signature(params.address_bits)).array(params.banks),
            write_backs=In(stream.Signature(params.eviction)).array(params.banks),
            zeros=In(stream.Signature(params.address_bits)),
            filled=Out(params.banks),
            fill_error=Out(1),
            fill_data=Out(LINE_IDXS),
            written=Out(params.banks),
            write_error=Out(1),
            watch=In(WATCH),
            bus=Out(BUS),
            axi=Out(full_bus(params.read_port, params.write_port)),
        )

    def build(self, m: Module) -> None:
        m.submodules.reader = reader = AxiReadPort(self.params.read_port)
        m.submodules.writer = writer = AxiWritePort(self.params.write_port)
        self.add_reads(m, reader)
        self.add_writes(m, writer)
        for part in (reader, writer):
            m.d.comb += part.watch.eq(self.watch)
            for name, member in part.axi.signature.members.items():
                inside, outside = getattr(part.axi, name), getattr(self.axi, name)
                m.d.comb += outside.eq(inside) if member.flow == Out else inside.eq(outside)
        any_of(m, self.bus, [reader.bus, writer.bus])
        for arrived, answer in ((self.filled, reader.beats), (self.written, writer.answers)):
            m.d.sync += arrived.eq(
                Cat(answer.valid & (answer.tag == k) for k in range(self.params.banks))
            )
        m.d.sync += [
            self.fill_data.eq(reader.beats.data),
            self.fill_error.eq(reader.beats.failed),
            self.write_error.eq(writer.answers.valid & writer.answers.failed),
        ]

    def add_reads(self, m: Module, reader: AxiReadPort) -> None:
        """Arbitrate the reads of the banks to AR."""
        grant = Signal(self.params.banks)
        requesting = Cat(bank.valid for bank in self.fills)
        m.d.comb += [
            grant.eq(add_choice(m, "read_turn", requesting, reader.bursts.ready)),
            reader.bursts.valid.eq(requesting.any()),
            reader.bursts.payload.tag.eq(index_of(grant, self.params.write_port.tag_bits)),
            reader.bursts.payload.address.eq(chosen(grant, [bank.payload for bank in self.fills])),
        ]
        for k, bank in enumerate(self.fills):
            m.d.comb += bank.ready.eq(grant[k] & reader.bursts.ready)

    def add_writes(self, m: Module, writer: AxiWritePort) -> None:
        """Arbitrate writes of the banks, and zeros, to AW and W.

        AW and W may take a line in different cycles.
        """
        # AW and W leave at different times, so the chosen line must be stored until both have left.
        m.submodules.write = write = StreamRegister.sized(shape=self.write)
        m.submodules.fork = fork = Fork.sized(shape=self.write, count=2)
        connect(m, write.o, fork.i)
        line = write.i.payload
        sources = [*self.write_backs, self.zeros]
        grant = Signal(len(sources))  # a register, since it drives all bits of a line
        requesting = Cat(item.valid for item in sources)
        addresses = [bank.payload.address for bank in self.write_backs]
        choice = add_choice(m, "write_turn", requesting, write.i.ready)
        with m.If(write.i.ready):
            m.d.sync += grant.eq(choice)
        m.d.comb += [
            write.i.valid.eq((grant & requesting).any()),
            line.bank.eq(index_of(grant[:-1], self.params.write_port.tag_bits)),
            line.line.address.eq(chosen(grant, [*addresses, self.zeros.payload])),
            line.line.data.eq(chosen(grant, [bank.payload.data for bank in self.write_backs])),
        ]
        for k, item in enumerate(sources):
            m.d.comb += item.ready.eq(grant[k] & write.i.ready)
        burst, beat = (o.payload for o in fork.o)
        m.d.comb += [
            *forward(fork.o[0], writer.bursts, tag=burst.bank, address=burst.line.address),
            *forward(fork.o[1], writer.beats, data=beat.line.data, strobes=-1, last=1),
        ]
