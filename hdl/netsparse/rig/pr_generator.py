"""Generates a read PR for every idx that is requested from its owner."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.netsparse.protocol import LENGTH_BITS, READ_PR
from hdl.netsparse.rig.params import RigParams


class PrGenerator(Component):
    """Generates read PRs for pending idxs into the Tx queue (NetSparse, section 5.3).

    ``issued`` is high when a PR is generated, for ``issued_entry``: from then on a response may
    come. Its id is the entry, with ``generation`` above it. With ``reject`` no PR is generated:
    idxs are dropped, each with ``rejected``; PRs in the queue stay.

    Throughput: one a cycle. Latency: ``latency``. Stalls: the queue fills, then ``i`` waits.
    """

    def __init__(self, params: RigParams) -> None:
        self.queue = FifoParams(shape=READ_PR, depth=params.transmit_prs)
        self.latency = self.queue.latency
        owned = stream.Signature(params.owned)
        super().__init__(
            params,
            i=In(owned),
            prs=Out(stream.Signature(READ_PR)),
            node=In(32),
            unit=In(16),
            generation=In(params.generation_bits),
            bytes=In(LENGTH_BITS),
            reject=In(1),
            issued=Out(1),
            issued_entry=Out(params.entry_bits),
            rejected=Out(1),
            stall=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.queue = queue = Fifo(self.queue)
        pr = Signal(READ_PR)
        owned = self.i.payload
        connect(m, queue.o, flipped(self.prs))
        m.d.comb += [
            pr.dest.eq(owned.node),
            pr.length.eq(self.bytes),
            pr.pr.src.eq(self.node),
            pr.pr.tid.eq(self.unit),
            pr.pr.idx.eq(owned.idx),
            pr.pr.id.eq(Cat(owned.tag, self.generation)),
            queue.i.payload.eq(pr),
            queue.i.valid.eq(self.i.valid & ~self.reject),
            self.i.ready.eq(queue.i.ready | self.reject),
            self.issued.eq(queue.i.valid & queue.i.ready),
            self.issued_entry.eq(owned.tag),
            self.rejected.eq(self.i.valid & self.reject),
            self.stall.eq(queue.i.valid & ~queue.i.ready),
        ]
