"""How the banks of the Idx Filter's cache reach the SNIC's memory: one AXI4 master."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.axi import Axi4Signature, Burst, Response
from hdl.common.component import Component
from hdl.common.streams import Fork, ForkParams, StreamRegister, StreamRegisterParams
from hdl.netsparse.idx_filter.crossbar import add_choice, chosen
from hdl.netsparse.idx_filter.params import LINE_BYTES, LINE_IDXS, FilterCacheParams


class FilterMemoryPort(Component):
    """Sends each bank's ``fills`` and ``write_backs``, and ``zeros``, as bursts of one beat.

    Banks take turns, and their number is the identifier; ``zeros``, the addresses of lines to
    clear, come while the banks are idle. What arrived for bank k is said by bit k of ``filled``,
    with ``fill_data`` and ``fill_error``, and of ``written``; ``write_error`` comes with a write
    that failed, and any bit of ``written`` with one of ``zeros``.

    Throughput: one fill and one write a cycle. Latency: :attr:`latency` from ``fills`` taken to
    ``filled`` beside that of the memory. R and B are taken in every cycle, AW and W wait for
    nothing but their own ``ready``, so the memory cannot be made to wait for the cache.
    """

    latency = 2

    def __init__(self, params: FilterCacheParams) -> None:
        self.read = data.StructLayout({"id": params.id_bits, "address": params.address_bits})
        self.write = data.StructLayout({"id": params.id_bits, "line": params.eviction})
        super().__init__(
            params,
            {
                "fills": In(stream.Signature(params.address_bits)).array(params.banks),
                "write_backs": In(stream.Signature(params.eviction)).array(params.banks),
                "zeros": In(stream.Signature(params.address_bits)),
                "filled": Out(params.banks),
                "fill_error": Out(1),
                "fill_data": Out(LINE_IDXS),
                "written": Out(params.banks),
                "write_error": Out(1),
                "axi": Out(
                    Axi4Signature(
                        address_bits=params.address_bits,
                        data_bits=8 * LINE_BYTES,
                        id_bits=params.id_bits,
                    )
                ),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        axi = self.axi
        self.add_reads(m)
        self.add_writes(m)
        for name in ("ar", "aw"):
            m.d.comb += [
                getattr(axi, f"{name}len").eq(0),
                getattr(axi, f"{name}size").eq(LINE_BYTES.bit_length() - 1),
                getattr(axi, f"{name}burst").eq(Burst.INCR),
            ]
        m.d.comb += [
            axi.wstrb.eq(-1),
            axi.wlast.eq(1),
            axi.rready.eq(1),
            axi.bready.eq(1),
        ]
        for arrived, valid, number in (
            (self.filled, axi.rvalid, axi.rid),
            (self.written, axi.bvalid, axi.bid),
        ):
            m.d.sync += arrived.eq(Cat(valid & (number == k) for k in range(self.params.banks)))
        m.d.sync += [
            self.fill_data.eq(axi.rdata),
            self.fill_error.eq(self.is_error(axi.rresp)),
            self.write_error.eq(axi.bvalid & self.is_error(axi.bresp)),
        ]
        return m

    def is_error(self, response):
        """Whether the answer of a slave is one."""
        return (response == Response.SLVERR) | (response == Response.DECERR)

    def number(self, grant):
        """Of the bit that is set."""
        return Cat(
            Cat(grant[k] for k in range(len(grant)) if k >> bit & 1).any()
            for bit in range(self.params.id_bits)
        )

    def add_reads(self, m: Module) -> None:
        """Banks in turn to AR."""
        read = StreamRegister(StreamRegisterParams(width=self.read.size))
        m.submodules.read = read
        asked = self.read(read.i.payload)
        grant = Signal(self.params.banks)
        m.d.comb += [
            grant.eq(
                add_choice(m, "read_turn", Cat(bank.valid for bank in self.fills), read.i.ready)
            ),
            read.i.valid.eq(grant.any()),
            asked.id.eq(self.number(grant)),
            asked.address.eq(chosen(grant, [bank.payload for bank in self.fills])),
            self.axi.arvalid.eq(read.o.valid),
            self.axi.arid.eq(self.read(read.o.payload).id),
            self.axi.araddr.eq(self.read(read.o.payload).address),
            read.o.ready.eq(self.axi.arready),
        ]
        for k, bank in enumerate(self.fills):
            m.d.comb += bank.ready.eq(grant[k] & read.i.ready)

    def add_writes(self, m: Module) -> None:
        """Banks and zeros in turn to AW and W, which take a line each at its own time."""
        write = StreamRegister(StreamRegisterParams(width=self.write.size))
        m.submodules.write = write
        line = self.write(write.i.payload)
        sources = [*self.write_backs, self.zeros]
        grant = Signal(len(sources))
        addresses = [bank.payload.address for bank in self.write_backs]
        m.d.comb += [
            grant.eq(add_choice(m, "write_turn", Cat(one.valid for one in sources), write.i.ready)),
            write.i.valid.eq(grant.any()),
            line.id.eq(self.number(grant[:-1])),
            line.line.address.eq(chosen(grant, [*addresses, self.zeros.payload])),
            line.line.data.eq(chosen(grant, [bank.payload.data for bank in self.write_backs])),
        ]
        for k, one in enumerate(sources):
            m.d.comb += one.ready.eq(grant[k] & write.i.ready)
        m.submodules.fork = fork = Fork(ForkParams(width=self.write.size, count=2))
        address, beat = (self.write(o.payload) for o in fork.o)
        m.d.comb += [
            fork.i.valid.eq(write.o.valid),
            fork.i.payload.eq(write.o.payload),
            write.o.ready.eq(fork.i.ready),
            self.axi.awvalid.eq(fork.o[0].valid),
            self.axi.awid.eq(address.id),
            self.axi.awaddr.eq(address.line.address),
            fork.o[0].ready.eq(self.axi.awready),
            self.axi.wvalid.eq(fork.o[1].valid),
            self.axi.wdata.eq(beat.line.data),
            fork.o[1].ready.eq(self.axi.wready),
        ]
