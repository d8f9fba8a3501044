from hdl.u280.registers import BoardRegistersParams, board_registers


def test_registers_of_each_cage():
    names = [r.name for r in board_registers(BoardRegistersParams(cages=2, hbm=False)).registers]
    first, second = (
        [name for name in names if name.endswith(f"_{k}") and not name.startswith("degrees")]
        for k in range(2)
    )
    assert len(first) == 11
    assert {"mac_settings_0", "mac_resets_0", "mac_status_0", "foreign_0"} < set(first)
    assert [name[:-2] for name in first] == [name[:-2] for name in second]
    assert "temperature" not in names


def test_pauses_where_there_is_flow_control():
    plain, pauses = (
        {
            r.name
            for r in board_registers(BoardRegistersParams(cages=1, hbm=True, flow=flow)).registers
        }
        for flow in ("none", "kinds")
    )
    assert pauses - plain == {
        f"{event}_{name}_0" for event in ("paused", "pauses") for name in ("reads", "responses")
    }


def test_temperature_where_there_is_hbm():
    registers = board_registers(BoardRegistersParams(cages=1, hbm=True))
    assert "temperature" in [register.name for register in registers.registers]
    assert registers.name == "board_1_hbm"
