"""Runs ``ingather switch`` as a user does; ``tests/sim/p4sgd/sockets`` trains over it."""

import socket

from tests.gen.commands.running import running

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
