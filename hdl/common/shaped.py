"""Makes parameters of parts that hold or carry values of any shape."""

from dataclasses import replace
from typing import Any, Self

from amaranth.hdl import Shape

from hdl.common.params import Params, ruled


class AnyShape:
    """Admits shapes of at least one bit: a layout, an enumeration, or a number of bits."""

    legal = "a shape of at least one bit"
    short = ""

    def admits(self, value: Any) -> bool:
        """Return whether the value is legal."""
        try:
            return not isinstance(value, bool) and Shape.cast(value).width >= 1
        except (TypeError, ValueError):
            return False


class ShapedParams(Params):
    """Sets the shape of the values that a part holds or carries.

    The part treats a value as plain bits, so that shapes of one width give the same hardware.
    """

    shape: Any = ruled(AnyShape())  #: of a value; a whole number n means n bits

    @property
    def width(self) -> int:
        """Return the number of bits of a value."""
        return Shape.cast(self.shape).width

    @property
    def bare(self) -> Self:
        """Return the parameters of the same hardware with a number of bits for the shape."""
        return replace(self, shape=self.width)
