"""Copies a stream, registers it, or registers only its ``ready``."""

from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect

from hdl.common.component import Component
from hdl.common.params import whole
from hdl.common.shaped import ShapedParams

LANE_BITS = 64  #: most registers that share an enable, in what registers a beat in lanes


def stream_ports(taken: Any, provided: Any) -> dict[str, Any]:
    """Return the ports of a part that takes a stream ``i``, and gives ``o``, of these shapes."""
    return {"i": In(stream.Signature(taken)), "o": Out(stream.Signature(provided))}


class ForkParams(ShapedParams, suffix="{width}_to_{count}"):
    """Sets the shape of a beat, and the number of outputs of a :class:`Fork`."""

    count: int = whole(1, 64)  #: number of copies


class Fork(Component):
    """Copies every beat of ``i`` to each ``o[k]``, which may take it in different cycles.

    Throughput: one beat a cycle while all are ready. Latency: none, ``o[k].valid`` follows
    ``i.valid``. Stalls: the next beat is offered when the slowest copy has been taken;
    ``i.ready`` follows the ``o[k].ready`` combinationally.
    """

    latency = 0

    def __init__(self, params: ForkParams) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(params.shape)),
            o=Out(stream.Signature(params.shape)).array(params.count),
        )

    def build(self, m: Module) -> None:
        taken = Signal(self.params.count)  # copies of the waiting beat that were taken already
        done = taken | Cat(o.ready for o in self.o)
        m.d.comb += self.i.ready.eq(done.all())
        for k, o in enumerate(self.o):
            m.d.comb += [o.payload.eq(self.i.payload), o.valid.eq(self.i.valid & ~taken[k])]
        with m.If(self.i.valid):
            m.d.sync += taken.eq(Mux(self.i.ready, 0, done))


class StreamRegisterParams(ShapedParams, suffix="{width}"):
    """Sets the shape of a beat that a register stage holds."""


class RegisterStage(Component):
    """Is what a :class:`StreamRegister` and each lane of a wide one have in common."""

    latency = 1
    capacity = 2
    control: ClassVar[dict[str, str]] = {}  #: attributes of the registers of control

    def __init__(self, params: StreamRegisterParams) -> None:
        super().__init__(params, stream_ports(params.shape, params.shape))

    def build(self, m: Module) -> None:
        front = Signal(self.params.width, reset_less=True)
        spare = Signal(self.params.width, reset_less=True)
        valid = Signal(attrs=self.control)  # ``front`` holds a beat
        # ``spare`` is empty; a register, since it drives many loads
        ready = Signal(init=1, attrs=self.control)
        m.d.comb += [
            self.i.ready.eq(ready),
            self.o.valid.eq(valid),
            self.o.payload.eq(front),
        ]
        with m.If(ready):
            m.d.sync += spare.eq(self.i.payload)
        with m.If(self.o.ready | ~valid):
            m.d.sync += [
                front.eq(Mux(ready, self.i.payload, spare)),
                valid.eq(self.i.valid | ~ready),
                ready.eq(1),
            ]
        with m.Elif(self.i.valid):
            m.d.sync += ready.eq(0)


class StreamRegister(RegisterStage):
    """Registers a stream in both directions: ``o.valid``, ``o.payload`` and ``i.ready``.

    Throughput: one beat a cycle. Latency: ``latency``. Stalls: it holds two beats, one of them
    the beat that is under way when ``o.ready`` goes low and ``i.ready`` follows a cycle later.
    A beat of more than LANE_BITS is held in lanes, each with control and enables of its own.
    """

    def build(self, m: Module) -> None:
        (super().build if self.params.width <= LANE_BITS else self.add_lanes)(m)

    def add_lanes(self, m: Module) -> None:
        """Add a register for each LANE_BITS of a beat; all are always in the same state."""
        provided, taken = Value.cast(self.i.payload), Value.cast(self.o.payload)
        for index, start in enumerate(range(0, self.params.width, LANE_BITS)):
            bits = slice(start, start + LANE_BITS)
            lane = RegisterLane.sized(shape=len(provided[bits]))
            m.submodules[f"lane_{index}"] = lane
            m.d.comb += [
                lane.i.valid.eq(self.i.valid),
                lane.i.payload.eq(provided[bits]),
                lane.o.ready.eq(self.o.ready),
                taken[bits].eq(lane.o.payload),
            ]
            if index == 0:
                m.d.comb += [self.i.ready.eq(lane.i.ready), self.o.valid.eq(lane.o.valid)]


class RegisterLane(RegisterStage):
    """Is a lane of a wide :class:`StreamRegister`; synthesis must not merge it with its equals."""

    control: ClassVar = {"DONT_TOUCH": "TRUE"}


class StreamSkid(Component):
    """Registers ``ready`` only (a skid buffer): ``o`` follows ``i`` in the same cycle.

    Throughput: one beat a cycle. Latency: none. Stalls: it holds one beat, which was under way when
    ``o.ready`` went low. It is for paths on which ``ready`` comes too late, and one more cycle of
    latency is too many.
    """

    latency = 0
    capacity = 1

    def __init__(self, params: StreamRegisterParams) -> None:
        super().__init__(params, stream_ports(params.shape, params.shape))

    def build(self, m: Module) -> None:
        spare = Signal(self.params.width, reset_less=True)
        free = Signal(init=1)  # ``spare`` is empty; a register, since it drives many loads
        m.d.comb += [
            self.i.ready.eq(free),
            self.o.valid.eq(~free | self.i.valid),
            self.o.payload.eq(Mux(free, self.i.payload, spare)),
        ]
        m.d.sync += free.eq(self.o.ready | ~self.o.valid)
        with m.If(free):
            m.d.sync += spare.eq(self.i.payload)


def cut_ready(m: Module, name: str, source: Any, target: Any) -> None:
    """Connect two streams of one shape by a :class:`StreamSkid` called ``name``."""
    connect_by(m, name, StreamSkid.sized(shape=source.payload.shape()), source, target)


def register_stream(m: Module, name: str, source: Any, target: Any) -> None:
    """Connect two streams of one shape by a :class:`StreamRegister` called ``name``."""
    connect_by(m, name, StreamRegister.sized(shape=source.payload.shape()), source, target)


def forward(source: Any, target: Any, **fields: Any) -> list[Any]:
    """Return what moves each beat of ``source`` to ``target``, whose payload has these fields."""
    return [
        target.valid.eq(source.valid),
        source.ready.eq(target.ready),
        *(target.payload[name].eq(value) for name, value in fields.items()),
    ]


def connect_by(m: Module, name: str, part: Any, source: Any, target: Any) -> None:
    """Connect ``source`` to ``i``, and ``target`` to ``o``, of a part called ``name``."""
    m.submodules[name] = part
    connect(m, source, part.i)
    connect(m, part.o, target)
