"""Lets Yosys map deep memories to UltraRAMs of a column that are chained by their own wires.

Yosys's own library ends at one UltraRAM: rows of them get a multiplexer of LUTs, which neither
Vivado (UG901, "RAM_STYLE") nor the device needs, since each UltraRAM passes address, data and
result on to the next (UG573, "UltraRAM cascading").
"""

ROW_WORDS = 4096  #: words of an UltraRAM
LENGTHS = (2, 4, 8, 16)  #: of chains
LIBRARY, MAP = "uram_cascade.txt", "uram_cascade.v"
KINDS = "$__URAM_CASCADE_*"  #: types of the cells that become chains

PORT = 'port srsw "{name}" {{ clock anyedge "C"; clken; rdwr no_change; rdinit zero; {order} }}'
KIND = """ram huge $__URAM_CASCADE_{length}_ {{
  abits {bits}; width 72; cost {cost}; init zero;
  {first}
  {second}
}}
"""
#: passed on from one UltraRAM to the next, with their widths
PASSED = (
    *(("ADDR", 23), ("BWE", 9), ("DBITERR", 1), ("DIN", 72), ("DOUT", 72), ("EN", 1)),
    *(("RDACCESS", 1), ("RDB_WR", 1), ("SBITERR", 1)),
)
MODULE = """module \\$__URAM_CASCADE_{length}_ (...);
parameter CLK_C_POL = 1;
parameter PORT_A_CLK_POL = 1;
parameter PORT_B_CLK_POL = 1;
input CLK_C;
{ports}
{wires}
{cells}
endmodule
"""


def deep() -> str:
    """Return a selection of memories that fill at least three quarters of a chain."""
    unused = {length: max(1, length // 4) for length in LENGTHS}
    first, *others = (
        f"r:SIZE>{ROW_WORDS * (n - unused[n])} r:SIZE<={ROW_WORDS * n} %i" for n in LENGTHS
    )
    return " ".join([first, *(f"{item} %u" for item in others)])


SELECT_AND_MAP = (
    f"select -set deep {deep()} t:$mem_v2 %i a:ram_style=ultra %i",
    f"memory_libmap -lib {LIBRARY} @deep",
)


def library() -> str:
    """Return the kinds of memory, as ``memory_libmap`` reads them."""
    first = PORT.format(name="A", order="wrtrans all new;")
    second = PORT.format(name="B", order='wrtrans all old; wrprio "A";')
    return "".join(
        KIND.format(
            length=length,
            bits=(ROW_WORDS * length - 1).bit_length(),
            cost=1024 * length,
            first=first,
            second=second,
        )
        for length in LENGTHS
    )


def techmap() -> str:
    """Return what each kind is made of, in Verilog."""
    return "".join(module(length) for length in LENGTHS)


def module(length: int) -> str:
    """Return a chain of UltraRAMs: the first has the ports' inputs, the last their outputs."""
    bits = (ROW_WORDS * length - 1).bit_length()
    ports = [
        f"{flow} {f'[{width - 1}:0] ' if width > 1 else ''}PORT_{port}_{name};"
        for port in "AB"
        for flow, width, name in (
            *(("input", 1, "CLK"), ("input", 1, "CLK_EN"), ("input", 1, "WR_EN")),
            *(("input", bits, "ADDR"), ("input", 72, "WR_DATA"), ("output", 72, "RD_DATA")),
        )
    ]
    wires = [
        f"wire [{width - 1}:0] {name.lower()}_{port.lower()}_{k};"
        for name, width in PASSED
        for port in "AB"
        for k in range(length - 1)
    ]
    cells = [cell(k, length, bits) for k in range(length)]
    return MODULE.format(
        length=length, ports="\n".join(ports), wires="\n".join(wires), cells="\n".join(cells)
    )


def cell(k: int, length: int, bits: int) -> str:
    """Return UltraRAM ``k`` of a chain; it answers where the address's upper bits are ``k``."""
    order = "FIRST" if k == 0 else "LAST" if k == length - 1 else "MIDDLE"
    mask = (1 << 11) - length  # the bits of an address that are not compared
    settings = [".IS_CLK_INVERTED(!CLK_C_POL)"]
    pins = [".CLK(CLK_C)", ".SLEEP(1'b0)"]
    for port in "AB":
        settings += [f'.CASCADE_ORDER_{port}("{order}")', f'.OREG_{port}("FALSE")']
        settings += [f".SELF_ADDR_{port}(11'd{k})", f".SELF_MASK_{port}(11'd{mask})"]
        if k == 0:
            pins += [
                f".ADDR_{port}({{{23 - bits}'b0, PORT_{port}_ADDR}})",
                f".EN_{port}(PORT_{port}_CLK_EN)",
                f".RDB_WR_{port}(PORT_{port}_WR_EN)",
                f".BWE_{port}({{9{{PORT_{port}_WR_EN}}}})",
                f".DIN_{port}(PORT_{port}_WR_DATA)",
            ]
        if k == length - 1:
            pins.append(f".DOUT_{port}(PORT_{port}_RD_DATA)")
        for name, _ in PASSED:
            wire = f"{name.lower()}_{port.lower()}_"
            pins += [f".CAS_IN_{name}_{port}({wire}{k - 1})"] * (k > 0)
            pins += [f".CAS_OUT_{name}_{port}({wire}{k})"] * (k < length - 1)
    return f"URAM288 #({', '.join(settings)}) ram_{k} ({', '.join(pins)});"
