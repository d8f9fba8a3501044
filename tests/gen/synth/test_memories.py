import pytest

from gen.base.emission.memories import declared
from gen.synth.memories import MemoryUse, memories_of

RTLIL = """
module \\m
  attribute \\ram_style "ultra"
  memory width 72 size 4096 \\words
  memory width 8 size 16 \\plain
  attribute \\ram_style "block"
  attribute \\other "x"
  memory width 9 size 512 \\words2
end
"""


def test_memories_and_their_styles_are_detected():
    assert list(declared(RTLIL)) == [
        ("words", 72, 4096, "ultra"),
        ("plain", 8, 16, "auto"),
        ("words2", 9, 512, "block"),
    ]


def test_cells_are_assigned_to_the_memory_they_are_named_after():
    kinds = {
        "words.0.0": "URAM288",
        "words2.0.0": "RAMB18E2",
        "plain.0.0": "RAM32M",
        "plain.0.1": "RAM32M",
        "plain.0.2.x": "LUT3",
        "words": "FDRE",
    }
    result = memories_of(RTLIL, {name: {"type": kind} for name, kind in kinds.items()})
    assert [(m.name, m.became, m.cells) for m in result] == [
        ("words", "uram", {"URAM288": 1}),
        ("plain", "lutram", {"RAM32M": 2}),
        ("words2", "bram", {"RAMB18E2": 1}),
    ]
    assert all(memory.as_intended for memory in result)


def test_without_cells_it_is_registers():
    assert [m.became for m in memories_of(RTLIL, {})] == ["ff"] * 3


@pytest.mark.parametrize(
    ("style", "became", "depth", "intended"),
    [
        ("ultra", "bram", 4096, False),
        ("ultra", "lutram", 32, True),
        ("block", "lutram", 4096, False),
        ("block", "lutram", 16, True),
        ("distributed", "bram", 4096, False),
        ("auto", "ff", 4096, True),
    ],
)
def test_as_intended(style, became, depth, intended):
    memory = MemoryUse(name="m", bits=72, depth=depth, style=style, became=became, cells={})
    assert memory.as_intended is intended
    assert memory.describe()["as_intended"] is intended
