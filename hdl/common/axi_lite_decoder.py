"""Gives the accesses of an AXI4-Lite manager to subordinates by the top of the address."""

from typing import Any

from amaranth.hdl import Array, Module, ResetSignal, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.axi import AxiLiteSignature, Response
from hdl.common.component import Component
from hdl.common.params import Params, whole

#: responses where there is no subordinate
NOBODY: dict[str, Response] = {"rresp": Response.DECERR, "bresp": Response.DECERR}


class AxiLiteDecoderParams(Params, suffix="{count}x{address_bits}"):
    """Sets the number of subordinates and the width of their addresses."""

    count: int = whole(2, 16, default=2)  #: number of subordinates
    address_bits: int = whole(3, 28, default=12)  #: width of a subordinate's byte address

    @property
    def all_bits(self) -> int:
        """Return the width of the manager's byte address."""
        return self.address_bits + ceil_log2(self.count)

    @property
    def gaps(self) -> bool:
        """Return whether there are addresses of no subordinate."""
        return self.count != 1 << ceil_log2(self.count)


class AxiLiteDecoder(Component):
    """Passes an access of ``i`` to ``o[k]``, where k is the top of its address.

    An access to an address of no subordinate is answered as DECERR, with data 0. A ready of ``i``
    waits for its valid, as an address may be anything (or unknown) before.

    Throughput: a read and a write at a time; the next one is taken in the cycle after the response
    of the last one. Latency: none, but that data of a write are taken from the cycle after its
    address on. In a reset no access is taken, as a manager may be out of its own reset. Stalls: an
    access that a subordinate does not answer holds those behind it.
    """

    latency = 0

    def __init__(self, params: AxiLiteDecoderParams) -> None:
        inner = AxiLiteSignature(address_bits=params.address_bits)
        super().__init__(
            params,
            i=In(AxiLiteSignature(address_bits=params.all_bits)),
            o=Out(inner).array(params.count),
        )

    def build(self, m: Module) -> None:
        self.route(m, "ar", "r", ("rdata", "rresp"))
        writing, index, sent = self.route(m, "aw", "b", ("bresp",))
        wready = self.of_all("wready", 1)[index]
        m.d.comb += self.i.wready.eq(writing & ~sent & wready)
        with m.If(self.i.wvalid & self.i.wready):
            m.d.sync += sent.eq(1)
        for k, o in enumerate(self.o):
            m.d.comb += [
                o.wdata.eq(self.i.wdata),
                o.wstrb.eq(self.i.wstrb),
                o.wvalid.eq(self.i.wvalid & writing & ~sent & (index == k)),
            ]

    def of_all(self, name: str, nobody: Any) -> Array:
        """Return a signal of all subordinates, and last what stands for there being none."""
        return Array([*(getattr(o, name) for o in self.o), *[nobody] * self.params.gaps])

    def route(
        self, m: Module, ask: str, answer: str, fields: tuple[str, ...]
    ) -> tuple[Signal, Signal, Signal]:
        """Pass addresses, channel ``ask``, and responses, channel ``answer`` with ``fields``.

        Returns whether an access is under way, at which subordinate, and a bit that the next
        access clears.
        """
        i, bits = self.i, self.params.address_bits
        under_way, sent = Signal(name=f"{ask}_under_way"), Signal(name=f"{ask}_sent")
        index = Signal(range(self.params.count), name=f"{ask}_index", reset_less=True)
        address: Value = getattr(i, f"{ask}addr")
        top = address[bits:]
        ask_ready = self.of_all(f"{ask}ready", 1)
        has_answer = self.of_all(f"{answer}valid", sent if answer == "b" else 1)
        requests = getattr(i, f"{ask}valid") & ~under_way
        takes = getattr(i, f"{ask}ready")
        m.d.comb += [
            takes.eq(requests & ask_ready[top] & ~ResetSignal()),
            getattr(i, f"{answer}valid").eq(under_way & has_answer[index]),
            *(getattr(i, n).eq(self.of_all(n, NOBODY.get(n, 0))[index]) for n in fields),
        ]
        with m.If(takes):
            m.d.sync += [under_way.eq(1), index.eq(top), sent.eq(0)]
        with m.Elif(getattr(i, f"{answer}valid") & getattr(i, f"{answer}ready")):
            m.d.sync += under_way.eq(0)
        for k, o in enumerate(self.o):
            m.d.comb += [
                getattr(o, f"{ask}addr").eq(address[:bits]),
                getattr(o, f"{ask}prot").eq(getattr(i, f"{ask}prot")),
                getattr(o, f"{ask}valid").eq(requests & (top == k)),
                getattr(o, f"{answer}ready").eq(
                    getattr(i, f"{answer}ready") & under_way & (index == k)
                ),
            ]
        return under_way, index, sent
