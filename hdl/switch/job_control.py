"""Starts and stops the jobs of a switch for a host; a start clears the job's slots."""

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switch.params import COMMAND, PacketSwitchParams, Refusal
from hdl.switch.slot_clearing import clear_slots


class State(enum.Enum, shape=2):
    """Names the steps of a start."""

    IDLE = 0
    CHECK = 1  #: the job is compared with the other jobs, one a cycle
    DECIDE = 2
    PREPARE = 3  #: the job's slots, or other state that the rule keeps for it, are cleared


class JobControl(Component):
    """Keeps the ``table`` of jobs and carries out a host's ``command``.

    A start that is not refused makes the job inactive, clears the state that the rule keeps for it,
    and makes it active again; a stop makes it inactive. ``reason`` is that of the last command.
    ``busy`` says that a start is under way; other commands are refused meanwhile, and the command's
    operands must be stable, from the cycle of ``start`` on, since their sum is registered. A job
    may be started again with ports and slots that it already has.

    Latency: a start is decided at most ``params.jobs + 2`` cycles after its command, since all jobs
    are compared. Unless ``params.clears_slots``, the rule clears its own state: ``preparing`` is
    high until ``prepared``. Otherwise the slots are cleared one by one: for each, ``hold`` keeps
    the ports from sending a packet for a cycle. That is a cycle in which no packet is ``waiting``,
    or at least every fourth cycle, so that a start ends under any load. In the cycle after
    ``hold``, which has no packet, ``clear`` is high with the slot and the job's ports; of a slot
    with several entries in the rule's memory, with one entry after the other.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        by_slot = {
            "waiting": In(1),
            "hold": Out(1),
            "clear": Out(1),
            "slot": Out(params.entry_bits),
            "ports": Out(params.ports),
        }
        by_rule = {"preparing": Out(1), "prepared": In(1)}
        super().__init__(
            params,
            command=In(COMMAND),
            busy=Out(1),
            reason=Out(Refusal),
            table=Out(data.ArrayLayout(params.job, params.jobs)),
            active=Out(params.jobs),
            **(by_slot if params.clears_slots else by_rule),
        )

    def build(self, m: Module) -> None:
        command, state = self.command, Signal(State)
        end = Signal(18, reset_less=True)  # registered, so that no path has a sum and a comparison
        index = command.job[: self.params.job_bits]
        active = Array(self.table[k].active for k in range(self.params.jobs))
        scan = Signal(self.params.job_bits)
        refusal = self.judge(m, state, scan, index, end)
        if self.params.clears_slots:
            prepared = clear_slots(
                m,
                self,
                begin=state == State.DECIDE,
                clearing=state == State.PREPARE,
                base=command.base * self.params.copies,
                end=end * self.params.copies,
                ports=command.ports,
            )
        else:
            m.d.comb += self.preparing.eq(state == State.PREPARE)
            prepared = self.prepared
        m.d.sync += end.eq(command.base + command.count)
        m.d.comb += [self.busy.eq(state != State.IDLE), self.active.eq(Cat(active))]
        with m.Switch(state):
            with m.Case(State.IDLE):
                m.d.sync += scan.eq(0)
                with m.If(command.start):
                    m.d.sync += [self.reason.eq(Refusal.NONE), state.eq(State.CHECK)]
                with m.Elif(command.stop & (command.job >= self.params.jobs)):
                    m.d.sync += self.reason.eq(Refusal.NO_SUCH_JOB)
                with m.Elif(command.stop):
                    m.d.sync += [self.reason.eq(Refusal.NONE), active[index].eq(0)]
            with m.Case(State.CHECK):
                m.d.sync += scan.eq(scan + 1)
                with m.If(scan == self.params.jobs - 1):
                    m.d.sync += state.eq(State.DECIDE)
            with m.Case(State.DECIDE):
                with m.If(refusal == Refusal.NONE):
                    m.d.sync += state.eq(State.PREPARE)
                    self.enter(m, index, end)
                with m.Else():
                    m.d.sync += [self.reason.eq(refusal), state.eq(State.IDLE)]
            with m.Case(State.PREPARE), m.If(prepared):
                m.d.sync += [state.eq(State.IDLE), active[index].eq(1)]
        with m.If(self.busy & (command.start | command.stop)):
            m.d.sync += self.reason.eq(Refusal.BUSY)

    def judge(self, m: Module, state, scan: Signal, index, end: Signal):
        """Find why the start is to be refused, after a scan of all other jobs."""
        params, command = self.params, self.command
        ports_taken = Signal()
        slots_taken = Signal()
        other = Signal(params.job)
        m.d.comb += other.eq(Array(self.table[k].as_value() for k in range(params.jobs))[scan])
        counts = other.active & (scan != index)
        with m.If(state == State.IDLE):
            m.d.sync += [ports_taken.eq(0), slots_taken.eq(0)]
        with m.Elif((state == State.CHECK) & counts):
            with m.If((other.ports & command.ports).any()):
                m.d.sync += ports_taken.eq(1)
            with m.If((command.base < other.end) & (other.base < end)):
                m.d.sync += slots_taken.eq(1)
        refusal = Signal(Refusal)
        with m.If(command.job >= params.jobs):
            m.d.comb += refusal.eq(Refusal.NO_SUCH_JOB)
        with m.Elif(command.ports == 0):
            m.d.comb += refusal.eq(Refusal.NO_PORTS)
        with m.Elif(command.ports >> params.ports != 0):
            m.d.comb += refusal.eq(Refusal.NO_SUCH_PORT)
        with m.Elif((command.count == 0) | (end > params.slots)):
            m.d.comb += refusal.eq(Refusal.BAD_SLOTS)
        with m.Elif(ports_taken):
            m.d.comb += refusal.eq(Refusal.PORTS_TAKEN)
        with m.Elif(slots_taken):
            m.d.comb += refusal.eq(Refusal.SLOTS_TAKEN)
        return refusal

    def enter(self, m: Module, index, end: Signal) -> None:
        """Write the job into its entry, which is not active yet."""
        for k in range(self.params.jobs):
            with m.If(index == k):
                m.d.sync += [
                    self.table[k].active.eq(0),
                    self.table[k].ports.eq(self.command.ports[: self.params.ports]),
                    self.table[k].epoch.eq(self.command.epoch),
                    self.table[k].base.eq(self.command.base),
                    self.table[k].end.eq(end[:17]),
                ]
