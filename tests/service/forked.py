"""Servers that start quickly: a process that has loaded everything forks them on request.

Each line on standard input names a file of settings and a log file, with a tab between them, and
starts a server, whose process id is printed.
"""

import asyncio
import gc
import os
import signal
import sys
import tempfile
from pathlib import Path

from matchwood.service.http.server import serve
from matchwood.service.loading import prepare_kernels
from matchwood.service.settings import Settings
from matchwood.service.storage.storage_parts import StorageParts


def main() -> None:
    prepare_kernels()
    with tempfile.TemporaryDirectory() as folder:  # imports what opening a database needs
        asyncio.run(StorageParts(Settings(data=Path(folder))).close())
    gc.freeze()  # else each server would copy all pages when it first collects garbage
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that killed servers leave no zombies
    print("warm", flush=True)
    for line in sys.stdin:
        settings, log = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(0)
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
            os._exit(0 if serve(Settings.load(settings)) else 3)
        print(child, flush=True)


if __name__ == "__main__":
    main()
