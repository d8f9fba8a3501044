"""Builds the control frames of a port: ACK, ADVANCE, RAWFETCH, DONE."""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo
from hdl.common.round_robin import RoundRobin
from hdl.switchgnn.protocol import Kind
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import OPEN_TURNS, TURN_BITS

RAW_REQUESTS = 16  #: raw requests that can wait at a port; a worker repeats those that are lost
ADVANCE, RAWFETCH = OPEN_TURNS, OPEN_TURNS + 1  #: requesters; below them are ACKs of turns


class ControlFrames(Component):
    """Arbitrates ACKs, ADVANCEs and RAWFETCHes, and emits them as control frames in ``o``.

    - ``acks``: while one is ``required``, an ACK for it must leave. Its bit of ``acked`` is high in
      the cycle in which its content is taken; another ACK may be wanted in the next cycle.
    - ``advance``, a pulse: an ADVANCE leaves, with the ``lo`` that the job has when the frame is
      built; several pulses may give one frame. If the switch has links, and ``above`` says that the
      port leads to the switch above, a DONE leaves instead, with the ``lo`` of the cycle of the
      last ``advance``: that turn may end before the frame leaves, and the frame must not end the
      next turn.
    - ``raw_request``, with ``raw_valid``: a RAWFETCH leaves. It is never stalled; while
      :data:`RAW_REQUESTS` wait it is lost, and ``dropped`` is high in that cycle.

    Frames belong to the ``job``. While it is not active, no request is taken, and waiting ones are
    dropped, RAWFETCHes one a cycle. Only a frame that ``o`` already offers stays, with the epoch in
    which it was built. ``congested`` is the ECN echo of ACKs. Fields that a kind does not use are
    zero.

    Throughput: a frame every two cycles. Latency: :attr:`latency` from an ACK's ``required``, if no
    other frame waits, and a cycle more for the other kinds. Stalls: the next requester is chosen
    meanwhile, but its content is taken when the previous frame has left, so that no frame is
    outdated. Fairness: a requester waits for at most three others.
    """

    latency = 2

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            job=In(params.port_job),
            congested=In(1),
            acks=In(params.ack_state).array(OPEN_TURNS),
            acked=Out(OPEN_TURNS),
            advance=In(1),
            raw_valid=In(1),
            raw_request=In(params.raw_request),
            dropped=Out(1),
            o=Out(stream.Signature(params.control_frame)),
            **({"above": In(1)} if params.links else {}),
        )

    def build(self, m: Module) -> None:
        width = self.params.raw_request.size
        m.submodules.requests = requests = Fifo.sized(shape=width, depth=RAW_REQUESTS)
        m.submodules.turn = turn = RoundRobin.sized(count=OPEN_TURNS + 2)
        active = self.job.active
        frame, offered = Signal(self.params.control_frame, reset_less=True), Signal()
        advancing = Signal()  # an ADVANCE is to leave
        expected = Cat(*(ack.required for ack in self.acks), advancing, requests.o.valid)
        chosen = Signal(len(expected))  # the next requester, at most one
        taken = Signal(len(expected))
        m.d.comb += [
            taken.eq(Mux(active & ~offered, chosen & expected, 0)),
            self.acked.eq(taken[:OPEN_TURNS]),
            turn.requesting.eq(expected),
            turn.take.eq(active & ~chosen.any()),
            requests.i.payload.eq(self.raw_request),
            requests.i.valid.eq(self.raw_valid & active),
            requests.o.ready.eq(taken[RAWFETCH] | ~active),
            self.dropped.eq(self.raw_valid & active & ~requests.i.ready),
            self.o.payload.eq(frame),
            self.o.valid.eq(offered),
        ]
        with m.If(~active | taken.any() | (chosen.any() & ~(chosen & expected).any())):
            m.d.sync += chosen.eq(0)
        with m.Elif(~chosen.any()):
            m.d.sync += chosen.eq(turn.grant)
        m.d.sync += [
            advancing.eq(active & (self.advance | (advancing & ~taken[ADVANCE]))),
            offered.eq(Mux(offered, ~self.o.ready, taken.any())),
        ]
        said = Signal(TURN_BITS, reset_less=True)  # the turn of a DONE
        if self.params.links:
            with m.If(self.advance):
                m.d.sync += said.eq(self.job.lo)
        request = self.params.raw_request(requests.o.payload)
        with m.If(~offered):
            m.d.sync += self.filled(frame, chosen, request, said)
        expect(
            m,
            self,
            is_empty_when_a_job_begins=lambda: (
                ~requests.o.valid | ~active | delay(m, active, 1, "was_active", reset_less=False)
            ),
        )

    def filled(self, frame: Any, chosen: Signal, request: data.View, said: Signal) -> list[Any]:
        """Return statements that fill ``frame`` for the chosen requester."""
        job = self.job

        def of(reports: Mapping[int, Any]) -> Value:
            return reduce(or_, (Mux(chosen[k], value, 0) for k, value in reports.items()))

        acks = dict(enumerate(self.acks))
        kinds: dict[int, Any] = dict.fromkeys(acks, Kind.ACK) | {
            ADVANCE: Kind.ADVANCE,
            RAWFETCH: Kind.RAWFETCH,
        }
        turns: dict[int, Any] = {k: ack.turn for k, ack in acks.items()}
        turns |= {ADVANCE: job.lo, RAWFETCH: request.turn}
        if self.params.links:
            kinds |= {ADVANCE: Mux(self.above, Kind.DONE, Kind.ADVANCE)}
            turns |= {ADVANCE: Mux(self.above, said, job.lo)}
        return [
            frame.kind.eq(of(kinds)),
            frame.job.eq(job.job),
            frame.epoch.eq(job.epoch),
            frame.turn.eq(of(turns)),
            frame.seq.eq(of({k: ack.base for k, ack in acks.items()})),
            frame.ecn.eq(of(dict.fromkeys(acks, self.congested))),
            frame.bitmap.eq(of({k: ack.arrived for k, ack in acks.items()})),
            frame.source.eq(of({RAWFETCH: request.source})),
            frame.raw.eq(of({RAWFETCH: request.requesting})),
        ]
