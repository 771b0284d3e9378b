"""Entries of compiled kernels: named after their content, written whole, checked when read."""

import zipfile

import pytest

from matchwood.kernels import kernel_folder
from matchwood.kernels.kernel_archive import use_archive, write_archive
from matchwood.kernels.kernel_folder import (
    cache_directory,
    entry_name,
    environment,
    environment_folder,
    is_complete,
    is_entry_name,
    list_name,
    read_entry,
    write_entry,
    write_list,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "here"))
    return environment_folder()


def test_an_entry_is_read_as_it_was_written(folder):
    name = entry_name("pack.add", "(int64,)", "source")
    assert is_entry_name(name)
    assert read_entry(folder, name) is None
    write_entry(folder, name, b"code")
    assert read_entry(folder, name) == b"code"
    assert [path.name for path in folder.iterdir()] == [name]


@pytest.mark.parametrize("damage", [b"", b"code", bytes(40)])
def test_a_damaged_entry_is_removed(folder, damage):
    name = entry_name("pack.add", "(int64,)", "source")
    write_entry(folder, name, b"code")
    (folder / name).write_bytes(damage)
    assert read_entry(folder, name) is None
    assert not (folder / name).exists()


def test_names_differ_by_kernel_types_and_source():
    names = {
        entry_name(kernel, types, source)
        for kernel in ("pack.add", "pack.<locals>.add")
        for types in ("(int64,)", "(readonly array(int64, 1d, C),)")
        for source in ("one", "two")
    }
    assert len(names) == 8
    assert all(map(is_entry_name, names))


def test_old_versions_of_a_kernel_are_removed(folder):
    other = entry_name("pack.add", "(int32,)", "0")
    write_entry(folder, other, b"")
    for source in range(10):
        write_entry(folder, entry_name("pack.add", "(int64,)", str(source)), b"")
    left = {path.name for path in folder.iterdir()}
    assert len(left) == kernel_folder._VERSIONS + 1
    assert {other, entry_name("pack.add", "(int64,)", "9")} <= left


def test_a_folder_is_complete_once_all_listed_entries_are_there(folder):
    names = {entry_name("pack.add", "(int64,)", source): 0.5 for source in ("one", "two")}
    for name in names:
        write_entry(folder, name, b"code")
    assert not is_complete(folder)
    write_list(folder, names)
    assert is_complete(folder)
    (folder / next(iter(names))).unlink()
    assert not is_complete(folder)


def test_the_environment_depends_on_the_processor_and_on_settings(monkeypatch):
    first = environment()
    for name, value in (("NUMBA_CPU_NAME", "generic"), ("NUMBA_OPT", "1")):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            environment.cache_clear()
            assert environment() != first
    environment.cache_clear()
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/elsewhere")
    assert environment() == first


def test_an_archive_brings_kernels_to_another_folder(folder, tmp_path, monkeypatch):
    names = {entry_name("pack.add", "(int64,)", source): 0.5 for source in ("one", "two")}
    with pytest.raises(ValueError, match="warm-up"):
        write_archive(tmp_path / "kernels.zip")
    for name in names:
        write_entry(folder, name, name.encode())
    write_list(folder, names)
    assert write_archive(tmp_path / "kernels.zip") == 2
    before = (tmp_path / "kernels.zip").read_bytes()
    write_archive(tmp_path / "kernels.zip")
    assert (tmp_path / "kernels.zip").read_bytes() == before
    with zipfile.ZipFile(tmp_path / "kernels.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
    for number, source in enumerate(["kernels.zip", "unpacked"]):
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / str(number)))
        assert use_archive(tmp_path / source) == (2, 0, ())
        there = environment_folder()
        assert is_complete(there)
        assert all(read_entry(there, name) == name.encode() for name in names)
        assert use_archive(tmp_path / source) == (0, 2, ())


def test_an_archive_is_used_only_as_far_as_it_can_be_trusted(folder, tmp_path):
    good, bad = (entry_name("pack.add", "(int64,)", source) for source in ("one", "two"))
    write_entry(folder, good, b"code")
    whole = (folder / good).read_bytes()
    (folder / good).unlink()
    with zipfile.ZipFile(tmp_path / "kernels.zip", "w") as archive:
        archive.writestr(f"{environment()}/{good}", whole)
        archive.writestr(f"{environment()}/{bad}", whole[:-1])  # damaged
        archive.writestr(f"{environment()}/../{bad}", whole)
        archive.writestr(f"{environment()}/evil.py", "import this")
        archive.writestr(f"other-machine/{good}", whole)
    assert use_archive(tmp_path / "kernels.zip") == (1, 0, ("other-machine",))
    assert [path.name for path in folder.iterdir()] == [good]
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(ValueError, match=r"text\.zip: this is not an archive of kernels"):
        use_archive(tmp_path / "text.zip")


def test_a_folder_that_cannot_be_written_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "folder"))
    found = cache_directory()
    assert found is not None
    assert tmp_path not in found.parents


def test_the_list_is_named_after_the_sources():
    assert list_name() == list_name()
    assert list_name().startswith("complete-")
