"""The environment for programs that tests start."""

import os

# A Connect session of this process leaves them behind, for the programs that it starts.
CONNECT = ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED")


def without_connect() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in CONNECT}
