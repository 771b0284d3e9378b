"""A name stands for one thing, and tests are where a reader looks for them."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import matchwood
from conftest import APART, IN_THE_SIMULATOR, THROUGH_CONNECT, UNCOMPILED_TOO

PACKAGE = Path(matchwood.__file__).parent
TESTS = Path(__file__).parent


def test_no_two_classes_share_a_name() -> None:
    modules = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(str(path.relative_to(PACKAGE)))
    assert not {name: paths for name, paths in modules.items() if len(paths) > 1}


def test_every_folder_of_tests_is_named_after_what_it_tests() -> None:
    """`tests/match/batch` is of `matchwood/match/batch`, `tests/matcher` of `matcher.py`."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    strangers = [
        str(folder)
        for folder in folders
        if not (PACKAGE / folder).is_dir() and not (PACKAGE / folder).with_suffix(".py").is_file()
    ]
    assert not strangers


def test_every_package_has_a_page() -> None:
    """The docstring of a package says what it is for and what its modules do."""
    for path in sorted(PACKAGE.rglob("__init__.py")):
        page = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert page, f"{path.relative_to(PACKAGE)} has no docstring"
        described = set(re.findall(r"\w+", page))
        for module in map(_name, path.parent.iterdir()):
            assert module is None or module in described, f"{path} does not say what {module} does"


def _name(path: Path) -> str | None:
    """What a package has to describe: its modules, but for those of a module's kernels."""
    if path.suffix == ".py" and not path.stem.startswith("__"):
        module = path.stem.removesuffix("_kernels")
        return module if path.with_stem(module).is_file() else path.stem
    return path.name if (path / "__init__.py").is_file() else None


def test_what_the_suite_lists_is_there() -> None:
    """A test that is renamed would leave its run without a word."""
    files = {path.name: path for path in TESTS.rglob("test_*.py")}
    assert not {*APART, *UNCOMPILED_TOO, IN_THE_SIMULATOR} - set(files)
    of_spark = "".join(
        path.read_text(encoding="utf-8") for path in (TESTS / "spark").rglob("test_*.py")
    )
    assert not {name for name in THROUGH_CONNECT if f"\ndef {name}(" not in of_spark}
