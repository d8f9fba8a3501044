"""Draws packets for the switch, right, nearly right and wrong, and says what they become."""

import random
from dataclasses import dataclass, replace

import numpy as np

from hdl.common.packets import BEAT_BYTES
from hdl.switch.frame_filter import Quality
from hdl.switchgnn import protocol
from hdl.switchgnn.protocol import CONTROL_BYTES, FIELD_BYTES, LANE_BITS, frame_bytes
from sim.harness.axi_streams import beats_of
from sim.harness.payloads import unpack
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.wire import Addresses, judge, to_octets
from tests.hdl.switchgnn.extremes import some_number

BRING = (Kind.FEATURE, Kind.PARTIAL, Kind.RAW)  # kinds whose payload the switch wants
NUMBERS = ("turn", "seq", "list", "source", "rows")  # of a header, as they are in the frame


@dataclass(frozen=True)
class Packet:
    """A packet as it comes from the MAC."""

    octets: bytes
    corrupt: bool = False

    def beats(self):
        return beats_of(self.octets, corrupt=self.corrupt)


def some_frame(params, bit, kind=None):
    """Draw a frame of any kind; its numbers are often those of a job, or extremes."""
    kind = kind or random.choice([*Kind])
    lanes = {}
    if (bits := LANE_BITS.get(protocol.Kind[kind.name])) is not None:
        most = (1 << bits - 1) - 1
        choices = [random.randint(-most - 1, most) for _ in range(4)] + [most, -most - 1, -1, 0]
        lanes = {"payload": np.array(random.choices(choices, k=params.lanes))}
    if kind is Kind.ACK:
        about = {"bitmap": random.getrandbits(128)}
    else:
        about = {name: some_number() for name in ("list", "source", "raw")}
        about["rows"] = some_number(16)
    return Frame(
        kind=kind,
        turn=some_number(),
        seq=some_number(),
        ecn=random.random() < 0.5,
        bm=random.choice((bit, bit, bit, random.getrandbits(32))),
        job=random.choice((*range(params.jobs), params.jobs, random.getrandbits(16))),
        epoch=some_number(16),
        **about,
        **lanes,
    )


def good_packet(params, address, bit, kind=None):
    frame = some_frame(params, bit, kind)
    return Packet(to_octets(frame, params.lanes, Addresses(address, random.randbytes(6))))


def flipped(octets, at):
    """Return the bytes with bit ``at`` changed."""
    whole = int.from_bytes(octets, "little") ^ 1 << at
    return whole.to_bytes(len(octets), "little")


def nearly_good(params, address, bit):
    """Draw a packet that the filter takes for a frame, though something may be wrong with it."""
    octets = good_packet(params, address, bit).octets
    kind = random.randrange(5)
    if kind == 0:  # another kind, of the same length
        octets = octets[:15] + bytes([random.randrange(16)]) + octets[16:]
    elif kind == 1:  # bits behind the fields, or those that a target has not
        octets = flipped(octets, 8 * random.randrange(FIELD_BYTES - 2, min(len(octets), 64)))
    elif kind == 2 and len(octets) > BEAT_BYTES:  # bits of the payload, or behind it
        octets = flipped(octets, random.randrange(8 * BEAT_BYTES, 8 * len(octets)))
    elif kind == 3:
        most = params.frames.max_bytes
        lengths = (60, 61, 63, 64, 65, 127, 128, 129, 191, 192, most - 64, most - 1, most)
        expected = random.choice([n for n in lengths if CONTROL_BYTES <= n <= most])
        octets = (octets + bytes(most))[:expected]
    return Packet(octets)


def some_packet(params, address, bit):
    """Draw any packet."""
    kind = random.randrange(8)
    if kind < 3:
        return good_packet(params, address, bit)
    packet = nearly_good(params, address, bit)
    octets = packet.octets
    if kind == 3:  # bits that say whose it is, or that are zero in all frames
        octets = flipped(octets, random.choice((*range(48), *range(96, 120), *range(257, 272))))
    elif kind == 4:
        octets = (octets + random.randbytes(200))[: random.choice((1, 13, 14, 15, 59, 300))]
    elif kind == 5:
        octets = octets + bytes(params.frames.max_bytes + 1 - len(octets))
    return replace(packet, octets=octets, corrupt=random.random() < 0.1)


def every_zero_bit(params, address, bit):
    """Return good frames of each kind, each with another of the bits set that should be zero."""
    for kind in Kind:
        octets = good_packet(params, address, bit, kind).octets
        wrong = [*range(8 * 32 + 1, 8 * 34), *range(8 * FIELD_BYTES, 8 * min(len(octets), 64))]
        if kind is not Kind.ACK:
            wrong += range(8 * (FIELD_BYTES - 2), 8 * FIELD_BYTES)
        bits = LANE_BITS.get(protocol.Kind[kind.name], 0) * params.lanes
        wrong += range(8 * BEAT_BYTES + bits, 8 * len(octets))
        yield from (Packet(flipped(octets, at)) for at in wrong)


def expected(packet, params, address, bit):
    """Return what a packet becomes: its quality, and if it is good all that goes on."""
    result = judge(packet.octets, params.lanes, address, corrupt=packet.corrupt)
    if not isinstance(result, Frame):
        return {"quality": result.name, "brings": 0}
    kind = protocol.Kind[result.kind.name]
    assert len(packet.octets) == frame_bytes(kind, params.lanes)
    header = {name: getattr(result, name) for name in NUMBERS}
    header |= {"kind": kind, "epoch": result.epoch, "job": result.job % (1 << params.job_bits)}
    header["raw"] = result.raw % (1 << params.ports)
    if result.kind is Kind.ACK:  # nobody looks at the rest
        header = {name: header[name] for name in ("kind", "turn", "seq", "job", "epoch")}
    payload = packet.octets[BEAT_BYTES:] if result.kind in BRING else b""
    parts = (payload[at : at + BEAT_BYTES] for at in range(0, len(payload), BEAT_BYTES))
    return {
        "quality": "GOOD",
        "own": int(result.bm == bit),
        "known": int(result.job < params.jobs),
        "header": header,
        "brings": int(result.kind in BRING),
        "payload": [int.from_bytes(part, "little") for part in parts],
    }


def packet_of(params, bits):
    """Return a packet after a port; of one that is not good, only the quality."""
    field = params.packet["quality"]
    quality = Quality(bits >> field.offset & (1 << field.width) - 1)
    return unpack(params.packet, bits) if quality is Quality.GOOD else {"quality": quality}


def arrival_of(params, bits):
    """Return an arrival, and its payload apart, in beats."""
    parts = {name: bits >> field.offset & (1 << field.width) - 1 for name, field in params.arrival}
    payload = unpack(params.payload_words, parts["payload"])
    return packet_of(params, parts["packet"]) | {"brings": parts["brings"]}, payload


def payload_beats(words, count):
    """Return the beats of a payload of this many; its last one is the last word."""
    return [*words[: count - 1], words[-1]] if count else []


def agrees(packet, golden):
    """Whether an arrival, without its payload, is the expected one."""
    if packet["quality"].name != golden["quality"] or packet["brings"] != golden["brings"]:
        return False
    if golden["quality"] != "GOOD":
        return True
    header = {name: packet["header"][name] for name in golden["header"]}
    return header == golden["header"] and all(packet[n] == golden[n] for n in ("own", "known"))
