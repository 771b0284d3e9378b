"""Runs a notebook and writes what its cells show into it: python scripts/notebook.py FILE.

Tests do the same and compare. No kernel of Jupyter is needed: a cell is run as Jupyter would, and
shows what it prints, and then the value of its last expression.
"""

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell, in the form of the notebook's own file."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [_outputs(cell, names) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _outputs(cell: dict[str, Any], names: dict[str, Any]) -> list[dict[str, Any]]:
    body = ast.parse("".join(cell["source"])).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if shown := getattr(value, "_repr_html_", lambda: None)():
            data["text/html"] = shown.splitlines(keepends=True)
        about = {"execution_count": None, "metadata": {}, "output_type": "execute_result"}
        outputs.append({"data": data, **about})
    return outputs


def main() -> None:
    path = Path(sys.argv[1])
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell, outputs in zip(cells, run(notebook), strict=True):
        cell["outputs"] = outputs
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
