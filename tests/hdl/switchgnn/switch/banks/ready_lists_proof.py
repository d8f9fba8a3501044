"""States what is proven of the ready lists: they are queues, and each slot is in at most one."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In
from amaranth.utils import bits_for

from hdl.common.arithmetic import count_ones, low_bits
from hdl.common.component import Component
from hdl.switchgnn.switch.banks.ready_lists import ReadyLists, push_layout
from hdl.switchgnn.switch.params import GnnSwitchParams
from tests.formal.claims import check, claim, granted, reach

PORTS = 3  #: the proofs' switches have so many


def list_peeks(lists: str) -> dict[str, str]:
    """Return what :class:`ListsModel` needs of what is inside the lists."""
    return {
        "links": f"{lists}.links.memory[*]",
        "listed": f"{lists}.listed",
        "some": f"{lists}.some",
        "single": f"{lists}.single",
        **{f"head_{k}": f"{lists}.head_{k}" for k in range(PORTS)},
        **{f"tail_{k}": f"{lists}.tail_{k}" for k in range(PORTS)},
    }


def list_inputs(params: GnnSwitchParams) -> dict[str, In]:
    """Return the inputs that are wired to them."""
    bits = params.slot_bits
    return {
        "links": In(data.ArrayLayout(bits, params.slots)),
        "listed": In(params.slots),
        "some": In(params.ports),
        "single": In(params.ports),
        **{f"head_{k}": In(bits) for k in range(PORTS)},
        **{f"tail_{k}": In(bits) for k in range(PORTS)},
    }


class Queue:
    """A queue of as many slots as there are, with the cycles since a pop that left others in it."""

    def __init__(self, m: Module, params: GnnSwitchParams, k: int, push, slot, pop) -> None:
        bits, depth = params.slot_bits, params.slots
        self.slots = [Signal(bits, name=f"queue_{k}_{i}") for i in range(depth)]
        self.count = Signal(bits_for(depth), name=f"count_{k}")
        self.since = Signal(range(ReadyLists.recovery + 1), init=ReadyLists.recovery)
        left = Signal(bits_for(depth), name=f"left_{k}")
        m.d.comb += left.eq(low_bits(self.count - pop, len(left)))
        m.d.sync += self.count.eq(low_bits(left + push, len(left)))
        for i, near in enumerate(self.slots):
            behind = self.slots[i + 1] if i + 1 < depth else near
            m.d.sync += near.eq(Mux(push & (left == i), slot, Mux(pop, behind, near)))
        with m.If(pop & (left != 0)):
            m.d.sync += self.since.eq(1)
        with m.Elif(self.since != ReadyLists.recovery):
            m.d.sync += self.since.eq((self.since + 1)[: len(self.since)])
        self.ready = (self.count != 0) & (self.since == ReadyLists.recovery)

    def has(self, slot: int):
        """Return how often a slot is in it."""
        return count_ones([(self.count > i) & (at == slot) for i, at in enumerate(self.slots)])


def follow_lists(m: Module, params: GnnSwitchParams, lists: ReadyLists, seen, say) -> list[Queue]:
    """Compare ``lists`` with plain queues, and check how they do it.

    ``seen`` has what :func:`list_peeks` shows.
    """
    queues = []
    for k in range(params.ports):
        push = Signal(name=f"queue_push_{k}")
        pop = Signal(name=f"queue_pop_{k}")
        m.d.comb += [
            push.eq(lists.push.valid & (lists.push.port == k)),
            pop.eq(lists.pop & (lists.port == k)),
        ]
        queue = Queue(m, params, k, push, lists.push.slot, pop)
        queues.append(queue)
        say(m, "ready_two_cycles_after_a_pop", lists.ready[k] == queue.ready)
        say(m, "soon_if_it_has_some", lists.soon[k] == (queue.count != 0))
        with m.If(lists.ready[k] & (lists.port == k)):
            say(m, "head_came_first", lists.head == queue.slots[0])
        head, tail = getattr(seen, f"head_{k}"), getattr(seen, f"tail_{k}")
        check(m, "no_more_than_all", queue.count <= params.slots)
        check(m, "some_if_it_has_some", seen.some[k] == (queue.count != 0))
        with m.If(queue.ready):
            check(m, "register_has_the_first", head == queue.slots[0])
            check(m, "single_if_there_is_one", seen.single[k] == (queue.count == 1))
        with m.If(queue.count != 0):
            last = Array(queue.slots)[(queue.count - 1)[: params.slot_bits]]
            check(m, "register_has_the_last", tail == last)
            check(m, "waits_only_with_more", queue.since != 0)
        for i in range(params.slots - 1):
            with m.If(queue.count > i + 1):
                linked = Array(seen.links)[queue.slots[i]] == queue.slots[i + 1]
                check(m, "linked_to_the_one_behind", linked)
    for slot in range(params.slots):
        places = count_ones([queue.has(slot) for queue in queues])
        say(m, "in_one_place_at_most", places == seen.listed[slot])
    return queues


class ReadyListsProof(Component):
    """Gives the lists of three ports pushes and pops at any time, and resets."""

    peeks = list_peeks("dut")

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            push=In(push_layout(params)),
            pop=In(1),
            port=In(params.port_bits),
            **list_inputs(params),
        )

    def build(self, m: Module) -> None:
        m.submodules.dut = dut = granted(ReadyLists(self.params))
        m.d.comb += [dut.push.eq(self.push), dut.pop.eq(self.pop), dut.port.eq(self.port)]
        queues = follow_lists(m, self.params, dut, self, claim)
        reach(m, "all_in_one_list", queues[1].count == self.params.slots)
        reach(m, "three_lists", (queues[0].count == 2) & queues[1].ready & queues[2].ready)
        same = self.push.valid & self.pop & (self.push.port == self.port)
        reach(m, "the_only_one_is_replaced", same & (queues[0].count == 1) & (self.port == 0))
