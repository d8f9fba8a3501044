"""Reads beats of tables for several clients through one port."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.common.stream_arbiter import StreamArbiter
from hdl.common.streams import forward
from hdl.switchgnn.endpoint.bundles import TABLE_BEAT, TABLE_CLIENTS
from hdl.switchgnn.endpoint.params import EndpointParams


class TableReader(Component):
    """Reads the beats of memory that ``requests[k]`` address, and returns them as ``beats[k]``.

    Clients are granted in round-robin order; the beats of each come in the order of its requests.
    ``beats`` has no back-pressure: a client requests what it has room for. ``bursts`` and
    ``provided`` belong to an :class:`hdl.common.axi_read_port.AxiReadPort`, whose tag is the
    client.

    Throughput: a beat a cycle. Latency: :attr:`latency` from a request to ``bursts``, none from
    ``provided`` to ``beats``. Stalls: requests wait.
    """

    latency = StreamArbiter.latency

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            requests=In(stream.Signature(params.beat_address_bits)).array(TABLE_CLIENTS),
            beats=Out(TABLE_BEAT).array(TABLE_CLIENTS),
            bursts=Out(stream.Signature(params.table_port.burst)),
            provided=In(params.table_port_beat),
        )

    def build(self, m: Module) -> None:
        bits = self.params.beat_address_bits
        m.submodules.arbiter = arbiter = StreamArbiter.sized(shape=bits, count=TABLE_CLIENTS)
        chosen = arbiter.o.payload
        address = chosen.payload << exact_log2(BEAT_BYTES)
        m.d.comb += forward(arbiter.o, self.bursts, address=address, tag=chosen.index)
        for k, (request, beat) in enumerate(zip(self.requests, self.beats, strict=True)):
            connect(m, flipped(request), arbiter.i[k])
            m.d.comb += [
                beat.valid.eq(self.provided.valid & (self.provided.tag == k)),
                beat.failed.eq(self.provided.failed),
                beat.data.eq(self.provided.data),
            ]
