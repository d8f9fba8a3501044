import random

from hdl.p4sgd.network.frame import (
    ETHERTYPE,
    ETHERTYPE_ON_WIRE,
    FRAME_BYTES,
    FRAME_KEEP,
    VERSION,
    Frame,
)
from sim.golden.reduction import frames
from sim.golden.reduction.frames import WireFrame
from sim.harness.payloads import pack, unpack

LOW, TOP = -(1 << 31), (1 << 31) - 1
WIDTHS = {
    "ethertype": 16,
    "version": 8,
    "is_agg": 1,
    "acked": 1,
    "no_flags": 6,
    "bm": 32,
    "job": 16,
    "epoch": 16,
    "seq": 16,
    "use": 8,
    "saturated": 8,
}


def fields_of(frame):
    """Return the RTL's fields, with an address's or ethertype's first byte as the lowest."""
    return vars(frame) | {
        "destination": int.from_bytes(frame.destination, "little"),
        "source": int.from_bytes(frame.source, "little"),
        "ethertype": int.from_bytes(frame.ethertype.to_bytes(2, "big"), "little"),
        "is_agg": int(frame.is_agg),
        "acked": int(frame.acked),
        "payload": list(frame.payload),
    }


def check(frame):
    wire = int.from_bytes(frame.to_bytes(), "little")
    assert pack(Frame, fields_of(frame)) == wire
    assert unpack(Frame, wire) == fields_of(frame)


def test_sizes():
    assert Frame.as_shape().size == 8 * FRAME_BYTES == 8 * frames.BYTES
    assert FRAME_KEEP.bit_length() == FRAME_KEEP.bit_count() == FRAME_BYTES
    assert (ETHERTYPE, VERSION) == (frames.ETHERTYPE, frames.VERSION)
    assert fields_of(WireFrame())["ethertype"] == ETHERTYPE_ON_WIRE


def test_random_fields(rng):
    for _ in range(300):
        numbers = {name: int(rng.integers(1 << width)) for name, width in WIDTHS.items()}
        numbers |= {name: bool(numbers[name]) for name in ("is_agg", "acked")}
        payload = tuple(int(v) for v in rng.integers(LOW, TOP, 8, endpoint=True))
        check(WireFrame(destination=rng.bytes(6), source=rng.bytes(6), payload=payload, **numbers))


def test_extremes():
    check(WireFrame())
    check(WireFrame(ethertype=0, version=0))
    check(WireFrame(payload=tuple(random.choice([LOW, -1, 0, TOP]) for _ in range(8))))
    for name, width in WIDTHS.items():
        check(alone(name, width))
    for lane in range(8):
        for value in (LOW, -1, TOP):
            check(WireFrame(payload=tuple(value * (lane == k) for k in range(8))))
    for address in ("destination", "source"):
        for byte in range(6):
            check(WireFrame(**{address: bytes(255 * (byte == k) for k in range(6))}))


def alone(name, width):
    """Return a frame with all ones in one field, and nothing in the others."""
    ones = True if width == 1 else (1 << width) - 1
    return WireFrame(**({"ethertype": 0, "version": 0} | {name: ones}))
