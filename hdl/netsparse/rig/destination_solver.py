"""Finds the node that owns an idx."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, memory, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.fifo import DISTRIBUTED_WORDS
from hdl.common.params import Params, whole
from hdl.common.streams import StreamRegister


class DestinationParams(Params, suffix="{nodes}_i{idx_bits}_t{tag_bits}"):
    """Sets the number of nodes, and the widths of idx and tag."""

    #: number of nodes among which the columns are divided
    nodes: int = whole(2, 65536, default=128)
    idx_bits: int = whole(8, 64, default=40)  #: width of an idx
    tag_bits: int = whole(1, default=1)  #: width of the tag of an idx

    @property
    def levels(self) -> int:
        """Return the number of comparisons until a node is known."""
        return ceil_log2(self.nodes)

    @property
    def boundary_bits(self) -> int:
        """Return the width of a block's first column.

        The boundary of an empty block may be the number of columns.
        """
        return self.idx_bits + 1

    @property
    def question(self) -> data.StructLayout:
        """Describe a query for the owner of an idx."""
        return data.StructLayout({"idx": self.idx_bits, "tag": self.tag_bits})

    @property
    def answer(self) -> data.StructLayout:
        """Describe an idx with the node that owns it."""
        return data.StructLayout({"idx": self.idx_bits, "node": self.levels, "tag": self.tag_bits})

    @property
    def write(self) -> data.StructLayout:
        """Describe an entry of the boundary table."""
        return data.StructLayout({"valid": 1, "node": self.levels, "boundary": self.boundary_bits})


class DestinationSolver(Component):
    """Finds the last node k with ``boundary[k] <= idx`` (NetSparse, sections 5.2 and 5.3).

    Node k owns the columns from ``boundary[k]`` to before ``boundary[k + 1]``, of which there may
    be none: 0 = boundary[0] <= boundary[1] <= ... <= the number of columns. ``write`` enters a
    boundary; that of node 0 is always 0, and the end of the last node is not stored, because every
    idx is one of the matrix. The table survives a reset. It must be written while no idx is inside,
    for every node before the first idx.

    It is a pipelined binary search: level l finds the l-th highest bit of the node. A level stores
    only the boundaries with which it compares: every other one of the 2, 4, 8, ... boundaries that
    divide the nodes evenly.

    Throughput: one idx a cycle. Latency: ``latency``. Stalls: the whole pipeline holds;
    ``idxs.ready`` is a register.
    """

    stages = 2  #: registers of a level: reading, comparing

    def __init__(self, params: DestinationParams) -> None:
        self.latency = self.stages * params.levels
        super().__init__(
            params,
            idxs=In(stream.Signature(params.question)),
            o=Out(stream.Signature(params.answer)),
            write=In(params.write),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.out = out = StreamRegister.sized(shape=params.answer)
        advance = out.i.ready
        question, valid, node = self.idxs.payload, self.idxs.valid, []
        for level in range(params.levels):
            if level:
                question = held(m, advance, question, f"compared_{level}")
                valid = held(m, advance, valid, f"compared_valid_{level}")
                node = [held(m, advance, Cat(node), f"compared_node_{level}")]
            boundary = self.boundary(m, level, Cat(node), advance)
            question = held(m, advance, question, f"read_{level}")
            valid = held(m, advance, valid, f"read_valid_{level}")
            node = [held(m, advance, Cat(node), f"read_node_{level}")] if node else []
            upper = Signal(name=f"upper_{level}")  # the owner is in the upper half
            m.d.comb += upper.eq(question.idx >= boundary)
            node = [upper, *node]
        answer = Signal(params.answer)
        connect(m, out.o, flipped(self.o))
        m.d.comb += [
            answer.idx.eq(question.idx),
            answer.tag.eq(question.tag),
            answer.node.eq(Cat(node)),
            self.idxs.ready.eq(advance),
            out.i.payload.eq(answer),
            out.i.valid.eq(valid),
        ]

    def boundary(self, m: Module, level: int, node, advance):
        """Return the middle boundary of the range of nodes whose upper bits are ``node``."""
        params = self.params
        below = params.levels - 1 - level  # bits of a node that are not known yet
        words = max(2, 1 << level)
        # Nodes that do not exist have a boundary that is never reached.
        never = (1 << params.boundary_bits) - 1
        style = "distributed" if words <= DISTRIBUTED_WORDS else "block"
        m.submodules[f"level_{level}"] = table = memory.Memory(
            shape=params.boundary_bits,
            depth=words,
            init=[never] * words,
            attrs={"ram_style": style},
        )
        write, read = table.write_port(), table.read_port()
        entered = self.write.node
        m.d.comb += [
            write.addr.eq(entered[below + 1 :]),
            write.data.eq(self.write.boundary),
            # The lowest bit set of a node's number, unless that is 0, determines the level.
            write.en.eq(self.write.valid & entered[below] & ~entered[:below].any()),
            read.addr.eq(node),
            read.en.eq(advance),
        ]
        return read.data


def held(m: Module, advance, value, name: str):
    """Return ``value`` one step of the pipeline later."""
    register = Signal(value.shape(), name=name, reset_less="valid" not in name)
    with m.If(advance):
        m.d.sync += register.eq(value)
    return register
