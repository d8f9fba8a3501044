"""Emits marked packets: the header, then the lines of PRs, which it returns to the pool."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.common.streams import StreamRegister
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.line_memory import LineMemory

OFFSET_BITS = ceil_log2(BEAT_BYTES)


class FlushEngine(Component):
    """Sends packets one after the other, in the order of ``packets`` (NetSparse, section 6.1.2).

    A packet of n bytes after its header takes 1 + ceil(n / 64) beats and as many cycles; the next
    packet follows without a pause. ``line`` is read while ``step`` is high, and ``low``, ``high``
    are its halves as a ``LineMemory`` gives them; ``follower`` is the next line of the packet, a
    step later. A line is returned in the cycle that reads its last half. ``packet``, with ``bytes``
    and ``prs``, pulses when a last beat leaves; the packet's ``label`` comes with every beat.
    Latency: :attr:`latency` from a packet's header. Stalls: all stages wait for ``axis``.
    """

    latency = 3

    def __init__(self, params: ConcatenatorParams) -> None:
        self.about = data.StructLayout(
            {"prs": bits_for(params.max_prs), "used": bits_for(params.room), **params.label}
        )
        #: content of a beat: header, low or high half, whether it is the last, and its packet
        self.turn = data.StructLayout({"header": 1, "high": 1, "last": 1, "about": self.about})
        self.beat = data.StructLayout({"data": 8 * BEAT_BYTES, "last": 1, "about": self.about})
        super().__init__(
            params,
            packets=In(stream.Signature(params.outgoing)),
            step=Out(1),
            line=Out(params.line_bits),
            low=In(8 * BEAT_BYTES),
            high=In(8 * BEAT_BYTES),
            follower=In(params.line_bits),
            returns=Out(1),
            busy=Out(1),
            axis=Out(AXIS),
            **{name: Out(bits) for name, bits in params.label.items()},
            packet=Out(1),
            bytes=Out(bits_for(params.mtu)),
            prs=Out(bits_for(params.max_prs)),
        )

    def build(self, m: Module) -> None:
        params, packet = self.params, self.packets.payload
        reading = Signal()  # beats of a packet after the header are being read
        line = Signal(params.line_bits, reset_less=True)
        second_half = Signal(reset_less=True)
        max_beats = -(-params.room // BEAT_BYTES)
        left = Signal(range(max_beats + 1), reset_less=True)  # beats left
        about = Signal(self.about, reset_less=True)
        header = Signal(8 * BEAT_BYTES, reset_less=True)
        last = Signal()
        m.submodules.output = output = StreamRegister.sized(shape=self.beat)
        m.d.comb += [
            self.step.eq(output.i.ready),
            self.packets.ready.eq(self.step & ~reading),
            last.eq(left == 1),
            self.line.eq(line),
            self.returns.eq(self.step & reading & (second_half | last)),
        ]
        turn = Signal(self.turn)
        m.d.comb += [turn.header.eq(~reading), turn.high.eq(second_half), turn.about.eq(about)]
        m.d.comb += [
            turn.last.eq(reading & last),
            *(
                turn.about[name].eq(Mux(reading, about[name], packet[name]))
                for name in params.label
            ),
        ]
        with m.If(self.step & reading):
            m.d.sync += [second_half.eq(~second_half), left.eq(left - 1), reading.eq(~last)]
            with m.If(second_half):
                m.d.sync += line.eq(self.follower)
        with m.Elif(self.step):
            m.d.sync += [
                reading.eq(self.packets.valid),
                line.eq(packet.first),
                second_half.eq(0),
                left.eq(low_bits((packet.used + BEAT_BYTES - 1) >> OFFSET_BITS, len(left))),
                about.prs.eq(packet.prs),
                about.used.eq(packet.used),
                *(about[name].eq(packet[name]) for name in params.label),
                # The header leaves two steps later, and the next header comes at least two steps
                # later.
                header.eq(packet.header),
            ]
        valid = reading | self.packets.valid
        busy = [self.packets.valid, reading, output.o.valid]
        for stage in range(LineMemory.latency):
            now_valid = Signal(name=f"valid_{stage}")
            now = Signal(self.turn, name=f"turn_{stage}", reset_less=True)
            with m.If(self.step):
                m.d.sync += [now_valid.eq(valid), now.eq(turn)]
            valid, turn = now_valid, now
            busy.append(valid)
        beat = output.i.payload
        halves = Mux(turn.high, self.high, self.low)
        m.d.comb += [
            output.i.valid.eq(valid),
            beat.data.eq(Mux(turn.header, header, halves)),
            beat.last.eq(turn.last),
            beat.about.eq(turn.about),
            self.busy.eq(Cat(busy).any()),
        ]
        self.connect(m, output.o)

    def connect(self, m: Module, o) -> None:
        """Connect the AXI4-Stream to the registered beats."""
        beat = o.payload
        end = beat.about.used[:OFFSET_BITS]  # bytes of the last beat; 0 means all
        keep = Cat((end > k) | (end == 0) | ~beat.last for k in range(BEAT_BYTES))
        m.d.comb += [
            self.axis.tvalid.eq(o.valid),
            self.axis.tdata.eq(beat.data),
            self.axis.tkeep.eq(keep),
            self.axis.tlast.eq(beat.last),
            o.ready.eq(self.axis.tready),
            self.packet.eq(o.valid & self.axis.tready & beat.last),
            self.bytes.eq((beat.about.used + BEAT_BYTES)[: self.params.used_bits]),
            self.prs.eq(beat.about.prs),
            *(getattr(self, name).eq(beat.about[name]) for name in self.params.label),
        ]
