"""Checks that the self-test of a card finds faults of memory, DMA, MAC and training."""

import re
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from hdl.p4sgd.host.control import Cause
from sim.host.selftest import memory_test
from sim.host.selftest.checks import CheckFailed, run_checks
from sim.host.sparse_memory import SparseMemory
from sim.host.xdma import DEVICE
from sim.p4sgd.host import selftest
from tests.gen.software.generated import poisoned, write
from tests.gen.software.worker_card import Card as WorkerCard

SIZE, START = 1 << 14, 1 << 13
PACKETS = 21 * 8


def no_report(text):
    pass


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(memory_test, "BLOCK", 1 << 10)


class Memory:
    """Stands in for memory: ``place`` maps addresses, ``fault`` says what goes wrong."""

    def __init__(self, place=lambda address: address, **fault):
        self.bytes, self.place, self.fault = {}, place, fault
        self.touched = set()

    def write_memory(self, address, data):
        self.touched.update((address, address + len(data) - 1))
        for at in range(0, len(data), 8):
            self.write_word(address + at, data[at : at + 8])

    def write_word(self, address, data):
        place = self.place(address)
        before, self.bytes[place] = self.bytes.get(place, bytes(8)), data
        aggressor, victim, bit = self.fault.get("rises", (None, 0, 0))
        new, old = (int.from_bytes(octets, "little") >> bit & 1 for octets in (data, before))
        if address == aggressor and new > old:  # a bit that rises sets the victim's, too
            word = int.from_bytes(self.bytes.get(victim, bytes(8)), "little") | 1 << bit
            self.bytes[victim] = word.to_bytes(8, "little")

    def read_memory(self, address, size):
        data = bytearray()
        for at in range(address, address + size, 8):
            data += self.bytes.get(self.fault.get("reads", self.place)(at), bytes(8))
        at, bit, level = self.fault.get("stuck", (0, 0, None))
        if level is not None and address <= at < address + size:
            data[at - address] = data[at - address] & ~(1 << bit) | level << bit
        return bytes(data)


def exercise(memory):
    memory_test.exercise_memory(memory, START, SIZE, no_report)


def test_memory_that_is_right_passes_and_all_of_it_is_tested():
    memory = Memory()
    exercise(memory)
    assert (min(memory.touched), max(memory.touched)) == (START, START + SIZE - 1)


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("bit", [0, 7])
@pytest.mark.parametrize("at", [START, START + 1029, START + SIZE - 1])
def test_a_stuck_bit_is_named(at, bit, level):
    with pytest.raises(CheckFailed) as failed:
        exercise(Memory(stuck=(at, bit, level)))
    assert str(failed.value) == f"bit {bit} of memory at {at:#x} reads {level}, not {1 - level}"


LINES = [3, 5, 9, 10, 12]  # address bits within a block of 1 KB, and above it


@pytest.mark.parametrize("line", LINES)
def test_an_address_line_without_effect_is_detected(line):
    with pytest.raises(CheckFailed, match="of memory at"):
        exercise(Memory(lambda address: address & ~(1 << line)))


def swapped(address, first, second):
    low, high = address >> first & 1, address >> second & 1
    return address & ~(1 << first | 1 << second) | low << second | high << first


@pytest.mark.parametrize("line", LINES[:-1])
def test_address_lines_that_only_writes_swap_are_detected(line):
    with pytest.raises(CheckFailed, match="of memory at"):
        exercise(Memory(lambda a: swapped(a, line, 12), reads=lambda address: address))


@pytest.mark.parametrize("places", [(0x2100, 0x3000), (0x3000, 0x2100)])
def test_a_bit_that_sets_another_is_detected(places):
    """A bit that rises sets the same bit of another word, and only the march can show this.

    If the other word is lower, only the march down finds it, as the bit is 1 already in the march
    up. The bit is 1 in both addresses, so the test with addresses as data does not find it.
    """
    with pytest.raises(CheckFailed, match=f"bit 5 of memory at {places[1] + 1:#x} reads 1, not 0"):
        exercise(Memory(rises=(*places, 13)))


def test_rates_are_reported_and_what_comes_back_is_compared():
    reported = memory_test.rates(Memory(), START, SIZE)
    assert re.fullmatch(r"16,384 bytes at [\d.]+ GB/s to the card, [\d.]+ GB/s from it", reported)
    with pytest.raises(CheckFailed, match="bit 2 of memory at 0x2005 reads 1, not 0"):
        memory_test.rates(Memory(stuck=(START + 5, 2, 1)), START, SIZE)
    memory = Memory()
    reads = []

    def read(address, size):
        reads.append(address)
        return bytes(size) if len(reads) == 1 else Memory.read_memory(memory, address, size)

    memory.read_memory = read
    with pytest.raises(CheckFailed, match="read wrong once, then right"):
        memory_test.rates(memory, START, SIZE)


class Card(WorkerCard):
    """Stands in for a worker's card whose MAC receives what it sends, except ``lost`` packets.

    A run in a job of two workers sends packets, and ends when the worker gives the switch up. A run
    of one worker ends with the weights of the golden model, of which ``wrong`` are made wrong.
    """

    def __init__(self, **faults):
        self.faults = {"lost": 0, "wrong": 0, "broken": 0} | faults
        self.linked = self.faults.get("linked", 1)
        super().__init__(find_design("p4sgd-worker").params_of("tiny"))
        self.commands |= {"start_job": lambda: self.say(job_open=1)}
        self.commands |= {"soft_reset": lambda: self.say(failed=0, done=0, job_open=0)}
        self.worker = self.attach()
        self.worker.seconds = 0.05
        self.say(retries=100)

    def end_a_run(self):
        if not self.heard("join"):
            self.say(failed=1, cause=self.faults.get("cause", Cause.NETWORK.value), done=0)
            self.say(sent_packets=PACKETS, foreign_packets=PACKETS - self.faults["lost"])
            self.board(broken_0=self.faults["broken"])
            return
        self.say(done=1)
        worker = self.worker
        golden = worker.golden(np.zeros(worker.samples.features), **selftest.HOW)
        golden[: self.faults["wrong"]] += 1
        worker.set_weights(golden)


def main(card, *arguments):
    return selftest.main(
        lambda _: nullcontext(card.worker), DEVICE, ["--bytes", "4096", *arguments]
    )


def test_a_card_that_is_right_passes(capsys):
    card = Card()
    assert main(card) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "memory: 4,096 bytes and the weights are right"
    assert lines[1].startswith("dma: 4,096 bytes at ")
    assert lines[2:] == [
        f"mac: all of {PACKETS} packets came back",
        "epoch: all 35 weights are the golden model's",
        "PASS: memory, dma, mac, epoch",
    ]
    assert "memory: march 6 of 6 over 4,096 bytes from 0x0" in err
    assert card.loops == [2, 0]  # the loopback is off again
    assert card.heard("retries") == 100


@pytest.mark.parametrize(
    ("faults", "check", "reported"),
    [
        ({"lost": 1}, "mac", f"{PACKETS - 1} of {PACKETS} packets came back"),
        (
            {"linked": 0},
            "mac",
            "the wait for the link of cage 0 to itself has not ended within 0.05 s",
        ),
        ({"broken": 2}, "mac", "the MAC of cage 0 counts 2 in broken_0"),
        ({"cause": 9}, "mac", "the worker stopped: MEMORY_SILENT"),
        ({"wrong": 3}, "epoch", "3 of 35 weights differ from the golden model's"),
    ],
)
def test_what_is_wrong_is_reported(faults, check, reported, capsys):
    card = Card(**faults)
    assert main(card, "--only", check, "--loopback", "pcs") == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"FAIL: {check}: {reported}")
    assert card.loops == ([1, 0] if check == "mac" else [])
    assert card.heard("retries") == 100


def test_a_stuck_bit_of_the_card_ends_the_test(capsys):
    card = Card()
    memory = SparseMemory()
    card.memory = memory
    right = memory.read
    memory.read = lambda address, size: bytes(
        byte | 16 if address + k == 77 else byte for k, byte in enumerate(right(address, size))
    )
    assert main(card) == 1
    assert capsys.readouterr().out == "FAIL: memory: bit 4 of memory at 0x4d reads 1, not 0\n"


@pytest.mark.parametrize("text", ["0", "65", "8589934656", "many"])
def test_amounts_that_cannot_be(text, capsys):
    with pytest.raises(SystemExit) as ended:
        main(Card(), "--bytes", text)
    assert ended.value.code == 2
    assert "--bytes" in capsys.readouterr().err


def test_checks_after_one_that_fails_are_not_run(capsys):
    built = []

    def fail(tell):
        built.append("one")
        raise CheckFailed("it is broken")

    assert run_checks({"one": fail, "two": built.append}) == 1
    assert (built, capsys.readouterr().out) == (["one"], "FAIL: one: it is broken\n")


def test_the_package_is_a_program(tmp_path):
    write("p4sgd-worker", "tiny", tmp_path)
    (tmp_path / "hidden").mkdir()
    path = f"{tmp_path}:{poisoned(tmp_path / 'hidden')}"
    for arguments, status, reported in (
        (["--help"], 0, "PASS or FAIL"),
        (["--device", "nowhere"], 1, "FAIL: cannot open nowhere_user: No such file"),
        (["--bytes", "3"], 2, "must be a multiple of 64"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "p4sgd_worker_host", *arguments],
            env={"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert reported in " ".join((done.stdout + done.stderr).split())
