"""Codes MINA's frames as bytes, and reads them.

Those of hosts and controller have the layout of the hardware, all others that of the golden models.

A :class:`Share` stands for whatever hosts exchange without the switches and has no bytes here.
"""

from typing import Any

from hdl.mina import protocol
from hdl.mina.protocol import AgreementHead
from hdl.switch.tenancy_head import ETHERTYPE_ON_WIRE, FRAME_BYTES, VERSION
from sim.golden import tenancy_frames
from sim.golden.reduction.allreduce import Packet
from sim.golden.reduction.frames import LANES, WireFrame
from sim.golden.tenancy import Command
from sim.harness.payloads import pack, unpack
from sim.mina.agreement.frames import Data, Grant, Kind, Message

#: Names the fields that a head and a message have under the same name.
MESSAGE_FIELDS = ("host", "job", "round", "index", "busy", "ina", "missing", "stalled")
GRANT_FIELDS = ("epoch", "tree", "first", "end")

Wired = Message | Command | Data


def to_octets(frame: Wired) -> bytes:
    """Return the frame on the wire, without addresses and checksum; ValueError for misfits."""
    if isinstance(frame, Message):
        return message_octets(frame)
    return tenancy_frames.to_bytes(frame) if isinstance(frame, Command) else data_octets(frame)


def message_octets(message: Message) -> bytes:
    """Return the bytes of a message between host and controller."""
    fields: dict[str, Any] = {name: int(getattr(message, name)) for name in MESSAGE_FIELDS}
    fields |= {name: getattr(message.grant, name) for name in GRANT_FIELDS}
    fields |= {"owner": message.grant.job, "reported": message.version}
    fields |= {"ethertype": ETHERTYPE_ON_WIRE, "version": VERSION}
    fields["kind"] = protocol.Kind[message.kind.name]
    return pack(AgreementHead, fields).to_bytes(FRAME_BYTES, "little")


def data_octets(data: Data) -> bytes:
    """Return the bytes of a packet of the data plane: P4SGD's frame."""
    packet = data.packet
    return WireFrame(
        is_agg=packet.is_agg,
        acked=packet.acked,
        bm=packet.bm,
        job=data.job,
        epoch=data.epoch,
        seq=data.slot,
        use=packet.use,
        saturated=packet.saturated,
        payload=packet.payload or (0,) * LANES,
    ).to_bytes()


def from_octets(octets: bytes) -> Wired:
    """Return the frame that ``octets`` are; ValueError unless they are one, to the last bit."""
    if len(octets) != FRAME_BYTES:
        raise ValueError(f"a frame has {FRAME_BYTES} bytes: {len(octets)}")
    frame = decoded(octets)
    if to_octets(frame) != octets:
        raise ValueError("bits that are zero in every frame are not, or it is none of ours")
    return frame


def decoded(octets: bytes) -> Wired:
    """Return the fields of a frame, by the layout that its kind has."""
    number = octets[15]
    if number < 4:
        return data_of(WireFrame.from_bytes(octets))
    if number in tenancy_frames.VERBS:
        return tenancy_frames.from_bytes(octets)
    try:
        name = protocol.Kind(number).name
    except ValueError:
        raise ValueError(f"no kind has the number {number}") from None
    return message_of(unpack(AgreementHead, int.from_bytes(octets, "little")), Kind[name])


def message_of(head: dict[str, Any], kind: Kind) -> Message:
    """Return the message between host and controller of a head."""
    grant = Grant(job=head["owner"], **{name: head[name] for name in GRANT_FIELDS})
    fields = {name: head[name] for name in MESSAGE_FIELDS}
    for name in ("busy", "ina", "missing", "stalled"):
        fields[name] = bool(fields[name])
    return Message(kind=kind, version=head["reported"], grant=grant, **fields)


def data_of(frame: WireFrame) -> Data:
    """Return the packet of a data frame; an acknowledgement has no payload, nor has pending."""
    packet = frame.packet
    carries = packet.is_agg and not packet.acked
    plain = Packet(
        packet.is_agg,
        packet.bm,
        packet.use,
        packet.acked,
        packet.payload if carries else (),
        packet.saturated,
    )
    return Data(job=frame.job, epoch=frame.epoch, slot=frame.seq, packet=plain)
