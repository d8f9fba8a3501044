import pytest

from gen.board.hierarchy import Hierarchy, VerilogModule, read_verilog

TOP = """module top (
  input wire clk,
  (* mark = "[9:0]" *) input wire [3:0] a,
  output reg z
);
  reg [1:0] two;
  reg \\odd.one = 1'h0;
  reg [7:0] words [15:0];
  reg mixed;
  reg [1:0] idle;
  always @(posedge clk) two <= a[1:0];
  always @(posedge clk) begin
    if (two == 0) \\odd.one <= 1'h1;
    words[a] <= a;
    z <= two <= 2;
  end
  always @* mixed = idle <= 2;
  leaf first (.c(clk));
  leaf \\second$1 (.c(clk));
  box ip (.x(z));
endmodule
"""
LEAF = (
    "module leaf (input wire c);\n  reg r;\n  always @(posedge c, posedge c) r <= 1;\nendmodule\n"
)


@pytest.fixture
def hierarchy(tmp_path):
    for name, text in {"top": TOP, "leaf": LEAF}.items():
        (tmp_path / f"{name}.v").write_text(text)
    modules = read_verilog(sorted(tmp_path.glob("*.v")))
    return Hierarchy("top", modules, {"box": ["x", "bus"]})


def test_modules_ports_instances_and_registers(hierarchy):
    assert hierarchy.modules["top"] == VerilogModule(
        "top",
        {"clk": ("input", 1), "a": ("input", 4), "z": ("output", 1)},
        {"first": "leaf", "second$1": "leaf", "ip": "box"},
        {"z": 1, "two": 2, "odd.one": 1},
        {"first": ("c",), "second$1": ("c",), "ip": ("x",)},
    )
    assert hierarchy.placed() == {"top", "leaf", "box"}


CELLS = {
    "first": ["first"],
    "*": ["first", "second$1", "ip", "z_reg", "two_reg[0]", "two_reg[1]", "odd.one_reg"],
    "*/r_reg": ["first/r_reg", "second$1/r_reg"],
    "i?/x": [],
    "two_reg[*]": ["two_reg[0]", "two_reg[1]"],
    "two_reg[1]": ["two_reg[1]"],
    "two_reg": [],
    "r_reg": [],
    "third/*": [],
    "first/r_reg/more": [],
    "mixed_reg": [],
    "words_reg*": [],
    "ip/inst/anything": ["ip/inst/anything"],
}


@pytest.mark.parametrize("pattern", CELLS)
def test_cells_by_pattern(pattern, hierarchy):
    assert [path for path, _ in hierarchy.cells(pattern)] == CELLS[pattern]


PINS = {
    "first/c": ["first/c"],
    "first/d": [],
    "first/r_reg/D": ["first/r_reg/D"],
    "first/r_reg/Z": [],
    "two_reg[*]/Q": ["two_reg[0]/Q", "two_reg[1]/Q"],
    "ip/bus[3]": ["ip/bus"],
    "ip/y": [],
}


@pytest.mark.parametrize("pattern", PINS)
def test_pins_by_pattern(pattern, hierarchy):
    assert hierarchy.pins(pattern) == PINS[pattern]


def test_what_is_no_verilog(tmp_path):
    (tmp_path / "x.v").write_text("module x(; endmodule")
    with pytest.raises(ValueError, match=r"x\.v is not Verilog"):
        read_verilog([tmp_path / "x.v"])


def test_every_flop_of_an_emission_is_detected(emission, package):
    modules = read_verilog(sorted(package.glob("rtl/*.v")))
    assert set(modules) == set(emission.modules)
    for name, module in emission.modules.items():
        listed = {port.name: (port.direction, port.bits) for port in module.ports}
        assert modules[name].ports == listed
    hierarchy = Hierarchy("sample_board", modules)
    assert {path for path, _ in hierarchy.cells("reset/*")} == {"reset/first_reg", "reset/o_reg"}
