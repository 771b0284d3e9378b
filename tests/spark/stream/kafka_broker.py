"""A broker of Apache Kafka in KRaft mode: one process of Java on loopback."""

import os
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

# Seconds until the broker must answer.
PATIENCE = 120
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{control}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


class KafkaBroker:
    """A broker with jars from a folder; `with` stops it at its end."""

    def __init__(self, jars, folder):
        self._classes = f"{jars}/*"
        self._folder = Path(folder)
        self.address = f"127.0.0.1:{free_port()}"

    def __enter__(self):
        settings = self._folder / "server.properties"
        port = self.address.rpartition(":")[2]
        text = SETTINGS.format(port=port, control=free_port(), folder=self._folder)
        settings.write_text(text)
        name = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        format_ = ["format", "--cluster-id", name, "--config", str(settings)]
        subprocess.run(self._java("kafka.tools.StorageTool", *format_), check=True)
        with open(self._folder / "log", "wb") as log:
            command = self._java("kafka.Kafka", str(settings))
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _java(self, main, *arguments):
        java = Path(os.environ["JAVA_HOME"], "bin", "java")
        memory = ["-Xmx256m", "-XX:+UseSerialGC"]
        return [str(java), *memory, "-cp", self._classes, main, *arguments]

    def _wait(self):
        until = time.monotonic() + PATIENCE
        host, _, port = self.address.rpartition(":")
        while time.monotonic() < until and self._process.poll() is None:
            try:
                socket.create_connection((host, int(port)), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"no broker: {(self._folder / 'log').read_text()[-3000:]}")

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def write(self, spark, topic, messages):
        """Write messages, pairs of a key and a value, both texts."""
        frame = spark.createDataFrame(messages, "key string, value string")
        options = {"kafka.bootstrap.servers": self.address, "topic": topic}
        frame.write.format("kafka").options(**options).save()

    def read(self, spark, topic):
        """All messages of a topic."""
        options = {"kafka.bootstrap.servers": self.address, "subscribe": topic}
        reader = spark.read.format("kafka").options(**options, includeHeaders="true")
        return reader.load().collect()


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]
