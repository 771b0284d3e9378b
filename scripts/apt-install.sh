#!/usr/bin/env bash
# apt-install.sh PACKAGE…: installs Debian packages when this user may, without asking anything.
# Exits 1, having changed nothing, when there is no apt-get or no right to use it.
set -euo pipefail

command -v apt-get >/dev/null || exit 1
if [ "$(id -u)" = 0 ]; then
    as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
else
    exit 1
fi

echo "installing $* with apt-get" >&2
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@")
# A fresh machine has no package lists, an old one has stale lists: fetch them, then install.
"${as_root[@]}" apt-get update -qq >&2 || true
"${install[@]}" >&2 || exit 1
