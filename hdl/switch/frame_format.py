"""Describes the frames of a protocol, once for all parts that receive, check and send them."""

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data

from hdl.common.arithmetic import low_bits
from hdl.common.axi import AxiStreamSignature
from hdl.common.packets import AXIS, LEAST_BYTES
from hdl.common.params import Params


class FrameFormat(Params, suffix="{name}"):
    """Describes the fields of a protocol's frames, and which lengths and values are legal.

    All fields are in a frame's first beat, which begins with the ``destination``, the ``source``
    and the fields that identify the protocol. The other bytes of a frame are not checked.
    """

    name: str = ""  #: part of modules' names, in a design with several formats
    first: type[data.Struct]  #: the fields: destination and source, 48 bits each, before all others
    constants: tuple[tuple[str, int], ...]  #: fields that have this value, or the frame is foreign
    #: least and greatest value of the byte after the constants, if a switch has other formats, too
    kinds: tuple[int, int] = (0, 255)
    zero: tuple[str, ...] = ()  #: fields that must be zero, or the frame is malformed
    least_bytes: int = LEAST_BYTES  #: bytes of the shortest frame without checksum; at most a beat
    max_bytes: int = LEAST_BYTES  #: bytes of the longest frame
    more_bytes: int = 0  #: optional bytes after max_bytes, in a frame of one beat
    data_bits: int = AXIS.data_bits  #: width of a beat

    def __post_init__(self) -> None:
        super().__post_init__()
        fields = -(-self.first.as_shape().size // 8)
        if not fields <= self.least_bytes <= self.beat_bytes:
            raise ValueError(
                f"least_bytes must be from {fields} (the fields) to {self.beat_bytes} (a beat):"
                f" {self.least_bytes}"
            )
        if self.max_bytes < self.least_bytes:
            raise ValueError(f"max_bytes must be at least {self.least_bytes}: {self.max_bytes}")
        if self.more_bytes and self.least_bytes != self.max_bytes:
            raise ValueError(
                f"more_bytes must be 0 where least_bytes and max_bytes differ: {self.more_bytes}"
            )
        if self.more_bytes and self.longest_bytes > self.beat_bytes:
            room = self.beat_bytes - self.max_bytes
            raise ValueError(f"more_bytes must be from 0 to {room}: {self.more_bytes}")

    @property
    def axis(self) -> AxiStreamSignature:
        """Describe the AXI4-Stream of frames."""
        return AxiStreamSignature(data_bits=self.data_bits)

    @property
    def beat_bytes(self) -> int:
        """Return the number of bytes of a whole beat."""
        return self.data_bits // 8

    @property
    def beats(self) -> int:
        """Return the number of beats of the longest frame."""
        return -(-self.max_bytes // self.beat_bytes)

    @property
    def longest_bytes(self) -> int:
        """Return the number of bytes of a frame with ``more_bytes``."""
        return self.max_bytes + self.more_bytes

    @property
    def header_bytes(self) -> int:
        """Return the number of bytes that decide whether a packet is foreign."""
        shape = self.first.as_shape()
        ends = [shape[name].offset + shape[name].width for name, _ in self.constants]
        return -(-max(shape["destination"].width, *ends) // 8)

    @property
    def keep(self) -> int:
        """Return ``tkeep`` of the last beat of the longest frame."""
        return (1 << self.max_bytes - (self.beats - 1) * self.beat_bytes) - 1

    @property
    def longest_keep(self) -> int:
        """Return ``tkeep`` of a frame of one beat with ``more_bytes``."""
        return (1 << self.longest_bytes) - 1

    def read(self, m: Module, judge: Any) -> Any:
        """Return the fields of the frame that the filter ``judge`` reports, by their names."""
        return judge.frame

    def write(self, m: Module, axis: Any, answer: Any, frame: Any, parent: Any = None) -> None:
        """Put ``answer`` on ``axis`` as ``frame``, which has all fields but the answer's.

        If an answer may go up, ``parent`` has the ports with the parent's address.
        """
        m.d.comb += [
            *copied(frame, answer),
            *copied(frame, answer.header),
            axis.tdata.eq(frame),
            axis.tkeep.eq(self.keep),
        ]

    def is_wrong(self, frame: Any) -> Value:
        """Return whether a field of ``frame`` has a value that it must not have."""
        return Cat(frame[name] for name in self.zero).any()

    def last_byte(self, frame: Any) -> Value | None:
        """Return the number of the last byte of ``frame``; None if its fields do not tell it."""
        return None

    def is_foreign(self, frame: Any, address: Value) -> Value:
        """Return whether ``frame`` is for another than ``address``, or of another protocol."""
        foreign = frame.destination != address
        for name, value in self.constants:
            foreign |= frame[name] != value
        return foreign

    def recognises(self, axis: Any, address: Value) -> Value:
        """Return whether a packet's first beat is of this format, and for ``address``."""
        kind_at = self.header_bytes
        kind = axis.tdata.word_select(kind_at, 8)
        frame = data.View(shape := self.first.as_shape(), axis.tdata[: shape.size])
        least, most = self.kinds
        fits = (kind >= least) & (kind <= most)
        return axis.tkeep[kind_at] & fits & ~self.is_foreign(frame, address)

    def fill(self, frame: Any, address: Value, own: Value) -> Iterator[Any]:
        """Return statements that make ``frame`` one of ours, from ``own`` to ``address``."""
        yield from (frame.destination.eq(address), frame.source.eq(own))
        yield from (frame[name].eq(value) for name, value in self.constants)


def copied(target: Any, source: Any) -> Iterator[Any]:
    """Return statements that give each field of ``target`` the field of that name in ``source``.

    Fields that ``source`` has not are left out; of numbers the low bits are taken, and of arrays
    as many elements as both have.
    """
    names = {name for name, _ in data.Layout.cast(source.shape())}
    for name, field in data.Layout.cast(target.shape()):
        if name not in names:
            continue
        if isinstance(field.shape, data.ArrayLayout):
            pairs = zip(target[name], source[name], strict=False)
        else:
            pairs = [(target[name], source[name])]
        for to, value in pairs:
            yield Value.cast(to).eq(low_bits(value, len(Value.cast(to))))
