"""Compares arcs of each kind of primitive with its data sheet."""

from gen.synth.arcs import Arc, arcs_of, carry_outputs


def arcs(kind, wires, **more):
    return arcs_of(kind, {"type": kind, "connections": wires, **more})


def test_a_lut_is_a_level_from_every_input_that_is_no_constant():
    result, ends = arcs("LUT3", {"I0": [2], "I1": ["0"], "I2": [3], "O": [4]})
    assert result == [Arc(2, 4, 1), Arc(3, 4, 1)]
    assert not ends.starts
    assert not ends.ends


def test_wide_muxes_and_inverters_cost_nothing():
    assert arcs("MUXF7", {"I0": [2], "I1": [3], "S": [4], "O": [5]})[0][0] == Arc(2, 5, 0)
    assert arcs("INV", {"I": [2], "O": [3]})[0] == [Arc(2, 3, 0)]


CARRY = {
    "CI": [30],
    "CYINIT": ["0"],
    "S": [10, 11, 12, 13],
    "DI": [20, 21, 22, 23],
    "O": [40, 41, 42, 43],
    "CO": [50, 51, 52, 53],
}


def test_a_carry_passes_from_its_bit_on():
    result, _ = arcs("CARRY4", CARRY)
    bits = {(arc.source, arc.target): (arc.carry, arc.enters) for arc in result}
    assert bits[10, 40] == (1, True)
    assert bits[10, 53] == (4, True)
    assert bits[12, 43] == (2, True)
    assert bits[21, 42] == (2, True)
    assert bits[30, 53] == (4, False)
    assert bits[30, 40] == (1, False)
    # Data do not reach their own sum, and nothing goes down.
    assert (20, 40) not in bits
    assert not any(source == 13 and target in (40, 41, 42, 50, 51, 52) for source, target in bits)


def test_a_carry_from_outside_enters():
    result, _ = arcs("CARRY4", CARRY | {"CI": ["0"], "CYINIT": [31]})
    assert {arc.enters for arc in result if arc.source == 31} == {True}


def test_only_co_goes_on():
    assert list(carry_outputs({"type": "CARRY4", "connections": CARRY})) == [50, 51, 52, 53]
    assert list(carry_outputs({"type": "LUT1", "connections": {"CO": [1]}})) == []


def test_a_flip_flop_ends_at_all_but_its_clock():
    wires = {"C": [1], "CE": [2], "D": [3], "Q": [4], "R": [5]}
    result, ends = arcs("FDRE", wires)
    assert result == []
    assert ends.starts == ((4, 0),)
    assert sorted(ends.ends) == [2, 3, 5]


def test_a_distributed_memory_is_a_level_from_its_own_address():
    wires = {"ADDRA": [2], "ADDRB": [3], "ADDRD": [4], "DIA": [5], "WE": [6], "WCLK": [1]}
    result, ends = arcs("RAM64M", wires | {"DOA": [7], "DOB": [8]})
    assert result == [Arc(2, 7, 1), Arc(3, 8, 1)]
    assert ends.starts == ((7, 0), (8, 0))
    assert sorted(ends.ends) == [2, 3, 4, 5, 6]


def test_two_ports_of_one_bit():
    wires = {"A0": [2], "A1": [3], "DPRA0": [4], "D": [5], "DPO": [6], "SPO": [7], "WCLK": [1]}
    result, _ = arcs("RAM32X1D", wires)
    assert set(result) == {Arc(4, 6, 1), Arc(2, 7, 1), Arc(3, 7, 1)}


def test_a_shift_register_is_a_register_with_an_address():
    wires = {"A0": [2], "A1": ["1"], "CE": [3], "CLK": [1], "D": [4], "Q": [5]}
    result, ends = arcs("SRL16E", wires)
    assert result == [Arc(2, 5, 1)]
    assert ends.starts == ((5, 0),)
    assert {3, 4} <= set(ends.ends)
    assert 1 not in ends.ends


def test_block_memories_are_registers_all_round_that_take_levels():
    for kind, out, levels in (("RAMB36E2", "DOUTADOUT", 2), ("URAM288", "DOUT_A", 3)):
        result, ends = arcs(kind, {"ADDR_A": [2], out: [3], "CLK": [1], "EN_A": [4]})
        assert result == []
        assert ends.starts == ((3, levels),)
        assert sorted(ends.ends) == [2, 4]


DSP = {"A": [2], "B": [3], "C": [4], "P": [5], "CLK": [1], "CEP": [6]}


def test_a_dsp_with_an_output_register_cuts():
    result, ends = arcs("DSP48E2", DSP, parameters={"PREG": "1"})
    assert result == []
    assert ends.starts == ((5, 0),)
    assert sorted(ends.ends) == [2, 3, 4, 6]


def test_a_dsp_is_cut_where_it_has_registers():
    parameters = {"PREG": 0, "MREG": 0, "AREG": 1, "BREG": "0", "CREG": "00"}
    result, ends = arcs("DSP48E2", DSP, parameters=parameters)
    assert result == [Arc(3, 5, 4), Arc(4, 5, 4)]
    assert ends.starts == ((5, 4),)
    assert sorted(ends.ends) == [2, 6]


def test_other_kinds_are_not_known():
    assert arcs("CMACE4", {"I": [2], "O": [3]}) is None
