"""Carries out work requests, one at a time."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.gather.engine_params import COMPLETION, COMPLETION_BYTES, WORK, GatherEngineParams, Outcome
from hdl.gather.params import ROW_READ
from hdl.gather.work_judge import WorkJudge
from hdl.pcie.descriptors import Cause


class WorkControl(Component):
    """Carries the requests of ``work`` out in order (:data:`WORK`).

    A legal request sets ``table``, ``destination``, ``size`` (the bytes of all rows), ``streamed``
    and ``posted``, which are stable until it has ended. It begins when ``arrays`` has taken its
    array of idxs; ``begin`` pulses in that cycle. It ends when all rows are written (``written``,
    with ``write_failed``); a request without idxs ends at once. Its completion
    (:data:`COMPLETION`) goes to the host through ``writes`` and ``data`` of a
    :class:`hdl.pcie.requester.Requester`. When the completion is ``visible``, ``reported`` pulses,
    and the next request begins. ``read`` reports each row, ``idx_failed`` an idx that could not be
    read, ``failure`` the cause of a read that has failed.

    A pulse of ``stop`` ends all requests that were taken, and sends a completion for each;
    ``stopping`` is high until no ``more`` wait. For the running request, ``halt`` is high until its
    reads are abandoned (``idle``) and its writes have ended (``written``). A request that is
    ``awaited`` from a ring, which is then closed, ends in this way, too. ``reset`` of the function
    ends all requests likewise, but no completion is sent: ``forgotten`` pulses for each. If the
    completion of a request is on its way then, ``forgotten`` pulses when the writes are
    ``cleared``. (``reset`` and ``cleared`` come from a
    :class:`hdl.pcie.function_reset.FunctionReset`.) ``empty`` says that there is no request, and
    that none waits.
    """

    def __init__(self, params: GatherEngineParams) -> None:
        writes = params.requester.writes
        super().__init__(
            params,
            work=In(stream.Signature(WORK)),
            more=In(1),
            busy=Out(1),
            table=Out(params.gather.table),
            destination=Out(64),
            size=Out(params.size_bits),
            streamed=Out(1),
            posted=Out(1),
            arrays=Out(stream.Signature(params.idx_array)),
            begin=Out(1),
            read=In(ROW_READ),
            failure=In(Cause),
            idx_failed=In(1),
            written=In(1),
            write_failed=In(1),
            writes=Out(stream.Signature(writes.cutter.request)),
            data=Out(stream.Signature(params.data_bits)),
            visible=In(1),
            reported=Out(1),
            stop=In(1),
            stopping=Out(1),
            awaited=In(1),
            halt=Out(1),
            idle=In(1),
            reset=In(1),
            cleared=In(1),
            forgotten=Out(1),
            empty=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.judge = judge = WorkJudge(self.params)
        work = Signal(WORK, reset_less=True)
        stopped = Signal()  # the running request was stopped
        forgets = Signal()  # requests end without a completion
        m.d.comb += [judge.work.eq(work), self.size.eq(judge.size)]
        self.lay_out(m, work)
        fsm = self.step(m, work, judge, stopped, forgets)
        m.d.comb += [
            self.busy.eq(~fsm.ongoing("IDLE")),
            self.empty.eq(fsm.ongoing("IDLE") & ~self.more),
        ]
        with m.If(self.stop | self.reset):
            m.d.sync += [self.stopping.eq(1), forgets.eq(forgets | self.reset)]
        with m.Elif(self.empty):
            m.d.sync += [self.stopping.eq(0), forgets.eq(0)]
        self.report(m, work, judge, stopped, fsm.ongoing("JUDGE"))

    def step(self, m: Module, work: Any, judge: WorkJudge, stopped: Signal, forgets: Signal) -> Any:
        """Add the state machine that carries out a request; return it."""
        judged = Signal(range(WorkJudge.latency + 1))
        no_idxs = Signal()
        m.d.sync += no_idxs.eq(~work.count.any())
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.work.ready.eq(1)
                m.d.sync += [work.eq(self.work.payload), judged.eq(0), stopped.eq(0)]
                with m.If(self.work.valid):
                    m.next = "JUDGE"
                with m.Elif(self.stopping & self.awaited):
                    m.d.sync += self.halt.eq(1)
                    m.next = "DROP"
            with m.State("DROP"):  # as STOP
                m.next = "DROPPED"
            with m.State("DROPPED"), m.If(self.idle):
                m.d.sync += self.halt.eq(0)
                m.next = "IDLE"
            with m.State("JUDGE"):
                m.d.sync += judged.eq(judged + 1)
                with m.If(judged == WorkJudge.latency):
                    m.next = "BEGIN"
                    with m.If(judge.illegal | no_idxs):
                        m.next = "TELL"
            with m.State("BEGIN"):
                m.d.comb += [
                    self.arrays.valid.eq(~self.stopping),
                    self.begin.eq(self.arrays.valid & self.arrays.ready),
                ]
                with m.If(self.begin):
                    m.next = "RUN"
                with m.Elif(self.stopping):
                    m.d.sync += stopped.eq(1)
                    m.next = "TELL"
            with m.State("RUN"):
                with m.If(self.written):
                    m.next = "TELL"
                with m.Elif(self.stopping):
                    m.d.sync += [self.halt.eq(1), stopped.eq(1)]
                    m.next = "STOP"
            with m.State("STOP"):  # a cycle in which ``idle`` may not be up to date
                m.next = "HALT"
            with m.State("HALT"), m.If(self.written & self.idle):
                m.d.sync += self.halt.eq(0)
                m.next = "TELL"
            with m.State("TELL"):
                m.d.comb += [self.writes.valid.eq(~forgets), self.forgotten.eq(forgets)]
                with m.If(forgets):
                    m.next = "IDLE"
                with m.Elif(self.writes.ready):
                    m.next = "GIVE"
            with m.State("GIVE"):
                m.d.comb += self.data.valid.eq(1)
                with m.If(self.data.ready):
                    m.next = "SENT"
            with m.State("SENT"):
                with m.If(self.visible):
                    m.d.comb += self.reported.eq(1)
                    m.next = "IDLE"
                with m.Elif(self.cleared):
                    m.d.comb += self.forgotten.eq(1)
                    m.next = "IDLE"
        return fsm

    def lay_out(self, m: Module, work: Any) -> None:
        """Connect the fields of the request to the outputs."""
        m.d.comb += [
            *(
                self.table[name].eq(work[name])
                for name in ("base", "row_bytes", "order", "coalesce")
            ),
            self.table.rows.eq(work.rows[: len(self.table.rows)]),
            self.table.stride.eq(work.stride[: len(self.table.stride)]),
            self.destination.eq(work.destination),
            self.posted.eq(work.posted),
            self.arrays.payload.address.eq(work.idx_address),
            self.arrays.payload.count.eq(work.count),
            self.arrays.payload.wide.eq(work.wide),
            self.arrays.payload.on_card.eq(work.on_card),
            self.streamed.eq(work.streamed),
            self.writes.payload.address.eq(Cat(work.completion[:4] & 0, work.completion[4:])),
            self.writes.payload.bytes.eq(COMPLETION_BYTES),
            self.writes.payload.user.eq(1),
        ]

    def report(self, m: Module, work: Any, judge: WorkJudge, stopped: Value, clear: Value) -> None:
        """Count rows that are zero or incomplete, and build the completion."""
        result, read = Signal(COMPLETION), self.read
        beyond, failed = Signal.like(result.beyond), Signal.like(result.failed)
        unread = Signal()  # an idx could not be read
        cause = Signal(Cause)  # cause of the first read that failed
        m.d.sync += [
            cause.eq(Mux(cause == Cause.NONE, self.failure, cause)),
            beyond.eq(beyond + (read.valid & read.beyond)),
            failed.eq(failed + (read.valid & read.failed & ~read.beyond)),
            unread.eq(unread | self.idx_failed),
        ]
        with m.If(clear):
            m.d.sync += [beyond.eq(0), failed.eq(0), unread.eq(0), cause.eq(Cause.NONE)]
        reasons = (
            (judge.illegal, Outcome.ILLEGAL),
            (stopped, Outcome.STOPPED),
            (self.write_failed, Outcome.WRITE),
            (unread, Outcome.IDXS),
            (failed.any(), Outcome.ROWS),
        )
        outcome = Outcome.DONE
        for happened, name in reversed(reasons):
            outcome = Mux(happened, name, outcome)
        m.d.comb += [
            result.tag.eq(work.tag),
            result.outcome.eq(outcome),
            result.cause.eq(cause),
            result.beyond.eq(beyond),
            result.failed.eq(failed),
            result.done.eq(1),
            self.data.payload.eq(result),
        ]
