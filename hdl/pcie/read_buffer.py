"""Holds the data of reads until it is their turn: a lane of dwords each, written apart."""

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.pcie.params import ReadRequesterParams


class ReadBuffer(Component):
    """Each lane of ``writes`` takes a dword of ``placed.data``, all of them in the same cycle.

    ``data`` is the line of ``at``, :attr:`latency` cycles later; ``at`` is a tag and, in its lower
    bits, a line of it. Lanes are block RAM. What is ``placed`` can be read two cycles later:
    ``written``.
    """

    written = 2  #: cycles from ``placed`` to an ``at`` that finds it

    def __init__(self, params: ReadRequesterParams) -> None:
        self.lane = MemoryParams(bits=32, depth=params.tags << params.line_bits, style="block")
        self.latency = self.lane.latency
        super().__init__(
            params,
            {
                "writes": In(params.lanes),
                "placed": In(params.placed),
                "at": In(params.tag_bits + params.line_bits),
                "data": Out(params.data_bits),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        parts = []
        for k in range(self.params.lanes):
            lane = self.placed.lanes[k]
            m.submodules[f"lane_{k}"] = words = DualPortMemory(self.lane)
            write = Signal(name=f"write_{k}")
            at = Signal(self.lane.address_bits, name=f"at_{k}", reset_less=True)
            dword = Signal(32, name=f"dword_{k}", reset_less=True)
            m.d.sync += [
                write.eq(self.writes[k]),
                at.eq(lane.at),
                dword.eq(Array(self.placed.data)[lane.dword]),
            ]
            m.d.comb += [
                words.write.eq(write),
                words.write_address.eq(at),
                words.write_data.eq(dword),
                words.read_address.eq(self.at),
            ]
            parts.append(words.read_data)
        m.d.comb += self.data.eq(Cat(parts))
        return m
