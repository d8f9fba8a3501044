"""States what is proven of isolation: a job's slots and answers depend on no other's packets."""

from typing import Any

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.switch.frame_filter import Quality
from hdl.switch.job_table import JobTable
from hdl.switch.tenant_control import State
from tests.formal.claims import assume, check, claim, reach
from tests.formal.promises import RequestPromises
from tests.hdl.p4sgd.switch.tenant_table_proof import TenantTableProof

COPIES = ("first", "second")


class Copy(TenantTableProof):
    """A job table with free packets, commands and progress; what leaves it for the slots."""

    def more_inputs(self, params: TenantSwitchParams) -> dict[str, Any]:
        """Return what else is free, what is shown of the inside, and what comes out."""
        return super().more_inputs(params) | {"valid": Out(1), "request": Out(params.request)}

    def happenings(self, m: Module, dut: JobTable, requested: RequestPromises) -> None:
        """The requests for the slots are shown."""
        m.d.comb += [self.valid.eq(dut.valid), self.request.eq(dut.request)]


class IsolationProof(Component):
    """Has two copies of the job table; job ``own``, any of them, finds no difference.

    The same in both are its rightful packets, its commands, and what its requests do to its slots
    (``progress``), of which there is nothing before it is granted in both. All else is free in each
    copy: the packets and commands of the other job, and packets that only pretend to be rightful,
    by a foreign port, of another epoch, of slots outside. Proven is that the job's entry of the
    table is the same, and that so are its requests for the slots. :class:`SlotsProof` goes on from
    there: what these do is the same whatever else is asked.

    Waiting is apart: a rightful packet comes to both copies in the same cycle, after the job was
    granted in both; its commands are taken by both in the same cycle; and both grant or both
    refuse an acquire, as a refused one is to be tried again. :class:`WaitingProof` has the bounds.
    """

    def __init__(self, params: TenantSwitchParams) -> None:
        inside = {
            **Copy.peeks,
            **{f"closed_{k}": f"dut.control.closed_{k}" for k in range(params.jobs)},
            **{f"uses_{k}": f"dut.control.uses.uses_{k}" for k in range(params.jobs)},
            **{f"settling_{k}": f"dut.control.uses.settling_{k}" for k in range(params.jobs)},
        }
        shown = {
            **{f"closed_{k}": In(32) for k in range(params.jobs)},
            **{f"uses_{k}": In(params.slot_bits + 1) for k in range(params.jobs)},
            **{f"settling_{k}": In(range(params.settling + 1)) for k in range(params.jobs)},
        }
        #: Inputs that are wired to what is inside of a copy instead.
        self.peeks = {f"{copy}_{k}": f"{copy}.{v}" for copy in COPIES for k, v in inside.items()}
        free = Copy(params).signature.members
        members = {name: member for name, member in free.items() if member.flow == In} | shown
        super().__init__(params, {f"{c}_{k}": v for c in COPIES for k, v in members.items()})

    def build(self, m: Module) -> None:
        own = Signal(self.params.job_bits)
        m.d.comb += own.eq(AnyConst(self.params.job_bits))
        sides = []
        for name in COPIES:
            m.submodules[name] = copy = Copy(self.params)
            inputs = [k for k, member in copy.signature.members.items() if member.flow == In]
            m.d.comb += [getattr(copy, k).eq(getattr(self, f"{name}_{k}")) for k in inputs]
            sides.append(Side(self, name, copy, own))
        self.send(m, sides)
        self.command(m, sides)
        both = sides[0].entry.active & sides[1].entry.active
        self.compare_tables(m, sides, both)
        self.compare_requests(m, sides)
        self.happenings(m, sides, both)

    def send(self, m: Module, sides: list["Side"]) -> None:
        """Let the job's rightful packets come to both copies alike, or to none."""
        first, second = sides
        assume(m, first.rightful == second.rightful)
        with m.If(first.rightful):
            assume(m, first.copy.sender == second.copy.sender)
            assume(m, first.copy.packet == second.copy.packet)

    def command(self, m: Module, sides: list["Side"]) -> None:
        """Let both copies take the job's commands alike; acquire ends alike."""
        first, second = sides
        assume(m, first.copy.sharing == second.copy.sharing)
        assume(m, first.commanded == second.commanded)
        with m.If(first.commanded):
            assume(m, first.copy.offered == second.copy.offered)
        check(m, "obeyed_at_once", first.obeyed == second.obeyed)
        with m.If(first.obeyed):
            check(m, "obeyed_alike", first.state == second.state)
            check(m, "reported_alike", first.copy.command == second.copy.command)
        counting = [first.state == state for state in (State.COMPARE, State.END)]
        with m.If(first.obeyed & Cat(counting).any()):
            check(m, "counted_alike", first.step == second.step)
        deciding = first.obeyed & (first.state == State.DECIDE)
        with m.If(delay(m, deciding, 1, "decided", reset_less=False)):
            assume(m, first.clearing == second.clearing)

    def compare_tables(self, m: Module, sides: list["Side"], both: Value) -> None:
        """Claim that the job has the same entry in both copies, from a grant to its end."""
        first, second = sides
        for name in ("registered", "ports", "parent", "base", "end"):
            claim(m, "entry_the_same", first.entry[name] == second.entry[name])
        check(m, "over_alike", first.closed == second.closed)
        had = delay(m, both, 1, "both", reset_less=False)
        with m.If(had):
            claim(m, "grant_ends_alike", first.entry.active == second.entry.active)
        with m.If(first.entry.active == second.entry.active):
            alike = (first.entry.epoch == second.entry.epoch) & (
                first.entry.draining == second.entry.draining
            )
            claim(m, "grant_the_same", alike)
            check(m, "progress_the_same", first.uses == second.uses)
            check(m, "drains_alike", first.settling == second.settling)
        for this, that in (sides, sides[::-1]):
            with m.If(this.entry.active & ~that.entry.active):
                check(m, "granted_before_the_other", that.clearing)
                check(m, "granted_by_the_same", that.copy.command.epoch == this.entry.epoch)
                check(m, "does_not_drain_yet", ~this.entry.draining)
                check(m, "has_begun_nothing", this.uses == 0)
            with m.If(this.clearing & ~that.clearing):
                check(m, "granted_after_the_other", that.entry.active)
        with m.If(first.clearing & second.clearing):
            check(m, "same_epoch_to_come", first.copy.command.epoch == second.copy.command.epoch)

    def compare_requests(self, m: Module, sides: list["Side"]) -> None:
        """Claim that the job's requests are the same in both copies."""
        first, second = sides
        assume(m, first.progress == second.progress)
        assume(m, (first.entry.active & second.entry.active) | (first.progress == 0))
        claim(m, "requested_alike", first.demands == second.demands)
        with m.If(first.demands):
            claim(m, "requests_the_same", first.copy.request == second.copy.request)

    def happenings(self, m: Module, sides: list["Side"], both: Value) -> None:
        """The job asks in both copies after the other one has sent in one of them alone."""
        first, second = sides
        met = Signal()
        with m.If(both & first.foreign & ~second.foreign):
            m.d.sync += met.eq(1)
        reach(m, "a_request_beside_another_job", first.demands & met)


class Side:
    """Shows a copy from outside, for job ``own``."""

    def __init__(self, proof: IsolationProof, name: str, copy: Copy, own: Value) -> None:
        self.name, self.copy = name, copy
        jobs = range(proof.params.jobs)
        self.entry: Any = Array(copy.table)[own]
        self.state, self.step = copy.state, copy.step
        self.uses = Array(getattr(proof, f"{name}_uses_{k}") for k in jobs)[own]
        self.settling = Array(getattr(proof, f"{name}_settling_{k}") for k in jobs)[own]
        packet, entry = copy.packet, self.entry
        self.closed = Array(getattr(proof, f"{name}_closed_{k}") for k in jobs)[own]
        takes = (self.state == State.TAKE) & copy.offers
        self.commanded = takes & (copy.offered.job == own)
        named = copy.command.job == own
        self.clearing = named & (self.state == State.CLEAR)
        rests = (self.state == State.TAKE) | (self.state == State.ANSWER)
        self.obeyed = named & ~rests & ~self.clearing
        self.demands = copy.valid & (copy.request.header.job == own)
        own_moves = copy.progress.job == own
        self.progress = Cat(copy.progress.began, copy.progress.ended) & own_moves.replicate(2)
        self.foreign = copy.packet_valid & packet.known & (packet.header.job != own)
        slot = packet.header.seq
        self.rightful = (
            copy.packet_valid
            & (packet.quality == Quality.GOOD)
            & packet.known
            & packet.own
            & (packet.header.job == own)
            & ((copy.sender & entry.ports) != 0)
            & entry.active
            & (packet.header.epoch == entry.epoch[:16])
            & (slot >= entry.base)
            & (slot < entry.end)
        )
