#!/usr/bin/env bash
# acked-on-min-isr of kraft-elr, 11 steps, by hand.  Read it before you run it: it kills brokers and loses records on purpose.
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
kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --create --topic "$TOPIC" --replica-assignment 1:2 --config min.insync.replicas=2 --config unclean.leader.election.enable=false
wait_for 1 1,2
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 1. broker 2 shuts down cleanly after the controller moved its work; leader 2 if it led
drop 3 "$(host 1)"
drop 3 "$(host 2)"
for each in $CONTROLLERS; do deafen 1 "$each"; done
end 2 TERM
wait_for 1 1
# ELR: 2
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 2. the producer's next record reaches leader 1, which appends it
produce 1 m1 all &
wait_for 1 1
# ELR: 2
# logs now, but for m0: broker 1: [m1]  broker 2: []  broker 3: []

# 3. an operator reassigns the partition to brokers 1,2,3; leader 1 if the old one goes
# 4. leader 1 learns the committed ISR
for each in $CONTROLLERS; do hear 1 "$each"; done
echo '{"version": 1, "partitions": [{"topic": "'"$TOPIC"'", "partition": 0, "replicas": [1, 2, 3]}]}' > reassignment.json
kafka-reassign-partitions.sh --bootstrap-server "$BOOTSTRAP" --reassignment-json-file reassignment.json --execute
wait_for 1 1
# ELR: 2
# logs now, but for m0: broker 1: [m1]  broker 2: []  broker 3: []

# 5. broker 3 learns of leader 1 and follows it
# 6. broker 3 takes a fetch response of 1
# 7. leader 1 asks to add 3 to the ISR
# 8. the controller commits the ISR change of broker 3 that leader 1 asked for
for each in $CONTROLLERS; do deafen 1 "$each"; done
pass 3 "$(host 1)"
pass 3 "$(host 2)"
wait_for 1 1,3
# logs now, but for m0: broker 1: [m1]  broker 2: []  broker 3: [m1]

# 9. leader 1 learns the committed ISR
for each in $CONTROLLERS; do hear 1 "$each"; done
wait_for 1 1,3
# logs now, but for m0: broker 1: [m1]  broker 2: []  broker 3: [m1]; acknowledged m1

# 10. an operator cancels the reassignment; leader 1 if an added replica led
# 11. broker 3 learns that it has no replica any more and deletes its log
drop 3 "$(host 1)"
drop 3 "$(host 2)"
for each in $CONTROLLERS; do deafen 1 "$each"; done
kafka-reassign-partitions.sh --bootstrap-server "$BOOTSTRAP" --reassignment-json-file reassignment.json --cancel
wait_for 1 1
# ELR: 3
# logs now, but for m0: broker 1: [m1]  broker 2: []  broker 3: []; acknowledged m1

# the end: heal everything, then read the partition from its beginning
pass 3 "$(host 1)"
pass 3 "$(host 2)"
for each in $CONTROLLERS; do hear 1 "$each"; done
start 2
kafka-console-consumer.sh --bootstrap-server "$BOOTSTRAP" --topic "$TOPIC" --from-beginning --property print.offset=true --timeout-ms 10000
