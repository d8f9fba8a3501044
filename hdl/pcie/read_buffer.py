"""Holds the data of reads until it is their turn, in two banks of dword-wide lanes."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.pcie.params import BANKS, ReadRequesterParams


class ReadBuffer(Component):
    """Writes dwords of ``placed.data`` into all lanes of ``placed.banks`` in the same cycle.

    ``data`` is the line at the address ``at``, :attr:`latency` cycles later; ``at`` is a tag and,
    in its lower bits, the number of one of its lines. The tag's lowest bit is the number of its
    bank. Lanes are block RAM. Data that is ``placed`` can be read :attr:`written` cycles later.
    """

    written = 2  #: cycles from ``placed`` to an ``at`` that reads it

    def __init__(self, params: ReadRequesterParams) -> None:
        depth = params.tags // BANKS << params.line_bits
        self.lane = MemoryParams(shape=32, depth=depth, style="block")
        self.latency = self.lane.latency
        super().__init__(
            params,
            placed=In(params.placed),
            at=In(params.tag_bits + params.line_bits),
            data=Out(params.data_bits),
        )

    def build(self, m: Module) -> None:
        params = self.params
        odd = self.at[params.line_bits]
        place = Cat(self.at[: params.line_bits], self.at[params.line_bits + 1 :])
        lines = [self.bank(m, number, place) for number in range(BANKS)]
        which = delay(m, odd, self.latency, "odd")
        m.d.comb += self.data.eq(Mux(which, lines[1], lines[0]))

    def bank(self, m: Module, number: int, place: Value) -> Value:
        """Add a bank, and return its line at ``place``."""
        parts = []
        for k in range(self.params.lanes):
            lane = self.placed.banks[number][k]
            m.submodules[f"lane_{number}_{k}"] = words = DualPortMemory(self.lane)
            write = Signal(name=f"write_{number}_{k}")
            at = Signal(self.lane.address_bits, name=f"at_{number}_{k}", reset_less=True)
            dword = Signal(32, name=f"dword_{number}_{k}", reset_less=True)
            m.d.sync += [
                write.eq(lane.write),
                at.eq(lane.at),
                dword.eq(Array(self.placed.data)[lane.dword]),
            ]
            m.d.comb += [
                words.write.eq(write),
                words.write_address.eq(at),
                words.write_data.eq(dword),
                words.read_address.eq(place),
            ]
            parts.append(words.read_data)
        return Cat(parts)
