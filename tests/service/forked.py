"""Servers that start at once: a process that has loaded everything forks one whenever it is asked.

    python forked.py SETTINGS.toml

Each line on standard input starts a server, whose process id is printed.
"""

import os
import signal
import sys

from matchwood.service.server import serve
from matchwood.service.settings import Settings
from matchwood.warm import warm_up


def main() -> None:
    settings = Settings.load(sys.argv[1])
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that were killed
    print("warm", flush=True)
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(0)
            os._exit(0 if serve(settings) else 3)
        print(child, flush=True)


if __name__ == "__main__":
    main()
