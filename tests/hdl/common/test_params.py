import pytest

from hdl.common.params import Params, choice, same_as, tagged, whole


class Part(Params, suffix="{width}x{twice}"):
    width: int = whole(1, 64)
    lines: int = whole(4, 1024, power_of_two=True, or_zero=True, default=0, tag="_l{}")
    style: str = choice("block", "ultra", default="block", tag="_{}")
    fast: bool = tagged("_fast", default=False)
    count: int = 3

    @property
    def twice(self):
        return 2 * self.width


class Whole(Part):
    width: int = same_as(Part, "width", default=8)
    bytes: int = whole(8, default=8, multiple_of=4)

    def __post_init__(self):
        super().__post_init__()
        if self.bytes < self.width:
            raise ValueError("bytes must be at least width")


class Named(Part, suffix="{style}"):
    """Has a suffix of its own."""


def test_is_a_frozen_dataclass_of_keywords():
    part = Part(width=2)
    assert part == Part(width=2, lines=0) != Part(width=3)
    assert {part: 1}[Part(width=2)] == 1
    with pytest.raises(AttributeError):
        part.width = 3  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError, match="positional"):
        Part(2)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="width"):
        Part()  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (Part, {"width": 0}, "width must be a whole number from 1 to 64: 0"),
        (Part, {"width": True}, "width must be a whole number from 1 to 64: True"),
        (Part, {"lines": 12}, "lines must be 0 or a power of two from 4 to 1024: 12"),
        (Part, {"style": "lut"}, "style must be one of block, ultra: 'lut'"),
        (Part, {"fast": 1}, "fast must be true or false: 1"),
        (Part, {"count": "3"}, "count must be a whole number: '3'"),
        (Whole, {"width": 65}, "width must be a whole number from 1 to 64: 65"),
        (Whole, {"bytes": 10}, "bytes must be a multiple of 4 of at least 8: 10"),
        (Whole, {"width": 9}, "bytes must be at least width"),
    ],
)
def test_says_what_is_legal(kind, values, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        kind(**{"width": 8} | values)


def test_help_is_short():
    shorts = [rule.short for rule in Whole.field_rules.values()]
    assert shorts == [
        "1..64",
        "0, a power of two, 4..1024",
        "block, ultra",
        "",
        "",
        "a multiple of 4, at least 8",
    ]


@pytest.mark.parametrize(
    ("params", "suffix"),
    [
        (Part(width=2), "2x4"),
        (Part(width=2, lines=8), "2x4_l8"),
        (Part(width=2, fast=True, style="ultra"), "2x4_ultra_fast"),
        (Whole(), "8x16"),
        (Named(width=1, fast=True), "block_fast"),
    ],
)
def test_suffix_has_sizes_and_unusual_settings(params, suffix):
    assert params.suffix == suffix
