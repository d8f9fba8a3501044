"""Takes what is sent to RQ apart, as the block does, and checks it against the block's rules."""

import random
from dataclasses import dataclass

import cocotb
from cocotb.triggers import RisingEdge

from hdl.pcie.axis import rq_user
from hdl.pcie.descriptors import REQUEST, RequestType
from sim.harness.payloads import unpack
from sim.harness.streams import cycle, never


@dataclass
class Packet:
    """A request: its descriptor, the byte enables of its first and last dword, and its data."""

    found: dict
    enables: tuple[int, int]
    dwords: list[int]
    number: int  #: that the block tells when the packet has got on
    begun: int  #: cycles of its first and last beat
    ended: int = 0

    @property
    def writes(self):
        return self.found["kind"] == RequestType.MEMORY_WRITE


class RqMonitor:
    """Collects ``packets`` of RQ. ``stall`` says when RQ is not ready; if None, others drive it."""

    def __init__(self, dut, name="rq", stall=never):
        self.dut, self.stall = dut, stall
        self.valid, self.ready = getattr(dut, f"{name}_tvalid"), getattr(dut, f"{name}_tready")
        self.wires = [
            getattr(dut, f"{name}_{wire}") for wire in ("tdata", "tkeep", "tlast", "tuser")
        ]
        self.width = len(self.wires[0])
        self.user = rq_user(self.width)
        self.packets, self.beats = [], []  # and all that the wires said of each beat
        if stall:
            self.ready.value = 0
        cocotb.start_soon(self.watch())

    async def watch(self):
        edge, inside, waiting = RisingEdge(self.dut.clk), None, None
        while True:
            await edge
            now = None
            if self.valid.value and not self.dut.rst.value:
                now = [int(wire.value) for wire in self.wires]
            assert waiting in (None, now), "a waiting beat changed or went away"
            assert inside is None or now, "tvalid went low within a packet"
            waiting = now
            if now and self.ready.value:
                waiting, inside = None, self.enter(inside, *now)
                self.beats.append(now)
            if self.stall:
                self.ready.value = not self.stall()

    def enter(self, packet, bits, keep, last, user_bits):
        """Add a beat to a packet, or begin one; return the packet if it goes on."""
        user, wide, lanes = unpack(self.user, user_bits), self.width == 512, self.width // 32
        count = keep.bit_count()
        assert keep == (1 << count) - 1
        assert last or count == lanes
        assert not user["discontinue"]
        if wide:
            assert user["starts"] == (packet is None)
            assert user["ends"] == last
            assert not user["start_segment"][0]
            assert not last or user["end_dword"][0] == count - 1
        dwords = [bits >> 32 * k & 0xFFFFFFFF for k in range(count)]
        if packet is None:
            found, dwords = unpack(REQUEST, bits & (1 << 128) - 1), dwords[4:]
            first, least = user["first_enable"], user["last_enable"]
            enables = (first[0], least[0]) if wide else (first, least)
            number = user["number"][0] if wide else user["number_low"] | user["number_high"] << 4
            packet = Packet(found, enables, [], number, begun=cycle())
        packet.dwords += dwords
        if not last:
            return packet
        packet.ended = cycle()
        assert len(packet.dwords) == (packet.found["dwords"] if packet.writes else 0)
        self.packets.append(packet)
        return None


def beats_of(payload, size):
    """Return a request's data as beats of ``size`` bytes; the unused end of the last is random."""
    filled = payload + random.randbytes(-len(payload) % size)
    return [int.from_bytes(filled[k : k + size], "little") for k in range(0, len(filled), size)]
