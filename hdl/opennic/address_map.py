"""Leads the host's accesses of the box to the plugin's registers, and answers all others."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.axi import AxiLiteSignature, Response
from hdl.common.component import Component
from hdl.common.params import Params
from hdl.opennic.box import BOX_LITE, WINDOW_BITS


class AddressMapParams(Params, suffix=""):
    """Places the registers of a plugin in the box's window."""

    windows: tuple[tuple[int, int], ...]  #: of each subordinate: its address, width of those inside

    def __post_init__(self) -> None:
        super().__post_init__()
        ends = [0]
        for base, bits in self.windows:
            if base % (1 << bits) or base < ends[-1]:
                raise ValueError(f"windows must be in order, each aligned to its size: {base:#x}")
            ends.append(base + (1 << bits))
        if ends[-1] > 1 << WINDOW_BITS:
            raise ValueError(f"windows must end at {1 << WINDOW_BITS:#x}: {ends[-1]:#x}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the sizes of all windows."""
        return "_".join(str(bits) for _, bits in self.windows)


class AddressMap(Component):
    """Passes accesses of ``s_axil`` to the ``m_axil_k`` in whose window they are.

    A read and a write pass at a time. An access outside of all windows is answered with SLVERR, and
    so is one that comes while ``resets`` is high or for whose response it waits then: what is
    behind is being reset and will not answer. Each write has all strobes. Latency: a cycle to
    ``m_axil_k``, and a cycle for the response.
    """

    latency = 1

    def __init__(self, params: AddressMapParams) -> None:
        buses = {
            f"m_axil_{k}": Out(AxiLiteSignature(address_bits=bits))
            for k, (_, bits) in enumerate(params.windows)
        }
        super().__init__(params, s_axil=In(BOX_LITE), resets=In(1), **buses)

    def build(self, m: Module) -> None:
        s = self.s_axil
        buses = [getattr(self, f"m_axil_{k}") for k in range(len(self.params.windows))]
        data = Signal(32, reset_less=True)
        has_data = Signal()
        m.d.comb += s.wready.eq(~has_data)
        with m.If(s.wvalid & s.wready):
            m.d.sync += [data.eq(s.wdata), has_data.eq(1)]
        with m.If(s.bvalid & s.bready):
            m.d.sync += has_data.eq(0)
        for bus in buses:
            m.d.comb += [bus.wdata.eq(data), bus.wstrb.eq(0b1111)]
        writes = [[(b.awvalid, b.awready), (b.wvalid, b.wready)] for b in buses]
        self.pass_on(m, "aw", "b", has_data, writes)
        self.pass_on(m, "ar", "r", Const(1), [[(b.arvalid, b.arready)] for b in buses])

    def pass_on(self, m: Module, to: str, back: str, begins: Value, sent: Any) -> None:
        """Pass accesses, one at a time, by channel ``to``, and responses by channel ``back``.

        An access goes on when ``begins`` is high, by the handshakes ``sent`` of each bus.
        """
        s = self.s_axil
        address = Signal(32, name=f"{to}_address", reset_less=True)
        taken, over = Signal(name=f"{to}_taken"), Signal(name=f"{back}_over")
        response = Signal(2, name=f"{back}_response", reset_less=True)
        result = Signal(32, name=f"{back}_result", reset_less=True)
        inside = Cat(address[bits:] == base >> bits for base, bits in self.params.windows)
        runs = taken & begins & ~over
        came, worst, value = Const(0), Const(0, 2), Const(0, 32)
        for k, handshakes in enumerate(sent):
            bus = getattr(self, f"m_axil_{k}")
            opens = runs & inside[k]
            m.d.comb += getattr(bus, f"{to}addr").eq(address[: bus.signature.address_bits])
            m.d.comb += getattr(bus, f"{back}ready").eq(opens)
            for number, (valid, ready) in enumerate(handshakes):
                left = Signal(init=1, name=f"{to}_{k}_{number}_left")
                m.d.comb += valid.eq(opens & left)
                with m.If(over | self.resets):
                    m.d.sync += left.eq(1)
                with m.Elif(valid & ready):
                    m.d.sync += left.eq(0)
            responds = opens & getattr(bus, f"{back}valid")
            came |= responds
            worst |= Mux(responds, getattr(bus, f"{back}resp").as_value(), 0)
            if back == "r":
                value |= Mux(responds, bus.rdata, 0)
        fails = self.resets | ~inside.any()
        m.d.comb += [
            getattr(s, f"{to}ready").eq(~taken),
            getattr(s, f"{back}valid").eq(over),
            getattr(s, f"{back}resp").eq(response),
            *([s.rdata.eq(result)] if back == "r" else []),
        ]
        with m.If(getattr(s, f"{to}valid") & ~taken):
            m.d.sync += [address.eq(getattr(s, f"{to}addr")), taken.eq(1)]
        with m.If(runs & (came | fails)):
            failed = Mux(fails, Response.SLVERR.value, worst)
            m.d.sync += [over.eq(1), response.eq(failed), result.eq(value)]
        with m.If(over & getattr(s, f"{back}ready")):
            m.d.sync += [over.eq(0), taken.eq(0)]
