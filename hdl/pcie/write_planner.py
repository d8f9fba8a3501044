"""Plans the packets of writes, beat by beat."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import data_register, looked_up, over
from hdl.common.component import Component
from hdl.pcie.descriptors import DWORD_BITS, REQUEST_DWORDS
from hdl.pcie.write_params import WriteRequesterParams

DESCRIPTOR_BYTES = REQUEST_DWORDS * DWORD_BITS // 8


class WritePlanner(Component):
    """Plans a packet for each of ``pieces``: ``plans`` say what each of its beats is made of.

    The data of a packet follows its descriptor, and begins with the dword of the first byte. The
    data of a request comes packed, from byte 0 of a beat on. So a beat of a packet may use only
    some bytes of a beat of data, and leave the rest to the next beat of the packet, or to the
    request's next packet.

    Throughput: a beat a cycle, also from piece to piece. Latency: :attr:`latency`.
    """

    latency = 2

    def __init__(self, params: WriteRequesterParams) -> None:
        super().__init__(
            params,
            pieces=In(stream.Signature(params.cutter.piece)),
            plans=Out(stream.Signature(params.plan)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        bits, size = params.byte_bits, params.beat_bytes
        plan = data_register(m, self.plans.payload)
        moves, ends, begins = Signal(), Signal(), Signal(init=1)
        packet, held = self.take(m, moves & ends)
        last_beat = packet.top[bits:]
        count = Signal(len(last_beat))  # beats of the packet before this one
        fresh = Signal(init=1)  # the packet is its request's first
        left = Signal(bits)  # unused bytes of the latest beat of data
        # A new beat of data begins here in the packet's beat: after the descriptor, and after the
        # bytes that are skipped or left.
        first = Mux(fresh, packet.skip, left)
        place = Signal(bits + 1)
        top = Mux(ends, packet.top[:bits], size - 1)  # place of the last byte of this beat
        rest = Signal(bits + 2)  # bytes that would be left if no beat of data were taken
        m.d.comb += [
            place.eq(
                Mux(
                    begins,
                    Cat(first[:4], looked_up(lambda high: high + 1, first[4:], bits=bits - 3)),
                    left,
                )
            ),
            rest.eq(place - top - 1),
            ends.eq(count == last_beat),
            moves.eq(held & (~self.plans.valid | self.plans.ready)),
        ]
        with m.If(~self.plans.valid | self.plans.ready):
            m.d.sync += [
                self.plans.valid.eq(held),
                plan.begins.eq(begins),
                plan.ends.eq(ends),
                plan.takes.eq(rest[-1]),
                plan.turn.eq(place[:bits]),
                plan.end_dword.eq(packet.top[2:bits]),
                plan.head.eq(packet.head),
                plan.final.eq(packet.final),
                plan.user.eq(packet.user),
            ]
        with m.If(moves):
            m.d.sync += [
                begins.eq(ends),
                count.eq(Mux(ends, 0, count + 1)),
                left.eq(rest[:bits]),
                fresh.eq(Mux(ends, packet.final, fresh)),
            ]

    def take(self, m: Module, leaves: Value) -> tuple[Any, Signal]:
        """Return the packet of a piece in a register, and whether there is one."""
        params, piece = self.params, self.pieces.payload
        top_bits = ceil_log2(params.gate.packet_beats) + params.byte_bits
        packet = Signal(self.packet(top_bits), reset_less=True)
        held = Signal()
        item = ~over(piece.bytes, 4)
        ending = piece.bytes[:2]  # bytes of the last dword; 0 means all four
        dwords = piece.bytes[2:] + ending.any()
        begun = looked_up(lambda skip: 0xF << skip, piece.skip, bits=4)
        ended = looked_up(lambda ending: (1 << (ending or 4)) - 1, ending, bits=4)
        m.d.comb += self.pieces.ready.eq(~held | leaves)
        with m.If(self.pieces.ready):
            m.d.sync += [
                held.eq(self.pieces.valid),
                packet.skip.eq(piece.skip),
                packet.top.eq((piece.bytes + (DESCRIPTOR_BYTES - 1))[:top_bits]),
                packet.head.address.eq(piece.address),
                packet.head.dwords.eq(dwords[: len(packet.head.dwords)]),
                packet.head.first_enable.eq(begun & (ended | ~item.replicate(4))),
                packet.head.last_enable.eq(Mux(item, 0, ended)),
                packet.final.eq(piece.last),
                packet.user.eq(piece.user),
            ]
        return packet, held

    def packet(self, top_bits: int) -> data.StructLayout:
        """Describe a packet: ``top`` is the number of its last byte, the descriptor included."""
        params = self.params
        return data.StructLayout(
            {
                "skip": 2,
                "top": top_bits,
                "head": params.head,
                "final": 1,
                "user": params.user_bits,
            }
        )
