#!/usr/bin/env bash
# chromium.sh [PYTHON]: prints the path of a Chromium that runs: the one in CHROMIUM, one that is
# installed, or else one that is installed now: Playwright's, by the Playwright of PYTHON, or
# Debian's, if this user may.
set -euo pipefail
cd "$(dirname "$0")"

python=${1:-../.venv/bin/python}

runs() {
    [ -n "$1" ] && "$1" --version >/dev/null 2>&1 && echo "$1"
}

find_chromium() {
    local name path
    runs "${CHROMIUM:-}" && return 0
    for name in chromium-headless-shell chromium chromium-browser google-chrome; do
        runs "$(command -v "$name" || true)" && return 0
    done
    for path in "${PLAYWRIGHT_BROWSERS_PATH:-$HOME/.cache/ms-playwright}"/chromium*/*/{chrome-headless-shell,headless_shell,chrome}; do
        runs "$path" && return 0
    done
    return 1
}

find_chromium && exit 0
echo "installing a Chromium, in which the page of the service is tested" >&2
if "$python" -m playwright install chromium --only-shell >/dev/null 2>&1 && find_chromium; then
    exit 0
fi
for package in chromium-headless-shell chromium; do
    if ./apt-install.sh "$package" && find_chromium; then
        exit 0
    fi
done
echo "The page is tested in Chromium, which was not found: install it (on Debian, as root: apt-get install chromium) or set CHROMIUM." >&2
exit 1
