#!/usr/bin/env bash
# constraints.sh EXTRAS BUILD_TOOL…: installs the newest versions that pyproject.toml allows into a
# scratch environment and writes down what came: constraints.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

# The newest Spark that Kafka, Delta and Iceberg have connectors for (see connectors/).
spark='pyspark<4.2'
extras=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

scripts/venv.sh "$scratch/venv"
python=$scratch/venv/bin/python
"$python" -m pip install --quiet --disable-pip-version-check "$@"
"$python" -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[$extras]" "$spark"
"$python" -m pip check
{
    echo "# Every package that matchwood and its tools install, pinned: versions that work together."
    echo "# Made by \`make constraints\` on Python $("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); run it again to renew them."
    "$python" -m pip freeze --all --exclude-editable | grep '==' | grep -v '^pip==' | LC_ALL=C sort -f
} >"$scratch/constraints.txt"
mv "$scratch/constraints.txt" constraints.txt
echo "constraints.txt: $(grep -c '==' constraints.txt) packages pinned"
