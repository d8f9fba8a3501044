"""MINA's control frames: between hosts and controller, and between controller and switches."""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from amaranth.lib import data, enum

from hdl.common.packets import LEAST_BYTES
from hdl.switch.frame_format import FrameFormat

ETHERTYPE = 0x88B5  #: IEEE 802's for local experiments
ETHERTYPE_ON_WIRE = int.from_bytes(ETHERTYPE.to_bytes(2, "big"), "little")
VERSION = 2
FRAME_BYTES = LEAST_BYTES  #: of every control frame, without its checksum


class Kind(enum.Enum, shape=8):
    """Says what a control frame is.

    Numbers below 4 are the flags that P4SGD's frames, which MINA's data plane has, have in the same
    byte, and those from 4 to 12 are SwitchGNN's kinds: one port may take the frames of all three.
    """

    PREPARE = 16  #: controller to host: lock, and say where you are
    ACK = 17  #: host to controller: locked in the round, and where it is
    UPDATE = 18  #: controller to host: the round's grant
    ABORT = 19  #: controller to host: the round ends without a grant
    DONE = 20  #: host to controller: it has the round's grant
    END = 21  #: controller to host: its job is over
    ENDED = 22  #: host to controller: it has ended
    REPORT = 23  #: host to controller: its operation makes no progress
    REGISTER = 32  #: controller to switch: ports and slots of a job
    ACQUIRE = 33  #: controller to switch: one try to get the switch for a job
    RELEASE = 34  #: controller to switch: grants of a job are over
    REGISTERED = 35  #: switch to controller: the job has its entry
    GRANTED = 36  #: switch to controller: the job owns the switch, its slots are cleared
    REFUSED = 37  #: switch to controller: the command has no effect, for a reason
    DRAINING = 38  #: switch to controller: the release waits for slots
    RELEASED = 39  #: switch to controller: no grant up to the number is left


class Reason(enum.Enum, shape=8):
    """Says why a command is refused; the first that applies."""

    NONE = 0
    NO_SUCH_JOB = 1  #: the number is too large
    BAD_PORTS = 2  #: no child, a port that the switch has not, or the parent's among the children
    BAD_SLOTS = 3  #: none, or some that the switch has not
    OLD = 4  #: the number is of a grant that is over
    NOT_REGISTERED = 5  #: the job has no entry
    HELD = 6  #: the job is granted or draining by another number
    SWITCH_TAKEN = 7  #: as many other jobs as the switch takes have it
    PORTS_TAKEN = 8  #: another job has some of the ports
    SLOTS_TAKEN = 9  #: another job has some of the slots


class AgreementHead(data.Struct):
    """Describes a message between host and controller (MINA, section IV-B, figure 9, corrected).

    Byte i of the frame is bits 8 i and up. Addresses and ethertype are in the order of the wire,
    fields of more than a byte have their low byte first. What a kind has no use for is zero.
    """

    destination: 48  #: bytes 0..5
    source: 48  #: bytes 6..11
    ethertype: 16  #: bytes 12, 13
    version: 8  #: byte 14
    kind: Kind  #: byte 15
    host: 32  #: bytes 16..19: to whom it goes, or from whom it comes
    job: 16  #: bytes 20, 21: of the host
    owner: 16  #: bytes 22, 23: the grant's job
    round: 32  #: bytes 24..27
    told: 32  #: bytes 28..31: ACK, REPORT: the round that the host's grant was told in
    index: 32  #: bytes 32..35: of the host's next operation; UPDATE, ABORT: all below are over
    epoch: 32  #: bytes 36..39: number of the grant; 0: nobody owns a tree
    tree: 16  #: bytes 40, 41: the grant's
    busy: 1  #: byte 42, bit 0: the operation before is under way
    ina: 1  #: bit 1: it is, with INA
    missing: 1  #: bit 2: it is, and not all of its sums are in
    stalled: 1  #: bit 3: it is, with INA, and makes no progress
    no_flags: 12  #: zero, to byte 43
    first: 32  #: bytes 44..47: first operation of the grant
    end: 32  #: bytes 48..51: the one behind its last
    nothing: 64  #: bytes 52..59: zero


class TenancyHead(data.Struct):
    """Describes a command to a switch, or its answer, which repeats switch, job and epoch.

    Bytes lie as in :class:`AgreementHead`. Packets of the data plane have the low 16 bits of the
    epoch of their grant.
    """

    destination: 48  #: bytes 0..5
    source: 48  #: bytes 6..11
    ethertype: 16  #: bytes 12, 13
    version: 8  #: byte 14
    kind: Kind  #: byte 15
    switch: 32  #: bytes 16..19: its number
    job: 16  #: bytes 20, 21
    owner: 16  #: bytes 22, 23: REFUSED: the job that stands in the way
    epoch: 32  #: bytes 24..27: of the grant; REGISTER, RELEASE: of the last one that is over
    owner_epoch: 32  #: bytes 28..31: REFUSED: of the owner's grant; 0: it has none
    ports: 32  #: bytes 32..35: REGISTER: bitmap of the children
    base: 16  #: bytes 36, 37: REGISTER: first slot
    parent: 8  #: byte 38: REGISTER: port towards the parent, if there is one
    reason: Reason  #: byte 39: REFUSED
    count: 32  #: bytes 40..43: REGISTER: number of slots
    force: 1  #: byte 44, bit 0: RELEASE: whatever the slots hold
    has_parent: 1  #: bit 1: REGISTER: the switch is not the root
    no_flags: 6  #: zero
    nothing: 120  #: bytes 45..59: zero


assert AgreementHead.as_shape().size == TenancyHead.as_shape().size == 8 * FRAME_BYTES

CONSTANTS = (("ethertype", ETHERTYPE_ON_WIRE), ("version", VERSION))

AGREEMENT_FRAMES = FrameFormat(
    name="agreement",
    first=AgreementHead,
    constants=CONSTANTS,
    zero=("no_flags", "nothing"),
)
TENANCY_FRAMES = FrameFormat(
    name="tenancy",
    first=TenancyHead,
    constants=CONSTANTS,
    zero=("no_flags", "nothing"),
)
