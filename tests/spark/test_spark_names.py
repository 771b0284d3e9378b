"""The names of `matchwood.spark`: imported lazily, and never hidden by a module."""

import subprocess
import sys

import pytest

import matchwood.spark


def output_of(code):
    program = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert program.returncode == 0, program.stderr
    return program.stdout


def test_without_pyspark_the_extra_is_named():
    code = """
import sys
sys.modules["pyspark"] = None
import matchwood.spark
try:
    matchwood.spark.compile_rules
except ImportError as error:
    print(error)
"""
    assert "pip install 'matchwood[spark]'" in output_of(code)


def test_a_pipeline_file_is_read_without_pyspark():
    code = """
import sys
sys.modules["pyspark"] = None
from matchwood.spark.pipeline.pipeline_file import Pipeline, PipelineError
try:
    Pipeline.of({})
except PipelineError as error:
    print(error)
"""
    assert output_of(code) == "pipeline: no [rules]: where do rules come from?\n"


def test_no_module_hides_a_function():
    """Importing a module sets it as an attribute of its package."""
    pytest.importorskip("pyspark")
    code = """
import pkgutil
from importlib import import_module
import matchwood.spark as package
for module in pkgutil.walk_packages(package.__path__, "matchwood.spark."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
print({name: type(getattr(package, name)).__name__ for name in package.__all__})
"""
    kinds = dict.fromkeys(matchwood.spark.__all__, "function") | {"CompiledRules": "type"}
    assert output_of(code) == f"{kinds}\n"
