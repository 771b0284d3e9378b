#!/usr/bin/env bash
# connectors.sh PYTHON FOLDER: fetches the connectors of Kafka, Delta and Iceberg for the Spark of a
# Python, and a broker of Kafka, into FOLDER/jars-…, and prints that folder. Ivy, which comes with
# Spark, gets them from Maven Central; connectors/spark-….xml has their versions.
set -euo pipefail
cd "$(dirname "$0")/connectors"

python=$1
folder=$2
mkdir -p "$folder"
spark=$("$python" -c 'import pyspark; print(".".join(pyspark.__version__.split(".")[:2]))')
wanted=spark-$spark.xml
if [ ! -f "$wanted" ]; then
    echo "there are no connectors for Spark $spark: expected the version of one of" spark-*.xml >&2
    exit 1
fi
jars=$folder/jars-$spark-$(sha256sum "$wanted" | cut -c1-16)
if [ ! -d "$jars" ]; then
    echo "fetching connectors and a broker for Spark $spark: a minute or two, this once" >&2
    home=$("$python" -c 'import pyspark, os; print(os.path.dirname(pyspark.__file__))')
    rm -rf "$folder/jars-$spark-"*
    "$JAVA_HOME/bin/java" -jar "$home"/jars/ivy-*.jar -warn -cache "$folder/cache" -ivy "$wanted" \
        -confs '*' -types jar bundle \
        -retrieve "$jars.part/[conf]/[artifact]-[revision].[ext]" >"$folder/ivy.log" 2>&1 \
        || { cat "$folder/ivy.log" >&2; exit 1; }
    mv "$jars.part" "$jars"
fi
echo "$jars"
