"""Kernels are in files of their own, which import little beside other kernels."""

import ast
from pathlib import Path

import matchwood

PACKAGE = Path(matchwood.__file__).parent
KERNELS = PACKAGE / "kernels"  # where kernels may stand in any file
DECORATORS = {"compiled", "lean", "inlined", "launched", "device_function"}
MYPY = "# mypy: allow-untyped-defs, no-check-untyped-defs"


def files():
    return sorted(PACKAGE.rglob("*.py"))


def is_kernel_file(path):
    return path.name.endswith("_kernels.py")


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def kernels_in(path):
    """The names of functions that are compiled: decorated ones, and `name = lean(function)`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            calls = node.decorator_list
        elif isinstance(node, ast.Assign):
            calls = [node.value]
        else:
            continue
        for call in calls:
            used = call.func if isinstance(call, ast.Call) else call
            if isinstance(used, ast.Name) and used.id in DECORATORS:
                yield node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node)


def imported(path):
    """The modules of the package that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("matchwood"):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("matchwood"))


def test_kernels_are_in_kernel_files():
    wrong = {
        name_of(path): names
        for path in files()
        if not is_kernel_file(path) and KERNELS not in path.parents
        if (names := list(kernels_in(path)))
    }
    assert wrong == {}


def test_kernel_files_hold_kernels():
    assert [
        name_of(path) for path in files() if is_kernel_file(path) and not [*kernels_in(path)]
    ] == []


def test_only_kernel_files_are_not_checked_for_types():
    assert [name_of(path) for path in files() if is_kernel_file(path)] == [
        name_of(path) for path in files() if "# mypy:" in path.read_text()
    ]
    for path in filter(is_kernel_file, files()):
        docstring = ast.parse(path.read_text()).body[0]
        line = path.read_text().splitlines()[docstring.end_lineno + 1]
        assert line == MYPY, f"{name_of(path)}: the line after the docstring"


def is_of_kernels(module):
    return module.startswith("matchwood.kernels.")


def is_layout(module):
    """Whether a module has layouts and codecs alone: it builds on `kernels` and kernel files."""
    path = PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")
    return path.exists() and all(
        is_of_kernels(other) or other.endswith("_kernels") for other in imported(path)
    )


def test_kernel_files_import_only_kernels_and_layouts():
    """A kernel is compiled again when a file that it imports changes, however far down."""
    wrong = {
        f"{name_of(path)}: {module}"
        for path in filter(is_kernel_file, files())
        for module in imported(path)
        if not (module.endswith("_kernels") or is_of_kernels(module) or is_layout(module))
    }
    assert wrong == set()


def test_kernels_package_imports_nothing_else():
    wrong = {
        f"{name_of(path)}: {module}"
        for path in KERNELS.glob("*.py")
        for module in imported(path)
        if not is_of_kernels(module)
    }
    assert wrong == set()
