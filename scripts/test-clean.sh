#!/usr/bin/env bash
# test-clean.sh: clones the last commit into a folder whose name has a space, and runs the demo and
# the quick tests there as on a machine that never saw matchwood: an empty home, no package cache,
# no compiled kernels, none of the caller's environment but what programs and registries need.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
clone="$scratch/a clone"
mkdir "$scratch/home" "$scratch/tmp"
chmod 711 "$scratch" # a PostgreSQL of the tests runs as another user
git clone --quiet --no-hardlinks . "$clone"
if [ -n "$(git status --porcelain)" ]; then
    echo "what is not committed is left out" >&2
fi

# How registries and proxies are reached is part of the machine, and so is its Java.
kept=()
while IFS='=' read -r -d '' name value; do
    case $name in
        PATH | LANG | LC_* | JAVA_HOME | CI | JOBS | PYTHON | PYENV_* | SSL_CERT_* | REQUESTS_CA_BUNDLE | \
            *_proxy | *_PROXY | PIP_INDEX_URL | PIP_EXTRA_INDEX_URL | PIP_CERT | PIP_DEFAULT_TIMEOUT)
            kept+=("$name=$value")
            ;;
    esac
done < <(env -0)
clean=(env -i "${kept[@]}" HOME="$scratch/home" TMPDIR="$scratch/tmp" PIP_NO_CACHE_DIR=1)

for target in demo quick; do
    started=$SECONDS
    "${clean[@]}" make -C "$clone" "$target"
    echo "make $target passed on a clean machine in $((SECONDS - started)) s"
done
