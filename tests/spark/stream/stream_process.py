"""A stream in a process of its own, which stops at a point and waits to be killed.

The arguments are classic or connect, the folder, and the point: the beginning of a message that
the stream logs or, after "file ", of the name of a file in the folder. A fourth one is the sink, as
the JSON of a `Sink`.
"""

import json
import logging
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from matchwood.spark import match_stream
from matchwood.spark.endpoints import Sink
from spark.spark_session import session

_reached = threading.Event()


def stop_here():
    """Block whatever logs; the test reads the line and kills the whole process group."""
    _reached.set()
    print("reached", flush=True)
    threading.Event().wait()


class Stopping(logging.Handler):
    def __init__(self, point):
        super().__init__()
        self.point = point

    def emit(self, record):
        if _reached.is_set() or record.getMessage().startswith(self.point):
            stop_here()


def watch(path):
    while not any(path.parent.glob(path.name + "*")):
        threading.Event().wait(0.002)
    stop_here()


def main(kind, folder, point, sink="{}"):
    place = Path(folder)
    log = logging.getLogger("matchwood.spark.stream")
    log.setLevel(logging.INFO)
    if point.startswith("file "):
        threading.Thread(target=watch, args=(place / point[5:],), daemon=True).start()
        log.addHandler(Stopping("\0"))
    else:
        log.addHandler(Stopping(point or "\0"))
    spark = session(kind, place / "warehouse")
    stream = spark.readStream.schema("key bigint, age int, city string")
    query = match_stream(
        stream.option("maxFilesPerTrigger", 1).json(f"{place}/events"),
        f"{place}/rules",
        checkpoint=f"{place}/checkpoint",
        sink=Sink(**{"path": f"{place}/sink"} | json.loads(sink)),
        keep=["key"],
        trigger="availableNow",
    )
    assert query.awaitTermination(100)
    print("done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
