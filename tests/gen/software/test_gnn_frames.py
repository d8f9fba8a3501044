"""Checks that frames of SwitchGNN in host packages are those of the hardware, bit for bit."""

import random

import numpy as np
import pytest

from sim.switchgnn import wire
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.host.gnn_frames import LANE_BYTES, from_octets, to_octets

LANES = 40  #: lanes of a payload whose last beat is not full
TO, SOURCE = bytes(range(1, 7)), bytes(range(11, 17))


@pytest.mark.parametrize("kind", Kind)
def test_frames_are_those_of_the_hardware(kind, request):
    rng = random.Random(f"{kind}{request.config.getoption('--seed')}")
    fields = {name: rng.getrandbits(32) for name in ("bm", "turn", "seq")}
    fields |= {name: rng.getrandbits(16) for name in ("job", "epoch")}
    if kind is Kind.ACK:
        fields |= {"bitmap": rng.getrandbits(128)}
    else:
        fields |= {name: rng.getrandbits(32) for name in ("list", "source", "raw")}
        fields |= {"rows": rng.getrandbits(16)}
    if size := LANE_BYTES.get(kind):
        half = 1 << 8 * size - 1
        fields |= {"payload": np.array([rng.randrange(-half, half) for _ in range(LANES)])}
    frame = Frame(kind=kind, ecn=bool(rng.getrandbits(1)), **fields)
    octets = to_octets(frame, LANES, TO, SOURCE)
    assert octets == wire.to_octets(frame, LANES, wire.Addresses(TO, SOURCE))
    result = from_octets(octets, LANES)
    assert np.array_equal(result.payload, frame.payload)
    assert {**vars(result), "payload": None} == {**vars(frame), "payload": None}


def test_a_kind_that_there_is_none_of():
    with pytest.raises(ValueError, match="no kind of frame has the number 3"):
        from_octets(bytes(15) + b"\3" + bytes(44), LANES)
