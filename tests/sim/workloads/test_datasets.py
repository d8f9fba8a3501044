import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from sim.p4sgd.golden.sgd import Loss
from sim.workloads.datasets import DataError, load

SVM = "3 1:0.5 3:-2\n1 2:4\n3 1:1\n"
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
FEATURES = [[0.5, 0, -2], [0, 4, 0], [1, 0, 0]]


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
    with pytest.raises(DataError) as error:
        load(source, loss=loss, positive=positive)
    text = str(error.value)
    assert "\n" not in text
    assert error.value.__cause__ is None
    return text


def test_a_packed_file_is_told_by_its_first_bytes(tmp_path: Path) -> None:
    path = Path(save_svm(tmp_path, SVM, "a.svm.bz2")).rename(tmp_path / "a.svm")
    assert load(str(path), loss=Loss.LOGISTIC).features.tolist() == FEATURES
    path = Path(save_npz(tmp_path, X=np.eye(2), y=[0, 1])).rename(tmp_path / "mine")
    assert load(str(path), loss=Loss.LOGISTIC).features.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("name", ["none.svm", "none.npz", "a/b.svm", "\0.svm"])
def test_missing_file(tmp_path: Path, name: str) -> None:
    expected = "no such file (built-in data sets: digits, breast-cancer)"
    assert message(f"{tmp_path}/{name}").endswith(expected)


def test_a_folder(tmp_path: Path) -> None:
    expected = f"{tmp_path}: is a folder, expected a file (built-in data sets: digits"
    assert message(str(tmp_path)).startswith(expected)
    assert "is a folder" in message("")
    assert "File name too long" in message("a" * 300)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 a:b", "invalid literal"),
        ("x 1:1", "could not convert"),
        ("1 1", "need more than 1 value"),
        ("1,2 1:1", "could not convert"),
        ("1 -1:2", "Invalid index -1"),
        ("1 2:1 1:1", "sorted and unique"),
        ("1 99999999999:1", "too large"),
        ("5.1,3.5,1.4,0.2,setosa", "could not convert"),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 500])
def test_malformed_lines_have_their_number(
    tmp_path: Path, line: str, reason: str, before: int
) -> None:
    text = "# comment\n" + "1 1:1 # good\n" * before + f"{line}\n1 1:1\n0 bad too\n"
    for newline in ("\n", "\r\n"):
        found = message(save_svm(tmp_path, text.replace("\n", newline)))
        assert f"data.svm: line {before + 2}: {line!r} is not `label index:value ...` (" in found
        assert reason in found


def test_long_malformed_lines_are_cut(tmp_path: Path) -> None:
    found = message(save_svm(tmp_path, "1 " + "1:1 " * 10_000))
    assert f"line 1: '1 {'1:1 ' * 9}1:...' is not" in found
    assert len(found) < 300


def test_binary_rubbish(tmp_path: Path) -> None:
    for name in ("a.svm", "a.svm.gz", "a.npz", "a"):
        (tmp_path / name).write_bytes(bytes(range(256)))
        expected = f"{name}: malformed file (neither LIBSVM text nor an .npz archive)"
        assert message(str(tmp_path / name)).endswith(expected)


def test_truncated_gz(tmp_path: Path) -> None:
    path = Path(save_svm(tmp_path, SVM * 100, "data.svm.gz"))
    path.write_bytes(path.read_bytes()[:-12])
    assert "malformed file (Compressed file ended" in message(str(path))


def test_truncated_and_empty_npz(tmp_path: Path) -> None:
    path = Path(save_npz(tmp_path, X=np.ones((100, 5)), y=np.ones(100)))
    content = path.read_bytes()
    for size in (0, 100, len(content) - 30):
        path.write_bytes(content[:size])
        assert "malformed file (" in message(str(path))
    damaged = bytearray(content)
    damaged[300] ^= 255
    path.write_bytes(damaged)
    assert "malformed file (" in message(str(path))


def test_too_many_values_for_a_dense_array(tmp_path: Path) -> None:
    assert "2 samples x 2000000000 features are too many" in message(
        save_svm(tmp_path, "1 1:1\n2 2000000000:1\n")
    )


def test_npz_without_the_arrays(tmp_path: Path) -> None:
    text = message(save_npz(tmp_path, X=np.ones((2, 2)), labels=np.ones(2)))
    assert text.endswith("needs arrays X and y, or features and labels; found X, labels")
    assert message(save_npz(tmp_path, "empty.npz")).endswith("found none")


def test_single_array_named_npz(tmp_path: Path) -> None:
    with (tmp_path / "a.npz").open("wb") as file:
        np.save(file, np.ones(3))
    assert message(str(tmp_path / "a.npz")).endswith("a single array, expected an .npz archive")


def test_pickles_are_refused(tmp_path: Path) -> None:
    path = save_npz(tmp_path, X=np.array([[1, "a"]], dtype=object), y=np.ones(1))
    assert "Object arrays cannot be loaded" in message(path)


@pytest.mark.parametrize(
    ("features", "labels"), [((4, 2), (3,)), ((4,), (4,)), ((4, 2), (4, 1)), ((2, 2, 2), (2,))]
)
def test_wrong_shapes(tmp_path: Path, features: tuple, labels: tuple) -> None:
    text = message(save_npz(tmp_path, X=np.ones(features), y=np.ones(labels)))
    assert text.endswith(f"labels (samples,), not {features} and {labels}")


def test_wrong_types(tmp_path: Path) -> None:
    ones = np.ones((2, 2))
    text = message(save_npz(tmp_path, X=ones * 1j, y=[0, 1]))
    assert text == "data.npz: features must be real numbers, not complex128"
    text = message(save_npz(tmp_path, X=ones, y=["a", "b"]))
    assert text == "data.npz: labels must be real numbers, not <U1"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(tmp_path: Path, bad: float) -> None:
    good, broken = np.ones((2, 1)), np.array([[1.0], [bad]])
    text = message(save_npz(tmp_path, X=broken, y=[0, 1]))
    assert text == "data.npz: features must be finite, found NaN or infinity"
    text = message(save_npz(tmp_path, X=good, y=[0, bad]))
    assert text == "data.npz: labels must be finite, found NaN or infinity"
    text = message(save_svm(tmp_path, f"1 1:{bad}\n2 1:1\n"))
    assert text == "data.svm: features must be finite, found NaN or infinity"


def test_nothing_in_it(tmp_path: Path) -> None:
    assert message(save_npz(tmp_path, X=np.ones((0, 2)), y=[])) == "data.npz: no samples"
    assert message(save_npz(tmp_path, X=np.ones((2, 0)), y=[0, 1])) == "data.npz: no features"
    assert message(save_svm(tmp_path, "")) == "data.svm: no samples"
    assert message(save_svm(tmp_path, "1\n2\n")).endswith("data.svm: no features")


def test_one_class(tmp_path: Path) -> None:
    path = save_svm(tmp_path, "7 1:1\n7 1:2\n")
    expected = "data.svm: only one class (7), nothing to tell apart"
    assert message(path) == message(path, positive="7") == expected


def test_several_classes_need_a_positive_one(tmp_path: Path) -> None:
    path = save_npz(tmp_path, X=np.ones((3, 1)), y=[1.5, 2, 1234567])
    assert message(path) == (
        'data.npz: 3 classes (1.5, 2, 1234567), name the positive one or a threshold such as ">=5"'
    )
    path = save_npz(tmp_path, X=np.ones((30, 1)), y=np.arange(30))
    assert "30 classes (0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 20 more)" in message(path)


@pytest.mark.parametrize(
    ("positive", "expected"),
    [
        ("4", "no label is 4; classes: 1, 2, 3"),
        (">=3.5", "no label is >=3.5; classes: 1, 2, 3"),
        (">=1", "every label is >=1; classes: 1, 2, 3"),
        ("spam", "positive must be a label or a threshold such as \">=5\", not 'spam'"),
        (">=nan", "positive must be a label or a threshold such as \">=5\", not '>=nan'"),
        ("", "positive must be a label or a threshold such as \">=5\", not ''"),
    ],
)
def test_impossible_positive(tmp_path: Path, positive: str, expected: str) -> None:
    path = save_npz(tmp_path, X=np.ones((3, 1)), y=[1, 2, 3])
    assert message(path, positive=positive) == f"data.npz: {expected}"


def test_linear_errors(tmp_path: Path) -> None:
    path = save_npz(tmp_path, X=np.ones((3, 1)), y=[1, -256, 3])
    assert message(path, Loss.LINEAR) == (
        "data.npz: labels must be between -256 and 256, found -256; scale them"
    )
    assert message("digits", Loss.LINEAR, ">=5") == (
        "digits: a positive class is for classification, not for linear loss"
    )


def ordered(count: int = 40) -> dict[str, np.ndarray]:
    """Return samples that tell where they were, sorted by class."""
    return {"X": np.arange(count * 2.0).reshape(count, 2), "y": np.arange(count) * 2 // count}


def test_shuffled_by_seed(tmp_path: Path) -> None:
    path = save_npz(tmp_path, **ordered())
    kept = load(path, loss=Loss.LOGISTIC)
    assert kept.features[:, 0].tolist() == list(range(0, 80, 2))
    assert kept.order == "in the order of the source"
    one, same, other = (load(path, loss=Loss.LOGISTIC, order=seed) for seed in (1, 1, 2))
    assert one.order == "shuffled with seed 1"
    assert sorted(one.features[:, 0]) == kept.features[:, 0].tolist()
    assert (one.labels == (one.features[:, 0] >= 40)).all()  # labels go with their samples
    assert (one.features == same.features).all()
    assert (one.features != other.features).any()
    assert one.labels[:20].sum() in range(5, 16)


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


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("0.01", "data.npz: 0.01 of 40 samples leaves no others"),
        ("0.999", "data.npz: 0.999 of 40 samples leaves no others"),
        ("0.5", "data.npz: the first 20 samples, to train on, are of one class"),
        ("1.5", "the test samples are a share above 0 and below 1, or a file: 1.5"),
        ("0", "the test samples are a share above 0 and below 1, or a file: 0"),
        ("nan", "the test samples are a share above 0 and below 1, or a file: nan"),
        ("missing.svm", "missing.svm: no such file"),
    ],
)
def test_impossible_tests(tmp_path: Path, test: str, says: str) -> None:
    path = save_npz(tmp_path, **ordered())
    with pytest.raises(DataError) as error:
        load(path, loss=Loss.LOGISTIC, test=test)
    assert says in str(error.value)


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
    found = load(train, loss=Loss.HINGE, test=wide).test
    assert found
    assert found.features.tolist() == [[0, 7, 0]]


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
        with pytest.raises(DataError) as error:
            load(path, loss=Loss.LOGISTIC, test=test)
        assert says in str(error.value)
