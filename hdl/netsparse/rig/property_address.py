"""Computes the address of an idx's property in host memory."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.params import Params, whole
from hdl.common.streams import StreamRegister
from hdl.netsparse.protocol import LENGTH_BITS


class PropertyAddressParams(Params, suffix="i{idx_bits}_a{address_bits}_t{tag_bits}"):
    """Sets the widths of an address calculation."""

    idx_bits: int  #: width of an idx
    address_bits: int  #: width of a byte address
    tag_bits: int = whole(1)  #: width of the tag of an idx

    @property
    def requested(self) -> data.StructLayout:
        """Describe a request for the address of an idx's property, with its tag."""
        return data.StructLayout({"idx": self.idx_bits, "tag": self.tag_bits})

    @property
    def result(self) -> data.StructLayout:
        """Describe the address of an idx's property, and the tag."""
        return data.StructLayout({"address": self.address_bits, "tag": self.tag_bits})


class PropertyAddress(Component):
    """Computes ``base + idx * bytes`` for every idx, modulo the address space, in DSPs.

    ``base`` and ``bytes`` must be stable while any idx is inside (``busy``). Throughput: one a
    cycle. Latency: ``latency``. Stalls: it holds ``capacity`` idxs; ``i.ready`` is a register.
    """

    stages = 3  #: operands, product, its second register: a DSP's own pipeline
    latency = stages + StreamRegister.latency  #: the sum is registered as it leaves
    capacity = stages + StreamRegister.capacity

    def __init__(self, params: PropertyAddressParams) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(params.requested)),
            o=Out(stream.Signature(params.result)),
            base=In(params.address_bits),
            bytes=In(LENGTH_BITS),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        idx = Signal(params.idx_bits, reset_less=True)
        size = Signal(LENGTH_BITS, reset_less=True)
        product = Signal(params.idx_bits + LENGTH_BITS, reset_less=True)
        offset = Signal.like(product, reset_less=True)
        valid = [Signal(name=f"valid_{k}") for k in range(self.stages)]
        tags = [
            Signal(params.tag_bits, name=f"tag_{k}", reset_less=True) for k in range(self.stages)
        ]
        m.submodules.output = output = StreamRegister.sized(shape=params.result)
        result = Signal(params.result)
        advance = output.i.ready
        connect(m, output.o, flipped(self.o))
        m.d.comb += [
            result.address.eq((self.base + offset)[: params.address_bits]),
            result.tag.eq(tags[-1]),
            output.i.payload.eq(result),
            output.i.valid.eq(valid[-1]),
            self.i.ready.eq(advance),
            self.busy.eq(Cat(valid, output.o.valid).any()),
        ]
        with m.If(advance):
            m.d.sync += [
                valid[0].eq(self.i.valid),
                tags[0].eq(self.i.payload.tag),
                idx.eq(self.i.payload.idx),
                size.eq(self.bytes),
                product.eq(idx * size),
                offset.eq(product),
                *(valid[k].eq(valid[k - 1]) for k in range(1, self.stages)),
                *(tags[k].eq(tags[k - 1]) for k in range(1, self.stages)),
            ]
