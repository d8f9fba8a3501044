"""Streams rows to a consumer on the card."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.axi import AxiStreamSignature
from hdl.common.bus_watch import overdue
from hdl.common.component import Component
from hdl.gather.engine_params import GatherEngineParams
from hdl.pcie.descriptors import Cause


class RowStream(Component):
    """Sends each of ``rows`` as a packet on ``m_axis``, which begins with byte 0 of a beat.

    ``tuser`` is high with the last beat of a row that is not in the table, or could not be read
    completely. ``done`` pulses when the consumer has taken the last row of an array of idxs.

    If the consumer takes nothing from one tick to the next, ``silent`` becomes high: from then on
    all rows are dropped, also those of later arrays, and each array is ``done`` at its last row.
    ``failed`` says that rows of the array were dropped. The beat that waits at ``m_axis`` stays
    valid; once the consumer has taken it, the array that begins next is sent as usual.

    ``halt``, held until ``done``, ends the array early: no more of ``rows`` are taken. If a packet
    was begun when rows are halted or dropped, it ends with a beat without valid bytes, and with
    ``tuser``.

    Throughput: a beat a cycle. Latency: :attr:`latency`. Stalls: ``rows`` wait.
    """

    latency = 1

    def __init__(self, params: GatherEngineParams) -> None:
        super().__init__(
            params,
            begin=In(1),
            halt=In(1),
            rows=In(stream.Signature(params.gather.beat)),
            done=Out(1),
            failed=Out(1),
            silent=Out(1),
            moved=Out(1),
            tick=In(1),
            m_axis=Out(AxiStreamSignature(data_bits=params.data_bits)),
        )

    def build(self, m: Module) -> None:
        axis, row = self.m_axis, self.rows.payload
        inside = Signal()  # a packet was begun, and has not ended
        final = Signal()  # the beat at ``m_axis`` is the array's last
        free, taken, cut, comes = Signal(), Signal(), Signal(), Signal()
        lost = row.beyond | (row.cause != Cause.NONE)
        m.d.comb += [
            free.eq(~axis.tvalid | axis.tready),
            taken.eq(axis.tvalid & axis.tready),
            cut.eq(inside & (self.halt | self.silent)),
            comes.eq(self.rows.valid & ~self.halt & ~self.silent),
            self.rows.ready.eq(self.silent | (free & ~self.halt)),
            self.moved.eq(taken),
            self.done.eq(
                Mux(
                    self.silent,
                    self.halt | (self.rows.valid & row.last & row.final),
                    (taken & final) | (self.halt & ~inside & free),
                )
            ),
        ]
        with m.If(free):
            m.d.sync += [
                axis.tvalid.eq(comes | cut),
                axis.tdata.eq(row.data),
                axis.tkeep.eq(Cat((row.bytes > k) & ~cut for k in range(self.params.beat_bytes))),
                axis.tlast.eq(row.last | cut),
                axis.tuser.eq((row.last & lost) | cut),
                final.eq(row.last & row.final & ~cut),
            ]
            with m.If(comes | cut):
                m.d.sync += inside.eq(~row.last & ~cut)
        late = overdue(m, self.tick, axis.tvalid, axis.tready)
        with m.If(late):
            m.d.sync += [self.silent.eq(1), self.failed.eq(1)]
        with m.Elif(self.begin):
            m.d.sync += [self.silent.eq(axis.tvalid | inside), self.failed.eq(axis.tvalid | inside)]
