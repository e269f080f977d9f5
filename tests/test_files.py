"""Files that are replaced whole or not at all."""

import os
import threading

import pytest

from polychotomy.core import files


def test_a_file_is_replaced_when_the_block_ends(tmp_path):
    path = tmp_path / "table"
    path.write_bytes(b"old")
    with files.replacing(path) as stream:
        stream.write(b"ne")
        assert path.read_bytes() == b"old"
        stream.write(b"w")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["table"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("before", [b"old", None])
def test_an_exception_leaves_everything_as_it_was(tmp_path, error, before):
    path = tmp_path / "table"
    if before is not None:
        path.write_bytes(before)

    def fail():
        with files.replacing(path) as stream:
            stream.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert os.listdir(tmp_path) == ([] if before is None else ["table"])
    assert before is None or path.read_bytes() == before


def test_data_and_folder_are_written_to_the_disk_around_the_rename(tmp_path, monkeypatch):
    path, calls = tmp_path / "table", []
    fsync, replace = os.fsync, os.replace

    def synced(handle):
        calls.append(os.fstat(handle).st_size)
        fsync(handle)

    def replaced(*names):
        calls.append("rename")
        replace(*names)

    monkeypatch.setattr(files.os, "fsync", synced)
    monkeypatch.setattr(files.os, "replace", replaced)
    files.write(path, b"12345")
    assert calls[:2] == [5, "rename"]
    assert len(calls) == (3 if os.name == "posix" else 2)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_written_to_and_stays(tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    files.write(path, b"through")
    reader.join(10)
    assert read == [b"through"]
    assert os.listdir(tmp_path) == ["pipe"]
    assert not path.is_file()


def test_places_that_cannot_be_written_are_refused_before_the_block(tmp_path):
    entered = []

    def enter(path):
        with files.replacing(path):
            entered.append(path)

    with pytest.raises(IsADirectoryError, match="name a file in it"):
        enter(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no directory"):
        enter(tmp_path / "missing" / "table")
    assert not entered
