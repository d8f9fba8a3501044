"""Describes the frames with a controller's commands to a switch of tenants, and its answers."""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from amaranth.hdl import Cat, Value
from amaranth.lib import data, enum

from hdl.common.packets import LEAST_BYTES
from hdl.switch.frame_format import FrameFormat

ETHERTYPE = 0x88B5  #: ethertype that IEEE 802 sets aside for local experiments
ETHERTYPE_ON_WIRE = int.from_bytes(ETHERTYPE.to_bytes(2, "big"), "little")
VERSION = 2
FRAME_BYTES = LEAST_BYTES  #: bytes of every control frame, without its checksum


class TenancyKind(enum.Enum, shape=8):
    """Names the kinds of frames between controller and switch.

    Numbers below 16 are taken by the data plane's frames, which have their flags in the same byte;
    numbers from 16 to 31 are messages that are not for a switch.
    """

    REGISTER = 32  #: command: enter ports and slots of a job, whose grants up to epoch are over
    ACQUIRE = 33  #: command: try once to get the switch for the job, in grant epoch
    RELEASE = 34  #: command: end the job's grants up to epoch
    REGISTERED = 35  #: answer: the job is entered
    GRANTED = 36  #: answer: the job holds the switch, and its slots are cleared
    REFUSED = 37  #: answer: nothing has changed, for the reason
    DRAINING = 38  #: answer: the grant ends when no use of its slots goes on
    RELEASED = 39  #: answer: no grant up to epoch is left


COMMAND_KINDS = (TenancyKind.REGISTER, TenancyKind.ACQUIRE, TenancyKind.RELEASE)


class Reason(enum.Enum, shape=8):
    """Says why a command is refused; if several reasons apply, the first one counts."""

    NONE, NO_SUCH_JOB, BAD_PORTS, BAD_SLOTS, OLD = range(5)
    NOT_REGISTERED, HELD, SWITCH_TAKEN, PORTS_TAKEN, SLOTS_TAKEN = range(5, 10)


#: what each reason means
REASONS = {
    Reason.NONE: "it is not refused",
    Reason.NO_SUCH_JOB: "the job's number is not below J",
    Reason.BAD_PORTS: "to register: no child, a port from P on, or the parent's among the children",
    Reason.BAD_SLOTS: "to register: no slots, or some from S on",
    Reason.OLD: "of a job that is registered: its epoch is below `closed`, to acquire: not above",
    Reason.NOT_REGISTERED: "to acquire: the job is not registered",
    Reason.HELD: "the job holds the switch, to acquire: by another epoch or draining",
    Reason.SWITCH_TAKEN: "to acquire: `most_granted` other jobs hold the switch",
    Reason.PORTS_TAKEN: "to acquire: another job holds some of the ports, children's or parent's",
    Reason.SLOTS_TAKEN: "to acquire: another job holds some of the slots",
}


class TenancyHead(data.Struct):
    """Describes a command to a switch, or its answer (MINA, "RTL: one data plane").

    An answer repeats the command's switch, job and epoch. Byte i of the frame is in bits 8 i to 8 i
    + 7. Addresses and ethertype are in network byte order; all other fields have their low byte
    first. Fields that a kind does not use are zero. Packets of the data plane have the low 16 bits
    of the epoch of their grant.
    """

    destination: 48  #: bytes 0..5
    source: 48  #: bytes 6..11
    ethertype: 16  #: bytes 12, 13
    version: 8  #: byte 14
    kind: TenancyKind  #: byte 15
    switch: 32  #: bytes 16..19: number of the switch
    job: 16  #: bytes 20, 21
    owner: 16  #: bytes 22, 23: REFUSED: the job that is in the way
    epoch: 32  #: bytes 24..27: of the grant; REGISTER, RELEASE: of the last grant that is over
    owner_epoch: 32  #: bytes 28..31: REFUSED: epoch of the owner's grant; 0: it has none
    ports: 32  #: bytes 32..35: REGISTER: bitmap of the children
    base: 16  #: bytes 36, 37: REGISTER: first slot
    parent: 8  #: byte 38: REGISTER: port towards the parent, if there is one
    reason: Reason  #: byte 39: REFUSED
    count: 32  #: bytes 40..43: REGISTER: number of slots
    force: 1  #: byte 44, bit 0: RELEASE: at once, even if uses of slots are under way
    has_parent: 1  #: bit 1: REGISTER: the switch is not the root
    no_flags: 6  #: zero
    nothing: 120  #: bytes 45..59: zero


ONLY_ANSWERS = ("owner", "owner_epoch", "reason")  #: fields that are zero in every command

TENANCY_FRAMES = FrameFormat(
    name="tenancy",
    first=TenancyHead,
    constants=(("ethertype", ETHERTYPE_ON_WIRE), ("version", VERSION)),
    kinds=(32, 255),
    zero=("no_flags", "nothing"),
)


def is_command(head: data.View) -> Value:
    """Return whether the header of a good frame is that of a command, and not of an answer."""
    kinds = Cat(head.kind == kind for kind in COMMAND_KINDS)
    answers = Cat(Value.cast(head[name]) for name in ONLY_ANSWERS)
    return kinds.any() & ~answers.any()
