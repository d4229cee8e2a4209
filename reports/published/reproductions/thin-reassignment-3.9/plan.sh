#!/usr/bin/env bash
# acked-on-min-isr of kraft, 8 steps, by hand.  Read it before you run it: it kills brokers and loses records on purpose.
# Needs: Kafka's bin/ on the PATH, a shell on every broker (`on N command`), iptables there, and
#   BOOTSTRAP    addresses of the brokers        CONTROLLERS  hosts of the controllers, separated by spaces
#   HOST_1 ...   the brokers' hosts              DATA         the brokers' log.dirs
# Brokers' server.properties: replica.lag.time.max.ms=3000, auto.leader.rebalance.enable=false.
# A broker that is deaf to the controllers soon stops its heartbeats: broker.session.timeout.ms must outlast those stages.
set -eu
TOPIC=neverlost
on() { ssh "broker-$1" "${@:2}"; }
drop() { on "$1" iptables -A OUTPUT -p tcp -d "$2" -j DROP; }
pass() { on "$1" iptables -D OUTPUT -p tcp -d "$2" -j DROP; }
deafen() { on "$1" iptables -A INPUT -p tcp -s "$2" -j DROP; }
hear() { on "$1" iptables -D INPUT -p tcp -s "$2" -j DROP; }
host() { eval echo "\$HOST_$1"; }
start() { on "$1" kafka-server-start.sh -daemon server.properties; }
end() { on "$1" pkill "-$2" -f kafka.Kafka; }
produce() { echo "$2" | kafka-console-producer.sh --bootstrap-server "$(host "$1"):9092" --topic "$TOPIC" \
    --producer-property acks="$3" --producer-property retries=0; }
described() { kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --describe --topic "$TOPIC" | tr '\t' '\n'; }
leader() { described | sed -n 's/^ *Leader: //p'; }
isr() { described | sed -n 's/^ *Isr: //p' | tr , '\n' | sort -n | paste -sd,; }
wait_for() { until [ "$(leader) $(isr)" = "$1 $2" ]; do sleep 1; done; }
position() { on "$1" kafka-dump-log.sh --print-data-log --files "$DATA/$TOPIC-0/00000000000000000000.log" |
    awk -v wanted="payload: $2\$" '$0 ~ wanted { print at; exit }
        /^baseOffset/ { for (i = 1; i < NF; i++) if ($i == "position:") at = $(i + 1) }'; }
lose_from() { # what a power failure takes: the end of the segment, and what else knows of it
    at=$(position "$1" "$2"); on "$1" "cd '$DATA/$TOPIC-0' && truncate -s $at 00000000000000000000.log &&
        rm -f *.index *.timeindex *.snapshot leader-epoch-checkpoint ../.kafka_cleanshutdown"; }

# the beginning
kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --create --topic "$TOPIC" --replica-assignment 3:1:2 --config min.insync.replicas=2 --config unclean.leader.election.enable=false
wait_for 3 1,2,3
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []  broker 4: []

# 1. leader 3 asks to drop slow broker 2 from the ISR
# 2. the controller commits the ISR change of broker 2 that leader 3 asked for
# 3. leader 3 learns the committed ISR
drop 2 "$(host 1)"
drop 2 "$(host 3)"
drop 2 "$(host 4)"
drop 4 "$(host 1)"
drop 4 "$(host 2)"
drop 4 "$(host 3)"
produce 3 m0 1  # unless broker 2 lacks something anyway
wait_for 3 1,3
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []  broker 4: []

# 4. an operator reassigns the partition to brokers 1,2; leader 1 if the old one goes
drop 3 "$(host 1)"
drop 3 "$(host 2)"
drop 3 "$(host 4)"
for each in $CONTROLLERS; do deafen 1 "$each"; done
for each in $CONTROLLERS; do deafen 2 "$each"; done
for each in $CONTROLLERS; do deafen 3 "$each"; done
echo '{"version": 1, "partitions": [{"topic": "'"$TOPIC"'", "partition": 0, "replicas": [1, 2]}]}' > reassignment.json
kafka-reassign-partitions.sh --bootstrap-server "$BOOTSTRAP" --reassignment-json-file reassignment.json --execute
wait_for 1 1
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []  broker 4: []

# 5. the producer's next record reaches leader 3, which appends it
# 6. broker 1 takes a fetch response of 3
# 7. leader 3 handles a fetch of 1, in sync
produce 3 m1 all &
wait_for 1 1
# logs now, but for m0: broker 1: [m1]  broker 2: []  broker 3: [m1]  broker 4: []; acknowledged m1

# 8. broker 3 learns that it has no replica any more and deletes its log
drop 1 "$(host 2)"
drop 1 "$(host 3)"
drop 1 "$(host 4)"
for each in $CONTROLLERS; do hear 2 "$each"; done
for each in $CONTROLLERS; do hear 3 "$each"; done
wait_for 1 1
# logs now, but for m0: broker 1: [m1]  broker 2: []  broker 3: []  broker 4: []; acknowledged m1

# the end: heal everything, then read the partition from its beginning
pass 1 "$(host 2)"
pass 1 "$(host 3)"
pass 1 "$(host 4)"
pass 2 "$(host 1)"
pass 2 "$(host 3)"
pass 2 "$(host 4)"
pass 3 "$(host 1)"
pass 3 "$(host 2)"
pass 3 "$(host 4)"
pass 4 "$(host 1)"
pass 4 "$(host 2)"
pass 4 "$(host 3)"
for each in $CONTROLLERS; do hear 1 "$each"; done
kafka-console-consumer.sh --bootstrap-server "$BOOTSTRAP" --topic "$TOPIC" --from-beginning --property print.offset=true --timeout-ms 10000
