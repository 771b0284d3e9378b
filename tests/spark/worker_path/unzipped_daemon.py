"""What starts Spark's Python workers in tests: PySpark as it is installed, not from archives.

Spark puts its jar and a zip of PySpark before everything else on the path of Python. Each task has
Python forget what it knows of that path, and until 3.12 it then reads the directories of these
archives again, once per package of PySpark: a tenth of a second, when most tasks of tests take some
milliseconds. So this module, which is the first that such a process imports, removes them.
"""

import sys
from importlib.util import find_spec

with_archives = sys.path[:]
sys.path[:] = [path for path in sys.path if not path.endswith((".jar", ".zip"))]
for path in [path for path in sys.path_importer_cache if path not in sys.path]:
    del sys.path_importer_cache[path]
if find_spec("pyspark") is None:  # a Python of a test that has nothing installed
    sys.path[:] = with_archives

from pyspark import daemon  # noqa: E402

if __name__ == "__main__":
    daemon.manager()
