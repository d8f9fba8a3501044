"""Runs ``ingather switch`` as a user does; ``tests/sim/p4sgd/sockets`` trains over it."""

import socket
import threading

from tests.gen.commands.running import running
from tests.sim.harness.captured_frames import read
from tests.sim.p4sgd.sockets.ports import two_free_ports

ingather = running("switch")


def test_names_its_sockets_and_counts(ingather):
    status, out, err = ingather("--golden", "--ports", 3, "--first-port", 0, "--seconds", 0.1)
    assert (status, err) == (0, "")
    assert [line.partition(":")[0] for line in out.splitlines()[:3]] == [
        "port 0",
        "port 1",
        "port 2",
    ]
    assert "0 frames came, 0 were lost" in out


def test_sockets_in_use_are_one_line(ingather):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        status, _, err = ingather("--first-port", taken.getsockname()[1], "--ports", 2)
    assert status == 2
    assert "Address already in use; try another --first-port" in err
    assert err.count("\n") == 1


def test_no_address_is_one_line(ingather):
    status, _, err = ingather("--host", "no.such.host.invalid")
    assert status == 2
    assert err.count("\n") == 1


def test_frames_are_captured(ingather, tmp_path):
    """Frames come to a port until the switch, which answers none, ends by itself."""
    first, over = two_free_ports(), threading.Event()

    def send():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while not over.wait(0.02):
                sender.sendto(bytes(60), ("127.0.0.1", first + 1))

    thread = threading.Thread(target=send)
    thread.start()
    status, _, err = ingather("--first-port", first, "--seconds", 1, "--pcap", "frames.pcapng")
    over.set()
    thread.join()
    assert (status, err) == (0, "")
    frames = read((tmp_path / "frames.pcapng").read_bytes())
    assert {(end, *frame) for end, _, *frame, _ in frames} == {("port 1", bytes(60), "inbound")}


def test_a_capture_that_cannot_be_is_one_line(ingather):
    status, _, err = ingather("--first-port", 0, "--seconds", 0.1, "--pcap", "none/frames.pcapng")
    assert (status, err.count("\n")) == (2, 1)
    assert "there is no folder none" in err


def test_wide_frames_have_no_shadow(ingather):
    status, _, err = ingather("--wide", "--shadow")
    assert (status, err.count("\n")) == (2, 1)
    assert "--wide and --shadow exclude each other" in err
    assert ingather("--wide", "--first-port", 0, "--seconds", 0.1)[0] == 0


def test_wide_frames_are_as_long_as_the_hardware_has_them(ingather):
    assert ingather("--wide", "--numbers", 2048, "--first-port", 0, "--seconds", 0.1)[0] == 0
    status, _, err = ingather("--wide", "--numbers", 300)
    assert (status, err.count("\n")) == (2, 1)
    assert "--numbers must be a power of two from 256 to 2048: 300" in err
    assert "--numbers needs --wide" in ingather("--numbers", 512)[2]
