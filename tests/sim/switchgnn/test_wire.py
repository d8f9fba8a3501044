"""Compares every kind of frame with bytes that are packed without our layouts."""

import random
import struct

import numpy as np
import pytest
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap

from sim.switchgnn.golden.frames import Frame, Kind, Quality
from sim.switchgnn.wire import Addresses, from_octets, judge, to_octets
from tests.sim.switchgnn.scapy_layer import HeadLayer, dissect, write_pcap

ADDRESSES = Addresses(bytes(range(2, 8)), bytes(range(8, 14)))
NUMBER = {kind: 4 + k for k, kind in enumerate(Kind)}  #: byte 15, in the order of the page
LANE = {Kind.FEATURE: "h", Kind.RAW: "h", Kind.PARTIAL: "i", Kind.RESULT: "i"}
ONES = {"bm": 32, "job": 16, "epoch": 16, "turn": 32, "seq": 32, "ecn": 1}
TARGETS = {"list": 32, "source": 32, "raw": 32, "rows": 16}


def fields_of(kind):
    return ONES | ({"bitmap": 128} if kind is Kind.ACK else TARGETS)


def random_frame(rng, kind, lanes):
    numbers = {name: rng.getrandbits(bits) for name, bits in fields_of(kind).items()}
    if kind in LANE:
        half = 1 << (15 if LANE[kind] == "h" else 31)
        values = [rng.choice((-half, -1, 0, half - 1, rng.randrange(half))) for _ in range(lanes)]
        numbers["payload"] = np.array(values, np.int32)
    return Frame(kind=kind, **numbers | {"ecn": bool(numbers["ecn"])})


def by_hand(frame):
    """Pack the frame by struct alone."""
    octets = ADDRESSES.destination + ADDRESSES.source
    octets += bytes([0x88, 0xB5, 2, NUMBER[frame.kind]])
    octets += struct.pack("<IHHII", frame.bm, frame.job, frame.epoch, frame.turn, frame.seq)
    octets += bytes([frame.ecn, 0])
    if frame.kind is Kind.ACK:
        octets += frame.bitmap.to_bytes(16, "little")
    else:
        octets += struct.pack("<IIIHH", frame.list, frame.source, frame.raw, frame.rows, 0)
    assert len(octets) == 50
    if frame.kind not in LANE:
        return octets.ljust(60, b"\0")
    payload = struct.pack(f"<{len(frame.payload)}{LANE[frame.kind]}", *frame.payload)
    return octets.ljust(64, b"\0") + payload.ljust(-(-len(payload) // 64) * 64, b"\0")


def same(first, second):
    """Whether two frames are the same, payloads included."""
    fields = vars(first) | {"payload": None}, vars(second) | {"payload": None}
    return fields[0] == fields[1] and np.array_equal(first.payload, second.payload)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("lanes", [2, 32, 128])
def test_bytes(kind, lanes):
    rng = random.Random(f"{kind} {lanes}")
    ones = {name: (1 << bits) - 1 for name, bits in fields_of(kind).items()}
    alone = [Frame(kind=kind, **{"turn": 0, name: value}) for name, value in ones.items()]
    frames = [random_frame(rng, kind, lanes) for _ in range(20)]
    for frame in frames if kind in LANE else [*frames, *alone]:
        octets = to_octets(frame, lanes, ADDRESSES)
        assert octets == by_hand(frame)
        assert same(from_octets(octets, lanes), frame)


def test_what_does_not_fit_is_refused():
    good = {"kind": Kind.FEATURE, "turn": 0, "payload": np.array([1, 2])}
    for change in (
        {"turn": 1 << 32},
        {"rows": 1 << 16},
        {"payload": np.array([1, 1 << 15])},
        {"payload": np.array([1, 2, 3])},
        {"kind": Kind.DONE},
    ):
        with pytest.raises(ValueError, match=r"fit|lanes|payload"):
            to_octets(Frame(**good | change), 2)


@pytest.mark.parametrize("kind", Kind)
def test_every_byte_is_judged(kind):
    """A change in a byte that only one value may have is found, and what it is."""
    address, lanes = ADDRESSES.destination, 3
    octets = to_octets(random_frame(random.Random(kind), kind, lanes), lanes, ADDRESSES)
    assert same(judge(octets, lanes, address), from_octets(octets, lanes))
    assert judge(octets, lanes, address, corrupt=True) is Quality.CORRUPT
    used = 64 + lanes * struct.calcsize(LANE[kind]) if kind in LANE else 60
    zero = {33, *range(50, 64 if kind in LANE else 60), *range(used, len(octets))}
    zero |= set() if kind is Kind.ACK else {48, 49}
    foreign = {*range(6), 12, 13, 14}
    for at in range(len(octets)):
        changed = octets[:at] + bytes([octets[at] ^ 0x80]) + octets[at + 1 :]
        verdict = judge(changed, lanes, address)
        if at in foreign:
            assert verdict is Quality.FOREIGN, at
        elif at in zero | {15, 32}:
            assert verdict is Quality.MALFORMED, at
        else:
            assert isinstance(verdict, Frame), at
    assert judge(octets + bytes(64), lanes, address) is Quality.MALFORMED
    assert judge(octets[:59], lanes, address) is Quality.MALFORMED
    assert judge(octets[:14], lanes, bytes(6)) is Quality.MALFORMED
    assert judge(octets[:15], lanes, bytes(6)) is Quality.FOREIGN


LANES = 32
SHARED = ("bm", "job", "epoch", "turn", "seq")


def layers(frame):
    """Return ``frame`` as Scapy builds it."""
    fields = {name: getattr(frame, name) for name in SHARED} | {"ecn": int(frame.ecn)}
    if frame.kind is Kind.ACK:
        fields |= {"bitmap": frame.bitmap.to_bytes(16, "little")}
    else:
        fields |= {name: getattr(frame, name) for name in TARGETS}
    if frame.kind in LANE:
        lane = np.int16 if LANE[frame.kind] == "h" else np.int32
        fields |= {"lanes": frame.payload.astype(lane).tobytes()}
    ether = Ether(dst="02:03:04:05:06:07", src="08:09:0a:0b:0c:0d", type=0x88B5)
    return ether / HeadLayer(kind=frame.kind.name, **fields)


@pytest.mark.parametrize("kind", Kind)
def test_scapy_and_we_agree(kind):
    rng = random.Random(kind)
    for _ in range(20):
        frame = random_frame(rng, kind, LANES)
        octets = to_octets(frame, LANES, ADDRESSES)
        assert bytes(layers(frame)) == octets
        seen = dissect(octets)[HeadLayer]
        assert [getattr(seen, name) for name in SHARED] == [getattr(frame, n) for n in SHARED]
        assert (seen.version, seen.ecn, seen.padding) == (2, frame.ecn, bytes(10))
        assert seen.sprintf("%kind%") == kind.name


def test_capture(tmp_path):
    rng = random.Random(3)
    frames = [to_octets(random_frame(rng, kind, LANES), LANES, ADDRESSES) for kind in Kind]
    write_pcap(tmp_path / "frames.pcap", frames)
    assert [bytes(frame) for frame in rdpcap(str(tmp_path / "frames.pcap"))] == frames
