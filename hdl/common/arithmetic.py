"""Offers the small arithmetic that all data paths share: clamping, rounding, delays, selection."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, ValueLike, signed
from amaranth.lib import data
from amaranth.utils import ceil_log2


def saturate(value: Value, bits: int) -> tuple[Value, Value]:
    """Return ``value`` clamped to a signed number of ``bits``, and whether it was clamped."""
    value = Value.cast(value)
    if len(value) <= bits:
        return value, Value.cast(0)
    top, sign = value[bits - 1 :], value[-1]
    overflow = top.any() & ~top.all()
    limit = Mux(sign, 1 << (bits - 1), (1 << (bits - 1)) - 1)
    return Mux(overflow, limit, value[:bits]).as_signed(), overflow


def low_bits(value: ValueLike, bits: int) -> Value:
    """Return the lowest ``bits`` bits of ``value``, or all of it if it has fewer."""
    value = Value.cast(value)
    return value[:bits] if len(value) > bits else value


def half(value: ValueLike, upper: Value) -> Value:
    """Return the upper half of ``value`` where ``upper`` is high, else the lower one."""
    value = Value.cast(value)
    size = len(value) // 2
    return Mux(upper, value[size:], value[:size])


def rotated(value: Value, places: Value, bits: int) -> Value:
    """Return ``value`` rotated up by ``places`` words of ``bits`` bits.

    Two bits of ``places`` take a LUT for each bit of ``value``.
    """
    for low in range(0, len(places), 2):
        step = places[low : low + 2]
        ways = [value.rotate_left(bits * (k << low)) for k in range(1 << len(step))]
        value = Value.cast(Array(ways)[step])
    return value


def rounded_half(value: Value) -> Value:
    """Return ``floor(value / 2 + 1/2)``, the last step of a rounding shift."""
    return (value + 1) >> 1


def index_of(one_hot: Value, bits: int | None = None) -> Value:
    """Return the number, in ``bits`` bits or as many as needed, of the only bit set, 0 if none."""
    count = len(one_hot)
    return Cat(
        Cat(one_hot[k] for k in range(count) if k >> bit & 1).any()
        for bit in range(ceil_log2(count) if bits is None else bits)
    )


def delay(
    m: Module,
    value: Any,
    cycles: int,
    name: str,
    *,
    reset_less: bool = True,
    attrs: Mapping[str, int | str] | None = None,
) -> Any:
    """Return ``value`` delayed by ``cycles`` registers; a view stays a view.

    Registers are called name_1, name_2, ... and have the attributes ``attrs``.
    """
    built = dict(attrs or {})
    for step in range(1, cycles + 1):
        register = Signal(value.shape(), name=f"{name}_{step}", reset_less=reset_less, attrs=built)
        m.d.sync += register.eq(value)
        value = register
    return value


def data_register(m: Module, port: Any) -> Any:
    """Return a new register without reset that drives an output.

    It is for data that comes with a valid bit and so needs no reset, which costs a wire to each
    register. A port's own register would have a reset.
    """
    name = f"{Value.cast(port).name}_data"
    register = Signal(port.shape(), name=name, reset_less=True)
    m.d.comb += port.eq(register)
    return register


def looked_up(function: Callable[..., int], *values: ValueLike, bits: int = 1) -> Value:
    """Return ``function`` of ``values``, in ``bits`` bits, from a table of all cases.

    A table of up to six input bits takes a LUT for each bit of the result. It needs no carry chain,
    which even a narrow sum or comparison would take.
    """
    cast = [Value.cast(value) for value in values]
    ranges = [range(1 << len(value)) for value in reversed(cast)]  # the first is the lowest
    results = [function(*reversed(case)) & (1 << bits) - 1 for case in product(*ranges)]
    return Array(Const(result, bits) for result in results)[Cat(cast)]


def over(value: Value, limit: int) -> Value:
    """Return whether ``value`` is more than ``limit``, a power of two, without a carry chain."""
    bit = ceil_log2(limit)
    return value[bit + 1 :].any() | (value[bit] & value[:bit].any())


def signed_array(bits: int, length: int) -> data.ArrayLayout:
    """Return the layout of an array of ``length`` signed numbers."""
    return data.ArrayLayout(signed(bits), length)


def summed(m: Module, values: Sequence[Value], name: str, bits: int) -> Value:
    """Return the lowest ``bits`` of the sum of ``values``, with registers behind each four."""
    if len(values) == 1:
        return values[0]
    sums = [sum(values[k : k + 4], start=Value.cast(0)) for k in range(0, len(values), 4)]
    cut = [delay(m, low_bits(part, bits), 1, f"{name}_{k}") for k, part in enumerate(sums)]
    return summed(m, cut, f"{name}_of_{len(cut)}", bits)


def count_ones(bits: list) -> Value:
    """Return how many of ``bits`` are one."""
    return sum((Value.cast(bit) for bit in bits), start=Value.cast(0))
