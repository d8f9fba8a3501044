"""States what is proven of a worker's slots: each follows algorithm 3, sums go on in order."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.p4sgd.transport.params import Phase, TransportParams, Verdict
from hdl.p4sgd.transport.slot_progress import Progress
from hdl.p4sgd.transport.slot_table import USE_BITS, SlotTable
from tests.formal.claims import check, claim, granted, reach

#: What the specification keeps of a slot (``sim.golden.reduction.allreduce.WorkerSlot``).
SLOT = data.StructLayout({"use": USE_BITS, "phase": Phase})


class SlotTableProof(Component):
    """Has a :class:`SlotTable` with free inputs beside the specification, slot by slot.

    The specification (:meth:`follow_rule`) is ``worker_rule`` and ``worker_starts`` of
    ``sim/golden/reduction/allreduce.py`` line by line, with whole uses; beside it stands which
    slots' sums were neither handed on nor seen. Outputs are claimed to be what these say in every
    cycle of a job whose ``slot_count`` is legal. A job of another may be open, but nothing starts
    in it: Control refuses its runs. ``clear`` and resets may come at any time.

    Taken for granted is what the neighbours keep (:meth:`neighbours`): the transmitter starts only
    if it may, the reorder buffer hands on only what has arrived, and of a packet that the slot is
    to judge, the arrivals have checked the slot.
    """

    #: Inputs that are wired to what is inside instead.
    peeks = {
        "progress": "dut.progress[*]",
        "uses": "dut.uses[*]",
        "cleared": "dut.cleared",
        "previous_use": "dut.previous_use",
        "waiting": "dut.waiting",
        "none_waits": "dut.none_waits",
        "started": "dut.started_1",
        "freed": "dut.freed_1",
        "full": "dut.full",
        "all_but_one": "dut.all_but_one",
        "deliver_bit": "dut.deliver_bit",
        "deliver_ahead": "dut.deliver_ahead",
        "see_slot": "dut.seen_slot",
        "see_bit": "dut.see_bit",
        "see_ahead": "dut.see_ahead",
    }

    def __init__(self, params: TransportParams) -> None:
        self.slots = range(params.slots)
        super().__init__(
            params,
            clear=In(1),
            start=In(1),
            delivered=In(1),
            valid=In(1),
            arrival=In(params.arrival),
            question=In(params.slot_bits),
            progress=In(data.ArrayLayout(Progress, params.slots)),
            uses=In(data.ArrayLayout(1, params.slots)),
            cleared=In(params.slot_bits),
            previous_use=In(USE_BITS),
            waiting=In(params.count_bits),
            none_waits=In(1),
            started=In(1),
            freed=In(1),
            full=In(1),
            all_but_one=In(params.count_bits),
            deliver_bit=In(1),
            deliver_ahead=In(params.count_bits),
            see_slot=In(params.slot_bits),
            see_bit=In(1),
            see_ahead=In(params.count_bits),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.dut = dut = granted(SlotTable(params))
        count = Signal(params.count_bits)
        m.d.comb += [
            count.eq(AnyConst(params.count_bits)),
            dut.slot_count.eq(count),
            dut.clear.eq(self.clear),
            dut.start.eq(self.start),
            dut.delivered.eq(self.delivered),
            dut.valid.eq(self.valid),
            dut.arrival.eq(self.arrival),
            dut.questions[0].eq(self.question),
        ]
        slots = [Signal(SLOT, name=f"slot_{k}") for k in self.slots]
        late = [Signal(name=f"late_{k}") for k in self.slots]  # its sum was not handed on
        unseen = [Signal(name=f"unseen_{k}") for k in self.slots]
        waited = Signal(params.slots)  # which slots were not free a cycle ago
        m.d.sync += waited.eq(Mux(self.clear, 0, busy_slots(slots)))
        self.follow_rule(m, dut, slots, late, unseen)
        self.clearing(m, dut)
        with m.If(dut.open | dut.clearing):
            check(m, "all_but_one_is_set", self.all_but_one == (count - 1)[: params.count_bits])
        with m.If(~dut.open):
            self.rest(m, dut, slots, late, unseen, waited)
        with m.Elif((count != 0) & (count <= params.slots)):
            self.compare(m, dut, count, slots, late, unseen, waited)
            self.tie(m, dut, count, slots, late, unseen, waited)
        self.happenings(m, dut, count, slots)

    def follow_rule(self, m: Module, dut: SlotTable, slots, late, unseen) -> None:
        """Model the specification's slots; return the verdict that it gives."""
        arrival = self.arrival
        for k, slot in enumerate(slots):
            verdict = Signal(Verdict, name=f"verdict_{k}")
            with m.If(arrival.use != slot.use):
                m.d.comb += verdict.eq(Verdict.STALE)
            with m.Elif(arrival.is_agg & arrival.acked):
                waits = slot.phase != Phase.FREE
                m.d.comb += verdict.eq(Mux(waits, Verdict.PENDING, Verdict.REPEATED))
            with m.Elif(arrival.is_agg & (slot.phase == Phase.PARTIAL)):
                m.d.comb += verdict.eq(Verdict.FULL)
            with m.Elif(~arrival.is_agg & (slot.phase == Phase.ACK)):
                m.d.comb += verdict.eq(Verdict.FREED)
            with m.Else():
                m.d.comb += verdict.eq(Verdict.REPEATED)
            judged = self.valid & dut.open & (arrival.slot == k)
            with m.If(judged & (arrival.verdict == Verdict.NONE)):
                claim(m, "verdict_of_rule", dut.verdict == verdict)
                with m.If(verdict == Verdict.FULL):
                    m.d.sync += slot.phase.eq(Phase.ACK)
                with m.If(verdict == Verdict.FREED):
                    m.d.sync += slot.phase.eq(Phase.FREE)
            with m.If(self.start & (dut.next_slot == k)):
                m.d.sync += [slot.use.eq(slot.use + 1), slot.phase.eq(Phase.PARTIAL)]
                m.d.sync += [late[k].eq(1), unseen[k].eq(1)]
            with m.If(self.delivered & (dut.deliver_slot == k)):
                m.d.sync += late[k].eq(0)
            with m.If(dut.seen & (self.see_slot == k)):
                m.d.sync += unseen[k].eq(0)
            with m.If(self.clear):
                m.d.sync += [slot.use.eq(-1), slot.phase.eq(Phase.FREE)]
                m.d.sync += [late[k].eq(0), unseen[k].eq(0)]
        with m.If(~self.valid):
            claim(m, "no_packet_no_verdict", dut.verdict == Verdict.NONE)
        with m.Elif(arrival.verdict != Verdict.NONE):
            claim(m, "verdict_of_arrivals", dut.verdict == arrival.verdict)
        with m.Elif(~dut.open):
            claim(m, "nothing_is_taken_without_a_job", dut.verdict == Verdict.WRONG_JOB)

    def clearing(self, m: Module, dut: SlotTable) -> None:
        """Claim that a job opens as many cycles after ``clear`` as it has slots, and stays so."""
        cycles = Signal(range(self.params.slots + 1))
        begun = Signal()
        with m.If(self.clear):
            m.d.sync += [cycles.eq(0), begun.eq(1)]
        with m.Elif(cycles != self.params.slots):
            m.d.sync += cycles.eq(cycles + 1)
        claim(m, "opens_in_time", dut.open == (begun & (cycles == self.params.slots)))
        claim(m, "open_or_clearing", dut.clearing == (begun & ~dut.open))
        check(m, "clears_a_slot_a_cycle", ~dut.clearing | (self.cleared == cycles))

    def compare(self, m: Module, dut: SlotTable, count, slots, late, unseen, waited) -> None:
        """Claim the outputs, by what the specification keeps."""
        at_next, at_deliver, at_see, requested = (
            Array(slot.as_value() for slot in slots)[index]
            for index in (dut.next_slot, dut.deliver_slot, self.see_slot, self.question)
        )
        following = SLOT(at_next)
        may = (following.phase == Phase.FREE) & ~Array(late)[dut.next_slot]
        claim(m, "may_start_if_free_and_handed_on", dut.may_start == may)
        claim(m, "next_use_follows", dut.next_use == (following.use + 1)[:USE_BITS])
        come = Array(late)[dut.deliver_slot] & (SLOT(at_deliver).phase != Phase.PARTIAL)
        claim(m, "arrived_if_its_sum_came", dut.arrived == come)
        present = Array(unseen)[self.see_slot] & (SLOT(at_see).phase != Phase.PARTIAL)
        claim(m, "seen_if_its_sum_came", dut.seen == present)
        claim(m, "outstanding_counts", dut.outstanding == count_ones(late))
        claim(m, "idle_at_rest", dut.idle == ~(waited.any() | Cat(late).any()))
        claim(m, "rests_when_idle", ~dut.idle | ~busy_slots(slots).any())
        with m.If(self.question < count):
            claim(m, "answers_phase", dut.answers[0].phase == SLOT(requested).phase)
            claim(m, "answers_use", dut.answers[0].use == SLOT(requested).use)

    def tie(self, m: Module, dut: SlotTable, count, slots, late, unseen, waited) -> None:
        """Relate what the table keeps to the specification, for induction."""
        check(m, "uses_are_neighbours", dut.next_use == (self.previous_use + 1)[:USE_BITS])
        waiting = (self.waiting + self.started - self.freed)[: self.params.count_bits]
        check(m, "waiting_counts", self.waiting == count_ones(waited))
        check(m, "waits_if_one_does", self.none_waits == ~waited.any())
        check(m, "waiting_follows", waiting == count_ones(busy_slots(slots)))
        check(m, "full_when_all_are_late", self.full == (dut.outstanding == count))
        handed_on, seen = self.deliver_ahead + self.started, self.see_ahead + self.started
        pointers = (
            ("deliver", dut.deliver_slot, self.deliver_bit, handed_on, late),
            ("see", self.see_slot, self.see_bit, seen, unseen),
        )
        check(m, "next_slot_is_one", dut.next_slot < count)
        for k, slot in enumerate(slots):
            used = k < count
            use = Mux(k < dut.next_slot, dut.next_use, self.previous_use)
            check(m, "uses_go_round", ~used | (slot.use == use))
            check(m, "bit_of_use", ~used | (self.uses[k] == use[0]))
            check(m, "others_stand_still", used | ((slot.phase == Phase.FREE) & ~late[k]))
            check(m, "others_are_not_seen", used | ~unseen[k])
            partial = slot.phase == Phase.PARTIAL
            taken, freed = slot.use[0] ^ partial, slot.use[0] ^ (slot.phase != Phase.FREE)
            check(m, "bit_of_taken", ~used | (self.progress[k].taken == taken))
            check(m, "bit_of_freed", ~used | (self.progress[k].freed == freed))
            check(m, "phase_is_one", slot.phase.as_value() <= Phase.ACK.value)
            check(m, "requested_until_it_came", ~partial | (late[k] & unseen[k]))
            check(m, "seen_before_handed_on", late[k] | ~unseen[k])
            for name, pointer, _, ahead, marks in pointers:
                inside = self.behind(k, pointer, count) < ahead
                check(m, f"{name}_in_order", ~used | (marks[k] == inside))
        for name, pointer, bit, ahead, _ in pointers:
            use = SLOT(Array(slot.as_value() for slot in slots)[pointer]).use
            check(m, f"{name}_slot_is_one", (pointer < count) & (ahead <= count))
            check(m, f"{name}_bit", bit == Mux(ahead != 0, use[0], dut.next_use[0]))
            end = self.behind(dut.next_slot, pointer, count)
            check(m, f"{name}_up_to_next", (end == ahead) | ((end == 0) & (ahead == count)))
        check(m, "outstanding_is_ahead", dut.outstanding == handed_on)

    def rest(self, m: Module, dut: SlotTable, slots, late, unseen, waited) -> None:
        """Claim that nothing is under way while no job is open; clearing goes slot by slot."""
        for name, value in (
            ("next_slot", dut.next_slot),
            ("next_use", dut.next_use),
            ("waiting", self.waiting),
            ("waits", ~self.none_waits),
            ("started", self.started),
            ("freed", self.freed),
            ("full", self.full),
            ("outstanding", dut.outstanding),
            *((f"{p}_{n}", getattr(self, f"{p}_{n}")) for p in ("deliver", "see") for n in PLACE),
            ("deliver_slot", dut.deliver_slot),
            ("see_slot", self.see_slot),
        ):
            check(m, f"rests_{name}", value == 0)
        check(m, "rests_previous_use", self.previous_use.all())
        claim(m, "starts_nothing", ~dut.may_start & ~dut.arrived & ~dut.seen)
        check(m, "clears_a_slot", self.cleared < self.params.slots)
        with m.If(dut.clearing):
            for k in self.slots:
                progress = self.progress[k]
                done = (progress.taken & progress.freed & self.uses[k]) | (k >= self.cleared)
                check(m, "cleared_so_far", done)
                at_start = slots[k].use.all() & (slots[k].phase == Phase.FREE)
                check(m, "as_at_start", at_start & ~late[k] & ~unseen[k] & ~waited[k])

    def behind(self, slot, pointer: Value, count: Value) -> Value:
        """Return how many slots ``slot`` comes after ``pointer``, cyclically."""
        wide = Signal.like(Value.cast(count + count))
        difference = slot + count - pointer
        return Mux(difference >= count, difference - count, difference)[: len(wide)]

    def happenings(self, m: Module, dut: SlotTable, count: Signal, slots) -> None:
        """Reach every phase, the wrap of slots and uses, a full table, and all at once."""
        most = count == self.params.slots
        at_once = self.start & self.delivered & dut.seen
        with m.If(dut.open & most):
            reach(m, "all_slots_wait", Cat(s.phase == Phase.PARTIAL for s in slots).all())
            reach(m, "all_slots_acknowledge", Cat(s.phase == Phase.ACK for s in slots).all())
            reach(m, "out_of_order", (dut.verdict == Verdict.FULL) & ~dut.arrived & ~dut.seen)
            reach(m, "a_slot_again", self.start & (dut.next_use == 1))
            reach(m, "freed_before_handed_on", dut.arrived & (self.waiting < dut.outstanding))
            reach(m, "all_at_once", at_once & (dut.verdict == Verdict.FULL))
            reach(m, "pending", dut.verdict == Verdict.PENDING)
            reach(m, "repeated", dut.verdict == Verdict.REPEATED)
            reach(m, "stale", dut.verdict == Verdict.STALE)
        reach(m, "one_slot_again", dut.open & (count == 1) & self.start & (dut.next_use == 2))
        reach(m, "cleared_at_work", dut.open & self.clear & ~dut.idle)


PLACE = ("bit", "ahead")


def busy_slots(slots: list) -> Value:
    """Return a bit per slot, high unless it is free."""
    return Cat(slot.phase != Phase.FREE for slot in slots)
