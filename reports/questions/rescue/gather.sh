#!/bin/sh
# Gathers on one broker what `neverlost rescue` reads.  It writes into ./rescue/broker-N and changes nothing else: run it on every
# broker that has a replica, before a stopped one is started, and bring the folders together.
#
#   BOOTSTRAP=HOST:PORT sh gather.sh TOPIC PARTITION LOG_DIR...        (LOG_DIR: what log.dirs of server.properties names)
set -eu
[ $# -ge 3 ] || { echo "usage: BOOTSTRAP=HOST:PORT sh gather.sh TOPIC PARTITION LOG_DIR..." >&2; exit 64; }
topic=$1 partition=$2 replica=
shift 2
for root in "$@"; do
    if [ -d "$root/$topic-$partition" ]; then replica=$root/$topic-$partition; break; fi
done
[ -n "$replica" ] || { echo "no folder $topic-$partition in $*: this broker has no replica, or its disk is gone" >&2; exit 64; }
broker=$(sed -n -e 's/^node\.id=//p' -e 's/^broker\.id=//p' "$root/meta.properties" | head -n 1)
tool() { command -v "$1.sh" || command -v "$1" || { echo "$1.sh is not in PATH: add Kafka's bin to it" >&2; exit 64; }; }
dump=$(tool kafka-dump-log)
out=rescue/broker-$broker
mkdir -p "$out"
cp "$root/meta.properties" "$root/replication-offset-checkpoint" "$replica/leader-epoch-checkpoint" "$out"
segment=$(for each in "$replica"/*.log; do echo "$each"; done | sort | tail -n 1)
"$dump" --files "$segment" > "$out/dump.whole"
# Of the batches of one leader epoch the first and the last are enough.
awk '
    !/^baseOffset: / { if (held != "") print held; held = ""; print; next }
    { match($0, /partitionLeaderEpoch: [-0-9]+/); epoch = substr($0, RSTART, RLENGTH); bad = /isvalid: false/ }
    epoch != last || bad { if (held != "") print held; held = ""; print; last = epoch; next }
    { held = $0 }
    END { if (held != "") print held }
' "$out/dump.whole" > "$out/dump.txt"
rm "$out/dump.whole"
if [ -n "${BOOTSTRAP:-}" ]; then
    "$(tool kafka-topics)" --bootstrap-server "$BOOTSTRAP" --describe --topic "$topic" > "$out/describe.txt" || rm "$out/describe.txt"
    "$(tool kafka-log-dirs)" --bootstrap-server "$BOOTSTRAP" --describe --topic-list "$topic" --broker-list "$broker" \
        > "$out/log-dirs.json" || rm "$out/log-dirs.json"
fi
echo "gathered $topic-$partition of broker $broker: $out"
