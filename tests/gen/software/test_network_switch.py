"""Runs the command line of a switch for every system on a stand-in, from its emitted packages."""

from gen.base.registers.python_driver import python_driver
from gen.designs.catalogue import find_design
from gen.software.network_switch import software
from tests.gen.software.generated import poisoned, run

PROGRAM = """
from contextlib import contextmanager
from importlib import import_module
import network_switch_host as host
from network_switch_host.network_program import main

fake = host.Fake()
def say(page, package):
    fields = import_module(package.replace("_host", "_driver")).FIELDS
    for name, value in import_module(package).BUILD.fixed.items():
        place = fields[name]
        for k in range(place.words):
            at = (page << 12) + place.address + 4 * k
            word = value << place.offset >> 32 * k & 0xFFFF_FFFF
            fake.words[at] = fake.words.get(at, 0) | word
say(0, "network_switch_host")
for page, package, _ in host.BUILD.parts.values():
    say(page, package)

@contextmanager
def open_card(name):
    yield host.attach(fake)

for line in sys.argv[1:]:
    print("status", main(open_card, {}, line.split()))

def heard(part, name):
    page, package, _ = host.BUILD.parts[part]
    place = import_module(package.replace("_host", "_driver")).FIELDS[name]
    word = fake.words[(page << 12) + place.address]
    return word >> place.offset & (1 << place.bits) - 1

print(heard("p4sgd", "job_slots"), heard("allreduce", "job_base"), heard("forwarding", "lossless"))
print(hex(heard("forwarding", "switch_address_low")), hex(heard("p4sgd", "group_address_low")))
"""
LINES = (
    "parts",
    "addresses 02:00:00:00:ff:00 03:00:00:00:ff:01",
    "start p4sgd 1 0,1 7 4 12",
    "start allreduce 1 0,1 7 3 12",
    "start mina 1 0,1 7 3 12",
    "start p4sgd 99 0,1 7 3 12",
    "stop p4sgd 1",
    "lossless 1",
    "engine netsparse",
    "engine allreduce",
    "test nowhere",
)


def test_commands_reach_the_registers_of_their_parts(tmp_path):
    params = find_design("network-switch").params_of("tiny")
    package = software(params)
    texts = package.package_files() | {"network_switch_driver.py": python_driver(package.map)}
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    done = run(PROGRAM, poisoned(tmp_path), *LINES)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "p4sgd: page 2, p4sgd_switch_host" in lines
    assert "part must be one of forwarding, p4sgd, allreduce, switchgnn, netsparse: mina" in lines
    assert "job must be from 0 to 1: 99" in lines
    assert "packets turn back in one of pcs, pma, not in nowhere" in lines
    statuses = [line.partition(" ")[2] for line in lines if line.startswith("status")]
    assert statuses == ["0", "0", "0", "0", "1", "1", "0", "0", "0", "0", "1"]
    assert lines[-2:] == ["12 3 2", "0xff00 0x3"]
