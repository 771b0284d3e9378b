"""A file gives back what was written, or says what is wrong with it, and nothing else."""

import doctest
import errno
import json
import os
import pickle
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.index.file import array_file as file
from matchwood.index.file.array_file import IndexFileError, checksum, read, write

META = {"rules": 3, "slots": ["age", "käse"]}
ARRAYS = {
    "codes": np.arange(37, dtype=np.int32),
    "nothing": np.empty(0, np.int64),
    "pairs": np.arange(10, dtype=np.int64).reshape(5, 2),
    "no pairs": np.empty((0, 2), np.int64),
    "text": np.frombuffer(b"age >= 18 and tier = 'gold'", np.uint8),
    "chance": np.linspace(0, 1, 9, dtype=np.float32),
    "one": np.array(7, np.uint64),
    "flags": np.array([True, False]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "rules.mw"
    write(target, META, ARRAYS)
    return target


def everything(path: Path) -> None:
    """Read all there is, as a program would that trusts nothing."""
    assert not read(path)[1].unverified


def test_documented_examples() -> None:
    assert doctest.testmod(file).failed == 0


# What was written


def test_round_trip(path: Path) -> None:
    meta, arrays = read(path)
    assert meta == META
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        found = arrays.verify(name)
        assert found.dtype == array.dtype
        assert found.shape == array.shape
        assert np.array_equal(found, array)
        assert found.flags.c_contiguous
        assert found.flags.aligned
        assert not found.flags.writeable
        if found.size:
            assert found.ctypes.data % 64 == 0
        with pytest.raises(ValueError, match="read-only"):
            found[...] = 0


def test_strided_arrays_are_written_as_they_look(tmp_path: Path) -> None:
    grid = np.arange(24, dtype=np.int16).reshape(4, 6)
    write(tmp_path / "f", {}, {"turned": grid.T, "some": grid[::2, 1::3], "odd": grid.ravel()[1:]})
    _, arrays = read(tmp_path / "f")
    assert np.array_equal(arrays["turned"], grid.T)
    assert np.array_equal(arrays["some"], grid[::2, 1::3])
    assert np.array_equal(arrays["odd"], grid.ravel()[1:])


def test_no_arrays_and_no_meta(tmp_path: Path) -> None:
    write(tmp_path / "f", {}, {})
    assert read(tmp_path / "f") == ({}, {})


def test_same_content_same_bytes(path: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", META, ARRAYS)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_arrays_outlive_the_name_of_their_file(path: Path) -> None:
    _, arrays = read(path)
    write(path, {}, {"codes": np.zeros(1)})
    path.unlink()
    assert arrays["codes"].sum() == 666


def test_arrays_of_a_trusted_file_are_checked_once_and_on_demand(path: Path) -> None:
    assert read(path)[1].unverified == set()
    _, arrays = read(path, verify=False)
    assert arrays.unverified == set(ARRAYS)
    assert arrays.verify("text") is arrays["text"]
    assert arrays.unverified == set(ARRAYS) - {"text"}


def test_damage_in_a_trusted_file_is_found_on_demand(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"age >=")] ^= 1
    path.write_bytes(content)
    with pytest.raises(IndexFileError, match="its array 'text' is damaged"):
        read(path)
    _, arrays = read(path, verify=False)
    with pytest.raises(IndexFileError, match="its array 'text' is damaged"):
        arrays.verify("text")
    with pytest.raises(IndexFileError, match="its array 'text' is damaged"):
        arrays.verify("text")


# What cannot be written


def test_refused_before_anything_is_written(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(TypeError, match="array 'names': a file holds no object"):
        write(path, {}, {"names": np.array(["a"], object)})
    with pytest.raises(TypeError, match="holds no >i4"):
        write(path, {}, {"other end": np.zeros(1, ">i4")})
    with pytest.raises(TypeError):
        write(path, {"set": {1}}, {})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failure_leaves_the_old_file_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = path.read_bytes()

    def fail(*_: object) -> None:
        assert len(os.listdir(path.parent)) == 2
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file.os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        write(path, {}, {"big": np.zeros(1000)})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_link_goes_on_pointing(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    write(link, {"new": True}, {})
    assert link.is_symlink()
    assert read(path)[0] == {"new": True}
    assert not stat.S_IMODE(path.stat().st_mode) & 0o111


# What is wrong with a file


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none")


def test_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError, match="is a directory"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IndexFileError, match="is not a regular file"):
        read(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"M", "is truncated: it ends after 1 bytes"),
        (b"MATCHWOOD", "is truncated: it ends after 9 bytes"),
        (b"matchwood", "is not a matchwood file"),
        (b"PAR1" + bytes(100), "is not a matchwood file"),
        (b"MATCHWOOD" + bytes(100), "is altered: its header is damaged"),
    ],
)
def test_other_content(tmp_path: Path, content: bytes, problem: str) -> None:
    target = tmp_path / "rules.mw"
    target.write_bytes(content)
    with pytest.raises(IndexFileError) as caught:
        read(target)
    assert str(caught.value) == f"{target} {problem}"
    assert isinstance(caught.value, ValueError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_future_version(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[12] = file.VERSION + 1
    path.write_bytes(content)
    newer = rf"a newer matchwood \(format {file.VERSION + 1}; this one reads {file.VERSION}\)"
    with pytest.raises(IndexFileError, match=newer):
        read(path)


def test_earlier_version(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "VERSION", 1)
    write(path, {}, {})
    monkeypatch.undo()
    older = rf"an older matchwood \(format 1; this one reads {file.VERSION}\): save the rules once"
    with pytest.raises(IndexFileError, match=older):
        read(path)


def test_every_truncation_is_said(path: Path) -> None:
    content = path.read_bytes()
    for length in range(1, len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(IndexFileError, match="is truncated"):
            everything(path)


def test_every_changed_byte_is_found_and_placed(path: Path) -> None:
    content = path.read_bytes()
    header = 40 + int.from_bytes(content[16:24], "little")
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        if at < 16:
            problem = "not a matchwood file|newer matchwood|its header"
        elif at < header:
            problem = "its header|truncated"
        else:
            problem = "its array|does not fit its arrays"
        with pytest.raises(IndexFileError, match=problem) as caught:
            everything(path)
        assert str(path) in str(caught.value)


@given(
    cut=st.integers(0, 2000),
    gone=st.integers(0, 100),
    new=st.binary(max_size=100),
)
def test_no_bytes_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, cut: int, gone: int, new: bytes
) -> None:
    target = tmp_path_factory.mktemp("any") / "rules.mw"
    write(target, META, ARRAYS)
    content = target.read_bytes()
    changed = content[:cut] + new + content[cut + gone :]
    target.write_bytes(changed)
    if changed == content:
        everything(target)
    else:
        with pytest.raises(IndexFileError):
            everything(target)


def forged(header: bytes, total: int | None = None, arrays: bytes = b"") -> bytes:
    """A file whose opening and checksum fit whatever header it is given."""
    body = header + bytes(-(40 + len(header)) % 64) + arrays
    opening = file._OPENING.pack(
        b"MATCHWOOD", file.VERSION, len(header), total or 40 + len(body), 0
    )[:32]
    found = int(checksum(np.frombuffer(opening + header, np.uint8)), 16)
    return opening + found.to_bytes(8, "little") + body


def described(**changes: object) -> bytes:
    data = np.zeros(64, np.uint8)
    array = {"dtype": "|u1", "shape": [64], "offset": 0, "checksum": checksum(data)}
    return json.dumps({"meta": {}, "arrays": {"a": array | changes}}).encode()


def test_forged_header_that_is_right(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(forged(described(), arrays=bytes(64)))
    assert read(tmp_path / "f")[1]["a"].tolist() == [0] * 64


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[]",
        b"7",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"meta": 1, "arrays": {}}',
        b'{"meta": {}, "arrays": []}',
        b'{"meta": {}, "arrays": {"a": 1}}',
        b'{"meta": {}, "arrays": {"a": {}}}',
        described(shape=[10**15]),
        described(shape=[10**30]),
        described(shape=[int("9" * 4000)]),
        described(shape=[-1]),
        described(shape=[64.0]),
        described(shape=[True]),
        described(shape=64),
        described(shape=[0, 2**40, 2**40]),
        described(shape=[1] * 65),
        described(shape=[63], offset=1),
        described(offset=64),
        described(offset=-64),
        described(offset="0"),
        described(dtype="|O"),
        described(dtype="O8"),
        described(dtype=[["a", "i4"]]),
        described(dtype="|V8"),
        described(dtype=None),
        described(checksum=None),
        described(checksum=[]),
        described(checksum="0" * 16),
    ],
)
def test_forged_headers_are_refused(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "f").write_bytes(forged(header, arrays=bytes(64)))
    with pytest.raises(IndexFileError):
        read(tmp_path / "f")


def test_forged_lengths_are_refused(tmp_path: Path) -> None:
    for total in (1, 2**63, 40):
        (tmp_path / "f").write_bytes(forged(described(), total, bytes(64)))
        with pytest.raises(IndexFileError):
            read(tmp_path / "f")
    (tmp_path / "f").write_bytes(
        file._OPENING.pack(b"MATCHWOOD", file.VERSION, 2**64 - 1, 2**64 - 1, 0)
    )
    with pytest.raises(IndexFileError, match="truncated"):
        read(tmp_path / "f")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["dtype", "shape", "offset", "checksum", "x"]), inner)
    ),
    max_leaves=8,
)


@given(key=st.sampled_from(["dtype", "shape", "offset", "checksum"]), value=json_values)
def test_headers_of_anything_raise_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: object
) -> None:
    target = tmp_path_factory.mktemp("forged") / "rules.mw"
    target.write_bytes(forged(described(**{key: value}), arrays=bytes(64)))
    try:
        everything(target)
    except IndexFileError:
        pass


# Checksums


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_changed_bit_or_byte_or_length_changes_the_checksum(
    content: bytes, data: st.DataObject
) -> None:
    whole = np.frombuffer(content, np.uint8)
    before = checksum(whole)
    at = data.draw(st.integers(0, len(content) - 1))
    changed = whole.copy()
    changed[at] ^= data.draw(st.integers(1, 255))
    assert checksum(changed) != before
    assert checksum(whole[:-1]) != before
    assert checksum(np.r_[whole, np.uint8(0)]) != before


def test_swapped_words_and_pairs_of_bits_change_the_checksum() -> None:
    words = np.arange(24, dtype=np.uint64)
    seen = {checksum(words.view(np.uint8))}
    for i in range(24):
        for j in range(i):
            swapped = words.copy()
            swapped[[i, j]] = swapped[[j, i]]
            seen.add(checksum(swapped.view(np.uint8)))
    assert len(seen) == 1 + 24 * 23 // 2


def test_two_changed_bits_of_one_lane_change_the_checksum() -> None:
    one = [np.uint64(1) << np.uint64(i) for i in range(64)]
    words = np.zeros(16, np.uint64)
    before = checksum(words.view(np.uint8))
    seen = set()
    for words[0] in one:
        for words[8] in one:
            seen.add(checksum(words.view(np.uint8)))
    assert before not in seen
    assert len(seen) > 64 * 63  # four changed bits may cancel out, in a few known patterns


def test_position_in_memory_does_not_matter() -> None:
    data = np.frombuffer(np.random.default_rng(1).bytes(1000), np.uint8)
    for shift in range(9):
        moved = np.r_[np.zeros(shift, np.uint8), data][shift:]
        assert checksum(moved) == checksum(data)
