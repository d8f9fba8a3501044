import bz2
import gzip
import lzma
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.golden.choices import Loss
from sim.workloads import datasets
from sim.workloads.datasets import load
from sim.workloads.files import InputError

SVM = "3 1:0.5 3:-2\n1 2:4\n3 1:1\n"
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
FEATURES = [[0.5, 0, -2], [0, 4, 0], [1, 0, 0]]
CSV = 'species,"length",width\n0,"5.1",3.5\n\n1, 4.9 ,-3e0\n1,+.5,3.\n'


def ordered(count: int = 40) -> dict[str, np.ndarray]:
    """Return samples that tell where they were, sorted by class."""
    return {"X": np.arange(count * 2.0).reshape(count, 2), "y": np.arange(count) * 2 // count}


def save_svm(folder: Path, text: str, name: str = "data.svm") -> str:
    path = folder / name
    path.write_bytes(PACKERS.get(path.suffix, bytes)(text.encode()))
    return str(path)


def save_npz(folder: Path, name: str = "data.npz", **arrays: object) -> str:
    path = folder / name
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return str(path)


@pytest.mark.parametrize(
    "name",
    ["a.svm", "a9a", "a9a.t", "mnist.scale.bz2", "a.svm.gz", "a.svm.xz", "a.csv", "a.npz.gz"],
)
def test_libsvm(tmp_path: Path, name: str) -> None:
    data = load(save_svm(tmp_path, SVM, name), loss=Loss.LOGISTIC)
    assert data.features.tolist() == FEATURES
    assert data.features.dtype == np.float64
    assert data.labels.tolist() == [1, 0, 1]
    assert (data.name, data.classes, data.feature_count) == (name, "3 against 1", 3)


@pytest.mark.parametrize("names", [("X", "y"), ("features", "labels")])
def test_npz(tmp_path: Path, names: tuple[str, str]) -> None:
    arrays = {names[0]: np.array([[1], [-2]], dtype=np.int8), names[1]: np.array([True, False])}
    data = load(save_npz(tmp_path, **arrays), loss=Loss.HINGE)
    assert data.features.tolist() == [[1.0], [-2.0]]
    assert data.labels.tolist() == [1.0, -1.0]


def test_linear_labels_stay(tmp_path: Path) -> None:
    path = save_svm(tmp_path, "-255.9 1:1\n0.25 1:2\n", "r.svm")
    data = load(path, loss=Loss.LINEAR)
    assert data.labels.tolist() == [-255.9, 0.25]
    assert data.classes == ""


def test_bias_appends_a_constant(tmp_path: Path) -> None:
    data = load(save_svm(tmp_path, SVM), loss=Loss.LOGISTIC, bias=True)
    assert data.features.tolist() == [[*row, 1] for row in FEATURES]
    assert data.feature_count == 4


@pytest.mark.parametrize(
    ("source", "shape", "positives"),
    [("digits", (1797, 64), 896), ("breast-cancer", (569, 30), 357)],
)
def test_built_in(source: str, shape: tuple[int, int], positives: int) -> None:
    data = load(source, loss=Loss.LOGISTIC)
    assert data.features.shape == shape
    assert data.labels.sum() == positives
    assert set(data.labels) == {0, 1}


def test_digits_as_regression_and_one_digit() -> None:
    assert set(load("digits", loss=Loss.LINEAR).labels) == set(range(10))
    data = load("digits", loss=Loss.HINGE, positive="3")
    assert (data.labels == 1).sum() == 183
    assert data.classes.startswith("3 against the rest of 0, 1, 2")


@pytest.mark.parametrize(
    ("positive", "labels"),
    [
        ("1", [1, 0, 0, 0]),
        ("2.5", [0, 0, 1, 0]),
        (">=2", [0, 1, 1, 1]),
        (">=2.5", [0, 0, 1, 1]),
    ],
)
def test_positive(tmp_path: Path, positive: str, labels: list[int]) -> None:
    path = save_npz(tmp_path, X=np.ones((4, 1)), y=[1, 2, 2.5, 4])
    assert load(path, loss=Loss.LOGISTIC, positive=positive).labels.tolist() == labels


def test_the_smaller_of_two_classes_can_be_chosen(tmp_path: Path) -> None:
    path = save_svm(tmp_path, SVM)
    assert load(path, loss=Loss.LOGISTIC, positive="1").labels.tolist() == [0, 1, 0]


def message(source: str, loss: Loss = Loss.LOGISTIC, positive: str | None = None) -> str:
    with pytest.raises(InputError) as error:
        load(source, loss=loss, positive=positive)
    text = str(error.value)
    assert "\n" not in text
    assert error.value.__cause__ is None
    return text


def test_a_packed_file_is_recognised_by_its_first_bytes(tmp_path: Path) -> None:
    path = Path(save_svm(tmp_path, SVM, "a.svm.bz2")).rename(tmp_path / "a.svm")
    assert load(str(path), loss=Loss.LOGISTIC).features.tolist() == FEATURES
    path = Path(save_npz(tmp_path, X=np.eye(2), y=[0, 1])).rename(tmp_path / "mine")
    assert load(str(path), loss=Loss.LOGISTIC).features.tolist() == [[1, 0], [0, 1]]


def test_what_is_no_file(tmp_path: Path) -> None:
    instead = " (built-in data sets: digits, breast-cancer)"
    for name in ("none.svm", "none.npz", "a/b.svm", "\0.svm"):
        assert message(f"{tmp_path}/{name}").endswith(f"no such file{instead}")
    assert message(str(tmp_path)) == f"{tmp_path}: is a folder, expected a file{instead}"
    assert message("/dev/null") == "/dev/null: cannot be read (it is a device)"
    assert "File name too long" in message("a" * 300)


def test_single_array_named_npz(tmp_path: Path) -> None:
    with (tmp_path / "a.npz").open("wb") as file:
        np.save(file, np.ones(3))
    assert message(str(tmp_path / "a.npz")).endswith("a single array, expected an .npz archive")


@pytest.mark.parametrize("name", ["few.svm", "few.npz"])
def test_only_the_first_samples(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    features, labels = np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([0, 1, 1])
    if name == "few.npz":
        np.savez(path, X=features, y=labels)
    else:
        path.write_text("0 1:1 2:2\n1 1:3 2:4\n1 1:5 2:6\n")
    data = load(str(path), loss=Loss.LOGISTIC, most=2)
    assert data.features.tolist() == [[1, 2], [3, 4]]
    assert data.labels.tolist() == [0, 1]


def test_shuffled_by_seed(tmp_path: Path) -> None:
    path = save_npz(tmp_path, **ordered())
    stored = load(path, loss=Loss.LOGISTIC)
    assert stored.features[:, 0].tolist() == list(range(0, 80, 2))
    assert stored.order == "in the order of the source"
    first, same, second = (load(path, loss=Loss.LOGISTIC, order=seed) for seed in (1, 1, 2))
    assert first.order == "shuffled with seed 1"
    assert sorted(first.features[:, 0]) == stored.features[:, 0].tolist()
    assert (first.labels == (first.features[:, 0] >= 40)).all()  # labels go with their samples
    assert (first.features == same.features).all()
    assert (first.features != second.features).any()
    assert first.labels[:20].sum() in range(5, 16)


def test_a_share_is_held_out(tmp_path: Path) -> None:
    path = save_npz(tmp_path, **ordered())
    data = load(path, loss=Loss.HINGE, order=1, test="0.25")
    assert data.test
    assert (len(data.labels), len(data.test.labels)) == (30, 10)
    both = np.vstack([data.features, data.test.features])
    assert (both == load(path, loss=Loss.HINGE, order=1).features).all()
    assert (data.test.labels == np.where(data.test.features[:, 0] >= 40, 1, -1)).all()
    last = load(path, loss=Loss.HINGE, test="0.1").test
    assert last
    assert last.features[:, 0].tolist() == [72, 74, 76, 78]


def test_a_test_file_has_the_labels_and_features_of_the_data(tmp_path: Path) -> None:
    """A narrower one lacks the last features, a wider one has some that have no weights."""
    train = save_svm(tmp_path, "3 1:0.5 3:-2\n1 2:4\n", "a")
    test = save_svm(tmp_path, "1 1:7\n", "a.t")
    data = load(train, loss=Loss.HINGE, bias=True, order=1, test=test)
    assert data.test
    assert (data.test.name, data.test.classes) == ("a.t", "3 against 1")
    assert data.test.features.tolist() == [[7, 0, 0, 1]]
    assert data.test.labels.tolist() == [-1]  # though there is only one class
    wide = save_svm(tmp_path, "3 2:7 9:5\n", "b.t")
    result = load(train, loss=Loss.HINGE, test=wide).test
    assert result
    assert result.features.tolist() == [[0, 7, 0]]


def test_files_that_count_from_zero_do_so_together(tmp_path: Path) -> None:
    zero = save_svm(tmp_path, "3 0:1 2:2\n1 1:4\n", "a")
    test = load(zero, loss=Loss.HINGE, test=save_svm(tmp_path, "1 2:7\n", "a.t")).test
    assert test
    assert test.features.tolist() == [[0, 0, 7]]
    data = load(save_svm(tmp_path, "3 2:2\n1 1:4\n", "b"), loss=Loss.HINGE, test=zero)
    assert data.features.tolist() == [[0, 0, 2], [0, 4, 0]]


def test_archives_as_tests(tmp_path: Path) -> None:
    path = save_npz(tmp_path, **ordered())
    data = load(path, loss=Loss.LOGISTIC, test=save_npz(tmp_path, "t.npz", X=[[1, 2]], y=[1]))
    assert data.test
    assert data.test.features.tolist() == [[1, 2]]
    wide = save_npz(tmp_path, "w.npz", X=[[1, 2, 3]], y=[1])
    foreign = save_npz(tmp_path, "f.npz", X=[[1, 2]], y=[5])
    for test, says in (
        (wide, "must have the same number of features, not (1, 3) beside the (40, 2) of data.npz"),
        (foreign, "f.npz: label 5 is none to train on: 0, 1"),
    ):
        with pytest.raises(InputError) as error:
            load(path, loss=Loss.LOGISTIC, test=test)
        assert says in str(error.value)


@pytest.mark.parametrize(("label", "comma"), [("species", ","), ("1", ";"), ("species", "\t")])
def test_csv(tmp_path: Path, label: str, comma: str) -> None:
    text = "# of irises\n" + CSV.replace(",", comma)
    path = save_svm(tmp_path, text.replace("\n", "\r\n"), "a.csv")
    data = load(path, loss=Loss.LOGISTIC, label=label, test=path)
    assert data.features.tolist() == [[5.1, 3.5], [4.9, -3], [0.5, 3]]
    assert data.labels.tolist() == [0, 1, 1]
    assert data.test
    assert data.test.labels.tolist() == [0, 1, 1]


def test_a_label_names_a_column_of_csv_alone(tmp_path: Path) -> None:
    for source in ("digits", save_npz(tmp_path, **ordered())):
        with pytest.raises(InputError, match="--label names a column of a CSV file"):
            load(source, loss=Loss.LOGISTIC, label="y")
    first, second = (save_svm(tmp_path, f"y,{n}\n0,1\n1,2", f"{n}.csv") for n in "ab")
    with pytest.raises(InputError, match=r"b\.csv: its columns have other names than those of a"):
        load(first, loss=Loss.LOGISTIC, label="y", test=second)


def test_ranks_are_left_out_and_said(tmp_path: Path) -> None:
    path = save_svm(tmp_path, "1 qid:3 1:2\n0 qid:4 2:1\n")
    with pytest.warns(UserWarning, match=r"left out: .*data\.svm: the qid of 2 samples"):
        assert load(path, loss=Loss.LOGISTIC).features.tolist() == [[2, 0], [0, 1]]


ONES = np.ones((3, 1))
LINE = "is not `label index:value ...` of LIBSVM"
THRESHOLD = 'positive must be a label or a threshold such as ">=5", not'
SHARE = "the test samples are a share above 0 and below 1, or a file:"
TOP, NO_LOSS = {"positive": ">=1"}, {"loss": Loss.LINEAR}


@pytest.mark.parametrize(
    ("source", "how", "says"),
    [
        *[
            (f"# no sample\r\n1 1:1 # good\r\n{line}\r\n0 bad", {}, f"line 3: {line!r} {LINE}")
            for line in ("1 a:b", "x 1:1", "1,2 1:1", "1 1", "1 -1:2", "1 1_0:1", "1 1:nan")
        ],
        ("1 1_0:1", {}, "also CSV of numbers with --label COLUMN, and .npz (at '1_0:1')"),
        *[
            (f"1 1:1\n#\n{line} # odd\n1", {}, f"line 3: {line!r} must have indices that rise")
            for line in ("1 2:1 1:1", "1 2:1 2:1", "1 99999999999:1")
        ],
        ("1 " + "1:1 " * 10_000, {}, f"line 1: '1 {'1:1 ' * 9}1:...' must have indices that rise"),
        ("1 1:1\n2 2000000000:1\n", {}, "2 samples x 2000000000 features are too many values"),
        ("", {}, "data.svm: no samples"),
        ("", {"label": "y"}, "data.svm: no samples"),
        ("\0", {}, "data.svm: malformed file, expected LIBSVM text"),
        ("1\n2\n", {}, "data.svm: no features"),
        ("7 1:1\n7 1:2\n", {}, "data.svm: only one class (7), nothing to tell apart"),
        ("7 1:1\n7 1:2\n", {"positive": "7"}, "data.svm: only one class (7), nothing to tell"),
        ({}, {}, "needs arrays X and y, or features and labels; found none"),
        ({"X": ONES, "labels": ONES}, {}, "or features and labels; found X, labels"),
        ({"X": np.array([{}]), "y": ONES}, {}, "array X: holds Python objects"),
        ({"X": ONES * 1j, "y": ONES}, {}, "features must be real numbers [3, 1], not complex128"),
        ({"X": ONES, "y": ["a", "b"]}, {}, "labels must be real numbers [2], not <U1 [2]"),
        ({"X": [[1], [np.nan]], "y": [0, 1]}, {}, "finite, found NaN or infinity at [1, 0]"),
        ({"X": ONES, "y": [0, np.inf, 1]}, {}, "must be finite, found NaN or infinity at [1]"),
        ({"X": np.ones((0, 2)), "y": []}, {}, "data.npz: no samples"),
        ({"X": np.ones((2, 0)), "y": [0, 1]}, {}, "data.npz: no features"),
        *[
            ({"X": np.ones(X), "y": np.ones(y)}, {}, f"labels (samples,), not {X} and {y}")
            for X, y in (((4, 2), (3,)), ((4,), (4,)), ((4, 2), (4, 1)), ((2, 2, 2), (2,)))
        ],
        ({"X": ONES, "y": [1.5, 2, 1234567]}, {}, "3 classes (1.5, 2, 1234567), name the positive"),
        ({"X": np.ones((30, 1)), "y": range(30)}, {}, "30 classes (0, 1, 2, 3, 4, 5, 6, 7, 8, 9"),
        *[
            ({"X": ONES, "y": [1, 2, 3]}, {"positive": positive}, f"data.npz: {says}")
            for positive, says in (
                ("4", "no label is 4; classes: 1, 2, 3"),
                (">=3.5", "no label is >=3.5; classes: 1, 2, 3"),
                (">=1", "every label is >=1; classes: 1, 2, 3"),
                *[(wrong, f"{THRESHOLD} {wrong!r}") for wrong in ("spam", ">=nan", "")],
            )
        ],
        ({"X": ONES, "y": [1, -257, 3]}, NO_LOSS, "between -256 and 256, found -257; scale them"),
        ({"X": ONES, "y": [1, 2, 3]}, TOP | NO_LOSS, "a positive class is for classification, not"),
        *[
            (ordered(), {"test": test}, says)
            for test, says in (
                ("0.01", "data.npz: 0.01 of 40 samples leaves no others"),
                ("0.999", "data.npz: 0.999 of 40 samples leaves no others"),
                ("0.5", "data.npz: the first 20 to train on are of one class"),
                ("missing.svm", "missing.svm: no such file"),
                *[(wrong, f"{SHARE} {wrong}") for wrong in ("1.5", "0", "nan")],
            )
        ],
        (CSV, {}, "is CSV: name the column of the labels by --label, one of species, length"),
        (CSV, {"label": "color"}, "one of species, length, width; no column has the name 'color'"),
        ("a,a\n1,2", {"label": "a"}, "one of a, a; two columns have the name 'a'"),
        ("1,2\n3,4", {"label": "1"}, "is CSV without names of columns"),
        *[
            (f"y,a\n1,2\n{line}", {"label": "y"}, f"line 3: {line!r} {says}")
            for line, says in (
                ("1,setosa", "is not 2 numbers, divided by ',': column 'a' has 'setosa', expected"),
                ("1,nan", "is not 2 numbers, divided by ',': column 'a' has 'nan', expected a"),
                (",2", "is not 2 numbers, divided by ',': column 'y' has '', expected a finite"),
                ("1", "is not 2 numbers, divided by ',', but 1"),
                ("1,2,3", "is not 2 numbers, divided by ',', but 3 (at '1,2,3')"),
                ("1,1e999", "has a number beyond float64"),
            )
        ],
    ],
)
def test_what_is_refused(tmp_path: Path, source: Any, how: dict[str, Any], says: str) -> None:
    save = save_svm if isinstance(source, str) else lambda path, arrays: save_npz(path, **arrays)
    with pytest.raises(InputError) as error:
        load(save(tmp_path, source), **{"loss": Loss.LOGISTIC, **how})
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


def test_a_data_set_takes_its_size_twice_and_is_judged_by_its_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = np.random.default_rng(1).random((2000, 300))
    source = save_npz(tmp_path, X=features, y=np.arange(2000) % 2)
    tracemalloc.start()
    load(source, loss=Loss.LOGISTIC, order=1, test="0.2")
    assert tracemalloc.get_traced_memory()[1] < 2.4 * features.nbytes
    tracemalloc.stop()
    monkeypatch.setattr(datasets, "DENSE_LIMIT", 599_999)
    monkeypatch.delattr(datasets.Archive, "__getitem__")
    with pytest.raises(InputError, match=r"^data\.npz: X holds too many values, at most 599999$"):
        load(source, loss=Loss.LOGISTIC)
