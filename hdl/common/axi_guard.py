"""Ends the accesses of an AXI bus whose manager has been reset, so that the bus can be used on."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.axi import Axi4Signature, AxiLiteSignature, BusSignature
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.params import Params, tagged, whole
from hdl.common.streams import StreamRegister

UNDER_WAY = 32  #: most reads, and most writes, that wait for their response
DATA_DUE = 16  #: most writes whose data have not all gone
#: maps channels to whether they go to the subordinate
CHANNELS = {"aw": True, "w": True, "b": False, "ar": True, "r": False}


class AxiGuardParams(Params, suffix="{address_bits}x{data_bits}"):
    """Sets the bus that a guard stands in."""

    address_bits: int = whole(1, 64)  #: width of a byte address
    data_bits: int = whole(8, 1024, power_of_two=True, default=32)  #: width of a beat
    lite: bool = tagged("_lite", default=False)  #: whether it is AXI4-Lite, else AXI4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lite and self.data_bits != 32:
            raise ValueError(f"data_bits must be 32 on AXI4-Lite: {self.data_bits}")

    @property
    def axi(self) -> BusSignature:
        """Describe the bus, from the manager's side; it has no identifiers."""
        if self.lite:
            return AxiLiteSignature(address_bits=self.address_bits)
        return Axi4Signature(address_bits=self.address_bits, data_bits=self.data_bits, id_bits=0)


class AxiGuard(Component):
    """Passes AXI from ``i`` to ``o`` until ``cut``, and then ends what is under way at ``o``.

    From ``cut`` on nothing is taken from ``i`` or given to it. The data that writes under way still
    owe go to ``o`` with all strobes low, responses are dropped, and when ``cut`` is low and ``o``
    owes none, accesses pass again: no response to an access from before ``cut`` comes after it. A
    subordinate that owes a response for ever keeps the bus closed.

    Data follow their address, whose length says which beat is the last one, not ``wlast`` of ``i``.
    Throughput: a beat a cycle on each channel, while at most UNDER_WAY reads and as
    many writes wait for their responses, and DATA_DUE writes for their data. Latency: ``latency``
    on AW, W and AR, none on B and R.
    """

    latency = 1

    def __init__(self, params: AxiGuardParams) -> None:
        super().__init__(params, i=In(params.axi), o=Out(params.axi), cut=In(1))

    def build(self, m: Module) -> None:
        i, o = self.i, self.o
        draining = Signal()
        reads, writes = (Signal(range(UNDER_WAY + 1), name=name) for name in ("reads", "writes"))
        closed = self.cut | draining
        lengths = self.add_data(m, closed)
        opens_ar = ~closed & (reads != UNDER_WAY)
        opens_aw = ~closed & (writes != UNDER_WAY) & lengths.i.ready
        read = self.register(m, "ar", i.arvalid & opens_ar, opens_ar, beat_of(i, "ar"))
        written = self.register(m, "aw", i.awvalid & opens_aw, opens_aw, beat_of(i, "aw"))
        m.d.comb += lengths.i.valid.eq(written)
        for channel in "br":
            m.d.comb += [
                beat_of(i, channel).eq(beat_of(o, channel)),
                getattr(i, f"{channel}valid").eq(getattr(o, f"{channel}valid") & ~closed),
                getattr(o, f"{channel}ready").eq(getattr(i, f"{channel}ready") | closed),
            ]
        has_read = o.rvalid & o.rready & (1 if self.params.lite else o.rlast)
        m.d.sync += [
            reads.eq(reads + read - has_read),
            writes.eq(writes + written - (o.bvalid & o.bready)),
            draining.eq(self.cut | (draining & (reads.any() | writes.any()))),
        ]

    def add_data(self, m: Module, closed: Value) -> Fifo:
        """Add the channel of data; return the queue of the lengths of writes whose data are due."""
        length = Const(0, 1) if self.params.lite else self.i.awlen
        m.submodules.lengths = lengths = Fifo.sized(shape=len(length), depth=DATA_DUE)
        sent = Signal(len(length))
        last = Signal()
        beats = {name: getattr(self.i, name) for name in fields(self.i, "w")}
        beats["wstrb"] = Mux(closed, 0, self.i.wstrb)
        if not self.params.lite:
            beats["wlast"] = last
        due = lengths.o.valid
        valid = due & (self.i.wvalid | closed)
        moves = self.register(m, "w", valid, due & ~closed, Cat(beats.values()))
        m.d.comb += [
            lengths.i.payload.eq(length),
            last.eq(sent == lengths.o.payload),
            lengths.o.ready.eq(moves & last),
        ]
        with m.If(moves):
            m.d.sync += sent.eq(Mux(last, 0, sent + 1))
        return lengths

    def register(self, m: Module, channel: str, valid: Value, opens: Value, beat: Value) -> Value:
        """Register ``beat`` of a channel to ``o``; return whether one is taken.

        ``opens`` says whether ``i`` may give it.
        """
        register = StreamRegister.sized(shape=len(beat))
        m.submodules[channel] = register
        m.d.comb += [
            register.i.payload.eq(beat),
            register.i.valid.eq(valid),
            getattr(self.i, f"{channel}ready").eq(register.i.ready & opens),
            beat_of(self.o, channel).eq(register.o.payload),
            getattr(self.o, f"{channel}valid").eq(register.o.valid),
            register.o.ready.eq(getattr(self.o, f"{channel}ready")),
        ]
        return valid & register.i.ready


def fields(bus: Any, channel: str) -> list[str]:
    """Return the names of a channel's signals, except those of its handshake."""
    handshake = (f"{channel}valid", f"{channel}ready")
    return [n for n in bus.signature.members if n.startswith(channel) and n not in handshake]


def beat_of(bus: Any, channel: str) -> Cat:
    """Return all signals of a channel, except those of its handshake, side by side."""
    return Cat(Value.cast(getattr(bus, name)) for name in fields(bus, channel))
