"""Draws deliveries and control frames, and says what frames they become."""

import random
from dataclasses import replace

import numpy as np

from hdl.switchgnn import protocol
from sim.switchgnn.golden.frames import Frame, Kind
from tests.hdl.switchgnn.extremes import some_number

#: Kinds without a payload, and fields that not all of them have.
OWN_FIELDS = {
    protocol.Kind.ACK: ("seq", "ecn", "bitmap"),
    protocol.Kind.ADVANCE: (),
    protocol.Kind.DONE: (),
    protocol.Kind.RAWFETCH: ("source", "raw"),
}


def some_delivery(params, *, raw):
    """Draw a RESULT, or a RAW whose features have anything beside them."""
    sums = [
        random.choice((-(1 << 31), -1, 0, (1 << 31) - 1, some_sum())) for _ in range(params.lanes)
    ]
    return {
        "raw": raw,
        "job": random.randrange(params.jobs),
        "epoch": random.getrandbits(16),
        "turn": random.getrandbits(32),
        "list": random.getrandbits(32),
        "source": random.getrandbits(32),
        "sums": sums,
    }


def some_sum():
    return random.getrandbits(32) - (1 << 31)


def frame_of_delivery(delivery, bit):
    """Return the frame that a delivery becomes, without its mark."""
    sums = np.array(delivery["sums"], "<i4")
    named = {name: delivery[name] for name in ("job", "epoch", "turn")} | {"bm": bit}
    if delivery["raw"]:
        features = np.frombuffer(sums.tobytes(), "<i2")[: len(sums)].astype(np.int32)
        return Frame(kind=Kind.RAW, source=delivery["source"], payload=features, **named)
    return Frame(kind=Kind.RESULT, list=delivery["list"], payload=sums, **named)


def some_control_frame(params):
    """Draw a control frame; fields that its kind does not use are zero."""
    kind = random.choice([*OWN_FIELDS])
    used = ("epoch", "turn", *OWN_FIELDS[kind])
    fields = {
        name: some_number(field.width) if name in used else 0
        for name, field in params.control_frame
    }
    return fields | {"kind": kind, "job": random.randrange(params.jobs)}


def frame_of_control(fields, bit):
    """Return the frame that a control frame becomes."""
    named = {"kind": Kind[fields["kind"].name], "ecn": bool(fields["ecn"]), "bm": bit}
    return Frame(**fields | named)


def same(first, second):
    """Whether two frames say the same, to the last lane."""
    payloads = [frame.payload for frame in (first, second)]
    if any(payload is None for payload in payloads):
        equal = payloads == [None, None]
    else:
        equal = np.array_equal(*payloads)
    return equal and replace(first, payload=None) == replace(second, payload=None)
