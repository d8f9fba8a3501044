import json
from dataclasses import replace

from hdl.common.event_counters import numbered
from hdl.netsparse.concat.concatenator_params import MOST_DELAY
from hdl.netsparse.switch.params import CLASSES, KINDS, MAX_PORTS, NetSparseSwitchParams
from hdl.netsparse.switch.registers import IDENTITY, constants, switch_registers
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from tests.hdl.netsparse.switch.bench import LARGEST, SPINE, TOR

PAPER = NetSparseSwitchParams()
MAP = switch_registers(PAPER)
FIELDS = {
    field["name"]: field
    for register in json.loads(json.dumps(MAP.describe()))["registers"]
    for field in register["fields"]
}


def test_one_driver_fits_all_sizes():
    for params in (SPINE, TOR, LARGEST):
        assert switch_registers(params) == MAP


def test_constants_fit_their_fields():
    assert {*constants(PAPER)} < {*dict(MAP.status)}
    for params in (SPINE, TOR, PAPER, LARGEST, NetSparseSwitchParams(nodes=65536, pool=1024)):
        for name, value in constants(params).items():
            assert value < 1 << FIELDS[name]["bits"], name
            assert FIELDS[name]["access"] == "ro"
    assert IDENTITY.to_bytes(4, "big") == b"NSSW"


def test_settings_are_as_wide_as_what_they_set():
    settings = dict(PAPER.pipe_settings)
    for name in ("cache", "concatenate", "property_bytes"):
        assert FIELDS[name]["bits"] == settings[name].width, name
    longest = replace(PAPER, most_delay=MOST_DELAY).pipe_settings
    for name in ("read_delay", "response_delay"):
        assert FIELDS[name]["bits"] == dict(longest)[name].width, name
    assert [FIELDS[name]["bits"] for name in ("node", "ip_base")] == [32, 32]
    assert [FIELDS[f"mac_base_{part}"]["bits"] for part in ("low", "high")] == [32, 16]
    assert FIELDS["route_node"]["bits"] == dict(PAPER.write_route)["node"].width
    for name in ("route_port", "counter_part"):
        assert 1 << FIELDS[name]["bits"] == MAX_PORTS
    for name in ("uplinks", "stalled", "route_inputs"):
        assert FIELDS[name]["bits"] == MAX_PORTS


def test_routes_are_for_all_packets_by_default():
    assert FIELDS["route_inputs"]["init"] == (1 << MAX_PORTS) - 1
    assert all(FIELDS[f"route_{name}"]["init"] == 1 for name in KINDS)


def test_starts_with_all_mechanisms_on():
    assert FIELDS["cache"]["init"] == FIELDS["concatenate"]["init"] == 1
    assert FIELDS["read_delay"]["init"] == FIELDS["response_delay"]["init"] == 125  # table 5


def test_counters_have_names():
    for name, bank in {"port": PORT_COUNTERS, "pipe": PIPE_COUNTERS}.items():
        names = [counter.upper() for counter, _ in bank.counters]
        assert [*numbered(bank, "Counter").__members__] == names
        assert [*FIELDS[f"{name}_counter"]["values"]] == names
        assert 1 << FIELDS[f"{name}_counter"]["bits"] >= len(names)
        assert FIELDS[f"{name}_count"]["bits"] == bank.bits
        assert {counter.partition("_")[0] for counter, _ in bank.counters} >= {*CLASSES}
