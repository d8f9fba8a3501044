"""Stores the properties that a Property Cache holds, in segments."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, index_of
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.netsparse.property_cache.params import MOVE, PropertyCacheParams


class PropertySegments(Component):
    """Writes or reads the property of a ``verdict`` in a group of adjacent segments.

    A segment has an entry for each way of each of its sets. A property that was ``installed`` is
    written: part k of ``property`` into segment k of its group; other segments do not change. In
    all other cases the group's entry is read: ``result`` has it :attr:`latency` cycles later, part
    k from segment k. Bit b of ``mode`` says that a group has more than 2^b segments.

    Each cycle reads or writes, never both of one entry, so a read sees every write before it.
    """

    latency = MOVE

    def __init__(self, params: PropertyCacheParams) -> None:
        super().__init__(
            params,
            verdict=In(params.verdict),
            mode=In(params.mode_bits),
            property=In(params.property_layout),
            result=Out(params.property_layout),
        )

    def build(self, m: Module) -> None:
        params = self.params
        first = self.verdict.row[params.set_bits :]  # the group's first segment
        set_and_way = Cat(index_of(self.verdict.way), self.verdict.row[: params.set_bits])
        address = delay(m, set_and_way, 1, "address")
        parts, provided = [], self.parts_of()
        for segment in range(params.segments):
            write = Signal(name=f"write_{segment}")
            part = Signal(
                params.property_layout.elem_shape, name=f"part_{segment}", reset_less=True
            )
            m.d.sync += [
                write.eq(self.verdict.installed & self.is_of(segment, first)),
                part.eq(provided[segment]),
            ]
            m.submodules[f"segment_{segment}"] = memory = DualPortMemory(params.segment_memory)
            m.d.comb += [
                memory.read_address.eq(address),
                memory.write.eq(write),
                memory.write_address.eq(address),
                memory.write_data.eq(part),
            ]
            parts.append(memory.read_data)
        # It has a reset, so that its last stage is a flip-flop, which can be replicated, and no
        # shift register.
        base = delay(m, first, DualPortMemory.latency, "first")
        base = delay(m, base, 1, "base", reset_less=False)
        for bit in reversed(range(params.segment_bits)):
            upper = parts[1 << bit : 2 << bit]
            for k, (low, high) in enumerate(zip(parts, upper, strict=False)):
                parts[k] = Signal(params.property_layout.elem_shape, name=f"read_{bit}_{k}")
                m.d.comb += parts[k].eq(Mux(base[bit], high, low))
        result = Signal(params.property_layout, reset_less=True)
        m.d.sync += [result[k].eq(part) for k, part in enumerate(parts)]
        m.d.comb += self.result.eq(result)

    def parts_of(self) -> list:
        """Return the part of the property for each segment: its number modulo the group's size."""
        provided = [self.property[0]]
        for bit in range(self.params.segment_bits):
            provided += [
                Mux(self.mode[bit], self.property[len(provided) + k], part)
                for k, part in enumerate(provided)
            ]
        return provided

    def is_of(self, segment: int, first):
        """Return whether ``segment`` is in the group that begins with ``first``."""
        same = (
            (first[bit] == (segment >> bit & 1)) | self.mode[bit]
            for bit in range(self.params.segment_bits)
        )
        return Cat(same).all()
