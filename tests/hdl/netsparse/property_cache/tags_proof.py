"""States what is proven of a Property Cache's tags: true LRU, and no property in two ways."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import count_ones, delay
from hdl.common.component import Component
from hdl.netsparse.lru import pairs
from hdl.netsparse.property_cache.params import DECIDED, Operation, PropertyCacheParams
from hdl.netsparse.property_cache.tags import PropertyTags
from hdl.switch.update_memory import written_layout
from tests.formal.claims import check, claim, granted, reach


class RowRule(Component):
    """Specifies one row, beside the slot of :data:`DECIDED` cycles ago.

    It keeps which tag each way holds, and a list of the ways from the most recently used one on.
    ``way`` is what the ``operation`` on ``tag`` finds or takes. With ``present`` the row changes.
    """

    def __init__(self, params: PropertyCacheParams) -> None:
        super().__init__(
            params,
            present=In(1),
            operation=In(Operation),
            tag=In(params.tag_bits),
            result=Out(1),
            installed=Out(1),
            replaced=Out(1),
            way=Out(params.way_bits),
            cleared=Out(1),  # since a reset, before which nothing is known
            holds=Out(params.ways),
            tags=Out(data.ArrayLayout(params.tag_bits, params.ways)),
            recency=Out(data.ArrayLayout(params.way_bits, params.ways)),
        )

    def build(self, m: Module) -> None:
        ways = range(self.params.ways)
        for way in reversed(ways):
            with m.If(self.holds[way] & (self.tags[way] == self.tag)):
                m.d.comb += [self.result.eq(1), self.way.eq(way)]
        inserts = self.operation == Operation.INSERT
        with m.If(~self.result & inserts):
            full = self.holds.all()
            m.d.comb += [self.installed.eq(1), self.replaced.eq(full)]
            m.d.comb += self.way.eq(self.recency[ways[-1]])
            for way in reversed(ways):
                with m.If(~self.holds[way]):
                    m.d.comb += self.way.eq(way)
        uses = self.installed | (self.result & (self.operation == Operation.LOOKUP))
        with m.If(self.present & uses):
            self.move_to_front(m)
        with m.If(self.present & self.installed):
            m.d.sync += [self.holds.bit_select(self.way, 1).eq(1), self.tags[self.way].eq(self.tag)]
        with m.If(self.present & (self.operation == Operation.CLEAR)):
            m.d.sync += [self.cleared.eq(1), self.holds.eq(0)]
            m.d.sync += [self.recency[k].eq(ways[-1] - k) for k in ways]

    def move_to_front(self, m: Module) -> None:
        """Make ``way`` the first of the list, and those before it one later each."""
        passed = Signal(self.params.ways)
        m.d.sync += self.recency[0].eq(self.way)
        for k in range(1, self.params.ways):
            m.d.comb += passed[k].eq(passed[k - 1] | (self.recency[k - 1] == self.way))
            with m.If(~passed[k]):
                m.d.sync += self.recency[k].eq(self.recency[k - 1])


class PropertyTagsProof(Component):
    """Has :class:`PropertyTags` with free slots, beside any one row's :class:`RowRule`.

    Its verdicts are claimed to be the rule's, whatever operations come in whatever cycles, on this
    row and on others, from the first CLEAR of the row after a reset on. Nothing is assumed.
    """

    def __init__(self, params: PropertyCacheParams) -> None:
        tags = data.ArrayLayout(params.tag_bits, params.rows)
        states = data.ArrayLayout(params.row_memory.shape, params.rows)
        hidden = {  # inputs that are wired to what is inside instead
            "states": (states, "dut.rows.entries.memory[*]"),
            "written": (written_layout(params.row_memory), "dut.rows.written"),
            "slot_row": (params.row_bits, "dut.history.row_4_1"),
            "slot_tag": (params.tag_bits, "dut.history.tag_4_1"),
        }
        for way in range(params.ways):
            hidden[f"tags_{way}"] = tags, f"dut.tags_{way}.memory[*]"
        self.peeks = {name: source for name, (_, source) in hidden.items()}
        super().__init__(
            params,
            {"slot": In(params.slot)} | {name: In(shape) for name, (shape, _) in hidden.items()},
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.dut = dut = granted(PropertyTags(params))
        m.submodules.rule = rule = RowRule(params)
        watched = AnyConst(params.row_bits)
        row = delay(m, self.slot.row, DECIDED, "row")
        operation = delay(m, self.slot.operation, DECIDED, "operation", reset_less=False)
        m.d.comb += [
            dut.slot.eq(self.slot),
            rule.present.eq(row == watched),
            rule.operation.eq(operation),
            rule.tag.eq(delay(m, self.slot.tag, DECIDED, "tag")),
        ]
        with m.If(rule.cleared):
            self.stored(m, dut, rule, watched)
        self.verdicts(m, dut, rule)

    def stored(self, m: Module, dut: PropertyTags, rule: RowRule, watched: Value) -> None:
        """Check that what is stored or being written of the row is what the rule keeps."""
        params = self.params
        pending = self.written.valid & (self.written.address == watched)
        contents = Mux(pending, self.written.contents, Array(self.states)[watched])
        state = Signal(params.row_state)
        m.d.comb += state.eq(contents)
        installs = dut.verdict.installed & (self.slot_row == watched)
        tags = [
            Mux(installs & dut.verdict.way[k], self.slot_tag, Array(memory)[watched])
            for k, memory in enumerate(getattr(self, f"tags_{k}") for k in range(params.ways))
        ]
        newer = [[] for _ in range(params.ways)]  # bits that tell that another way is newer
        for number, (first, second) in enumerate(pairs(params.ways)):
            newer[second].append(state.newer[number])
            newer[first].append(~state.newer[number] & 1)
        ranks = [count_ones(ones) for ones in newer]  # 0: the most recently used one
        check(m, "holds_as_the_rule", state.holds == rule.holds)
        for way, rank in enumerate(ranks):
            check(m, "tag_as_the_rule", (tags[way] == rule.tags[way]) | ~rule.holds[way])
            check(m, "rank_as_the_rule", rule.recency[rank] == way)
        for k in range(1, params.ways):  # what holds nothing comes last, the lowest way the oldest
            newer_one, older_one = rule.recency[k - 1], rule.recency[k]
            unused = ~state.holds.bit_select(older_one, 1) & (newer_one > older_one)
            check(m, "unused_come_last", state.holds.bit_select(newer_one, 1) | unused)
            check(m, "filled_from_the_lowest", state.holds[k - 1] | ~state.holds[k])
        for first, second in pairs(params.ways):
            claim(m, "order_is_a_permutation", ranks[first] != ranks[second])
            both = state.holds[first] & state.holds[second]
            claim(m, "no_tag_in_two_ways", ~both | (tags[first] != tags[second]))

    def verdicts(self, m: Module, dut: PropertyTags, rule: RowRule) -> None:
        """Claim that the tags say of each access what the rule says."""
        verdict, operation = dut.verdict, rule.operation
        access = (operation == Operation.LOOKUP) | (operation == Operation.INSERT)
        known = rule.present & rule.cleared
        accessed = delay(m, access, 1, "accessed", reset_less=False)
        judged = delay(m, access & known, 1, "judged", reset_less=False)
        expected = [
            delay(m, value, 1, f"expected_{k}")
            for k, value in enumerate((rule.result, rule.installed, rule.replaced, rule.way))
        ]
        result, installed, replaced, way = expected
        with m.If(judged):
            claim(m, "detected_by_the_rule", verdict.result == result)
            claim(m, "installed_by_the_rule", verdict.installed == installed)
            claim(m, "replaced_by_the_rule", verdict.replaced == replaced)
            item = Cat((way == k) & (result | installed) for k in range(self.params.ways))
            claim(m, "way_by_the_rule", verdict.way == item)
        with m.If(~accessed):
            claim(m, "only_accesses_find_or_take", ~verdict.result & ~verdict.installed)
        looks = delay(m, operation == Operation.LOOKUP, 1, "looks", reset_less=False)
        with m.If(judged):
            before = delay(m, judged & installed, 1, "installed_before", reset_less=False)
            hit = looks & verdict.result
            reach(m, "hit_behind_its_insert", hit & before)
            reach(m, "present", ~looks & verdict.result)
            reach(m, "miss_of_a_full_row", looks & ~verdict.result & rule.holds.all())
            replaced_before = Signal()
            with m.If(verdict.replaced):
                m.d.sync += replaced_before.eq(1)
            reach(m, "replaced_out_of_turn", verdict.replaced & (way == 1) & ~replaced_before)


class SmallParams(PropertyCacheParams):
    """Has so few rows that proofs take seconds; one beside the watched row is all others."""

    @property
    def row_bits(self) -> int:
        return 1

    @property
    def rows(self) -> int:
        return 2
