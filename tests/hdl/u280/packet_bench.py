"""Sends and takes packets on 512-bit AXI4-Stream."""

import random
from itertools import accumulate, chain
from pathlib import Path

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, select

from hdl.netsparse.kind_split import READS, RESPONSES
from hdl.netsparse.protocol import PACKET_CONSTANTS, PACKET_HEADER, Kind
from hdl.u280.mac_signals import LEVELS
from sim.harness.axi_streams import AxiSink, AxiSource, beats_of
from sim.harness.records import Recorder
from sim.harness.streams import never

BEAT = 64
LOOP = Path(__file__).with_name("cmac_loop.sv")  #: stands for a MAC's IP


def levels(dut):
    """Return the levels of a MAC."""
    return LEVELS.from_bits(int(dut.levels.value))


def linked(dut):
    """Return whether a MAC's link is up."""
    return levels(dut).status.linked


def count_beats(*lists):
    """Count the beats of all packets in some lists."""
    return sum(-(-len(packet) // BEAT) for packet in chain(*lists))


class Sender(AxiSource):
    """Sends packets. ``stall`` pauses inside them, and between them, unless ``gap`` does.

    A receiver of a MAC's does not wait for tready: it has ``waits=False``.
    """

    def __init__(self, side, name, *, stall=never, gap=None, waits=True):
        self.waits = waits
        self.left = []  # beats that are left at the start of each packet
        pauses = stall if gap is None else lambda: (gap if self.missing in self.left else stall)()
        super().__init__(side, name, stall=pauses)

    def has_ready(self, dut, name):
        return self.waits

    async def send(self, packets, broken=()):
        """Send ``packets``; those numbered in ``broken`` end with tuser.

        A reset of ``side`` ends a packet, as who sends it is reset with it.
        """
        coming = [[*beats_of(item, corrupt=n in broken)] for n, item in enumerate(packets)]
        reset = self.entity.rst
        while coming:
            self.left = [*accumulate(map(len, reversed(coming)))]
            await select(self.send_all(chain(*coming)), RisingEdge(reset))
            whole = sum(left <= self.missing for left in self.left)
            coming = coming[len(coming) - whole :]
            if coming:
                self.abandon()
                await FallingEdge(reset)


async def send(side, name, packets, *, broken=(), **pauses):
    """Send ``packets`` as :class:`Sender` does."""
    await Sender(side, name, **pauses).send(packets, broken)


class Taker(AxiSink):
    """Takes packets; with ``whole``, a pause within one is an error."""

    def __init__(self, side, name, *, stall=never, whole=False):
        super().__init__(side, name, stall=stall)
        self.ports = [f"{name}_{item}" for item in ("tvalid", "tready", "tlast")]
        self.whole = Recorder(side, "", dict.fromkeys(self.ports)) if whole else None
        self.resets = {0}, {0}  # numbers of the beats, and of the cycles, before which they came
        cocotb.start_soon(self.note_resets())

    async def note_resets(self):
        while True:
            await RisingEdge(self.entity.rst)
            self.resets[0].add(len(self.beats))
            self.resets[1].add(len(self.whole.beats) if self.whole else 0)

    def packets(self, cut=None):
        """Return all packets that came.

        The parts of packets that a reset of the other side has cut go to ``cut``, if it is a list;
        those that one of this side has cut, nowhere.
        """
        packets, octets, inside = [], b"", False
        for number, cycle in enumerate(self.whole.beats if self.whole else ()):
            valid, ready, last = (cycle[name] for name in self.ports)
            inside = inside and number not in self.resets[1]
            assert valid or not inside, "a packet has a gap"
            inside = not last if valid and ready else inside
        for number, beat in enumerate(self.beats):
            octets = b"" if number in self.resets[0] else octets
            keep, data, last = (beat[name] for name in ("tkeep", "tdata", "tlast"))
            if cut is not None and last and not keep & 1:
                cut.append(octets)
                octets = b""
                continue
            count = keep.bit_length()
            assert keep == (1 << count) - 1 > 0, "bytes are missing inside a packet"
            assert last or count == BEAT, "only a last beat has fewer bytes"
            assert not self.whole or not data >> 8 * count, "there is something behind the end"
            octets += data.to_bytes(BEAT, "little")[:count]
            if last:
                packets.append(octets)
                octets = b""
        return packets


async def until(side, condition, cycles=4000):
    """Wait for ``condition`` at edges of the clock, but not forever."""
    for _ in range(cycles):
        if condition():
            return
        await RisingEdge(side.clk)
    raise AssertionError("it did not happen in time")


async def reset_now_and_then(sides, count, pause):
    """Reset any of ``sides`` again and again, up to ``pause`` cycles apart."""
    for _ in range(count):
        side = random.choice(sides)
        await side.edges(random.randrange(1, pause))
        await side.reset(random.choice([1, 2, 5, 20]))


def numbered(count, sizes):
    """Return packets that differ in their first bytes."""
    return [
        number.to_bytes(4, "big") + random.randbytes(random.choice(sizes) - 4)
        for number in range(count)
    ]


def check_after_resets(sent, taken, padded):
    """What came is whole packets in order, and all of them that were sent after the last reset."""
    numbers = [int.from_bytes(packet[:4], "big") for packet in taken]
    assert numbers == sorted(set(numbers))
    assert all(
        packet == padded(sent[number]) for number, packet in zip(numbers, taken, strict=True)
    )
    assert numbers[-20:] == list(range(len(sent) - 20, len(sent)))


CLASSES = {Kind.READ: READS, Kind.RESPONSE: RESPONSES, Kind.ERROR: RESPONSES}


def header(kind, **changes):
    """Return the first 64 bytes of a packet."""
    upper = PACKET_CONSTANTS | {"destination_mac": random.getrandbits(48)} | changes
    fields = {"concatenation": {"type": kind, "dest": random.getrandbits(32)}, "upper": upper}
    return PACKET_HEADER.const(fields).as_bits().to_bytes(64, "big")


def random_packet():
    """Draw a packet; return it and its class, which is None if it has none."""
    what = random.choice([*Kind, "type", "length", *PACKET_CONSTANTS])
    if what in CLASSES:
        return header(what.value) + random.randbytes(random.randrange(300)), CLASSES[what]
    if what == "type":
        return header(random.choice([0, 4, 257])) + random.randbytes(100), None
    if what == "length":
        return header(Kind.READ.value)[: random.randrange(1, 64)], None
    return header(Kind.READ.value, **{what: PACKET_CONSTANTS[what] ^ 1}) + bytes(70), None
