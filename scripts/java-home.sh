#!/usr/bin/env bash
# Prints the home of a Java that Spark can use (17 or newer): the one in JAVA_HOME, the one on the
# PATH, any other that is installed, or else Debian's headless one, installed now if allowed.
set -euo pipefail
cd "$(dirname "$0")"

oldest=17

# home_of JAVA: prints its home if it runs and is new enough.
home_of() {
    local settings version home
    settings=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    version=$(sed -n 's/^ *java\.specification\.version = //p' <<<"$settings")
    home=$(sed -n 's/^ *java\.home = //p' <<<"$settings")
    # Java 8 and older call themselves 1.8, 1.7, …
    [ -n "$home" ] && [ "${version%%.*}" -ge "$oldest" ] 2>/dev/null && echo "$home"
}

find_java() {
    local java
    for java in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
        if [ -x "$java" ] && home_of "$java"; then
            return 0
        fi
    done
    return 1
}

find_java && exit 0
for package in default-jre-headless openjdk-17-jre-headless; do
    if ./apt-install.sh "$package" && find_java; then
        exit 0
    fi
done
echo "Spark needs Java $oldest or newer, which was not found: install it (on Debian, as root: apt-get install default-jre-headless) or set JAVA_HOME." >&2
exit 1
