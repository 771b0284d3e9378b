"""`import matchwood` is quick and light, and packages import only those to their left."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import matchwood

PACKAGE = Path(matchwood.__file__).parent

FOUNDATION = (
    "language arrow schema normalise forking kernel_sources compiled views operators index match "
    "engine"
)
# What each package, or module beside the packages, may import: itself, and these.
MAY_IMPORT = {
    "language": "",
    "arrow": "language",
    "schema": "language",
    "normalise": "language schema",
    "forking": "",
    "kernel_sources": "",
    "compiled": "kernel_sources",
    "views": "compiled",
    "operators": "language arrow schema normalise forking compiled views",
    "index": "language schema normalise operators forking compiled",
    "match": "language arrow schema normalise operators forking compiled views index",
    "engine": "language schema normalise operators compiled index match",
    "__init__": FOUNDATION,
    "warm": FOUNDATION,
    "tables": "language arrow",
    "check": "language schema normalise tables",
    "workloads": f"{FOUNDATION} __init__",
    "spark": f"{FOUNDATION} __init__ warm tables workloads",
    "service": f"{FOUNDATION} __init__ warm tables",
    "client": "language",
    "papers": f"{FOUNDATION} __init__ workloads",
    "bench": f"{FOUNDATION} __init__ warm tables check workloads spark service papers",
    "cli": f"{FOUNDATION} __init__ warm tables check workloads spark service client papers bench",
    "__main__": "cli",
}

MEASURE = """
import json, sys, time
start = time.process_time()
import matchwood
print(json.dumps([time.process_time() - start, sorted(sys.modules)]))
"""


def test_import_is_quick_and_light() -> None:
    seconds, modules = min(
        json.loads(subprocess.check_output([sys.executable, "-c", MEASURE])) for _ in range(5)
    )
    assert not {"numba", "pandas", "pyarrow", "pyspark"} & set(modules)
    assert seconds < 0.150


def package_of(module: str) -> str:
    """The package of the table: `matchwood.language.parser` is of `language`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and package of each import of matchwood in a file, also those inside functions."""
    inside = ("matchwood", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(inside[: len(inside) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            if base == "matchwood":  # `from matchwood import language` names the package itself
                names = [
                    f"matchwood.{alias.name}" if alias.name in MAY_IMPORT else base
                    for alias in node.names
                ]
            else:
                names = [base]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "matchwood":
                yield node.lineno, package_of(name)


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=str(p.relative_to(PACKAGE))) for p in sorted(PACKAGE.rglob("*.py"))]
)
def test_package_order(path: Path) -> None:
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    assert own in MAY_IMPORT, f"{own} is new: say in MAY_IMPORT what it may import"
    allowed = {own, *MAY_IMPORT[own].split()}
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line}: {own} may not import {package}"
        for line, package in imported(path)
        if package not in allowed
    ]
    assert not wrong, "\n".join(wrong)
