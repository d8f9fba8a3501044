"""Implements a memory whose entries are read, changed and written back, one every cycle."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams


def written_layout(params: MemoryParams) -> data.StructLayout:
    """Describe what is written into the memory in a cycle."""
    return data.StructLayout({"valid": 1, "address": params.address_bits, "contents": params.bits})


class UpdateMemory(Component):
    """Gives as ``before`` the entry of the ``address`` of :attr:`lead` cycles ago, up to date.

    With ``write``, ``after`` is what becomes of that entry, given in the same cycle. It may
    depend on ``before``: the next cycle's ``before`` is already it, if the address is the same.
    ``written`` is what the memory itself takes, a cycle later. Without ``write`` nothing changes.

    Throughput: one entry a cycle, the same one over and over included. From ``before`` to a
    register behind ``after`` there is one multiplexer of four, chosen by registers.
    """

    lead = DualPortMemory.latency

    def __init__(self, params: MemoryParams) -> None:
        super().__init__(
            params,
            {
                "address": In(params.address_bits),
                "before": Out(params.bits),
                "write": In(1),
                "after": In(params.bits),
                "written": Out(written_layout(params)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.entries = memory = DualPortMemory(self.params)
        read = delay(m, self.address, 1, "read")  # its entry is on the way
        current = delay(m, read, 1, "current")  # its entry is in before
        # A read does not see the last three changes; they are kept here, the newest first.
        at, contents, valid = current, self.after, self.write
        changes = []
        for age in range(1, 4):
            changes.append((at, valid))
            at = delay(m, at, 1, f"address_{age}")
            contents = delay(m, contents, 1, f"contents_{age}")
            valid = delay(m, valid, 1, f"valid_{age}", reset_less=False)
            changes[-1] += (contents,)
            if age == 1:
                m.d.comb += [
                    self.written.valid.eq(valid),
                    self.written.address.eq(at),
                    self.written.contents.eq(contents),
                ]
        m.d.comb += [
            memory.read_address.eq(self.address),
            memory.write.eq(self.written.valid),
            memory.write_address.eq(self.written.address),
            memory.write_data.eq(self.written.contents),
        ]
        choice = Signal(2)  # 0: the memory's, else the age of the newest change
        hits = [(read == address) & valid for address, valid, _ in changes]
        m.d.sync += choice.eq(Mux(hits[0], 1, Mux(hits[1], 2, Mux(hits[2], 3, 0))))
        with m.Switch(choice):
            with m.Case(0):
                m.d.comb += self.before.eq(memory.read_data)
            for age, (_, _, contents) in enumerate(changes, 1):
                with m.Case(age):
                    m.d.comb += self.before.eq(contents)
        return m
