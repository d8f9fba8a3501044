"""Gathers a response's property from its beats, for the Property Cache."""

from typing import Any, cast

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.protocol import LENGTH_BITS
from hdl.netsparse.switch.params import NetSparseSwitchParams


class PropertyGather(Component):
    """Builds the ``access`` that inserts the property of a response whose beats have ``keep``.

    ``moves`` says that a beat moves, which is allowed only while ``ready``. ``length`` is that of
    the property, ``data`` a part of it, up to the ``last``. For a property that is longer than the
    cache can hold the data is undefined: an access of its length bypasses the cache. ``valid``
    comes :attr:`latency` cycles after a PR's last beat, until ``taken``.
    """

    latency = 1

    def __init__(self, params: NetSparseSwitchParams) -> None:
        super().__init__(
            params,
            idx=In(params.cache.idx_bits),
            length=In(LENGTH_BITS),
            last=In(1),
            data=In(8 * BEAT_BYTES),
            keep=In(1),
            moves=In(1),
            ready=Out(1),
            valid=Out(1),
            access=Out(params.cache.access),
            taken=In(1),
        )

    def build(self, m: Module) -> None:
        size = 8 * BEAT_BYTES
        width = self.params.cache.property_layout.size
        parts = [
            Signal(min(size, width - k), name=f"part_{k // size}", reset_less=True)
            for k in range(0, width, size)
        ]
        index = Signal(range(max(2, len(parts))))  # number of the beat in its property
        access = cast(Any, self.access)
        idx = Signal(self.params.cache.idx_bits, reset_less=True)
        length = Signal(len(access.length), reset_less=True)
        moves = self.moves
        with m.If(moves):
            m.d.sync += [
                index.eq(Mux(self.last, 0, index + 1)),
                idx.eq(self.idx),
                length.eq(self.length),
            ]
        for k, part in enumerate(parts):
            with m.If(moves & (index == k)):
                m.d.sync += part.eq(self.data[: len(part)])
        with m.If(self.ready):
            m.d.sync += self.valid.eq(moves & self.last & self.keep)
        m.d.comb += [
            self.ready.eq(~self.valid | self.taken),
            access.insert.eq(1),
            access.idx.eq(idx),
            access.length.eq(length),
            access.property.eq(Cat(parts)),
        ]
