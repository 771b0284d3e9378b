"""How the tests start Java, for Spark: what spares processor time in Javas that live shortly."""

# No Java of the tests lives long enough for its optimising compiler to be worth its work, or needs
# memory back from compiled code; verifying Spark's classes takes a tenth of its start.
JAVA_OPTIONS = [
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UseCodeCacheFlushing",
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
    # About stored classes that cannot be used, or cannot be stored.
    "-Xlog:cds=off",
    "-Xlog:cds+dynamic=off",
]
