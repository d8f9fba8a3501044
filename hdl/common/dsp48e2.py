"""Uses the DSP slice of UltraScale+ as an adder of gated numbers in a cascade."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import C, Cat, Const, Instance, Value

DSP_BITS = 48  #: width of every operand, of the cascade and of the sum

#: Attributes that every instance shares: no multiplier, one 48-bit sum, a register behind each
#: operand, behind OPMODE and ALUMODE, and behind the sum.
ATTRIBUTES: dict[str, Any] = {
    "A_INPUT": "DIRECT",
    "B_INPUT": "DIRECT",
    "USE_MULT": "NONE",
    "USE_SIMD": "ONE48",
    "AREG": 1,
    "ACASCREG": 1,
    "BREG": 1,
    "BCASCREG": 1,
    "CREG": 1,
    "OPMODEREG": 1,
    "ALUMODEREG": 1,
    "PREG": 1,
    "ADREG": 0,
    "DREG": 0,
    "MREG": 0,
    "INMODEREG": 0,
    "CARRYINREG": 0,
    "CARRYINSELREG": 0,
}

#: Values and widths of the unused inputs; the clock enables and resets among them belong to
#: registers that do not exist, or that never stop.
TIED: dict[str, tuple[int, int]] = {  # name: (value, bits)
    "ACIN": (0, 30),
    "BCIN": (0, 18),
    "CARRYCASCIN": (0, 1),
    "CARRYIN": (0, 1),
    "CARRYINSEL": (0, 3),
    "MULTSIGNIN": (0, 1),
    "D": (0, 27),
    "INMODE": (0, 5),
    "CEA1": (0, 1),
    "CEA2": (1, 1),
    "CEB1": (0, 1),
    "CEB2": (1, 1),
    "CEC": (1, 1),
    "CECTRL": (1, 1),
    "CEALUMODE": (1, 1),
    "CEAD": (0, 1),
    "CECARRYIN": (0, 1),
    "CED": (0, 1),
    "CEINMODE": (0, 1),
    "CEM": (0, 1),
    "RSTA": (0, 1),
    "RSTALLCARRYIN": (0, 1),
    "RSTALUMODE": (0, 1),
    "RSTB": (0, 1),
    "RSTC": (0, 1),
    "RSTCTRL": (0, 1),
    "RSTD": (0, 1),
    "RSTINMODE": (0, 1),
    "RSTM": (0, 1),
    "RSTP": (0, 1),
}


@dataclass(frozen=True, kw_only=True)
class Accumulation:
    """Describes how a slice accumulates its own sum."""

    valid: Value  #: in the cycle of the sum: add; otherwise hold
    first: Value  #: with the operands: start at ``start`` instead of the sum so far
    start: int  #: number that a sum begins with


def gated_adder(
    *,
    clock: Value,
    gates: tuple[Value, Value],
    values: tuple[Value, Value],
    negate: Value,
    cascade_in: Value | None,
    cascade_out: Value,
    total: Value,
    accumulation: Accumulation | None = None,
) -> Instance:
    """Return a DSP48E2 with ``total = +-(gated value + gated value) + cascade_in (+ total)``.

    ``gates`` drive OPMODE: X takes A:B (the first value) or zero, Y takes C (the second) or zero,
    Z the cascade or zero, W nothing, or, with ``accumulation``, the sum so far or RND.
    ``negate`` makes ALUMODE subtract both values from the cascade; not with ``accumulation``.

    Latency: two cycles from gates and values, one from ``cascade_in``. Exact as long as the sum
    has no more than 48 bits. Source: AMD UG579, chapters 1 and 2.
    """
    ab, c = (Cat(Value.cast(v).as_signed(), sign_of(v)) for v in values)
    adds = C(0, 2) if accumulation is None else Cat(~accumulation.first, accumulation.first)
    x, y = (gate.replicate(2) for gate in gates)
    z = C(0b001 if cascade_in is not None else 0b000, 3)
    wires = {f"i_{name}": Const(value, bits) for name, (value, bits) in TIED.items()}
    wires |= {
        "i_CLK": clock,
        "i_A": ab[18:],
        "i_B": ab[:18],
        "i_C": c,
        "i_PCIN": C(0, DSP_BITS) if cascade_in is None else cascade_in,
        "i_OPMODE": Cat(x, y, z, adds),
        "i_ALUMODE": Cat(negate.replicate(2), C(0, 2)),
        "i_CEP": C(1, 1) if accumulation is None else accumulation.valid,
        "o_P": total,
        "o_PCOUT": cascade_out,
    }
    start = 0 if accumulation is None else accumulation.start
    attributes = {f"p_{name}": value for name, value in ATTRIBUTES.items()}
    return Instance("DSP48E2", **attributes, p_RND=Const(start, DSP_BITS), **wires)


def sign_of(value: Value) -> Value:
    """Return the bits that ``value`` lacks to 48, all equal to its sign."""
    return Value.cast(value)[-1].replicate(DSP_BITS - len(Value.cast(value)))
