"""The documentation is true: its code runs and prints what the page says.

In README.md and the pages of docs, the blocks of a page run in order, in one folder of their own:

- ``python`` blocks share one namespace; those with ``>>>`` prompts have their output checked;
- ``console`` and ``sh`` blocks hold ``$ matchwood …`` commands with their output below, in which
  ``...`` stands for anything; a line that ends in a backslash goes on in the next one;
- ``<!-- file: NAME -->`` above a block writes it to that file instead;
- ``<!-- exit: 1 -->`` above a block says how its last command exits;
- ``<!-- no-run -->`` above a block leaves it alone.
"""

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import matchwood
from commands_in_process import run_line
from markdown_blocks import Block, blocks_of
from plain_environment import without_connect

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
PACKAGE = Path(matchwood.__file__).parent
SHELL_LANGUAGES = {"console", "sh", "bash", "shell"}
# Commands beside matchwood itself that a transcript may show.
SHOWING = ("cat ", "echo ", "printf ", "head ", "wc ")
# What a page runs if it needs Spark.
SPARK = r"\bpyspark\b|\bmatchwood[. ]spark\b|\$ matchwood (run|generate)\b"


def needs_spark(page: Path) -> bool:
    run = [block.text for block in blocks_of(page) if not block.no_run and block.file is None]
    return any(re.search(SPARK, text) for text in run)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.spark] if needs_spark(page) else [])
        for page in PAGES
    ],
)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.no_run:
            continue
        if block.file is not None:
            write(block, tmp_path)
        elif block.language in ("python", "pycon"):
            run_python(block, namespace)
        elif block.language in SHELL_LANGUAGES:
            run_console(block, tmp_path)


def write(block: Block, folder: Path) -> None:
    path = (folder / str(block.file)).resolve()
    assert path.is_relative_to(folder.resolve()), f"{block.place}: {block.file} is outside"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def run_python(block: Block, namespace: dict[str, object]) -> None:
    if ">>> " not in block.text:
        # Empty lines in front, so that a traceback shows the line of the page.
        code = "\n" * (block.line - 1) + block.text
        exec(compile(code, str(block.page), "exec", dont_inherit=True), namespace)
        return
    test = doctest.DocTestParser().get_doctest(
        block.text, namespace, block.place, str(block.page), block.line - 1
    )
    check(test, optionflags=doctest.ELLIPSIS)
    namespace.update(test.globs)


def check(test: doctest.DocTest, optionflags: int) -> None:
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=optionflags)
    failed = runner.run(test, out=report.append, clear_globs=False).failed
    assert not failed, "".join(report)


def run_console(block: Block, folder: Path) -> None:
    steps = transcript(block)
    for number, (command, want) in enumerate(steps, 1):
        exited, printed = run_line(command) or run_in_shell(command, folder)
        got = "\n".join(line.rstrip() for line in printed.splitlines()).rstrip()
        shown = f"{block.place}: $ {command}\n"
        matches = doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)
        assert matches, f"{shown}--- the page says\n{want}\n--- it printed\n{got}"
        code = block.exit if number == len(steps) else 0
        assert exited == code, f"{shown}exited {exited}, not {code}\n{got}"


def run_in_shell(command: str, folder: Path) -> tuple[int, str]:
    result = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
    )
    return result.returncode, result.stdout


def transcript(block: Block) -> list[tuple[str, str]]:
    """The commands of a block, each with the output that the page shows below it."""
    steps: list[tuple[str, list[str]]] = []
    continues = False
    for line in block.text.splitlines():
        if continues:
            command = f"{steps[-1][0]}\n{line.removeprefix('> ')}"
            steps[-1] = (command, [])
            continues = line.endswith("\\")
        elif line.startswith("$ "):
            steps.append((line.removeprefix("$ "), []))
            continues = line.endswith("\\")
        elif steps:
            steps[-1][1].append(line.rstrip())
        elif line.strip():
            pytest.fail(f"{block.place}: no '$ ' before a command; is <!-- no-run --> missing?")
    for command, _ in steps:
        if not re.search(r"\bmatchwood\b", command) and not command.startswith(SHOWING):
            pytest.fail(f"{block.place}: cannot run {command!r}; is <!-- no-run --> missing?")
    return [(command, "\n".join(output).rstrip()) for command, output in steps]


def plain_environment() -> dict[str, str]:
    """As for a person at a terminal of 80 columns, without colour."""
    environment = {
        name: value
        for name, value in without_connect().items()
        if name not in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "CLICOLOR_FORCE")
    }
    scripts = Path(sys.executable).parent  # where the console script is installed
    return environment | {
        "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}",
        "COLUMNS": "80",
        "TERMINAL_WIDTH": "80",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONUTF8": "1",
    }


def module_names() -> list[str]:
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("matchwood", *path.relative_to(PACKAGE).with_suffix("").parts)
        if parts[-1] != "__main__":
            names.append(".".join(part for part in parts if part != "__init__"))
    return names


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.spark] if name.startswith("matchwood.spark") else [])
        for name in module_names()
    ],
)
def test_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "matchwood":
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        check(test, optionflags=doctest.ELLIPSIS)
