#!/usr/bin/env bash
# venv.sh FOLDER: makes a virtual environment there from Python 3.11 or newer, unless a working one
# is there. Debian keeps a part of the venv module in a package of its own: installs it if allowed.
set -euo pipefail

folder=$1
scripts=$(dirname "$0")

"$folder/bin/python" -m pip --version >/dev/null 2>&1 && exit 0

python=
for candidate in ${PYTHON:-} python3.11 python3 python3.12 python3.13 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "matchwood needs Python 3.11 or newer, which was not found: install it (on Debian, as root: apt-get install python3 python3-venv) or set PYTHON." >&2
    exit 1
fi

make_venv() { "$python" -m venv --clear "$folder" >/dev/null 2>&1; }

make_venv && exit 0
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for package in "python$version-venv" python3-venv; do
    if "$scripts/apt-install.sh" "$package" && make_venv; then
        exit 0
    fi
done
echo "Python's venv module does not work here: install it (on Debian, as root: apt-get install python$version-venv)." >&2
exit 1
