"""Lets other traffic use a simulated link: flows at random times, and a frame's turn by turn."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.common.params import Params, whole
from sim.surroundings.link import mixed

CERTAIN = 1 << 32  #: a chance that is certain


class BackgroundParams(Params, suffix="{frame_beats}"):
    """Sets the length of the frames of other traffic."""

    frame_beats: int = whole(1, 127, default=24)  #: beats of a frame, 1,536 bytes

    @property
    def settings(self) -> data.StructLayout:
        """Describe what a simulation can change without being built again."""
        return data.StructLayout(
            {
                "chance": 32,  # that a flow begins in a cycle, in 2**-32
                "frames": 8,  # frames of a flow
                "seed": 32,  # of these chances; mixed with index
            }
        )

    def fields(self, load: float, *, frames: int = 4, seed: int = 1) -> dict[str, int]:
        """Return settings with which flows of this many frames take ``load`` of a link."""
        chance = round(CERTAIN * load / (frames * self.frame_beats))
        return {"chance": chance, "frames": frames, "seed": seed}


class Background(Component):
    """Passes the frames of ``i`` on to ``o``, and holds them up while other frames have the link.

    A flow begins in each cycle with the chance of ``settings``, and its frames wait from then on.
    They have a queue of their own: while it and ``i`` both have frames, each gets half of the
    beats, a frame at a time; else whoever has one sends. The frames themselves do not appear at
    ``o``, since they are for others; they only take their time. ``sent`` counts their beats.

    It stands for what shares a port with a switch's engine or with an endpoint: the forwarded
    packets of ``hdl/network_switch``, with equal weights, or the other traffic of a host. The
    random numbers are a hash of ``seed``, ``index`` (constant, another for each link) and the
    cycle.

    Latency: none. Throughput: a beat a cycle. At most 65,535 frames wait; more are not counted.
    """

    def __init__(self, params: BackgroundParams) -> None:
        super().__init__(
            params,
            i=In(AXIS),
            o=Out(AXIS),
            index=In(8),
            settings=In(params.settings),
            sent=Out(32),
        )

    def build(self, m: Module) -> None:
        i, o = self.i, self.o
        inside = Signal()  # a frame of i has begun and not ended
        left = Signal(range(self.params.frame_beats + 1))  # beats of the other frame on the link
        waiting = Signal(16)
        lead = Signal(signed(9))  # beats of other frames beyond those of i, while both wait
        others = Signal()  # another frame has the link
        begins = Signal()
        moves = Signal()
        stays = Signal()  # a beat of i waits at o
        rests = ~inside & ~left.any() & ~stays
        m.d.comb += [
            begins.eq(waiting.any() & rests & (~i.tvalid | (lead <= 0))),
            others.eq(left.any() | begins),
            *(getattr(o, name).eq(getattr(i, name)) for name in ("tdata", "tkeep", "tlast")),
            o.tuser.eq(i.tuser),
            o.tvalid.eq(i.tvalid & ~others),
            i.tready.eq(o.tready & ~others),
            moves.eq(i.tvalid & i.tready),
        ]
        m.d.sync += stays.eq(o.tvalid & ~o.tready)
        with m.If(moves):
            m.d.sync += inside.eq(~i.tlast)
        with m.If(begins):
            m.d.sync += left.eq(self.params.frame_beats - 1)
        with m.Elif(left.any()):
            m.d.sync += left.eq(left - 1)
        m.d.sync += [
            self.sent.eq(self.sent + others),
            waiting.eq((waiting - begins + Mux(self.flow(m), self.settings.frames, 0))[:16]),
        ]
        with m.If(rests & ~(i.tvalid & waiting.any())):
            m.d.sync += lead.eq(0)
        with m.Elif(others & i.tvalid & (lead < 255)):
            m.d.sync += lead.eq((lead + 1)[:9])
        with m.Elif(moves & waiting.any() & (lead > -255)):
            m.d.sync += lead.eq((lead - 1)[:9])

    def flow(self, m: Module) -> Any:
        """Return whether a flow begins in this cycle."""
        now = Signal(32)
        m.d.sync += now.eq(now + 1)
        own = self.settings.seed ^ (self.index * Const(0x9E3779B9, 32))[:32]
        return mixed(m, (mixed(m, own) + Cat(now))[:32]) < self.settings.chance


def begins(settings: dict[str, int], index: int, cycle: int) -> bool:
    """Return whether a flow begins in a cycle since reset, as the hardware does."""

    def mix(value: int) -> int:
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            value = (value ^ value >> shift) * factor % CERTAIN
        return value ^ value >> 16

    own = settings["seed"] ^ index * 0x9E3779B9 % CERTAIN
    return mix((mix(own) + cycle) % CERTAIN) < settings["chance"]
