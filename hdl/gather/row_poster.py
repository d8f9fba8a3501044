"""Posts rows to addresses of the host's bus."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.axi import FOUR_KB
from hdl.common.component import Component
from hdl.common.streams import StreamRegister
from hdl.gather.engine_params import GatherEngineParams


class RowPoster(Component):
    """Writes joined ``rows``, ``size`` bytes in all, to the bus from ``address`` on.

    ``writes`` are requests of at most 4,096 bytes for a
    :class:`hdl.pcie.write_requester.WriteRequester`, and ``data`` are their bytes, which begin in
    byte 0 of a beat. The requester cuts them at multiples of the largest payload, so no packet
    crosses 4 KB. The address can be that of host memory or of a peer: both get the same posted
    writes, in order, which nothing answers. After each ``begin``, ``done`` is high with the
    array's last beat, when it moves: whatever the requester is asked to write later follows the
    rows. ``address`` and ``size`` must be stable from ``begin`` to ``done``.

    ``halt``, held until ``done``, ends the array early: a cycle later no more of ``rows`` are
    taken. The requests that were taken get beats without a meaning, and the requester, which must
    be stopped meanwhile, drops them; ``done`` says that they have all their beats.

    Throughput: a beat a cycle. Latency: :attr:`latency`. Stalls: ``rows`` wait for ``data``.
    """

    latency = StreamRegister.latency

    def __init__(self, params: GatherEngineParams) -> None:
        super().__init__(
            params,
            address=In(64),
            size=In(params.size_bits),
            begin=In(1),
            halt=In(1),
            rows=In(stream.Signature(params.gather.beat)),
            done=Out(1),
            moved=Out(1),
            writes=Out(stream.Signature(params.requester.writes.cutter.request)),
            data=Out(stream.Signature(params.data_bits)),
        )

    def build(self, m: Module) -> None:
        rows, request = self.rows, self.writes.payload
        beat_bytes, low = self.params.beat_bytes, exact_log2(FOUR_KB)
        most = FOUR_KB // beat_bytes  # beats of a request
        address = Signal(64, reset_less=True)  # where the next request begins
        left = Signal(self.params.size_bits)  # bytes of requests that were not made
        offers = Signal()  # a request is made
        octets = Signal(low + 1, reset_less=True)  # bytes of it
        beats = Signal(range(most + 1), reset_less=True)  # of them
        owed = Signal(range(2 * most))  # beats of requests that were taken
        owes = Signal()  # there are such; a register, since rows wait for it
        goes, moves, leaves, whole = Signal(), Signal(), Signal(), Signal()
        went = Signal()  # a request was taken in the cycle before
        begun, halted = Signal(), Signal()  # ``begin`` and ``halt`` a cycle later
        beat = data.StructLayout({"last": 1, "data": self.params.data_bits})
        m.submodules.register = register = StreamRegister.sized(shape=beat)
        tail = (left[:low] + (beat_bytes - 1)) >> exact_log2(beat_bytes)
        m.d.comb += [
            whole.eq(left[low:].any()),
            self.writes.valid.eq(offers),  # which nothing takes during a halt
            request.address.eq(address),
            request.bytes.eq(octets),
            goes.eq(self.writes.valid & self.writes.ready),
            register.i.payload.eq(Cat(rows.payload.last, rows.payload.data)),
            register.i.valid.eq(owes & (rows.valid | halted)),
            rows.ready.eq(owes & register.i.ready & ~halted),
            moves.eq(register.i.valid & register.i.ready),
            self.data.payload.eq(register.o.payload.data),
            self.data.valid.eq(register.o.valid),
            register.o.ready.eq(self.data.ready),
            leaves.eq(self.data.valid & self.data.ready),
            self.moved.eq(leaves & ~halted),
            self.done.eq(
                Mux(halted, ~owes & ~went & ~register.o.valid, leaves & register.o.payload.last)
            ),
        ]
        still = (owed + Mux(went, beats, 0) - moves)[: len(owed)]
        m.d.sync += [
            begun.eq(self.begin),
            halted.eq(self.halt),
            went.eq(goes),
            owed.eq(still),
            owes.eq(still.any()),
        ]
        with m.If(goes):
            m.d.sync += [offers.eq(0), address[low:].eq(address[low:] + 1)]
        # A request is made while the beats of the one before still come.
        with m.If(~offers & ~went & left.any() & (owed < most)):
            m.d.sync += [
                offers.eq(1),
                octets.eq(Mux(whole, FOUR_KB, left[:low])),
                beats.eq(Mux(whole, most, tail)),
                left.eq(Mux(whole, left - FOUR_KB, 0)),
            ]
        with m.If(halted):
            m.d.sync += [offers.eq(0), left.eq(0)]
        with m.If(begun):  # nothing is left
            m.d.sync += [address.eq(self.address), left.eq(self.size)]
