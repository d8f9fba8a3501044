"""Decides about the frames of jobs: windows, turns, and a task for each frame to be added."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.arithmetic import delay, low_bits
from hdl.common.component import Component
from hdl.switchgnn.protocol import Kind
from hdl.switchgnn.switch.judge.port_window import ACK_SETTINGS, PortWindow
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import ABOVE_BITS, OPEN_TURNS, TURN_BITS
from hdl.switchgnn.switch.tasks.task_params import TaskKind

CONTRIBUTIONS = (Kind.FEATURE, Kind.PARTIAL)
WORKERS_SEND = (*CONTRIBUTIONS, Kind.RAW, Kind.FETCH, Kind.DONE, Kind.RAWFETCH)


class Judge(Component):
    """Decides about a frame a cycle, by the protocol (:mod:`sim.switchgnn.golden.switch_rule`).

    A frame is one of a job, or one that the job table refused. Its verdict comes :attr:`latency`
    cycles later, and with it a task, for every frame with a payload and every FETCH. The signature
    says what each port means. Features are copied only to workers, not to other switches.

    Throughput: a frame a cycle.
    """

    latency = 2

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            settings=In(ACK_SETTINGS),  # when ACKs are to leave
            valid=In(1),  # a frame of a job is judged
            refused=In(params.verdict),  # what the job table says of a frame it refuses
            ahead=In(params.header),  # header of the frame, a cycle before it
            request=In(params.request),  # the frame, and its port
            brings=In(1),  # a payload of the frame waits
            about=In(params.job_turns),  # relation of its turn to its job: TurnTable
            done=Out(1),  # a port has all of the oldest open turn of its job
            done_job=Out(params.job_bits),  # that job
            done_sender=Out(params.ports),  # that port
            over=Out(params.ports),  # port to which the oldest open turn is sent again
            regions=In(data.ArrayLayout(params.port_region, params.ports)),  # of its job
            clear=In(data.ArrayLayout(OPEN_TURNS, params.ports)),  # windows to be emptied
            port_jobs=In(data.ArrayLayout(params.port_job, params.ports)),  # state of jobs
            acks=Out(data.ArrayLayout(params.ack_state, OPEN_TURNS)).array(params.ports),
            acked=In(data.ArrayLayout(OPEN_TURNS, params.ports)),  # of acks, those that go
            busy=Out(1),  # a frame is being judged
            verdict=Out(params.verdict),  # of a frame, with latency
            sender=Out(params.ports),  # port of that frame
            task_valid=Out(1),  # there is a task, which must be taken
            task=Out(params.task),  # what is to be carried out for a frame
            raw_request=Out(params.raw_request),  # a RAWFETCH for the owner of a feature
            raw_request_to=Out(params.ports),  # ports to which it goes
            **(link_signals(params) if params.links else {}),
        )

    def build(self, m: Module) -> None:
        step = data.StructLayout({"refused": self.params.verdict, "request": self.params.request})
        decided = Signal(step, reset_less=True)  # the frame for which the windows answer now
        decided_valid = Signal()
        then = Signal(self.params.job_turns, reset_less=True)
        m.d.sync += [
            decided_valid.eq(self.valid),
            decided.refused.eq(self.refused),
            decided.request.eq(self.request),
            then.eq(self.about),
        ]
        m.d.comb += self.busy.eq(self.valid | decided_valid)
        self.look(m, self.valid, self.request)
        repeated, ahead = self.mark(m, self.valid, self.request, decided.request.sender)
        verdict = self.decide(m, decided_valid, decided, then, repeated, ahead)
        m.d.sync += [self.verdict.eq(verdict), self.sender.eq(decided.request.sender)]
        brings = delay(m, self.brings, 1, "brings", reset_less=False)
        self.order(m, verdict, decided.request, then, brings)

    def look(self, m: Module, valid: Signal, request: Any) -> None:
        """Report ports that are done, and ports that must be told that a turn is over."""
        done = valid & (request.header.kind == Kind.DONE)
        if self.params.links:
            done &= ~self.from_above(request)
        m.d.comb += [
            self.done.eq(done & self.about.lowest),
            self.done_job.eq(request.header.job),
            self.done_sender.eq(request.sender),
            self.over.eq(Mux(done & self.about.past, request.sender, 0)),
        ]
        if self.params.links:
            self.look_at_links(m, valid, request)

    def look_at_links(self, m: Module, valid: Signal, request: Any) -> None:
        """Report ACKs of other switches, and the end of a turn by a switch above."""
        about, header = self.about, request.header
        acks = valid & (header.kind == Kind.ACK) & (about.lowest | about.following)
        links = request.sender & self.link_mask
        m.d.comb += [
            self.link_ack.place.eq(about.place),
            self.link_ack.base.eq(header.seq),
            # An ACK's bitmap begins where other frames have their list.
            self.link_ack.bitmap.eq(low_bits(header.list, self.params.link_window)),
            self.link_ack_to.eq(Mux(acks, links, 0)),
            self.advanced.eq(
                valid
                & (header.kind == Kind.ADVANCE)
                & self.from_above(request)
                & ~(about.past | about.lowest)
            ),
        ]

    @property
    def link_mask(self) -> int:
        """Return the bits of the ports that lead to other switches."""
        return ((1 << self.params.links) - 1) << self.params.first_link

    def from_above(self, request: Any) -> Value:
        """Return whether a frame came from a switch above."""
        return (self.params.above_mask(self.above) & request.sender).any()

    def is_misplaced(self, request: Any) -> Value:
        """Return whether a frame's sender may not send its kind."""
        kind = request.header.kind
        wrong = ~Cat(kind == k for k in WORKERS_SEND).any()
        if not self.params.links:
            return wrong
        above, link = self.from_above(request), (request.sender & self.link_mask).any()
        wrong &= ~((kind == Kind.ACK) & link) & ~((kind == Kind.ADVANCE) & above)
        return wrong | ((kind == Kind.DONE) & above)

    def mark(self, m: Module, valid: Signal, request: Any, sender: Any) -> tuple[Value, Value]:
        """Mark frames in their port's window; return the window's answer for the previous one."""
        params, about = self.params, self.about
        # The kind is known a cycle before the frame comes; the facts about its turn are late.
        adds = delay(m, Cat(self.ahead.kind == k for k in CONTRIBUTIONS).any(), 1, "adds")
        admit = valid & adds & (about.lowest | about.following) & about.loaded
        windows = []
        for k in range(params.ports):
            m.submodules[f"window_{k}"] = window = PortWindow(params)
            m.d.comb += [
                window.settings.eq(self.settings),
                window.clear.eq(self.clear[k]),
                window.turn.eq(self.ahead.turn[0] & self.regions[k].two),
                window.seq.eq(self.ahead.seq),
                window.admit.eq(admit & request.sender[k]),
                window.acked.eq(self.acked[k]),
            ]
            m.d.comb += [self.acks[k][place].eq(window.acks[place]) for place in range(OPEN_TURNS)]
            # The turn at a place is the oldest one, or the one after it.
            lo, two = self.port_jobs[k].lo, self.regions[k].two
            after = Signal(TURN_BITS, name=f"after_{k}", reset_less=True)
            m.d.sync += after.eq((lo + 1)[:TURN_BITS])
            m.d.comb += [
                window.turns[0].eq(Mux(two & lo[0], after, lo)),
                window.turns[1].eq(Mux(lo[0], lo, after)),
            ]
            windows.append(window)
        repeated = (Cat(window.repeated for window in windows) & sender).any()
        return repeated, (Cat(window.ahead for window in windows) & sender).any()

    def decide(
        self, m: Module, valid: Signal, step: Any, about: Any, repeated: Value, ahead: Value
    ) -> Any:
        """Return the verdict of a frame."""
        kinds = self.params.verdict
        verdict = Signal(kinds)
        kind = step.request.header.kind
        number = step.request.header.list >> exact_log2(self.params.banks)
        exists = ~number[len(about.region.count) :].any() & (
            number[: len(about.region.count)] < about.region.count
        )
        with m.If(~valid):
            m.d.comb += verdict.eq(step.refused)
        with m.Elif(self.is_misplaced(step.request)):
            m.d.comb += verdict.eq(kinds.MISPLACED)
        with m.Elif(kind == Kind.DONE):
            late = Mux(about.past, kinds.OVER, kinds.EARLY)
            m.d.comb += verdict.eq(Mux(about.lowest, kinds.DONE, late))
        if self.params.links:
            with m.Elif(kind == Kind.ADVANCE):
                old = about.past | about.lowest
                m.d.comb += verdict.eq(Mux(old, kinds.CLOSED, kinds.ADVANCED))
        with m.Elif(~about.lowest & ~about.following):
            m.d.comb += verdict.eq(kinds.CLOSED)
        if self.params.links:
            with m.Elif(kind == Kind.ACK):
                m.d.comb += verdict.eq(kinds.ACKNOWLEDGED)
        with m.Elif(kind == Kind.FETCH):
            ready = about.loaded & exists
            m.d.comb += verdict.eq(Mux(ready, kinds.FETCHED, kinds.UNREADY))
        with m.Elif((kind == Kind.RAW) | (kind == Kind.RAWFETCH)):
            m.d.comb += verdict.eq(kinds.PASSED)
        with m.Elif(~about.loaded):
            m.d.comb += verdict.eq(kinds.UNLOADED)
        with m.Else():
            new = Mux(repeated, kinds.REPEATED, kinds.ADDED)
            m.d.comb += verdict.eq(Mux(ahead, kinds.AHEAD, new))
        return verdict

    def order(self, m: Module, verdict: Any, request: Any, about: Any, brings: Signal) -> None:
        """Emit the task that follows from a verdict, or the request for a feature."""
        kinds = self.params.verdict
        task = Signal(self.params.task, reset_less=True)
        header, everyone = request.header, request.everyone
        copied = header.raw & everyone
        if self.params.links:
            copied &= (1 << self.params.first_link) - 1
        is_raw = header.kind == Kind.RAW
        passed = verdict == kinds.PASSED
        left = Signal(signed(34))  # rows of the job from the first one on
        m.d.comb += left.eq(about.lists.count - header.list)
        kind = Signal(TaskKind)
        with m.If(verdict == kinds.FETCHED):
            m.d.comb += kind.eq(TaskKind.FETCH)
        with m.Elif(verdict == kinds.ADDED):
            is_one = header.kind == Kind.PARTIAL
            m.d.comb += kind.eq(Mux(is_one, TaskKind.ONE, TaskKind.ROWS))
        with m.Elif(passed & is_raw):
            m.d.comb += kind.eq(TaskKind.ROWS)
        m.d.comb += self.task.eq(task)
        m.d.sync += [
            self.task_valid.eq(brings | (verdict == kinds.FETCHED)),
            task.kind.eq(kind),
            task.brings.eq(brings),
            task.job.eq(header.job),
            task.turn.eq(header.turn),
            task.region.eq(about.region),
            task.list.eq(header.list),
            task.rows.eq(Mux(is_raw, 0, header.rows)),
            task.first.eq(low_bits(about.lists.base + header.list, len(task.first))),
            task.present.eq(at_most(left, len(task.present))),
            task.source.eq(header.source),
            task.raw.eq(copied),
            self.raw_request.turn.eq(header.turn),
            self.raw_request.source.eq(header.source),
            self.raw_request.requesting.eq(request.sender),
            self.raw_request_to.eq(Mux(passed & (header.kind == Kind.RAWFETCH), copied, 0)),
        ]
        if self.params.links:
            marked = (verdict == kinds.ACKNOWLEDGED) & header.ecn
            others = everyone & ~request.sender & ~self.params.above_mask(self.above)
            m.d.sync += self.mark_to.eq(Mux(marked, others, 0))


def link_signals(params: GnnSwitchParams) -> dict:
    """List the additional ports of a judge with links to other switches."""
    return {
        "above": In(ABOVE_BITS),  # last ports, to switches that end turns: no DONE comes there
        "link_ack": Out(params.link_ack),  # an ACK that came from another switch
        "link_ack_to": Out(params.ports),  # port from which it came
        "mark_to": Out(params.ports),  # ports whose next ACK has the mark of an ACK, with latency
        "advanced": Out(1),  # an ADVANCE came from ``done_sender``, above, for ``done_job``
    }


def at_most(number: Signal, bits: int) -> Value:
    """Return a signed number clamped to an unsigned one of ``bits`` bits."""
    above = number[bits:-1].any()
    return Mux(number[-1], 0, Mux(above, Const(-1, bits), number[:bits]))
