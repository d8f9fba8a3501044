import json

from hdl.switchgnn.endpoint.bundles import RATE_SETTINGS, Cause, State
from hdl.switchgnn.endpoint.counters import ENDPOINT_COUNTERS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.registers import IDENTITY, Counter, constants, endpoint_registers

MAP = endpoint_registers(PRESETS["full"])
FIELDS = {
    field["name"]: field
    for register in json.loads(json.dumps(MAP.describe()))["registers"]
    for field in register["fields"]
}


def test_one_driver_fits_all_sizes():
    assert endpoint_registers(PRESETS["tiny"]) == MAP


def test_constants_fit_their_fields():
    for params in PRESETS.values():
        for name, value in constants(params).items():
            assert value < 1 << FIELDS[name]["bits"], name
            assert FIELDS[name]["access"] == "ro"
    assert IDENTITY.to_bytes(4, "big") == b"GNNW"


def test_settings_are_as_wide_as_what_they_set():
    settings = PRESETS["full"].settings
    for name in ("worker", "job", "epoch", "turns", "ready_turns", "two_open"):
        assert FIELDS[name]["bits"] == settings[name].width
    for name in ("send_timeout", "fetch_timeout", "fetch_gap", "done_timeout"):
        assert FIELDS[name]["bits"] == settings[name].width
    for name in ("most", "least", "step"):
        assert FIELDS[f"rate_{name}"]["bits"] == RATE_SETTINGS[name].width
    for name in ("burst", "round_trip"):
        assert FIELDS[name]["bits"] == RATE_SETTINGS[name].width
    for name in ("own_address", "switch_address"):
        assert FIELDS[f"{name}_low"]["bits"] + FIELDS[f"{name}_high"]["bits"] == 48


def test_what_can_happen_has_a_name():
    assert {*FIELDS["state"]["values"]} == {state.name for state in State}
    assert {*FIELDS["cause"]["values"]} == {cause.name for cause in Cause}
    names = [name.upper() for name, _ in ENDPOINT_COUNTERS.counters]
    assert [*Counter.__members__] == names
    assert 1 << FIELDS["counter"]["bits"] >= len(names)
