"""Judges headers of .npy files and members of .npz files before anything is allocated."""

import zipfile

import pytest

from sim.workloads.arrays import Archive, read_array
from sim.workloads.files import InputError


@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        ("<f8", "(1, ", "no .npy header of version 1 or 2"),
        ("<f8", "(" * 5000, "no .npy header of version 1 or 2"),
        ("<f8", "(-10, 8)", r"cannot have the shape \(-10, 8\)"),
        ("<f8", f"({'9' * 23},)", r"cannot have the shape \(9999"),
        ("<f8", f"(0, {2**62})", r"cannot have the shape \(0, 46"),
        ("<f8", "(1000000000,)", "has 8 bytes of values, .* needs 8,000,000,000"),
        ("<f4", "(1,)", "has 8 bytes of values, .* needs 4"),
        ("|O", "(1,)", "holds Python objects"),
        ("<U0", f"({2**40},)", "cannot have the shape"),
    ],
)
def test_headers(tmp_path, kind, shape, message):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    content = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(8)
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.npy: {message}"):
        read_array(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content)
    with pytest.raises(InputError, match=rf"a\.npz: array x: {message}"):
        Archive(tmp_path / "a.npz")["x"]
