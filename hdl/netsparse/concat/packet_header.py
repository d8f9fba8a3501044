"""Builds the header of 64 bytes in front of a packet's PRs."""

from collections.abc import Mapping

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import in_lanes
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.protocol import (
    CONCATENATION_LAYER,
    DO_NOT_FRAGMENT,
    IP_OFFSET,
    PACKET_CONSTANTS,
    PACKET_HEADER,
    PACKET_HEADER_BYTES,
    PRIORITIES,
    UDP_OFFSET,
    UPPER_LAYERS,
    Kind,
    dscp_ecn,
)

IP_BYTES = PACKET_HEADER_BYTES - IP_OFFSET  #: bytes that total_length counts besides the PRs
UDP_BYTES = PACKET_HEADER_BYTES - UDP_OFFSET  #: bytes that udp_length counts besides the PRs

#: sum of the words of the IPv4 header that are the same in all packets
CONSTANT_SUM = (
    (PACKET_CONSTANTS["version_ihl"] << 8)
    + DO_NOT_FRAGMENT
    + (PACKET_CONSTANTS["ttl"] << 8)
    + PACKET_CONSTANTS["protocol"]
)


class PacketHeader(Component):
    """Adds the header to every packet of ``marks``.

    Node n has the MAC ``mac_base + n`` and the IP ``ip_base + n``. The IPv4 checksum is computed;
    there is no UDP checksum; identification and reserved bytes are zero. The DSCP is that of the
    class's priority. Latency: :attr:`latency`. Throughput: a packet a cycle. Stalls: every stage
    holds a packet until the next stage is free.
    """

    latency = 5

    def __init__(self, params: ConcatenatorParams) -> None:
        self.dscp_ecn = dscp_ecn(PRIORITIES[params.payload])
        super().__init__(
            params,
            settings=In(params.settings),
            marks=In(stream.Signature(params.mark)),
            packets=Out(stream.Signature(params.outgoing)),
        )

    def build(self, m: Module) -> None:
        settings, mark = self.settings, self.marks.payload
        ready = self.packets.ready
        valids = [Signal(name=f"valid_{k}") for k in range(self.latency)]
        steps = []  # for each stage: it takes the previous stage's packet
        for valid in reversed(valids):
            step = Signal(name=f"step_{len(valids) - 1 - len(steps)}")
            m.d.comb += step.eq(~valid | ready)
            steps.insert(0, step)
            ready = step
        m.d.comb += self.marks.ready.eq(steps[0])
        for before, valid, step in zip([self.marks.valid, *valids], valids, steps, strict=False):
            with m.If(step):
                m.d.sync += valid.eq(before)

        fields = {
            "mark": mark,
            "own_mac": (settings.mac_base + settings.node)[:48],
            "mac": (settings.mac_base + mark.dest)[:48],
            "own_ip": (settings.ip_base + settings.node)[:32],
            "ip": (settings.ip_base + mark.dest)[:32],
            "total": mark.used + IP_BYTES,
        }
        shapes = {"mark": mark.shape(), "own_mac": 48, "mac": 48, "own_ip": 32, "ip": 32}
        named = data.StructLayout(shapes | {"total": 16})
        stages = []
        for k, step in enumerate(steps):
            stages.append(Signal(named, name=f"fields_{k}", reset_less=True))
            with m.If(step):
                if k == 0:
                    m.d.sync += [stages[0][name].eq(value) for name, value in fields.items()]
                else:
                    m.d.sync += stages[k].eq(stages[k - 1])
        checksum = self.checksum(m, stages[0], steps)
        self.header(m, stages[-1], checksum)
        m.d.comb += self.packets.valid.eq(valids[-1])

    def checksum(self, m: Module, fields, steps):
        """Return one's complement of the one's complement sum of the IPv4 header's words."""
        own = Signal(17, reset_less=True)
        other = Signal(17, reset_less=True)
        length = Signal(18, reset_less=True)
        whole = Signal(20, reset_less=True)
        folded = Signal(17, reset_less=True)
        result = Signal(16, reset_less=True)
        with m.If(steps[1]):
            m.d.sync += [
                own.eq(fields.own_ip[:16] + fields.own_ip[16:]),
                other.eq(fields.ip[:16] + fields.ip[16:]),
                length.eq(fields.total + (CONSTANT_SUM + self.dscp_ecn)),
            ]
        with m.If(steps[2]):
            m.d.sync += whole.eq(own + other + length)
        with m.If(steps[3]):
            m.d.sync += folded.eq(whole[:16] + whole[16:])
        with m.If(steps[4]):
            m.d.sync += result.eq((~(folded[:16] + folded[16]))[:16])
        return result

    def header(self, m: Module, fields, checksum) -> None:
        """Fill in every field of the header, in lanes."""
        mark = fields.mark
        kind = Kind.RESPONSE if self.params.payload else Kind.READ
        upper = PACKET_CONSTANTS | {
            "dscp_ecn": self.dscp_ecn,
            "destination_mac": fields.mac,
            "source_mac": fields.own_mac,
            "total_length": fields.total,
            "flags_fragment": DO_NOT_FRAGMENT,
            "ip_checksum": checksum,
            "source_ip": fields.own_ip,
            "destination_ip": fields.ip,
            "udp_length": fields.total - (IP_BYTES - UDP_BYTES),
        }
        layer = {
            "type": Mux(mark.error, Kind.ERROR.value, kind.value),
            "dest": mark.dest,
            "len": mark.length,
            "prs": mark.prs,
        }
        header = Cat(filled(CONCATENATION_LAYER, layer), filled(UPPER_LAYERS, upper))
        assert [name for name, _ in PACKET_HEADER] == ["concatenation", "upper"]
        m.d.comb += [
            self.packets.payload.header.eq(in_lanes(header)),
            self.packets.payload.prs.eq(mark.prs),
            self.packets.payload.used.eq(mark.used),
            self.packets.payload.first.eq(mark.first),
            *(self.packets.payload[name].eq(mark[name]) for name in self.params.label),
        ]


def filled(layout: data.StructLayout, values: Mapping) -> Value:
    """Return a struct with ``values``; fields that are left out are 0."""
    fields = []
    for name, field in layout:
        wide = Value.cast(values.get(name, 0))
        fields.append(Cat(wide, C(0, field.width))[: field.width])
    return Cat(fields)
