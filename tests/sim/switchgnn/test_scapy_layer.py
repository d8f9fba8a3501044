import random

import numpy as np
import pytest
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap

from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.wire import to_octets
from tests.sim.switchgnn.scapy_layer import HeadLayer, dissect, write_pcap
from tests.sim.switchgnn.test_wire import ADDRESSES, LANE, TARGETS, random_frame

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
