"""Computes where the property of an idx lies in host memory."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.protocol import LENGTH_BITS


@dataclass(frozen=True, kw_only=True)
class PropertyAddressParams:
    """Sets the widths of an address calculation."""

    idx_bits: int  #: width of an idx
    address_bits: int  #: width of a byte address
    tag_bits: int  #: width of what goes with an idx, at least 1

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all sizes."""
        return f"i{self.idx_bits}_a{self.address_bits}_t{self.tag_bits}"

    @property
    def asked(self) -> data.StructLayout:
        """Describe an idx whose address is asked for, and its tag."""
        return data.StructLayout({"idx": self.idx_bits, "tag": self.tag_bits})

    @property
    def found(self) -> data.StructLayout:
        """Describe the address of an idx's property, and the tag."""
        return data.StructLayout({"address": self.address_bits, "tag": self.tag_bits})


class PropertyAddress(Component):
    """Computes ``base + idx * bytes`` for every idx, modulo the address space, in DSPs.

    ``base`` and ``bytes`` hold still while anything is inside (``busy``). Throughput: one a cycle.
    Latency: ``latency``. Stalls: all stages stand still; ``i.ready`` follows ``o.ready``
    combinationally.
    """

    latency = 4  # operands, product, its second register, sum: a DSP's own pipeline, and an adder

    def __init__(self, params: PropertyAddressParams) -> None:
        super().__init__(
            params,
            {
                "i": In(stream.Signature(params.asked)),
                "o": Out(stream.Signature(params.found)),
                "base": In(params.address_bits),
                "bytes": In(LENGTH_BITS),
                "busy": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        idx = Signal(params.idx_bits, reset_less=True)
        size = Signal(LENGTH_BITS, reset_less=True)
        product = Signal(params.idx_bits + LENGTH_BITS, reset_less=True)
        offset = Signal.like(product, reset_less=True)
        address = Signal(params.address_bits, reset_less=True)
        valid = [Signal(name=f"valid_{k}") for k in range(self.latency)]
        tags = [
            Signal(params.tag_bits, name=f"tag_{k}", reset_less=True) for k in range(self.latency)
        ]
        m.d.comb += [
            self.i.ready.eq(~valid[-1] | self.o.ready),
            self.o.valid.eq(valid[-1]),
            self.o.payload.address.eq(address),
            self.o.payload.tag.eq(tags[-1]),
            self.busy.eq(Cat(valid).any()),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                valid[0].eq(self.i.valid),
                tags[0].eq(self.i.payload.tag),
                idx.eq(self.i.payload.idx),
                size.eq(self.bytes),
                product.eq(idx * size),
                offset.eq(product),
                address.eq((self.base + offset)[: params.address_bits]),
                *(valid[k].eq(valid[k - 1]) for k in range(1, self.latency)),
                *(tags[k].eq(tags[k - 1]) for k in range(1, self.latency)),
            ]
        return m
