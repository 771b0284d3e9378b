"""Runs a pipeline file, by spark-submit or `python -m matchwood.spark.job pipeline.toml`."""

import sys

from matchwood.spark.pipeline.program import main

sys.exit(main())
