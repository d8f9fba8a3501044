import pytest

from gen.datasheet.interfaces import SIGNAL, interfaces
from gen.datasheet.page import rules_of
from gen.designs.catalogue import designs
from gen.guides.p4sgd_worker import guide
from hdl.p4sgd.network.frame import ETHERTYPE


def buses(design, **changes):
    component = design.make(design.params_of("tiny", **changes))
    return [port for port in interfaces(component) if port.kind != SIGNAL]


@pytest.mark.parametrize("name", designs())
def test_each_bus_has_its_rules(name):
    ports = buses(designs()[name])
    assert {title for titles in rules_of(ports) for title in titles.split(":")[0].split(", ")} == {
        port.title for port in ports
    }
    for port in ports:
        if port.kind.startswith("AXI4") and port.role == "manager":
            assert bool(port.reads) == ("writes only" not in port.kind), port.name
            assert bool(port.writes) == ("reads only" not in port.kind), port.name


def test_a_manager_s_limits_follow_its_parameters():
    design = designs()["netsparse-snic"]
    for count in (8, 64):
        _, reads, writes = rules_of(buses(design, host_requests=count))["m_axi_host: AXI4"]
        assert reads.startswith(f"A read has at most 2 beats, 128 bytes. At most {count + 1} reads")
        assert writes.startswith(f"A write has at most 2 beats, 128 bytes. At most {count} writes")


def test_a_worker_s_guide_has_its_frames():
    design = designs()["p4sgd-worker"]
    assert ETHERTYPE.to_bytes(2, "big").hex(" ").upper() in guide(design.params_of("tiny"))
