"""A bank: one sample of the micro-batch, forward and backward."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.p4sgd.adder_tree import GatedAdderTree
from hdl.p4sgd.params import EngineParams

TAG = data.StructLayout({"first_plane": 1, "negative": 1, "last_plane": 1, "first_chunk": 1})


class Bank(Component):
    """The share of one sample in an engine: P4SGD, section 4.1.3, MLWeaving's any precision.

    Forward: ``partial = sum over chunks and lanes of code * weight`` in units of the last plane.
    Each cycle with ``valid`` brings one plane of one chunk, most significant plane first; the
    planes are summed by Horner's rule and the chunks added up; ``tag`` says where the plane
    stands, and whether it weighs -1 (the first one of signed features). ``partial`` holds a
    micro-batch's sum ``params.bank_latency`` cycles after its last plane, until the first chunk
    of the next one is through.

    Backward: a cycle after ``next_plane``, ``scaled`` is ``delta`` times the weight of that plane
    with ``max_bits`` fraction bits: unsigned features have 1/2, 1/4, ...; signed ones -1, 1/2,
    1/4, .... ``first_plane`` and ``second_plane`` say which it is. Lanes gate it with their bit.

    Throughput: one plane a cycle in each direction; never stalls. Exact: nothing is rounded.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            {
                "signed_features": In(1),
                "valid": In(1),
                "tag": In(TAG),
                "plane": In(params.lanes),
                "weights": In(params.weight),
                "partial": Out(signed(params.partial_bits)),
                "delta": In(signed(params.weight_bits)),
                "next_plane": In(1),
                "first_plane": In(1),
                "second_plane": In(1),
                "scaled": Out(signed(params.scaled_bits)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.tree = tree = GatedAdderTree(self.params.forward_tree)
        m.d.comb += [tree.gates.eq(self.plane), tree.values.eq(self.weights)]
        self.forward(m, tree.total)
        self.backward(m)
        return m

    def forward(self, m: Module, total) -> None:
        """Horner's rule over the planes, then the sum over the chunks."""
        valid = delay(m, self.valid, self.params.forward_tree.latency, "valid", reset_less=False)
        tag = delay(m, self.tag, self.params.forward_tree.latency, "tag")
        codes = Signal(signed(self.params.plane_sum_bits + self.params.max_bits), reset_less=True)
        with m.If(valid):
            with m.If(tag.first_plane):
                m.d.sync += codes.eq(Mux(tag.negative, -total, total))
            with m.Else():
                m.d.sync += codes.eq((codes << 1) + total)

        chunk_done = Signal()
        first_chunk = Signal(reset_less=True)
        m.d.sync += [chunk_done.eq(valid & tag.last_plane), first_chunk.eq(tag.first_chunk)]
        with m.If(chunk_done):
            m.d.sync += self.partial.eq(Mux(first_chunk, 0, self.partial) + codes)

    def backward(self, m: Module) -> None:
        """The delta shifted to the weight of each plane in turn."""
        whole = self.delta << self.params.max_bits
        half = self.delta << (self.params.max_bits - 1)
        with m.If(self.next_plane):
            with m.If(self.first_plane):
                m.d.sync += self.scaled.eq(Mux(self.signed_features, -whole, half))
            with m.Elif(self.second_plane & self.signed_features):
                m.d.sync += self.scaled.eq(half)
            with m.Else():
                m.d.sync += self.scaled.eq(self.scaled >> 1)
