"""Takes what is sent to RQ apart, as the block does, and checks it against the block's rules."""

import random
from bisect import bisect
from dataclasses import dataclass

from hdl.pcie.axis import rq_user
from hdl.pcie.descriptors import REQUEST, RequestType
from sim.harness.axi_streams import AxiMonitor, AxiSink
from sim.harness.payloads import unpack
from sim.harness.records import Recorder
from sim.harness.streams import never


@dataclass
class Packet:
    """A request: its descriptor, the byte enables of its first and last dword, and its data."""

    result: dict
    enables: tuple[int, int]
    dwords: list[int]
    number: int  #: that the block tells when the packet has got on
    begun: int  #: cycles of its first and last beat
    ended: int = 0

    @property
    def writes(self):
        return self.result["kind"] == RequestType.MEMORY_WRITE


class RqMonitor:
    """Collects packets of RQ. ``stall`` says when RQ is not ready; if None, others drive it.

    ``callback`` is called with each packet when its last beat moves.
    """

    def __init__(self, dut, name="rq", stall=never, callback=None):
        self.dut = dut
        self.stream = AxiSink(dut, name, stall=stall) if stall else AxiMonitor(dut, name)
        self.valid = Recorder(dut, f"{name}_tvalid", {})
        self.width = len(getattr(dut, f"{name}_tdata"))
        self.user = rq_user(self.width)
        self.result, self.inside, self.seen = [], None, 0  # seen: beats
        self.callback = callback
        if callback:
            self.stream.add_callback(lambda _: self.packets)

    @property
    def packets(self):
        """Return the packets that have come, and check their beats."""
        new = slice(self.seen, None)
        for beat, at in zip(self.stream.beats[new], self.stream.cycles[new], strict=True):
            self.seen += 1
            self.inside = self.enter(self.inside, at, **beat)
        return self.result

    async def wait_for(self, count):
        """Wait until so many packets have come."""
        while (missing := count - len(self.packets)) > 0:
            await self.stream.wait_for(self.seen + missing)

    def enter(self, packet, at, tdata, tkeep, tlast, tuser):
        """Add a beat to a packet, or begin one; return the packet if it goes on."""
        user, wide, lanes = unpack(self.user, tuser), self.width == 512, self.width // 32
        count = tkeep.bit_count()
        assert tkeep == (1 << count) - 1
        assert tlast or count == lanes
        assert not user["discontinue"]
        if wide:
            assert user["starts"] == (packet is None)
            assert user["ends"] == tlast
            assert not user["start_segment"][0]
            assert not tlast or user["end_dword"][0] == count - 1
        dwords = [tdata >> 32 * k & 0xFFFFFFFF for k in range(count)]
        if packet is None:
            result, dwords = unpack(REQUEST, tdata & (1 << 128) - 1), dwords[4:]
            first, least = user["first_enable"], user["last_enable"]
            enables = (first[0], least[0]) if wide else (first, least)
            number = user["number"][0] if wide else user["number_low"] | user["number_high"] << 4
            packet = Packet(result, enables, [], number, begun=at)
        packet.dwords += dwords
        if not tlast:
            return packet
        packet.ended, valid = at, self.valid.cycles
        lasted = bisect(valid, at) - bisect(valid, packet.begun)
        assert lasted == at - packet.begun, "tvalid went low within a packet"
        assert len(packet.dwords) == (packet.result["dwords"] if packet.writes else 0)
        self.result.append(packet)
        if self.callback:
            self.callback(packet)
        return None


def beats_of(payload, size):
    """Return a request's data as beats of ``size`` bytes; the unused end of the last is random."""
    filled = payload + random.randbytes(-len(payload) % size)
    return [int.from_bytes(filled[k : k + size], "little") for k in range(0, len(filled), size)]
