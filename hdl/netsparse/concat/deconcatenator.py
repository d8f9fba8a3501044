"""Takes packets apart into property requests, and drops malformed packets."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packet_buffer import PacketBuffer
from hdl.common.packets import AXIS
from hdl.netsparse.concat.deconcatenator_params import DeconcatenatorParams
from hdl.netsparse.concat.packet_verdict import PacketVerdict
from hdl.netsparse.concat.unpacker import Unpacker


class Deconcatenator(Component):
    """Takes packets for ``node`` at ``axis``, and emits their PRs in order (NetSparse, 6.1).

    A packet's PRs are emitted only when the whole packet has come and was found good; any other
    packet is dropped. ``events`` pulse once for each packet, good or dropped (:class:`Drop`). These
    are not checked: addresses, the source port, fragments, the IP checksum (the MAC's checksum
    covers it) and the property. ``node`` must be stable.

    In a switch, with ``params.any_dest``, there is no ``node``: packets for every node of the
    cluster are taken, and a PR's ``dest`` is its packet's. With ``params.tag_bits``, ``tag`` comes
    with each beat of ``axis``, the same for a whole packet; ``prs_tag`` is the tag of the packet of
    the PR at ``prs``, and ``events`` have that of the judged packet. ``starts`` and ``ends`` then
    mark the first and last PR of a packet.

    Throughput: a beat of ``axis`` and a beat of ``prs`` every cycle; the slower one limits.
    Latency: :attr:`latency` from a packet's last beat to its first PR. Full: ``axis`` waits only
    until ``prs`` are taken; a packet of any length ends, because beats beyond the MTU are not
    stored.
    """

    latency = PacketVerdict.latency + PacketBuffer.latency + Unpacker.latency

    def __init__(self, params: DeconcatenatorParams) -> None:
        super().__init__(
            params,
            axis=In(AXIS),
            **params.node_port,
            prs=Out(stream.Signature(params.beat)),
            events=Out(params.events),
            **({"tag": In(params.tag_bits)} if params.tag_bits else {}),
            **({"prs_tag": Out(params.tag_bits)} if params.tag_bits else {}),
        )

    def build(self, m: Module) -> None:
        m.submodules.verdict = verdict = PacketVerdict(self.params)
        m.submodules.buffer = buffer = PacketBuffer(self.params.buffer)
        m.submodules.unpacker = unpacker = Unpacker(self.params)
        connect(m, flipped(self.axis), verdict.axis)
        connect(m, buffer.o, unpacker.words)
        connect(m, unpacker.prs, flipped(self.prs))
        m.d.comb += [
            verdict.room.eq(buffer.room),
            buffer.write.eq(verdict.write),
            buffer.word.eq(verdict.word),
            buffer.ends.eq(verdict.ends),
            buffer.keep.eq(verdict.keep),
            self.events.eq(verdict.events),
        ]
        if not self.params.any_dest:
            m.d.comb += [verdict.node.eq(self.node), unpacker.node.eq(self.node)]
        if self.params.tag_bits:
            m.d.comb += [verdict.tag.eq(self.tag), self.prs_tag.eq(unpacker.prs_tag)]
