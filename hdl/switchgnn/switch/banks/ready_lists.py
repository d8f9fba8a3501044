"""Lists a bank's aggregators that wait to leave by each port, in the order of their completion."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.switchgnn.switch.params import GnnSwitchParams

LUTRAM_SLOTS = 512  #: most aggregators whose links are stored in LUTs


def push_layout(params: GnnSwitchParams) -> data.StructLayout:
    """Describe a push to a list."""
    return data.StructLayout({"valid": 1, "slot": params.slot_bits, "port": params.port_bits})


class ReadyLists(Component):
    """Keeps a linked list of the bank's aggregators for each port, first in, first out.

    ``push`` appends a slot to a port's list. ``head`` is, in the same cycle, the first slot of the
    list of ``port``, if that list's bit of ``ready`` is set; ``pop`` removes it. A bit of ``soon``
    says that the list is ready :attr:`ahead` cycles later, if it is not popped in this cycle or
    until then.

    Throughput: one push and one pop a cycle, even of the same list. A slot that is pushed onto an
    empty list can be popped in the next cycle. A list with more slots is not ready for ``recovery``
    - 1 cycles after a pop, since its next slot is read from a memory; another list can be popped
    meanwhile. Lists are never full: a slot is in at most one list, and there is a link for each
    slot. A reset empties all lists.
    """

    recovery = 1 + DualPortMemory.latency  #: cycles from a pop of a list to the next one
    ahead = recovery - 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            push=In(push_layout(params)),
            pop=In(1),
            port=In(params.port_bits),
            head=Out(params.slot_bits),
            ready=Out(params.ports),
            soon=Out(params.ports),
        )

    def build(self, m: Module) -> None:
        params, push = self.params, self.push
        style = "distributed" if params.slots <= LUTRAM_SLOTS else "block"
        sizes = MemoryParams(shape=params.slot_bits, depth=params.slots, style=style)
        m.submodules.links = links = DualPortMemory(sizes)  # the next slot of each slot of a list
        ports = range(params.ports)
        heads = [Signal(params.slot_bits, name=f"head_{k}", reset_less=True) for k in ports]
        tails = [Signal(params.slot_bits, name=f"tail_{k}", reset_less=True) for k in ports]
        ready = Signal(params.ports)  # the list's first slot is in ``heads``
        some = Signal(params.ports)  # the first slot is in ``heads``, or on its way from the memory
        single = Signal(params.ports)  # a ready list has no other slot
        pushes = Signal(params.ports)
        pops = Signal(params.ports)
        steps = delay(m, pops & ~single, DualPortMemory.latency, "steps", reset_less=False)
        stepped = delay(m, self.port, DualPortMemory.latency, "stepped")
        only = Signal()  # the slot that comes from the memory is its list's last
        m.d.comb += [
            pushes.eq(Cat(push.valid & (push.port == k) for k in ports)),
            pops.eq(Cat(self.pop & (self.port == k) for k in ports)),
            self.ready.eq(ready),
            self.soon.eq(some),
            self.head.eq(Array(heads)[self.port]),
            links.read_address.eq(self.head),
            # If the last slot leaves in the same cycle, its link is never read.
            links.write.eq((pushes & some).any()),
            links.write_address.eq(Array(tails)[push.port]),
            links.write_data.eq(push.slot),
            only.eq(links.read_data == Array(tails)[stepped]),
        ]
        for k in ports:
            empties, first = pops[k] & single[k], Signal(name=f"first_{k}")
            m.d.comb += first.eq(pushes[k] & (~some[k] | empties))
            m.d.sync += [
                some[k].eq(pushes[k] | (some[k] & ~empties)),
                ready[k].eq(first | steps[k] | (ready[k] & ~pops[k])),
                single[k].eq(first | (Mux(steps[k], only, single[k]) & ~pushes[k])),
            ]
            with m.If(pushes[k]):
                m.d.sync += tails[k].eq(push.slot)
            with m.If(first | steps[k]):
                m.d.sync += heads[k].eq(Mux(steps[k], links.read_data, push.slot))
        expect(
            m,
            self,
            pops_what_is_ready=lambda: ~(pops & ~ready).any() & (~self.pop | pops.any()),
            pushes_onto_a_list=lambda: ~push.valid | pushes.any(),
            is_in_one_place_at_most=lambda: ~(push.valid & self.listed(m)),
        )

    def listed(self, m: Module) -> Value:
        """Return whether the slot that is pushed is in a list already."""
        listed = Signal(self.params.slots)
        with m.If(self.pop):
            m.d.sync += listed.bit_select(self.head, 1).eq(0)
        with m.If(self.push.valid):
            m.d.sync += listed.bit_select(self.push.slot, 1).eq(1)
        return (listed >> self.push.slot)[0]
