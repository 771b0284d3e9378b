"""The notebook in examples/ shows what it says it shows; `scripts/notebook.py` renews that."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
# What depends on the format of files, and not on the rules: their size, and the version of rules.
OF_FORMAT = re.compile(r"[\d,]+(?= bytes)|\b[0-9a-f]{12}\b")


@pytest.mark.spark
@pytest.mark.parametrize("spark", ["classic"], indirect=True)
def test_notebook(spark):
    path = REPOSITORY / "scripts" / "notebook.py"
    spec = importlib.util.spec_from_file_location("notebook", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    notebook = json.loads((REPOSITORY / "examples" / "spark.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    try:
        outputs = script.run(notebook)
    finally:
        for name in ("enabled", "truncate"):
            spark.conf.unset(f"spark.sql.repl.eagerEval.{name}")
    for cell, shown in zip(cells, outputs, strict=True):
        now, then = (
            OF_FORMAT.sub("…", json.dumps(one, sort_keys=True)) for one in (shown, cell["outputs"])
        )
        assert now == then, "".join(cell["source"])
