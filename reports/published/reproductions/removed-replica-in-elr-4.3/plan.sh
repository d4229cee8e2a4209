#!/usr/bin/env bash
# acked-never-lost of kraft-elr, 14 steps, by hand.  Read it before you run it: it kills brokers and loses records on purpose.
# Needs: Kafka's bin/ on the PATH, a shell on every broker (`on N command`), iptables there, and
#   BOOTSTRAP    addresses of the brokers        CONTROLLERS  hosts of the controllers, separated by spaces
#   HOST_1 ...   the brokers' hosts              DATA         the brokers' log.dirs
# Brokers' server.properties: replica.lag.time.max.ms=60000, auto.leader.rebalance.enable=false.
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

# kafka-storage.sh format --feature eligible.leader.replicas.version=1 (or a version that has it by default)

# the beginning
kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --create --topic "$TOPIC" --replica-assignment 2:1 --config min.insync.replicas=2 --config unclean.leader.election.enable=false
wait_for 2 1,2
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 1. the producer's next record reaches leader 2, which appends it
# 2. broker 1 takes a fetch response of 2
# 3. leader 2 handles a fetch of 1, in sync
drop 3 "$(host 1)"
drop 3 "$(host 2)"
produce 2 m1 all &
wait_for 2 1,2
# logs now, but for m0: broker 1: [m1]  broker 2: [m1]  broker 3: []; acknowledged m1

# 4. broker 2 shuts down cleanly after the controller moved its work; leader 1 if it led
drop 1 "$(host 2)"
drop 1 "$(host 3)"
end 2 TERM
wait_for 1 1
# ELR: 2
# logs now, but for m0: broker 1: [m1]  broker 2: [m1]  broker 3: []; acknowledged m1

# 5. an operator reassigns the partition to brokers 2,3; leader 1 if the old one goes
# 6. broker 1 learns that it leads and takes over
echo '{"version": 1, "partitions": [{"topic": "'"$TOPIC"'", "partition": 0, "replicas": [2, 3]}]}' > reassignment.json
kafka-reassign-partitions.sh --bootstrap-server "$BOOTSTRAP" --reassignment-json-file reassignment.json --execute
wait_for 1 1
# ELR: 2
# logs now, but for m0: broker 1: [m1]  broker 2: [m1]  broker 3: []; acknowledged m1

# 7. broker 3 learns of leader 1 and follows it
pass 1 "$(host 2)"
pass 1 "$(host 3)"
wait_for 1 1
# ELR: 2
# logs now, but for m0: broker 1: [m1]  broker 2: [m1]  broker 3: []; acknowledged m1

# 8. broker 3 takes a fetch response of 1
# 9. leader 1 asks to add 3 to the ISR
# 10. the controller commits the ISR change of broker 3 that leader 1 asked for
drop 1 "$(host 2)"
drop 1 "$(host 3)"
for each in $CONTROLLERS; do deafen 1 "$each"; done
for each in $CONTROLLERS; do deafen 3 "$each"; done
pass 3 "$(host 1)"
pass 3 "$(host 2)"
wait_for 3 3
# ELR: 1,2
# logs now, but for m0: broker 1: [m1]  broker 2: [m1]  broker 3: [m1]; acknowledged m1

# 11. broker 1 learns that it has no replica any more and deletes its log
drop 3 "$(host 1)"
drop 3 "$(host 2)"
for each in $CONTROLLERS; do hear 1 "$each"; done
wait_for 3 3
# ELR: 1,2
# logs now, but for m0: broker 1: []  broker 2: [m1]  broker 3: [m1]; acknowledged m1

# 12. an operator reassigns the partition to brokers 1,2,3; leader 1 if the old one goes
echo '{"version": 1, "partitions": [{"topic": "'"$TOPIC"'", "partition": 0, "replicas": [1, 2, 3]}]}' > reassignment.json
kafka-reassign-partitions.sh --bootstrap-server "$BOOTSTRAP" --reassignment-json-file reassignment.json --execute
wait_for 3 3
# ELR: 1,2
# logs now, but for m0: broker 1: []  broker 2: [m1]  broker 3: [m1]; acknowledged m1

# 13. broker 3 shuts down cleanly after the controller moved its work; leader 1 if it led
# 14. broker 1 learns that it leads and takes over
end 3 TERM
pass 3 "$(host 1)"
pass 3 "$(host 2)"
for each in $CONTROLLERS; do hear 3 "$each"; done
wait_for 1 1
# ELR: 2,3
# logs now, but for m0: broker 1: []  broker 2: [m1]  broker 3: [m1]; acknowledged m1

# the end: heal everything, then read the partition from its beginning
pass 1 "$(host 2)"
pass 1 "$(host 3)"
start 2
start 3
kafka-console-consumer.sh --bootstrap-server "$BOOTSTRAP" --topic "$TOPIC" --from-beginning --property print.offset=true --timeout-ms 10000
