"""Implements a bank, which computes one sample of the micro-batch, forward and backward."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, memory
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register, delay, low_bits
from hdl.common.component import Component
from hdl.p4sgd.engine.adder_tree import GatedAdderTree
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.plane_sum import PlaneSum


def tag_layout(params: EngineParams) -> data.StructLayout:
    """Describe a plane's position, with its micro-batch's number if there are tiles."""
    member = {"member": params.member_bits} if params.max_tile else {}
    return data.StructLayout(
        {"first_plane": 1, "negative": 1, "last_plane": 1, "first_chunk": 1, **member}
    )


class Bank(Component):
    """Computes one sample's share in an engine (P4SGD, section 4.1.3, MLWeaving's any precision).

    Forward: ``partial = sum over chunks and lanes of code * weight`` in units of the last plane.
    Each cycle with ``valid`` brings one plane of one chunk, most significant plane first; the
    planes are summed by Horner's rule and the chunks added up; ``tag`` gives the plane's position,
    and whether its weight is -1 (the first plane of signed features). ``partial`` holds a
    micro-batch's sum ``params.bank.latency`` cycles after its last plane, until the next chunk has
    been added; of the micro-batches of a tile, which take turns in each chunk, a memory keeps the
    sums. ``weights[l]`` comes ``params.bank.weight_skew(l)`` cycles after its bit of the plane, and
    with them the sums of ``pairs`` of them, if they are shared.

    Backward: a cycle after ``next_plane``, ``scaled`` is ``delta`` times the weight of that plane
    with ``max_bits`` fraction bits: unsigned features have 1/2, 1/4, ...; signed ones -1, 1/2,
    1/4, .... ``first_plane`` and ``second_plane`` say which it is. Lanes gate it with their bit.

    Throughput: one plane a cycle in each direction; never stalls. Exact: nothing is rounded.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            signed_features=In(1),
            valid=In(1),
            tag=In(tag_layout(params)),
            plane=In(params.lanes),
            weights=In(params.model.weights),
            **({"pairs": In(params.model.pairs)} if params.pair_sums else {}),
            partial=Out(signed(params.bank.partial_bits)),
            delta=In(signed(params.weight_bits)),
            next_plane=In(1),
            first_plane=In(1),
            second_plane=In(1),
            scaled=Out(signed(params.bank.scaled_bits)),
        )

    def build(self, m: Module) -> None:
        valid = delay(m, self.valid, self.params.bank.sum_latency, "valid", reset_less=False)
        tag = delay(m, self.tag, self.params.bank.sum_latency, "tag")
        bits = self.params.bank.plane_sum_bits + self.params.max_bits  # width of all planes' sum
        codes = Signal(signed(bits), reset_less=True)
        with_plane = self.add_plane(m, tag, codes)
        with m.If(valid):
            m.d.sync += codes.eq(low_bits(with_plane, bits))
        self.add_chunks(m, valid, tag, codes)
        self.scale(m)

    def add_plane(self, m: Module, tag, codes: Signal) -> Value:
        """Return the sum of the planes up to this one, by Horner's rule.

        It is twice the sum of the planes before, plus the sum of this one.
        """
        before = Mux(tag.first_plane, 0, codes << 1)
        if self.params.dsp:
            m.submodules.plane_sum = plane_sum = PlaneSum(self.params)
            m.d.comb += [
                plane_sum.plane.eq(self.plane),
                plane_sum.negative.eq(self.tag.negative),
                plane_sum.weights.eq(self.weights),
            ]
            if self.params.pair_sums:
                m.d.comb += plane_sum.pairs.eq(self.pairs)
            return sum(plane_sum.terms, start=before)
        m.submodules.tree = tree = GatedAdderTree(self.params.bank.tree)
        m.d.comb += [tree.gates.eq(self.plane), tree.values.eq(self.weights)]
        return Mux(tag.negative, -tree.total, before + tree.total)

    def add_chunks(self, m: Module, valid: Value, tag, codes: Signal) -> None:
        """Add up the sums of the chunks."""
        chunk_done = Signal()
        first_chunk = Signal(reset_less=True)
        m.d.sync += [chunk_done.eq(valid & tag.last_plane), first_chunk.eq(tag.first_chunk)]
        partial = data_register(m, self.partial)
        before, after = partial, None
        if self.params.max_tile:
            before, after = self.keep_sums(m, tag.member, chunk_done)
        total = low_bits(Mux(first_chunk, 0, before) + codes, self.params.bank.partial_bits)
        with m.If(chunk_done):
            m.d.sync += partial.eq(total)
        if after is not None:
            m.d.comb += after.eq(total)

    def keep_sums(self, m: Module, member, chunk_done: Signal) -> tuple[Value, Value]:
        """Add the memory of the sums of a tile's micro-batches; return the old and the new one."""
        m.submodules.sums = sums = memory.Memory(
            shape=signed(self.params.bank.partial_bits), depth=max(2, self.params.max_tile), init=[]
        )
        write, read = sums.write_port(), sums.read_port(domain="comb")
        place = Signal.like(member, reset_less=True)
        m.d.sync += place.eq(member)
        m.d.comb += [write.addr.eq(place), write.en.eq(chunk_done), read.addr.eq(place)]
        return read.data, write.data

    def scale(self, m: Module) -> None:
        """Shift the delta to the weight of each plane in turn."""
        whole = self.delta << self.params.max_bits
        half = self.delta << (self.params.max_bits - 1)
        scaled = data_register(m, self.scaled)
        with m.If(self.next_plane):
            with m.If(self.first_plane):
                m.d.sync += scaled.eq(
                    Mux(self.signed_features, -whole, half)[: self.params.bank.scaled_bits]
                )
            with m.Elif(self.second_plane & self.signed_features):
                m.d.sync += scaled.eq(half)
            with m.Else():
                m.d.sync += scaled.eq(scaled >> 1)
