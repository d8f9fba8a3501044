import json

import pytest

from gen.base.errors import UserError
from gen.output.folder import MADE_BY, MANIFEST, written_whole


def write(target, **files):
    manifest = {"made_by": MADE_BY, "files": {f"{name}.v": "" for name in files}}
    with written_whole(target) as folder:
        for name, text in files.items():
            (folder / f"{name}.v").write_text(text)
        (folder / MANIFEST).write_text(json.dumps(manifest))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_new_folder_and_its_parents(tmp_path):
    write(tmp_path / "a" / "b", x="1")
    assert names(tmp_path / "a") == ["b"]
    assert names(tmp_path / "a" / "b") == [MANIFEST, "x.v"]
    assert (
        tmp_path / "a" / "b"
    ).stat().st_mode & 0o777 == tmp_path.parent.stat().st_mode & 0o777 | 0o55


def test_empty_folder_is_filled(tmp_path):
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", x="1")
    assert names(tmp_path / "out") == [MANIFEST, "x.v"]


def test_our_own_is_replaced(tmp_path):
    write(tmp_path / "out", x="1", y="1")
    write(tmp_path / "out", x="2")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == [MANIFEST, "x.v"]
    assert (tmp_path / "out" / "x.v").read_text() == "2"


def test_what_python_caches_in_our_own_is_replaced(tmp_path):
    write(tmp_path / "out", x="1")
    (tmp_path / "out" / "host" / "__pycache__").mkdir(parents=True)
    (tmp_path / "out" / "host" / "__pycache__" / "worker.pyc").write_bytes(b"")
    write(tmp_path / "out", x="2")
    assert names(tmp_path / "out") == [MANIFEST, "x.v"]


def test_a_failure_leaves_the_old(tmp_path):
    write(tmp_path / "out", x="1")

    def fail():
        with written_whole(tmp_path / "out") as folder:
            (folder / "x.v").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out" / "x.v").read_text() == "1"


def test_a_failure_leaves_no_new_folders(tmp_path):
    def fail(target):
        with written_whole(target) as folder:
            (folder / "x.v").write_text("half")
            raise KeyboardInterrupt

    (tmp_path / "old").mkdir()
    for target in ("a/b/c", "old/b/c"):
        with pytest.raises(KeyboardInterrupt):
            fail(tmp_path / target)
    assert names(tmp_path) == ["old"]
    assert names(tmp_path / "old") == []


@pytest.mark.parametrize("target", ["file/out", "file/a/b/out"])
def test_a_file_is_no_folder_to_write_to(tmp_path, target):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError) as error:
        write(tmp_path / target, x="1")
    says = f"cannot write to {tmp_path / target}: {tmp_path / 'file'} is not a folder"
    assert str(error.value) == says
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("manifest", [None, "{}", "[]", "not JSON", '{"made_by": "me"}'])
def test_what_others_built_is_refused(tmp_path, manifest):
    (tmp_path / "precious").write_text("")
    if manifest is not None:
        (tmp_path / MANIFEST).write_text(manifest)
    before = names(tmp_path)
    with pytest.raises(UserError, match="not made by ingather"):
        write(tmp_path, x="1")
    assert names(tmp_path) == before


def test_what_others_added_to_our_own_is_refused(tmp_path):
    write(tmp_path / "out", x="1")
    (tmp_path / "out" / "notes.txt").write_text("")
    with pytest.raises(UserError, match=r"such as notes\.txt"):
        write(tmp_path / "out", x="2")


def test_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(UserError, match="not a folder"):
        write(tmp_path / "out", x="1")


def test_a_parent_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        write(tmp_path / "file" / "out", x="1")
