"""Implements a memory that reads, changes and writes back an entry in every cycle."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams


def written_layout(params: MemoryParams) -> data.StructLayout:
    """Describe a write to the memory."""
    return data.StructLayout({"valid": 1, "address": params.address_bits, "contents": params.shape})


class UpdateMemory(Component):
    """Reads in ``before`` the entry at the ``address`` of :attr:`lead` cycles ago, up to date.

    With ``write``, that entry becomes ``after``, which is given in the same cycle and may depend on
    ``before``. If the next cycle has the same address, its ``before`` is already the new entry.
    ``written`` is the write to the memory itself, a cycle later.

    Throughput: one entry a cycle, even the same one in a row. ``before`` is a multiplexer of four
    inputs, whose select is a register. The lead is the latency of the memory, which is longer if
    ``params`` have more output registers.
    """

    lead = DualPortMemory.latency  #: with one output register

    def __init__(self, params: MemoryParams) -> None:
        self.lead = params.latency
        if self.lead < 2:
            raise ValueError(f"an UpdateMemory needs a memory with an output register: {params}")
        super().__init__(
            params,
            address=In(params.address_bits),
            before=Out(params.shape),
            write=In(1),
            after=In(params.shape),
            written=Out(written_layout(params)),
        )

    def build(self, m: Module) -> None:
        m.submodules.entries = memory = DualPortMemory(self.params)
        read = delay(m, self.address, self.lead - 1, "read")  # its entry is read now
        current = delay(m, read, 1, "current")  # its entry is in ``before``
        # A read does not see the latest changes, so they are kept here (forwarding), newest first.
        changes = [(current, self.write, self.after)]
        for age in range(1, self.lead + 1):
            at, valid, contents = changes[-1]
            at = delay(m, at, 1, f"address_{age}")
            valid = delay(m, valid, 1, f"valid_{age}", reset_less=False)
            changes.append((at, valid, delay(m, contents, 1, f"contents_{age}")))
        written, between = changes[1], changes[2]
        m.d.comb += [
            self.written.valid.eq(written[1]),
            self.written.address.eq(written[0]),
            self.written.contents.eq(written[2]),
            memory.read_address.eq(self.address),
            memory.write.eq(self.written.valid),
            memory.write_address.eq(self.written.address),
            memory.write_data.eq(self.written.contents),
        ]
        choice = Signal(2)  # 0: memory; 1, 2: age of the newest change; 3: older
        hits = [(read == address) & valid for address, valid, _ in changes]
        older = Signal(self.params.width, reset_less=True)  # newest change of age 3 or more
        m.d.sync += [
            choice.eq(Mux(hits[0], 1, Mux(hits[1], 2, Mux(Cat(hits[2:]).any(), 3, 0)))),
            older.eq(changes[-1][2]),
        ]
        for hit, (_, _, contents) in reversed([*zip(hits, changes, strict=True)][2:-1]):
            with m.If(hit):
                m.d.sync += older.eq(contents)
        sources = Array((memory.read_data, written[2], between[2], older))
        m.d.comb += self.before.eq(sources[choice])
