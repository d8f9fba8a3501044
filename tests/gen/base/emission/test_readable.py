"""Checks what makes emitted Verilog readable, over all designs, and that lines lead to Python."""

import re
from pathlib import Path

import pytest
from amaranth.lib.wiring import In, Out

from gen.base.emission.emit import emit
from gen.base.emission.verilog.sources import with_sources
from gen.designs.catalogue import designs
from hdl.common.component import Component
from sim.harness.emissions import emission_of
from tests.gen.sample import Pair, PairParams

ROOT = Path(__file__).parents[4]
COLUMNS = 100
MAX_OPERATORS = 8
#: operators of a right side; an arm of a choice has a line, or a part, of its own
OPERATOR = re.compile(
    r"(?<=[\w\])} ]) (?:[-+*/&|^<>]|<<|>>|>>>|==|!=|<=|>=) | ?~|(?<![|&^])[|&^](?=[\w({~\\])"
)
ASSIGN = re.compile(r"^ *assign (?P<target>\S+) ?=(?P<value>.*?);$", re.M | re.S)
SOURCE = re.compile(r"// (?P<file>\S+):(?P<line>\d+)$", re.M)
UNNAMED = re.compile(r"^  (?:wire|reg) (?:.*\])? ?((?:signal|like)(?:\$\d+)?)\b", re.M)
TOPS = [name for name, design in designs().items() if not design.within]


def modules(name):
    design = designs()[name]
    preset = "tiny" if "tiny" in design.presets else design.preset
    return emission_of(design.make(design.params_of(preset)), generated=True).modules


@pytest.mark.parametrize("name", TOPS)
def test_lines_are_short_and_assignments_small(name):
    for module in modules(name).values():
        for line in with_sources(module.verilog, module.sources).splitlines():
            assert len(line) <= COLUMNS, (module.name, line)
            assert not line.endswith(" "), (module.name, line)
        for assign in ASSIGN.finditer(module.verilog):
            for arm in re.split(r" [?:](?: |\n)", assign["value"]):
                count = len(OPERATOR.findall(re.sub(r"\s+", " ", arm)))
                assert count <= MAX_OPERATORS, (module.name, assign[0])


@pytest.mark.parametrize("name", TOPS)
def test_no_name_begins_with_a_dollar_sign(name):
    for module in modules(name).values():
        assert not re.findall(r"\\\$\S+|(?<![\w$\\'])\$(?!signed|unsigned)\w+", module.verilog)


@pytest.mark.parametrize("name", TOPS)
def test_every_signal_has_a_name(name):
    """One without a name of Python's is called ``signal``, or ``like`` if it is like another."""
    for module in modules(name).values():
        unnamed = re.findall(
            r"^  (?:wire|reg) (?:.*\])? ?((?:signal|like)(?:\$\d+)?)\b", module.verilog, re.M
        )
        assert unnamed == [], module.name


def test_comments_name_lines_of_python_that_are_there():
    text = "".join(with_sources(m.verilog, m.sources) for m in modules("p4sgd-worker").values())
    result = SOURCE.findall(text)
    assert len(result) > 100
    for file, line in result:
        code = (ROOT / file).read_text().splitlines()[int(line) - 1]
        assert re.match(r"[^#\s]", code.lstrip()), (file, line)


def test_without_comments_the_text_is_the_same():
    for module in emit(Pair(PairParams())).modules.values():
        text = with_sources(module.verilog, module.sources)
        assert with_sources(module.verilog, {}) == module.verilog
        assert re.sub(r"^ *// \S+:\d+\n|  // \S+:\d+$", "", text, flags=re.M) == module.verilog


class Table(Component):
    """Chooses a bit for each value of ``x``, by a case of that many arms."""

    def __init__(self, params):
        super().__init__(params, x=In(4), y=Out(1))

    def build(self, m):
        with m.Switch(self.x):
            for value, bit in enumerate(self.params):
                with m.Case(value):
                    m.d.comb += self.y.eq(bit)


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ((0,) * 5 + (1,) * 11, "x >= 4'd5"),
        ((1,) * 12 + (0,) * 4, "x < 4'd12"),
        ((0,) * 5 + (1,) * 10 + (0,), "y_elements[x]"),  # two bounds
    ],
)
def test_a_table_that_is_a_bound_is_a_comparison(bits, text):
    verilog = emit(Table(bits)).top.verilog
    assert text in [assign["value"].strip() for assign in ASSIGN.finditer(verilog)], verilog
