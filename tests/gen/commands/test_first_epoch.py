"""Runs ``ingather first-epoch`` on files that stand for a card's devices."""

import json
import os

import numpy as np
import pytest

from gen.base.errors import UserError
from gen.base.registers.python_driver import driver_module
from gen.base.settings import make_params
from gen.commands.first_epoch import first_epoch, train_an_epoch
from gen.designs.catalogue import find_design
from hdl.p4sgd.host.control import Cause
from hdl.p4sgd.host.registers import constants, worker_registers
from hdl.u280.registers import BASE, BoardRegistersParams, board_registers
from sim.golden.choices import Loss
from sim.host.device import DeviceError
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_workload import TrainingWorkload
from sim.workloads.datasets import load

HBM_PORT = 256 << 20  # bytes of HBM that a port has beside it
MODEL = 8 << 30  # where DMA sees the model, behind HBM
WORKER = find_design("p4sgd-worker")
PARAMS = make_params(WORKER.params_class, WORKER.settings_of("tiny"), {})
ENGINE_BYTES = 4 * PARAMS.engine.lanes * PARAMS.engine.chunks


@pytest.fixture(scope="module")
def run():
    data = load("digits", loss=Loss.LOGISTIC, order=1)
    return TrainingRun(data, PARAMS, TrainingWorkload(eta=None, epochs=1))


@pytest.fixture(scope="module")
def trained(run):
    return run.golden(np.zeros(run.features, np.int64))[0]


class Card:
    """Has registers that say that all went well, memory that takes all, and a trained model."""

    def __init__(self, folder, run, trained):
        self.folder = folder
        self.worker = driver_module(worker_registers(PARAMS)).FIELDS
        self.board = driver_module(board_registers(BoardRegistersParams(cages=1, hbm=True))).FIELDS
        for name in ("user", "h2c_0", "c2h_0"):
            self.file(name).write_bytes(b"")
        os.truncate(self.file("user"), 1 << 20)
        self.say(**constants(PARAMS), done=1, memory_ready=1)
        (model,) = run.models(trained)
        with self.file("c2h_0").open("r+b") as file:
            for engine, weights in enumerate(model):
                file.seek(MODEL + engine * ENGINE_BYTES)
                file.write(weights.astype("<i4").tobytes())

    def file(self, name):
        return self.folder / f"xdma0_{name}"

    def find(self, name):
        if name in self.worker:
            return self.worker[name], 0
        return self.board[name], BASE

    def say(self, **fields):
        """Set what registers read as."""
        for name, value in fields.items():
            field, base = self.find(name)
            word = self.word(name) & ~(((1 << field.bits) - 1) << field.offset)
            with self.file("user").open("r+b") as file:
                file.seek(base + field.address)
                file.write((word | value << field.offset).to_bytes(4, "little"))

    def word(self, name):
        field, base = self.find(name)
        at = base + field.address
        return int.from_bytes(self.file("user").read_bytes()[at : at + 4], "little")

    def heard(self, name):
        field, _ = self.find(name)
        return self.word(name) >> field.offset & (1 << field.bits) - 1

    def in_memory(self, address, size):
        with self.file("h2c_0").open("rb") as file:
            file.seek(address)
            return file.read(size)


@pytest.fixture
def card(tmp_path, run, trained):
    return Card(tmp_path, run, trained)


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    manifest = {"design": "p4sgd-worker", "preset": "tiny", "settings": {}}
    (folder / "manifest.json").write_text(json.dumps(manifest | {"board": {"name": "u280"}}))
    return folder


def test_an_epoch(card, package, run, capsys):
    first_epoch(package, device=str(card.folder / "xdma0"))
    assert capsys.readouterr().out == (
        f"{run.samples} samples: all {run.features} weights equal the golden model's\n"
    )
    *words, labels = run.images
    for engine, image in enumerate(words):  # a port each, as tiny words are
        assert card.in_memory(4 * engine * HBM_PORT, len(image)) == image
    assert card.in_memory(HBM_PORT, len(labels)) == labels
    for engine in range(PARAMS.engines):
        size = 4 * run.chunks * PARAMS.engine.lanes
        assert card.in_memory(MODEL + engine * ENGINE_BYTES, size) == bytes(size)
    assert {name: card.heard(name) for name in ("epochs", "join", "start")} == {
        "epochs": 1,
        "join": 1,
        "start": 1,
    }
    assert card.heard("epoch_micro_batches") == -(-run.samples // PARAMS.engine.banks)


def test_other_weights_are_reported(card, package, run, capsys):
    with card.file("c2h_0").open("r+b") as file:
        file.seek(MODEL)
        file.write((1 << 30).to_bytes(4, "little"))
    with pytest.raises(Exception) as ended:  # noqa: PT011  typer's own
        first_epoch(package, device=str(card.folder / "xdma0"))
    assert ended.value.exit_code == 1
    assert f"1 of {run.features} weights differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("says", "text"),
    [
        ({"engines": 7}, "another design: engines is 7, not"),
        ({"identity": 0xFFFF_FFFF}, "another design: identity is"),
        ({"memory_ready": 0}, "memory is not ready"),
        ({"done": 0, "failed": 1, "cause": Cause.MEMORY_SILENT.value}, "stopped: MEMORY_SILENT"),
        ({"done": 0}, "did not begin the run"),
        ({"busy": 1}, r"the soft reset has not ended within 0\.1 s"),
    ],
)
def test_what_is_wrong_with_a_card_is_reported(card, run, says, text):
    card.say(**says)
    with pytest.raises(DeviceError, match=text):
        train_an_epoch(run, str(card.folder / "xdma0"), seconds=0.1)


def test_mistakes_are_one_line(card, package, tmp_path):
    with pytest.raises(UserError, match="No such file"):
        first_epoch(package, device=str(tmp_path / "xdma7"))
    assert not list(tmp_path.glob("xdma7*"))
    with pytest.raises(UserError, match=r"is no package: there is no /.*/manifest\.json$"):
        first_epoch(tmp_path)
    (package / "manifest.json").write_text('{"design": "p4sgd-worker"}')
    with pytest.raises(UserError, match="is for no card: ingather generate p4sgd-worker --board"):
        first_epoch(package)
    (package / "manifest.json").write_text('{"design": "p4sgd-switch", "board": {}}')
    with pytest.raises(UserError, match="no package of p4sgd-worker for a card"):
        first_epoch(package)
