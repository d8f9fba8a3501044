from hdl.u280.registers import BoardRegistersParams, board_registers


def test_a_counter_of_each_kind_for_each_cage():
    names = [r.name for r in board_registers(BoardRegistersParams(cages=2, hbm=False)).registers]
    assert names[-6:] == [
        "dropped_0",
        "broken_0",
        "foreign_0",
        "dropped_1",
        "broken_1",
        "foreign_1",
    ]
    assert "temperature" not in names


def test_temperature_where_there_is_hbm():
    registers = board_registers(BoardRegistersParams(cages=1, hbm=True))
    assert "temperature" in [register.name for register in registers.registers]
    assert registers.name == "board_1_hbm"
