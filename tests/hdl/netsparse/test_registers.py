import json

from hdl.common.event_counters import numbered
from hdl.netsparse.concat.concatenator_params import MOST_DELAY
from hdl.netsparse.limits import MAX_UNITS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.queue.params import ENTRY, NO_UNIT
from hdl.netsparse.registers import IDENTITY, constants, snic_registers
from hdl.netsparse.rig.params import Cause, RigParams
from hdl.netsparse.snic_counters import SNIC_COUNTERS, UNIT_COUNTERS

PAPER = SnicParams()
MAP = snic_registers(PAPER)
FIELDS = {
    field["name"]: field
    for register in json.loads(json.dumps(MAP.describe()))["registers"]
    for field in register["fields"]
}


def test_one_driver_fits_all_sizes():
    small = SnicParams(
        units=2,
        rig=RigParams(nodes=4, idx_bits=20),
        filter_banks=1,
        filter_unit_bytes=1024,
        filter_cache_bytes=4096,
    )
    assert snic_registers(small) == MAP


def test_constants_fit_their_fields():
    assert {*constants(PAPER)} < {*dict(MAP.status)}
    largest = SnicParams(
        units=64,
        rig=RigParams(nodes=65536, idx_bits=64, most_property_bytes=4096),
        mtu=9216,
        dram_address_bits=61,
        pool=1024,
    )
    for name, value in constants(largest).items():
        assert value < 1 << FIELDS[name]["bits"], name
        assert FIELDS[name]["access"] == "ro"
    assert IDENTITY.to_bytes(4, "big") == b"NSPN"


def test_settings_are_as_wide_as_what_they_set():
    rig = PAPER.rig
    for name in ("idx_address", "property_address", "served_address", "first", "end", "columns"):
        low, high = FIELDS[f"{name}_low"], FIELDS[f"{name}_high"]
        assert low["bits"] + high["bits"] == 64
        assert {low["access"], high["access"]} == {"rw"}
    for name, field in {"idx_count": "count", "request_tag": "tag", "idx_wide": "wide"}.items():
        assert FIELDS[name]["bits"] == dict(rig.command)[field].width
    for name in ("property_bytes", "watchdog"):
        assert FIELDS[name]["bits"] == dict(rig.command)[name].width
    assert FIELDS["served_bytes"]["bits"] == dict(rig.served)["bytes"].width
    servers = sum(FIELDS[f"server_units_{part}"]["bits"] for part in ("low", "high"))
    for field in ("request_unit", "counter_unit"):
        assert 1 << FIELDS[field]["bits"] == servers == FIELDS["busy_units"]["bits"] == 64
    assert FIELDS["completion_unit"]["bits"] == ENTRY["unit"].width, "as entries name units"
    assert NO_UNIT >= MAX_UNITS == 64, "with any number of units"
    delays = FIELDS["read_delay"]["bits"], FIELDS["response_delay"]["bits"]
    assert delays == (16, 16)
    assert PAPER.most_delay <= MOST_DELAY < 1 << FIELDS["read_delay"]["bits"]


def test_starts_with_all_mechanisms_on():
    for name in ("coalesce", "filter", "concatenate", "aligned"):
        assert FIELDS[name]["init"] == 1
    assert (FIELDS["read_delay"]["init"], FIELDS["response_delay"]["init"]) == (500, 500)


def test_causes_and_counters_have_names():
    assert 1 << FIELDS["completion_cause"]["bits"] > max(cause.value for cause in Cause)
    assert {cause.name for cause in Cause} == {*FIELDS["completion_cause"]["values"]}
    for name, bank in {"unit_counter": UNIT_COUNTERS, "snic_counter": SNIC_COUNTERS}.items():
        names = [counter.upper() for counter, _ in bank.counters]
        assert [*numbered(bank, "Counter").__members__] == names
        assert [*FIELDS[name]["values"]] == names
        assert 1 << FIELDS[name]["bits"] >= len(names)
    assert FIELDS["unit_count"]["bits"] == UNIT_COUNTERS.bits
    assert FIELDS["snic_count"]["bits"] == SNIC_COUNTERS.bits
