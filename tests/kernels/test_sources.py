"""Which files a kernel may come from."""

import re
import sys

import pytest

from matchwood.kernels.sources import (
    _STORAGE,
    _file,
    _imports,
    _source,
    _source_digest,
    digest_of,
    product_modules,
    sources_of,
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of its own, whose modules are written by the test."""
    folder = tmp_path / "pack"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "__init__.py").touch()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("pack")
    yield folder
    del sys.modules["pack"]
    forget()


def forget():
    for remembered in (_file, _imports, _source_digest):
        remembered.cache_clear()


@pytest.mark.parametrize(
    "line",
    [
        "from pack.inner.constants import ONE",
        "from pack.inner import constants",
        "from pack.inner import (\n    other,\n    constants as c,\n)",
        "import pack.inner.constants",
        "import os, pack.inner.constants as c",
        "def later():\n    from pack.inner import constants",
        "from pack.inner.between import anything",
    ],
)
def test_imports_are_followed_however_they_are_written(package, line):
    (package / "kernel.py").write_text(line + "\n")
    (package / "inner" / "between.py").write_text("from pack.inner.constants import ONE\n")
    (package / "inner" / "constants.py").write_text("ONE = 1\n")
    before = digest_of("pack.kernel")
    forget()
    assert digest_of("pack.kernel") == before
    (package / "inner" / "constants.py").write_text("ONE = 2\n")
    forget()
    assert digest_of("pack.kernel") != before


def test_what_is_not_imported_is_left_out(package):
    (package / "kernel.py").write_text("import os\n")
    (package / "page.py").write_text("TITLE = 1\n")
    before = digest_of("pack.kernel")
    (package / "page.py").write_text("TITLE = 2\n")
    forget()
    assert digest_of("pack.kernel") == before


def test_modules_that_import_each_other(package):
    (package / "kernel.py").write_text("from pack import other\n")
    (package / "other.py").write_text("from pack import kernel\n")
    assert len(digest_of("pack.kernel")) == 64


def test_constants_of_programs_are_part_of_the_kernels_that_read_them():
    """Two of them were once exchanged under a warm cache, which gave wrong matches."""
    assert "matchwood.kernels.programs" in _imports("matchwood.index.build.arrange_kernels")


def test_what_stores_kernels_is_imported_by_their_decorators_alone():
    """So nothing that is left out of the digests can be part of a kernel."""
    assert all(_file(module) is not None for module in _STORAGE)
    laboratory = (_file("matchwood").parent / "lab").rglob("*_kernels.py")
    folder = _file("matchwood").parents[1]
    others = [".".join(path.relative_to(folder).with_suffix("").parts) for path in laboratory]
    storage = "|".join(module.rpartition(".")[2] for module in sorted(_STORAGE))
    named = re.compile(rf"import[^#\n]*\b({storage})\b|kernels\.({storage})\b".encode())
    importing = {
        source
        for module in (*product_modules(), *others)
        for source in sources_of(module)
        if named.search(_source(source))
    }
    assert importing == {"matchwood.kernels.compiled"}
