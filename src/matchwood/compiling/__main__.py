"""`python -m matchwood.compiling`: compile all kernels that are not on disk yet."""

from __future__ import annotations

import os

from matchwood.kernels.readiness import FOREGROUND, VARIABLE

os.environ[VARIABLE] = FOREGROUND  # this process and its workers wait for no other one

from matchwood.compiling.coordinator import compile_all

if __name__ == "__main__":
    os.nice(5)  # whoever waits for events goes first
    compile_all()
