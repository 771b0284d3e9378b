"""The newest note of a log survives whatever happens while the next one is written."""

import shutil

import pytest

from matchwood.spark.stream.durable_log import DurableLog

pytestmark = pytest.mark.spark


def test_the_newest_note_is_whole(spark, tmp_path):
    log = DurableLog(str(tmp_path / "notes"))
    assert log.newest(spark) is None
    for number in range(3):
        log.write(spark, number, {"says": f"'{number}'\n\"x\" \\ é"})
        again = DurableLog(log.folder)
        note = again.newest(spark)
        assert (note["number"], note["says"]) == (number, f"'{number}'\n\"x\" \\ é")
    log.write(spark, 2, {"says": "something else"})
    assert again.newest(spark)["says"] == "something else"
    # A process that is killed while it writes the next note leaves its place empty or incomplete.
    shutil.rmtree(tmp_path / "notes" / "1")
    (tmp_path / "notes" / "1" / "_temporary").mkdir(parents=True)
    assert DurableLog(log.folder).newest(spark)["number"] == 2
