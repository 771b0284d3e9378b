"""A standalone cluster of Spark: a master and workers, each a separate process on loopback."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
EXECUTOR = "CoarseGrainedExecutorBackend"
# Seconds after which something that should have happened counts as a failure.
PATIENCE = 180


class Cluster:
    """A master and some workers, with one core each; `with` stops them at its end."""

    def __init__(self, folder, workers=2, path=None, cores=1, settings=None):
        self.folder = Path(folder)
        self._path = path  # where its processes look for programs, if not where the tests do
        self.url = None
        self.workers = []
        self._wanted = workers
        self._cores = cores
        self._settings = settings or {}  # of the workers
        self._processes = []
        self._known = {}  # every process that ran below a worker, by its id

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _start(self):
        # Port 0 means any free port, which is in the log.
        self._run("master", MASTER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self.url = self._told(r"Starting Spark master at (spark://\S+)")[0]
        for number in range(self._wanted):
            name = f"worker-{number}"
            where = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
            size = ["--cores", str(self._cores), "--memory", "1g"]
            work = str(self.folder / name / "work")
            self.workers.append(self._run(name, WORKER, *where, *size, "-d", work, self.url))
        self._told(r"Registering worker \S+", self._wanted)

    def _run(self, name, main, *arguments):
        from pyspark.find_spark_home import _find_spark_home

        folder = self.folder / name
        (folder / "tmp").mkdir(parents=True)
        command = [f"{_find_spark_home()}/bin/spark-class", main, *arguments]
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(folder / "tmp", self._path) | self._worker_options(),
                stdout=log,
                stderr=log,
            )
        self._processes.append(process)
        return psutil.Process(process.pid)  # the script replaces itself by Java

    def _worker_options(self):
        options = " ".join(f"-D{name}={value}" for name, value in self._settings.items())
        return {"SPARK_WORKER_OPTS": options}

    def _told(self, pattern, times=1):
        """Wait until a pattern is in the log of the master so many times; returns the matches."""
        log = self.folder / "master" / "log"
        found = []

        def said():
            found[:] = re.findall(pattern, log.read_text())
            return len(found) >= times

        assert wait(said), log.read_text()[-3000:]
        return found

    def executors(self):
        """The running executors, at most one per worker: Java processes below the workers."""
        found = []
        for worker in self.workers:
            for child in worker.children(recursive=True):
                self._known[child.pid] = child
                try:
                    if any(EXECUTOR in part for part in child.cmdline()):
                        found.append(child)
                except psutil.NoSuchProcess:
                    pass
        return found

    def stop(self):
        """End every process that was started here, and all that those started."""
        for process in self._processes:
            try:
                below = psutil.Process(process.pid).children(recursive=True)
            except psutil.NoSuchProcess:
                below = []
            self._known |= {child.pid: child for child in below}
        for process in reversed(self._processes):
            process.terminate()
        for process in reversed(self._processes):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        _, left = psutil.wait_procs(list(self._known.values()), timeout=10)
        for process in left:
            process.kill()
        psutil.wait_procs(left, timeout=10)


def environment(temporary, path=None):
    """The environment of a process of the cluster, without the session that tests may have."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPARK_", "PYSPARK_")) and name != "PYTHONPATH"
    }
    if path is not None:
        kept["PATH"] = path
    return kept | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-Djava.io.tmpdir={temporary}",
        "SPARK_LOCAL_DIRS": str(temporary),
        "TMPDIR": str(temporary),
    }


class Driver:
    """A process that runs jobs, whose folders no worker can see."""

    def __init__(self, cluster, shared, *jobs):
        folder = cluster.folder / f"driver-{'-'.join(jobs)}"
        (folder / "tmp").mkdir(parents=True)
        self.log = folder / "log"
        script = Path(__file__).with_name("cluster_driver.py")
        tests = str(script.parents[1])
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(script), cluster.url, str(shared), *jobs],
                cwd=folder,
                env=environment(folder / "tmp") | {"PYTHONPATH": tests},
                stdout=log,
                stderr=log,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            below = psutil.Process(self.process.pid).children(recursive=True)
            self.process.send_signal(signal.SIGKILL)
            for child in below:
                child.kill()
            self.process.wait()

    def finish(self):
        assert self.process.wait(2 * PATIENCE) == 0, self.log.read_text()[-3000:]

    def result(self, folder):
        """What a job returned, once it is done."""
        file = folder / "result.json"
        done = wait(lambda: file.exists() or self.process.poll() is not None, 2 * PATIENCE)
        assert done, "the job takes too long"
        assert file.exists(), self.log.read_text()[-3000:]
        return json.loads(file.read_text())


def wait(happened, seconds=PATIENCE):
    """Whether a condition becomes true in time."""
    until = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
