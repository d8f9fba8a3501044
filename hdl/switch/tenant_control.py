"""The tenants of the switch: jobs that are registered, granted, drained and registered again."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switch.params import PacketSwitchParams
from hdl.switch.slot_clearing import clear_slots
from hdl.switch.tenancy import TENANT_COMMAND, TenantRefusal

#: cycles from a job's release until what it has begun is known: a packet is judged, ruled on, told
SETTLING = 7


class State(enum.Enum, shape=2):
    """Says what becomes of a command."""

    IDLE = 0
    CHECK = 1  #: acquire: the job is compared with the others, one a cycle
    DECIDE = 2
    CLEAR = 3  #: slots are cleared


class TenantControl(Component):
    """Keeps the ``table`` of tenants and carries out a host's ``command``: MINA, "RTL".

    ``register`` enters a job's ports and slots, which may be those of others, the port towards its
    parent, if it has one, and the epoch that its first grant is later than. ``start`` acquires: at
    once the job is granted or refused, never queued. It is refused while jobs that hold the switch
    are as many as ``most``, or hold some of its slots, or some of its ports if these are held
    ``apart``, the parent's port as one of them; ``owner`` is the first that is in the
    way, and ``refused`` has the job's bit for a cycle. A job that is granted has the command's
    epoch, which is later than its last one by less than half of all, so that one number tells a
    grant at all switches of a tree; its slots are cleared before ``busy`` falls.
    ``release`` lets the job drain: it is ``active`` still but begins no use, and is given up
    once as many uses have ended as began (``progress``). ``stop`` gives it up at once.

    A job holds the switch while it is ``active``. All commands but acquire take a cycle; acquire is
    decided at most ``params.jobs + 2`` cycles later. ``busy``, ``hold``, ``waiting``, ``clear``,
    ``slot`` and ``ports`` are those of :class:`hdl.switch.job_control.JobControl`.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        super().__init__(
            params,
            {
                "command": In(TENANT_COMMAND),
                "busy": Out(1),
                "reason": Out(TenantRefusal),
                "owner": Out(params.job_bits),
                "refused": Out(params.jobs),
                "table": Out(data.ArrayLayout(params.job, params.jobs)),
                "progress": In(params.progress),
                "unfinished": Out(params.jobs),
                "waiting": In(1),
                "hold": Out(1),
                "clear": Out(1),
                "slot": Out(params.slot_bits),
                "ports": Out(params.ports),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        command = self.command
        state = Signal(State)
        index = command.job[: self.params.job_bits]
        entry: Any = Array(self.table)[index]
        scan = Signal(self.params.job_bits)
        taken = self.compare(m, state, scan, entry)
        cleared = clear_slots(
            m,
            self,
            begin=state == State.DECIDE,
            clearing=state == State.CLEAR,
            base=entry.base,
            end=entry.end,
            ports=entry.ports,
        )
        self.drain(m)
        m.d.comb += self.busy.eq(state != State.IDLE)
        with m.Switch(state):
            with m.Case(State.IDLE):
                m.d.sync += scan.eq(0)
                self.obey(m, entry, state)
            with m.Case(State.CHECK):
                m.d.sync += scan.eq(scan + 1)
                with m.If(scan == self.params.jobs - 1):
                    m.d.sync += state.eq(State.DECIDE)
            with m.Case(State.DECIDE):
                with m.If(taken == TenantRefusal.NONE):
                    m.d.sync += state.eq(State.CLEAR)
                with m.Else():
                    m.d.sync += [self.reason.eq(taken), state.eq(State.IDLE)]
                    m.d.comb += Array(self.refused)[index].eq(1)
            with m.Case(State.CLEAR), m.If(cleared):
                m.d.sync += [state.eq(State.IDLE), entry.active.eq(1)]
                m.d.sync += entry.epoch.eq(command.epoch)
        others = Cat(command[name] for name in ("start", "stop", "register", "release"))
        with m.If(self.busy & others.any()):
            m.d.sync += self.reason.eq(TenantRefusal.BUSY)
        return m

    def obey(self, m: Module, entry: Any, state: Any) -> None:
        """Carry out a command, or begin to; of several in a cycle the first."""
        command, nothing = self.command, TenantRefusal.NONE
        end = command.base + command.count
        parent = Signal(32)  # its bit
        m.d.comb += parent.eq(Mux(command.has_parent, 1 << command.parent[:5], 0))
        bad_parent = command.has_parent & (command.parent[5:] != 0)
        later = (command.epoch - entry.epoch)[:16]
        acquire = self.judge(
            m,
            {
                TenantRefusal.NOT_REGISTERED: ~entry.registered,
                TenantRefusal.OLD: (later == 0) | later[-1],
                TenantRefusal.HELD: entry.active,
            },
        )
        stop = self.judge(m, {})
        register = self.judge(
            m,
            {
                TenantRefusal.BAD_PORTS: (command.ports == 0)
                | bad_parent
                | ((command.ports | parent) >> self.params.ports != 0)
                | (command.ports & parent).any(),
                TenantRefusal.BAD_SLOTS: (command.count == 0) | (end > self.params.slots),
                TenantRefusal.HELD: entry.active,
            },
        )
        release = self.judge(m, {TenantRefusal.NOT_GRANTED: ~entry.active | entry.draining})
        with m.If(command.start):
            m.d.sync += self.reason.eq(acquire)
            with m.If(acquire == nothing):
                m.d.sync += state.eq(State.CHECK)
        with m.Elif(command.stop):
            m.d.sync += self.reason.eq(stop)
            with m.If(stop == nothing):
                m.d.sync += [entry.active.eq(0), entry.draining.eq(0)]
        with m.Elif(command.register):
            m.d.sync += self.reason.eq(register)
            with m.If(register == nothing):
                m.d.sync += [
                    entry.registered.eq(1),
                    entry.ports.eq(command.ports[: self.params.ports]),
                    entry.parent.eq(parent[: self.params.ports]),
                    entry.epoch.eq(command.epoch),
                    entry.base.eq(command.base),
                    entry.end.eq(end[:17]),
                ]
        with m.Elif(command.release):
            m.d.sync += self.reason.eq(release)
            with m.If(release == nothing):
                m.d.sync += entry.draining.eq(1)

    def judge(self, m: Module, refusals: dict[TenantRefusal, Value]) -> Any:
        """Return the first of ``refusals`` that applies, behind that of a job that is none."""
        refusal = Signal(TenantRefusal)
        for name, applies in reversed(refusals.items()):
            with m.If(applies):
                m.d.comb += refusal.eq(name)
        with m.If(self.command.job >= self.params.jobs):
            m.d.comb += refusal.eq(TenantRefusal.NO_SUCH_JOB)
        return refusal

    def compare(self, m: Module, state: Any, scan: Signal, entry: Any) -> Any:
        """Return why an acquire is refused, once every other job has been looked at.

        The owner is the first job in the way: of those that hold the switch if these are too many,
        else of those whose ports or slots are taken.
        """
        other: Any = Array(self.table)[scan]
        holders = Signal(range(self.params.jobs + 1))
        first, met = Signal(self.params.job_bits), Signal(self.params.job_bits)
        ports_taken, slots_taken = Signal(), Signal()
        ports, theirs = entry.ports | entry.parent, other.ports | other.parent
        ports_meet = self.command.apart & (ports & theirs).any()
        slots_meet = (entry.base < other.end) & (other.base < entry.end)
        with m.If(state == State.IDLE):
            m.d.sync += [holders.eq(0), ports_taken.eq(0), slots_taken.eq(0)]
        with m.Elif((state == State.CHECK) & other.active):
            m.d.sync += [
                holders.eq(holders + 1),
                ports_taken.eq(ports_taken | ports_meet),
                slots_taken.eq(slots_taken | slots_meet),
            ]
            with m.If(holders == 0):
                m.d.sync += first.eq(scan)
            with m.If(~ports_taken & ~slots_taken):
                m.d.sync += met.eq(scan)
        taken = Signal(TenantRefusal)
        too_many = holders >= self.command.most
        with m.If(slots_taken):
            m.d.comb += taken.eq(TenantRefusal.SLOTS_TAKEN)
        with m.If(ports_taken):
            m.d.comb += taken.eq(TenantRefusal.PORTS_TAKEN)
        with m.If(too_many):
            m.d.comb += taken.eq(TenantRefusal.SWITCH_TAKEN)
        with m.If(state == State.DECIDE):
            m.d.sync += self.owner.eq(Mux(too_many, first, met))
        return taken

    def drain(self, m: Module) -> None:
        """Count each job's uses under way; a job that drains is given up when none is left."""
        for k in range(self.params.jobs):
            job, mine = self.table[k], self.progress.job == k
            uses = Signal(self.params.slot_bits + 1, name=f"uses_{k}")
            settling = Signal(range(SETTLING + 1), name=f"settling_{k}")
            m.d.comb += self.unfinished[k].eq(job.active & (uses != 0))
            with m.If(~job.active):
                m.d.sync += uses.eq(0)
            with m.Elif(mine & self.progress.began & ~self.progress.ended):
                m.d.sync += uses.eq(uses + 1)
            with m.Elif(mine & self.progress.ended & ~self.progress.began):
                m.d.sync += uses.eq(uses - 1)
            with m.If(~job.draining):
                m.d.sync += settling.eq(SETTLING)
            with m.Elif(settling != 0):
                m.d.sync += settling.eq(settling - 1)
            with m.Elif(~self.unfinished[k]):
                m.d.sync += [job.active.eq(0), job.draining.eq(0)]
