"""Reads arrays of idxs from device memory."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi_read_port import AxiReadPort
from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.streams import forward
from hdl.gather.engine_params import CHUNK, GatherEngineParams
from hdl.pcie.descriptors import Cause


class CardReader(Component):
    """Reads device memory at the addresses of ``requests``; ``beats`` are the data, in order.

    A request is for whole dwords, and does not cross a multiple of 512 bytes. Its beats are those
    of the bus, so the first one may begin before the request does, and ``bytes`` counts from the
    beat's begin. A beat for which device memory answers with an error, or not at all, has the cause
    ABORTED. ``beats`` has no back-pressure: a user must have room for what it requests.

    Throughput: a request and a beat a cycle. Latency: :attr:`latency` from a request to ``m_axi``.
    ``busy`` is high while beats are to come. ``watch`` and ``bus`` are those of an
    :class:`AxiReadPort`.
    """

    latency = AxiReadPort.latency

    def __init__(self, params: GatherEngineParams) -> None:
        super().__init__(
            params,
            requests=In(stream.Signature(params.reads.cutter.request)),
            beats=Out(stream.Signature(params.reads.beat)),
            busy=Out(1),
            watch=In(WATCH),
            bus=Out(BUS),
            m_axi=Out(params.read_port.read_bus),
        )

    def build(self, m: Module) -> None:
        params, request, beat = self.params, self.requests.payload, self.beats.payload
        m.submodules.port = port = AxiReadPort(params.read_port)
        connect(m, port.axi, flipped(self.m_axi))
        lane_bits, burst = params.reads.lane_bits, port.bursts.payload
        place = request.address[2 : CHUNK.bit_length() - 1]  # first dword, modulo 512 bytes
        end = Signal(len(place))  # number of the last dword
        ahead = Signal(len(place))  # number of the last dword, from the first one's beat on
        owed = Signal(range(params.read_port.outstanding + 2))  # bursts whose beats are to come
        goes, ends = Signal(), Signal()
        m.d.comb += [
            end.eq((place + request.bytes[2:] - 1)[: len(end)]),
            # A sum beside the other, not behind it.
            ahead.eq((place[:lane_bits] + request.bytes[2:] - 1)[: len(ahead)]),
            burst.address.eq(
                Cat(Const(0, params.beat_bits), request.address[params.beat_bits :])[
                    : params.address_bits
                ]
            ),
            burst.length.eq(ahead[lane_bits:]),
            burst.tag.eq(end[:lane_bits]),
            *forward(self.requests, port.bursts),
            goes.eq(port.bursts.valid & port.bursts.ready),
            ends.eq(port.beats.valid & port.beats.last),
            port.watch.eq(self.watch),
            self.bus.eq(port.bus),
            self.busy.eq(owed.any()),
            self.beats.valid.eq(port.beats.valid),
            beat.data.eq(port.beats.data),
            beat.bytes.eq((Mux(port.beats.last, port.beats.tag, params.reads.lanes - 1) + 1) << 2),
            beat.last.eq(port.beats.last),
            beat.cause.eq(Mux(port.beats.failed, Cause.ABORTED, Cause.NONE)),
        ]
        m.d.sync += owed.eq(owed + goes - ends)
