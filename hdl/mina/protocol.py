"""Describes MINA's control frames between hosts and controller."""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from amaranth.lib import data, enum

from hdl.switch.frame_format import FrameFormat
from hdl.switch.tenancy_head import ETHERTYPE_ON_WIRE, VERSION


class Kind(enum.Enum, shape=8):
    """Names the kinds of control frames.

    Numbers below 4 are taken by the flags of P4SGD's frames, MINA's data plane, in the same byte,
    and those from 4 to 12 by SwitchGNN's kinds: one port may take the frames of all three.
    """

    PREPARE = 16  #: controller to host: lock, and report your next operation
    ACK = 17  #: host to controller: it is locked in the round; ``index`` is its next operation
    UPDATE = 18  #: controller to host: the grant of the round
    ABORT = 19  #: controller to host: the round ends without a grant
    DONE = 20  #: host to controller: it has the round's grant
    END = 21  #: controller to host: its job is over
    ENDED = 22  #: host to controller: its job has ended
    REPORT = 23  #: host to controller: its operation makes no progress


class AgreementHead(data.Struct):
    """Describes a message between host and controller (MINA, section IV-B, figure 9, corrected).

    Byte i of the frame is in bits 8 i to 8 i + 7. Addresses and ethertype are in network byte
    order; all other fields have their low byte first. Fields that a kind does not use are zero.
    """

    destination: 48  #: bytes 0..5
    source: 48  #: bytes 6..11
    ethertype: 16  #: bytes 12, 13
    version: 8  #: byte 14
    kind: Kind  #: byte 15
    host: 32  #: bytes 16..19: host that receives or sends it
    job: 16  #: bytes 20, 21: job of the host
    owner: 16  #: bytes 22, 23: the grant's job
    round: 32  #: bytes 24..27: number of the round
    reported: 32  #: bytes 28..31: ACK, REPORT: round in which the host got its grant
    index: 32  #: bytes 32..35: host's next operation; UPDATE, ABORT: all operations below are over
    epoch: 32  #: bytes 36..39: number of the grant; 0: no job owns a tree
    tree: 16  #: bytes 40, 41: number of the grant's tree
    busy: 1  #: byte 42, bit 0: the previous operation is under way
    ina: 1  #: bit 1: that operation is under way with INA
    missing: 1  #: bit 2: that operation is under way, and not all of its sums are in
    stalled: 1  #: bit 3: that operation is under way with INA, and makes no progress
    no_flags: 12  #: zero, to byte 43
    first: 32  #: bytes 44..47: first operation of the grant
    end: 32  #: bytes 48..51: last operation of the grant, plus one
    nothing: 64  #: bytes 52..59: zero


AGREEMENT_FRAMES = FrameFormat(
    name="agreement",
    first=AgreementHead,
    constants=(("ethertype", ETHERTYPE_ON_WIRE), ("version", VERSION)),
    zero=("no_flags", "nothing"),
)
