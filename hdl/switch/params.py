"""Describes the sizes and layouts of every switch of packets: ports with queues, and jobs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from amaranth.hdl import ShapeLike, Value
from amaranth.lib import data, enum
from amaranth.utils import bits_for, ceil_log2

from hdl.common.fifo import FifoParams
from hdl.common.params import Params, whole
from hdl.switch.frame_filter import Quality
from hdl.switch.frame_format import FrameFormat

#: Names the verdicts that a switch's enumeration has besides those of its rule.
REFUSALS = (
    "WRONG_SLOT",  #: its slot is outside the job's range
    "WRONG_RUN",  #: its epoch is not the job's
    "WRONG_WORKER",  #: its ``bm`` is not exactly the bit of the port that it came by
    "WRONG_JOB",  #: its job is not active, or has no worker at this port
    *(quality.name for quality in Quality if quality is not Quality.GOOD),
)


class Refusal(enum.Enum, shape=3):
    """Says why the last command had no effect; if several reasons apply, the first one counts."""

    NONE, BUSY, NO_SUCH_JOB, NO_PORTS, NO_SUCH_PORT, BAD_SLOTS, PORTS_TAKEN, SLOTS_TAKEN = range(8)


#: what each reason means
WHY_REFUSED = {
    Refusal.NONE: "it had an effect",
    Refusal.BUSY: "a job is being started",
    Refusal.NO_SUCH_JOB: "`job_number` is not below J",
    Refusal.NO_PORTS: "`job_ports` is 0",
    Refusal.NO_SUCH_PORT: "`job_ports` has ports from P on",
    Refusal.BAD_SLOTS: "`job_slots` is 0, or slots from S on are among them",
    Refusal.PORTS_TAKEN: "another active job has some of the ports",
    Refusal.SLOTS_TAKEN: "another active job has some of the slots",
}

#: Describes a host's command and its operands, which must be stable; the first two are pulses.
COMMAND = data.StructLayout(
    {
        "start": 1,
        "stop": 1,
        "job": 16,
        "ports": 32,
        "epoch": 16,
        "base": 16,
        "count": 17,  # number of slots
    }
)


class PacketSwitchParams(Params, ABC):
    """Sets the sizes of a switch whose jobs have ports, and slots in the memory of its rule.

    A system derives its own parameters: the format of its frames, the fields of a packet that its
    rule reads, and its answer. Fields of packets and answers have the names of the frames' fields.
    """

    ports: int = whole(2, 32, default=8)  #: number of ports, each with a worker
    slots: int = whole(2, 1 << 16, power_of_two=True, default=1 << 16)  #: most AllReduces under way
    jobs: int = whole(1, 32, default=8)  #: most jobs at a time
    #: most packets that can wait at each port
    ingress_depth: int = whole(2, 1 << 16, power_of_two=True, default=512)
    egress_depth: int = whole(2, 1 << 16, default=64)  #: most answers that can wait at each port

    only_answers: ClassVar[tuple[str, ...]]  #: fields that are zero in all frames but answers
    slot_field: ClassVar[str | None]  #: field with a request's slot, 16 bits, or None
    verdict: ClassVar[type[enum.Enum]]  #: verdicts on a packet: NONE, those of the rule, REFUSALS
    #: whether jobs are tenants, registered first, then granted and released:
    #: :mod:`hdl.switch.tenancy`
    tenants: ClassVar[bool] = False
    #: whether a tenant may have a parent switch, with which it exchanges packets, too
    parents: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        names = ["NONE", *REFUSALS]
        if cls.slot_field is None:
            names.remove("WRONG_SLOT")
        missing = [name for name in names if name not in cls.verdict.__members__]
        if missing:
            raise TypeError(f"{cls.__name__}.verdict has no {', '.join(missing)}")

    @property
    @abstractmethod
    def frames(self) -> FrameFormat:
        """Return the format of frames, with bm, job, epoch and slot_field among its fields."""

    @property
    @abstractmethod
    def fields(self) -> Mapping[str, ShapeLike]:
        """Return the fields of a request that an answer repeats, besides ``job`` and ``epoch``."""

    @property
    @abstractmethod
    def payload(self) -> data.Layout | None:
        """Describe the payload of a request for the rule; None if it has none."""

    @property
    @abstractmethod
    def answer(self) -> data.StructLayout:
        """Describe an answer: ``bm``, the ports that it goes to, its own fields, and ``header``."""

    @property
    def clears_slots(self) -> bool:
        """Return whether the slots of a job that starts are cleared one by one, by its control."""
        return self.slot_field is not None

    @property
    def slot_bits(self) -> int:
        """Return the width of a slot's index."""
        return ceil_log2(self.slots)

    @property
    def copies(self) -> int:
        """Return the number of entries that a slot has in the rule's memory, a power of two."""
        return 1

    @property
    def entry_bits(self) -> int:
        """Return the width of the index of an entry of the rule's memory."""
        return self.slot_bits + ceil_log2(self.copies)

    def entry_of(self, header: Any) -> Value:
        """Return the entry that a packet with ``header`` is for, if it is of a job's slot."""
        assert self.slot_field is not None
        return header[self.slot_field]

    @property
    def port_bits(self) -> int:
        """Return the width of a port's index."""
        return ceil_log2(self.ports)

    @property
    def job_bits(self) -> int:
        """Return the width of a job's index."""
        return bits_for(self.jobs - 1)

    @property
    def header(self) -> data.StructLayout:
        """Describe the fields of a packet that its answer repeats."""
        return data.StructLayout({"job": self.job_bits, "epoch": 16, **self.fields})

    @property
    def packet(self) -> data.StructLayout:
        """Describe the fields of a frame that the job table checks.

        With parents, ``to_switch`` says that ``bm`` has the switch's bit, as in a parent's frames;
        ``up`` says that a child may send the frame, ``down`` that a parent may; ``longer`` says
        that it has further bytes.
        """
        return data.StructLayout(
            {
                "quality": Quality,
                "own": 1,  # bm is the bit of the port
                "known": 1,  # the job's number is not too large
                **(dict.fromkeys(("to_switch", "up", "down", "longer"), 1) if self.parents else {}),
                "header": self.header,
                **self.brought,
            }
        )

    @property
    def job(self) -> data.StructLayout:
        """Describe an entry of the job table."""
        return data.StructLayout(
            {
                "active": 1,
                **({"draining": 1, "registered": 1} if self.tenants else {}),
                "ports": self.ports,
                **({"parent": self.ports} if self.tenants else {}),  # port's bit; 0: none
                "epoch": 32 if self.tenants else 16,  # packets have its low bits
                "base": 16,  # first slot
                "end": 17,  # last slot + 1
            }
        )

    @property
    def progress(self) -> data.StructLayout:
        """Describe what a request did to its slot: a use began, or all workers acknowledged it."""
        return data.StructLayout({"job": self.job_bits, "began": 1, "ended": 1})

    @property
    def settling(self) -> int:
        """Return the cycles from a job's release until every use that was begun is counted.

        A packet in the pipeline is checked, passes the rule, and is reported in ``progress``.
        """
        return 7

    @property
    def request(self) -> data.StructLayout:
        """Describe a packet that the job table passes to the rule."""
        return data.StructLayout(
            {
                "sender": self.ports,  # one bit
                "everyone": self.ports,  # all ports of the job
                **({"draining": 1} if self.tenants else {}),  # no new use may begin
                **(self.parent_fields if self.parents else {}),
                "header": self.header,
                **self.brought,
            }
        )

    @property
    def parent_fields(self) -> dict[str, ShapeLike]:
        """Return the fields about the job's parent: its port, if any, and whether it is sender."""
        return {"parent": self.ports, "root": 1, "from_parent": 1}

    @property
    def brought(self) -> dict[str, ShapeLike]:
        """Return the field with the payload of a packet; none if it has no payload."""
        return {} if self.payload is None else {"payload": self.payload}

    @property
    def ingress_fifo(self) -> FifoParams:
        """Return the sizes of the queue of packets that wait at a port."""
        return FifoParams(shape=self.packet, depth=self.ingress_depth)

    @property
    def egress_fifo(self) -> FifoParams:
        """Return the sizes of the queue of answers that wait at a port."""
        return FifoParams(shape=self.answer, depth=self.egress_depth)
