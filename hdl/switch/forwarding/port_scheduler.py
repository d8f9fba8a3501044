"""Merges packets of several sources at a port: strict levels, weighted round robin within one."""

from functools import reduce
from itertools import combinations, permutations
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.packets import BEAT
from hdl.common.params import Params, whole
from hdl.switch.forwarding.link_gate import LinkGate

LEVEL_BITS = 3
WEIGHT_BITS = 8
QUANTUM_SHIFT = 4  #: a weight counts units of 16 beats
RENEWAL_CYCLES = 4  #: credits are renewed at most so often
CREDIT_BITS = WEIGHT_BITS + QUANTUM_SHIFT + 2
Pairs = dict[tuple[int, int], Value]  #: a bit for each pair of sources


class PortSchedulerParams(Params, suffix="{sources}"):
    """Sets the number of sources that share a port."""

    sources: int = whole(1, 32)  #: number of sources


class PortScheduler(Component):
    """Merges whole packets of the sources ``i`` into ``o``; each source stays in order.

    ``level`` and ``weight`` are settings of each source. Of the sources with a packet, those of the
    highest level go first (strict priority). Sources of one level share the port by beats, in
    proportion to their weights (surplus round robin): a source has a credit, of which each beat
    takes one, and a packet goes first while its source's credit is positive. When no waiting source
    of the level has 8 beats left, each receives 16 for each unit of its weight. Sources of equal
    rank go in turn, the one that has waited longest first. A source of weight 0 goes only where no
    other of its level waits with credit.

    A source whose bit of ``hold`` was high in the cycle before begins no packet, and delays no
    other; a packet that has begun goes on to its end. A packet whose next beat is late blocks all
    others. The bit of ``coming`` says that a source without a packet may have one in the next
    cycle; others may then wait a cycle for it. While ``down``, packets go on to a
    :class:`LinkGate`, which drops them; ``discarded`` is its.

    Throughput: a beat a cycle, from packet to packet, too. Latency: :attr:`latency` from a beat
    taken; a packet that comes to an idle port is taken :attr:`wait` cycles later, or at once if
    ``coming`` has announced it.
    Stalls: holds. ``i[k].ready`` depends on ``valid`` of all sources.
    """

    latency = LinkGate.latency
    wait = 1

    def __init__(self, params: PortSchedulerParams) -> None:
        beats = stream.Signature(BEAT)
        super().__init__(
            params,
            i=In(beats).array(params.sources),
            o=Out(beats),
            level=In(LEVEL_BITS).array(params.sources),
            weight=In(WEIGHT_BITS).array(params.sources),
            hold=In(params.sources),
            coming=In(params.sources),
            down=In(1),
            discarded=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.out = out = LinkGate()
        connect(m, out.o, flipped(self.o))
        m.d.comb += [out.down.eq(self.down), self.discarded.eq(out.discarded)]
        count = self.params.sources
        # The choice is made a cycle ahead, when it is unknown whether the source that has just sent
        # has another packet. ``first`` is the choice if it has, ``second`` if it has none.
        first, second = Signal(count), Signal(count)
        chosen, inside, goes = Signal(count), Signal(), Signal()
        comes, takes, last = Signal(), Signal(), Signal()
        valid = Signal(count)
        m.d.comb += [
            valid.eq(Cat(i.valid for i in self.i)),
            goes.eq(inside | (first & valid).any()),
            chosen.eq(Mux(goes, first, second)),
            comes.eq((chosen & valid).any()),
            takes.eq(comes & out.i.ready),
            last.eq((chosen & Cat(i.payload.last for i in self.i)).any()),
            out.i.valid.eq(comes),
            Value.cast(out.i.payload).eq(
                reduce(
                    or_, (Mux(chosen[k], Value.cast(i.payload), 0) for k, i in enumerate(self.i))
                )
            ),
        ]
        for k, i in enumerate(self.i):
            m.d.comb += i.ready.eq(chosen[k] & out.i.ready)
        ranks = self.rank(m, self.credits(m, chosen, takes))
        longer = self.waited(m, chosen, takes & last)
        may = (valid | self.coming) & ~self.hold
        ahead, equals = self.compare(m, ranks, longer)
        (best_1, stays_1), (best_2, stays_2) = (
            self.choose(m, each, may & ~each, ahead, equals) for each in (first, second)
        )
        best, stays = Signal(count), Signal()
        m.d.comb += [best.eq(Mux(goes, best_1, best_2)), stays.eq(Mux(goes, stays_1, stays_2))]
        with m.If(takes):
            m.d.sync += inside.eq(~last)
        with m.If(Mux(comes, out.i.ready & last, ~inside)):
            m.d.sync += [first.eq(Mux(stays, chosen, best)), second.eq(best)]
        with m.Elif(takes):
            m.d.sync += first.eq(chosen)
        with m.Elif(~inside):
            m.d.sync += [first.eq(first & ~self.hold), second.eq(second & ~self.hold)]
        expect(m, self, what_waits_stays=lambda: self.what_waits_stays(m))

    def credits(self, m: Module, chosen: Value, takes: Value) -> Signal:
        """Add the sources' credits in beats; return which of them were positive some cycles ago."""
        count = self.params.sources
        # Credits are renewed before the last is spent, as that takes some cycles.
        rich, ample = Signal(count), Signal(count)
        waits, spent = Signal(count), Signal(count)
        tick = Signal(range(RENEWAL_CYCLES))
        m.d.sync += [
            waits.eq(Cat(i.valid for i in self.i)),
            spent.eq(chosen & takes.replicate(count)),
            tick.eq(tick + 1),
        ]
        for k in range(count):
            credit = Signal(signed(CREDIT_BITS), name=f"credit_{k}")
            earns = Signal(name=f"earns_{k}")
            peers = Signal(count, name=f"peers_{k}")  # sources of its level
            m.d.comb += peers.eq(Cat(self.level[j] == self.level[k] for j in range(count)))
            lowest = credit[-1] & ~credit[-2]
            change = Signal(signed(CREDIT_BITS), name=f"change_{k}")
            earned = Mux(earns, self.weight[k] << QUANTUM_SHIFT, 0)
            m.d.sync += [
                earns.eq(tick.all() & ~(ample & waits & peers).any() & ~(ample[k] & ~waits[k])),
                change.eq(earned - (spent[k] & ~lowest)),
                credit.eq((credit + change)[:CREDIT_BITS]),
                rich[k].eq(~credit[-1] & credit.any()),
                ample[k].eq(~credit[-1] & credit[3:-1].any()),
            ]
        return rich

    def rank(self, m: Module, rich: Value) -> tuple[Pairs, Pairs]:
        """Add registers that say of each pair which goes first, and whether they are equal."""
        above: Pairs = {}
        equal: Pairs = {}
        for j, k in permutations(range(self.params.sources), 2):
            above[j, k] = Signal(name=f"above_{j}_{k}", reset_less=True)
            equal[j, k] = Signal(name=f"equal_{j}_{k}", reset_less=True)
            same, alike = Signal(name=f"same_{j}_{k}"), Signal(name=f"alike_{j}_{k}")
            m.d.comb += same.eq(self.level[j] == self.level[k])
            m.d.comb += alike.eq(same & (rich[j] == rich[k]))
            m.d.sync += [
                above[j, k].eq((self.level[j] > self.level[k]) | (same & rich[j] & ~rich[k])),
                equal[j, k].eq(alike),
            ]
        return above, equal

    def waited(self, m: Module, chosen: Value, ends: Value) -> Pairs:
        """Add a register for each pair that says which has waited longer since its last packet."""
        longer: Pairs = {}
        for j, k in combinations(range(self.params.sources), 2):
            longer[j, k] = Signal(name=f"longer_{j}_{k}")
            longer[k, j] = ~longer[j, k]
            with m.If(ends & (chosen[j] | chosen[k])):
                m.d.sync += longer[j, k].eq(chosen[k])
        return longer

    def compare(
        self, m: Module, ranks: tuple[Pairs, Pairs], longer: Pairs
    ) -> tuple[list[Value], list[Value]]:
        """Return for each source which others go first, and which have its rank or a better one."""
        (above, equal), every = ranks, range(self.params.sources)
        ahead, equals = {}, {}
        for j, k in permutations(every, 2):
            ahead[j, k] = Signal(name=f"ahead_{j}_{k}")
            equals[j, k] = Signal(name=f"equals_{j}_{k}")
            m.d.comb += [
                ahead[j, k].eq(above[j, k] | (equal[j, k] & longer[j, k])),
                equals[j, k].eq(above[j, k] | equal[j, k]),
            ]
        return tuple(  # type: ignore[return-value]
            [Cat(pairs.get((j, k), Const(0, 1)) for j in every) for k in every]
            for pairs in (ahead, equals)
        )

    def choose(
        self, m: Module, last: Signal, may: Value, ahead: list[Value], equals: list[Value]
    ) -> tuple[Value, Value]:
        """Return the best of those that ``may``, and whether ``last``, if it may, precedes it."""
        name, count = last.name, self.params.sources
        waits = Signal(count, name=f"{name}_waits")
        m.d.comb += waits.eq(may)
        best = [Signal(name=f"{name}_best_{k}") for k in range(count)]
        stays = [Signal(name=f"{name}_stays_{k}") for k in range(count)]
        for k in range(count):
            m.d.comb += [
                best[k].eq(waits[k] & ~(waits & ahead[k]).any()),
                stays[k].eq(last[k] & ~self.hold[k] & ~(waits & equals[k]).any()),
            ]
        return Cat(best), Cat(stays).any()

    def what_waits_stays(self, m: Module) -> Value:
        """Return whether each beat that was not taken is still valid."""
        waited = Signal(self.params.sources)
        m.d.sync += waited.eq(Cat(i.valid & ~i.ready for i in self.i))
        return ~(waited & ~Cat(i.valid for i in self.i)).any()
