"""spark-submit …/spark/job/__main__.py pipeline.toml, or python -m matchwood.spark.job."""

import sys

from matchwood.spark.run import main

sys.exit(main())
