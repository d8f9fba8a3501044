import json

import numpy as np
import pytest

from tests.gen.commands.running import refused, remote_and_local, running

TINY = ["--preset", "tiny"]


ingather = running("train")


def test_trains_on_a_file_and_leaves_results(ingather, tmp_path, rng):
    features = rng.normal(size=(60, 20)) * 10
    labels = features @ rng.normal(size=20) > 0
    np.savez(tmp_path / "data.npz", X=features, y=labels.astype(int) + 3)
    options = ["--epochs", 3, "--batch", 16, "--bits", 6, "--stored-bits", 7]
    options += ["--test", 0.2, "--center", "--seed", 4]
    status, out, err = ingather("--data", "data.npz", "-o", "made", *options, *TINY)
    assert (status, err) == (0, "")
    said = " ".join(out.split())
    assert "equal the golden model's bit for bit" in said
    assert "data.npz: 48 samples shuffled with seed 4, 21 features" in said  # a constant one, too
    assert "centred: the mean of every feature is off it, a constant one is added" in said
    assert "test: 12 samples held out" in said
    assert "loss and accuracy on the training samples" in said
    assert "warning" not in said
    built = tmp_path / "made"
    result = json.loads((built / "result.json").read_text())
    assert result["exact"]
    assert len(result["epochs"]) == 3
    assert result["data"]["features"] == 21
    assert result["signed_features"]
    last = result["epochs"][-1]
    assert last["counters"]["words"] == 6 * 6 * 1
    for kind in ("training", "test"):
        name = "accuracy" if kind == "training" else "test_accuracy"
        rtl, golden, double = (last[f"{source}_{name}"] for source in ("rtl", "golden", "float"))
        line = f"{kind} accuracy: RTL {rtl:.2%}, golden model {golden:.2%}, float64 {double:.2%}"
        assert line in said
    assert result["reference"]["model"] == "LogisticRegression(C=inf)"
    assert result["reference"]["sentence"] in said
    assert result["data"]["order"] == "shuffled with seed 4"
    assert result["data"]["test"] == {"name": "data.npz", "samples": 12}
    assert result["workload"]["eta"] is None
    assert f"eta = {result['eta']:.3g} from the data: 1 / (0.25 x" in said
    assert (built / "training.png").read_bytes().startswith(b"\x89PNG")
    weights = np.load(built / "weights.npz")
    z = np.hstack([features, np.ones((60, 1))]) @ weights["original"] + weights["intercept"]
    right = 48 * last["rtl_accuracy"] + 12 * last["rtl_test_accuracy"]
    assert np.sum((z > 0) == labels) == pytest.approx(right)

    options = ["--epochs", 1, "--no-shuffle", "--eta", 1e5, "--test", "data.npz", "--no-reference"]
    again, out, _ = ingather("--data", "data.npz", "-o", "made", *options, *TINY)
    assert again == 0  # what was made by us may be made again
    result, said = json.loads((built / "result.json").read_text()), " ".join(out.split())
    assert len(result["epochs"]) == 1
    assert result["reference"] is None
    assert "scikit-learn" not in said
    assert result["workload"]["eta"] == result["eta"] == 1e5
    assert "data.npz: 60 samples in the order of the source" in said
    assert len(result["warnings"]) == 2
    assert all(f"warning: {warning}" in said for warning in result["warnings"])


def bad_files(folder):
    (folder / "broken.svm").write_text("1 3:x\n")
    (folder / "good.svm").write_text("# from 1 on\n\n0 2:1 # the first\n1 1:1\n")
    (folder / "good.csv").write_text("y,at 1:00\n0,1\n1,2\n")
    np.savez(folder / "nan.npz", X=np.array([[1.0, np.nan], [0, 1]]), y=np.array([0, 1]))
    np.savez(folder / "three.npz", X=np.eye(3), y=np.arange(3))
    np.savez(folder / "large.npz", X=np.eye(3), y=np.array([1.0, 2.0, 300.0]))
    np.savez(folder / "forty.npz", X=np.eye(3), y=np.array([1.0, 2.0, 40.0]))
    np.savez(folder / "small.npz", X=np.eye(3), y=np.array([1e-5, 3e-5, -2e-5]))
    np.savez(folder / "wide.npz", X=np.ones((9, 32 * 17)), y=np.arange(9) % 2)
    np.savez(folder / "fits.npz", X=np.ones((9, 32 * 9)), y=np.arange(9) % 2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--data", "nothing.svm"], "nothing.svm"),
        (["--scheduler", "tcp://127.0.0.1:9"], "a worker without a switch is not cut"),
        (["--data", "broken.svm"], "broken.svm: line 1: '1 3:x' is not `label index:value"),
        (["--data", "."], "is a folder"),
        (["--data", "good.csv", "--label", "y", "--test", "good.svm"],
         "good.svm: --label names a column of a CSV file, this is LIBSVM text"),
        (["--data", "good.csv", "--label", "y", "--samples", "1"], "only one class (0)"),
        (["-o", "/dev/null/x"], "cannot write to /dev/null/x: /dev/null is not a folder"),
        (["--test", "1.5"], "a share above 0 and below 1, or a file: 1.5"),
        (["--test", "nothing.svm"], "nothing.svm: no such file"),
        (["--data", "fits.npz", "--test", "three.npz"], "the same number of features"),
        (["--data", "nan.npz"], "NaN"),
        (["--data", "three.npz"], "0, 1, 2"),
        (["--data", "three.npz", "--positive", "7"], "7"),
        (["--data", "large.npz", "--loss", "linear"], "300"),
        (["--data", "forty.npz", "--loss", "linear", "--set", "fraction_bits=26"], "-32 and 32"),
        (["--data", "small.npz", "--loss", "linear"], "labels must reach 256 steps of 2^-23, and"),
        (["--turnaround", "inf"], "turnaround"),
        (["--data", "wide.npz"], "17 chunks"),
        (["--data", "wide.npz", "--set", "chunks=32", "--bits", "8", "--set", "fifo_words=128"],
         "17 chunks x 8 bits = 136 words does not fit the word FIFO of 128"),
        (["--data", "fits.npz", "--bits", "9"], "bits"),
        (["--data", "fits.npz", "--bits", "0"], "bits"),
        (["--bits", "4", "--stored-bits", "3"], "stored bits"),
        (["--batch", "12"], "batch"),
        (["--batch", "0"], "batch"),
        (["--epochs", "0"], "epochs"),
        (["--eta", "0"], "eta must be above 0 and at most 4194272 with mini-batches of 64: 0.0"),
        (["--eta", "-1"], "eta must be above 0 and at most 4194272 with"),
        (["--eta", "nan"], "eta must be above 0 and at most 4194272 with"),
        (["--eta", "2e6", "--batch", "16"], "at most 1048568 with mini-batches of 16: 2000000.0"),
        (["--loss", "square"], "square"),
        (["--l2-shift", "8"], "l2=true"),
        (["--l2", "0.01"], "l2=true"),
        (["--set", "l2=true", "--l2", "1e9"], "l2 must be from"),
        (["--set", "l2=true", "--l2-shift", "3"], "4"),
        (["--preset", "huge"], "huge"),
        (["--engines", "0"], "engines"),
        (["--set", "lanes=513"], "lanes"),
        (["--set", "lines=64"], "lanes"),
        (["--memory-latency", "5000"], "memory-latency"),
        (["--epochs", "many"], "epochs"),
        (["--workers", "0"], "workers"),
        (["--workers", "17"], "workers"),
        (["--workers", "2", "--drop", "1.5"], "drop"),
        (["--workers", "2", "--link-latency", "4096"], "link-latency"),
        (["--workers", "2", "--displacement", "-1"], "displacement"),
        (["--workers", "2", "--retries", "256"], "retries"),
        (["--drop", "0.1"], "--workers 2"),
        (["--schedule", "vanilla", "--batch", "512"], "a mini-batch waits in the word FIFO"),
        (["--schedule", "sideways"], "sideways"),
        (["--schedule", "data-parallel", "--workers", "3"], "multiple of 24"),
        (["--schedule", "data-parallel", "--set", "data_parallel=false"], "data_parallel=true"),
        (["--schedule", "data-parallel", "--set", "l2=true"], "exclude each other"),
        (["-o", "taken"], "taken"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_status_2(ingather, tmp_path, arguments, says):
    bad_files(tmp_path)
    extra = [] if "--preset" in arguments else TINY
    refused(ingather, tmp_path, ("-o", "made", *extra, *arguments), says)


def test_many_workers_on_bad_links(ingather, tmp_path):
    """Weights are those of one worker, and it is said what the links did."""
    status, out, err = ingather(
        *TINY, "--workers", "2", "--epochs", "2", "--drop", "0.05", "--reorder", "0.1", "-o", "two"
    )
    assert (status, err) == (0, "")
    assert "AllReduce" in out
    result = json.loads((tmp_path / "two" / "result.json").read_text())
    assert result["exact"]
    assert result["workload"]["workers"] == 2
    assert result["workload"]["drop"] == 0.05
    assert sum(epoch["network"]["dropped"] for epoch in result["epochs"]) > 0


def test_links_that_lose_everything(ingather, tmp_path):
    """One line names the slot, and nothing is left behind."""
    arguments = ("--workers", "2", "--epochs", "1", "--drop", "1", "--retries", "3", "-o", "lost")
    status, _, err = ingather(*TINY, *arguments)
    assert status == 2
    assert len(err.strip().splitlines()) == 1, err
    assert "NETWORK, the switch did not answer for retries repetitions in a row: slot 0" in err
    assert not (tmp_path / "lost").exists()


@pytest.mark.long
def test_workers_of_a_cluster_train_the_same(ingather, tmp_path):
    """Three processes of Dask simulate workers and switch; when one has left, the run ends."""
    bad = ["--data", "breast-cancer", "--workers", 3, "--link-latency", 30, "--drop", 0.05]
    endless = ("--epochs", 3000)
    remote, local = remote_and_local(
        ingather, tmp_path, *TINY, *bad, "--epochs", 2, endless=endless
    )
    assert remote == local
