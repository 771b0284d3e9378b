#!/usr/bin/env bash
# test-bounds.sh lowest|newest EXTRAS: runs the quick tests with the lowest versions that
# pyproject.toml allows, or with the newest, in an environment of their own.
set -euo pipefail
cd "$(dirname "$0")/.."

which=$1
extras=$2
case $which in
    lowest) resolution=lowest-direct ;;
    newest) resolution=highest ;;
    *)
        echo "usage: test-bounds.sh lowest|newest EXTRAS" >&2
        exit 2
        ;;
esac

folder=.venv-$which
scripts/venv.sh "$folder"
python=$folder/bin/python
echo "installing matchwood with the $which versions that it allows into $folder"
"$python" -m pip install --quiet --disable-pip-version-check uv
# pip cannot choose the lowest versions. Packages are built in isolation, each by its own tools.
"$python" -m uv pip install --quiet --python "$python" --resolution "$resolution" --upgrade -e ".[$extras]"
"$python" -m uv pip list --quiet --python "$python" |
    grep -E '^(duckdb|google-re2|llvmlite|numba|numpy|pandas|polars|pyarrow|pyspark|pytest|sqlalchemy|typer) '
export NUMBA_CACHE_DIR=$PWD/$folder/kernels
"$python" -m matchwood.cli warm-up
exec "$python" -m pytest -n "${JOBS:-2}" -m "not slow and not spark"
