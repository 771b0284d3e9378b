"""`--processor-time N`: the N tests that take most processor time, and all groups of tests.

On a busy machine, and for tests that wait, this says more than `--durations` does. The processes
that a test starts count, too; those that several tests share count for whichever test runs then.
"""

import threading
import time

import psutil
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--processor-time",
        type=int,
        default=0,
        metavar="N",
        help="show the N tests that take most processor time, with the processes that they start",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--processor-time"):
        config.pluginmanager.register(ProcessorTime(config), "processor-time")


# Seconds between two looks at the processes, which take some hundredths of a second each.
LOOK = 1.0


class Family:
    """This process and all that it started, even those that outlive the process between.

    Java does so when Spark's Python ends, and belongs to nobody from then on.
    """

    def __init__(self) -> None:
        self._root = psutil.Process()
        self._lock = threading.Lock()
        self._below: dict[psutil.Process, float] = {}  # processes, and what each has used
        self._orphans: dict[psutil.Process, float] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(LOOK)
            self.used()

    def used(self) -> float:
        """Seconds of processor time until now."""
        with self._lock:
            below = self._look([self._root, *self._orphans])
            for process in set(self._below) - set(below):
                if process not in self._orphans and process.is_running():
                    self._orphans[process] = self._below[process]
            self._below = {one: used for one, used in below.items() if one not in self._orphans}
            for process in self._orphans:
                self._orphans[process] = max(self._orphans[process], _used(process))
            others = sum(self._below.values()) + sum(self._orphans.values())
            return _used(self._root) + others

    @staticmethod
    def _look(roots: list[psutil.Process]) -> dict[psutil.Process, float]:
        found = {}
        for root in roots:
            try:
                found |= {process: _used(process) for process in root.children(recursive=True)}
            except psutil.Error:
                pass  # it has ended
        return found


def _used(process: psutil.Process) -> float:
    """What a process and those that it has waited for have used; 0 if it is gone."""
    try:
        return sum(process.cpu_times()[:4])
    except psutil.Error:
        return 0.0


class ProcessorTime:
    """Seconds of processor time, by test, and of each process of pytest in all."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._family = Family()
        self._last = 0.0
        self._of_tests: dict[str, float] = {}
        self._of_processes: dict[str, float] = {}
        self._of_groups: dict[str, tuple[float, float]] = {}  # processor time and time on the clock

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        self._last = self._family.used()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item):
        report = yield
        used = self._family.used()
        report.processor_time = used - self._last
        self._last = used
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        used = self._of_tests.get(report.nodeid, 0.0)
        self._of_tests[report.nodeid] = used + report.processor_time
        _, at, group = report.nodeid.rpartition("@")  # as xdist adds it
        if at:
            used, seconds = self._of_groups.get(group, (0.0, 0.0))
            taken = used + report.processor_time, seconds + report.duration
            self._of_groups[group] = taken

    def pytest_sessionfinish(self) -> None:
        output = getattr(self._config, "workeroutput", None)
        if output is not None:  # of a worker
            output["processor_time"] = self._family.used()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        used = getattr(node, "workeroutput", {}).get("processor_time")
        if used is not None:
            self._of_processes[node.gateway.id] = used

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self._of_processes["all processes"] = self._family.used()
        of_all = sum(self._of_tests.values())
        terminalreporter.section("processor time")
        ordered = sorted(self._of_tests.items(), key=lambda one: -one[1])
        for test, used in ordered[: self._config.getoption("--processor-time")]:
            terminalreporter.write_line(f"{used:8.2f} s  {test}")
        for group, (used, seconds) in self._of_groups.items():
            line = f"{used:8.2f} s  group {group!r}, in {seconds:.0f} s on the clock"
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"{of_all:8.2f} s  all tests")
        for name, used in sorted(self._of_processes.items()):
            terminalreporter.write_line(f"{used:8.2f} s  {name}")
