#!/usr/bin/env bash
# acked-never-lost of kraft, 15 steps, by hand.  Read it before you run it: it kills brokers and loses records on purpose.
# Needs: Kafka's bin/ on the PATH, a shell on every broker (`on N command`), iptables there, and
#   BOOTSTRAP    addresses of the brokers        CONTROLLERS  hosts of the controllers, separated by spaces
#   HOST_1 ...   the brokers' hosts              DATA         the brokers' log.dirs
# Brokers' server.properties: replica.lag.time.max.ms=20000, controller.quorum.request.timeout.ms=60000, controller.quorum.fetch.timeout.ms=60000, auto.leader.rebalance.enable=false.
# A broker that is deaf to the controllers soon stops its heartbeats: broker.session.timeout.ms must outlast those stages.
set -eu
TOPIC=neverlost
on() { ssh "broker-$1" "${@:2}"; }
drop() { on "$1" iptables -A OUTPUT -p tcp -d "$2" -j DROP; }
pass() { on "$1" iptables -D OUTPUT -p tcp -d "$2" -j DROP; }
deafen() { on "$1" iptables -A INPUT -p tcp -s "$2" -j DROP; }
undeafen() { on "$1" iptables -D INPUT -p tcp -s "$2" -j DROP; }
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
kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --create --topic "$TOPIC" --replica-assignment 1:2 --config min.insync.replicas=2 --config unclean.leader.election.enable=false
wait_for 1 1,2
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 1. an operator reassigns the partition to brokers 1: 2 leaves the ISR; the ISR is below min.insync.replicas=2; leader 1 gets a new leader epoch; 1 still believes it is leader
drop 2 "$(host 1)"
drop 2 "$(host 3)"
drop 3 "$(host 1)"
drop 3 "$(host 2)"
for each in $CONTROLLERS; do deafen 1 "$each"; done
echo '{"version": 1, "partitions": [{"topic": "'"$TOPIC"'", "partition": 0, "replicas": [1]}]}' > reassignment.json
kafka-reassign-partitions.sh --bootstrap-server "$BOOTSTRAP" --reassignment-json-file reassignment.json --execute
wait_for 1 1
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 2. an operator reassigns the partition to brokers 2,3: 2,3 are being added; 1 is being removed
# 3. broker 1 applies its leadership: its ISR is 1
for each in $CONTROLLERS; do undeafen 1 "$each"; done
echo '{"version": 1, "partitions": [{"topic": "'"$TOPIC"'", "partition": 0, "replicas": [2, 3]}]}' > reassignment.json
kafka-reassign-partitions.sh --bootstrap-server "$BOOTSTRAP" --reassignment-json-file reassignment.json --execute
wait_for 1 1
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 4. broker 3 learns of leader 1 and follows it
wait_for 1 1
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 5. leader 1 finds 3 caught up: sends AlterPartition to add 3 to the ISR
# 6. controller commits the AlterPartition of leader 1: 3 joins the ISR; leader 1 does not know yet
# 7. leader 1 receives the answer to its AlterPartition request: its ISR is 1,3
for each in $CONTROLLERS; do deafen 1 "$each"; done
pass 3 "$(host 1)"
pass 3 "$(host 2)"
wait_for 1 1,3
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 8. broker 2 learns of leader 1 and follows it
wait_for 1 1,3
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 9. leader 1 finds 2 caught up: sends AlterPartition to add 2 to the ISR
# 10. controller commits the AlterPartition of leader 1: no reassignment is in progress any more; 1 leaves the ISR; 2 joins the ISR; leadership moves from 1 to 2; 1 still believes it is leader
drop 1 "$(host 2)"
drop 1 "$(host 3)"
for each in $CONTROLLERS; do deafen 2 "$each"; done
for each in $CONTROLLERS; do deafen 3 "$each"; done
pass 2 "$(host 1)"
pass 2 "$(host 3)"
wait_for 2 2,3
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 11. leader 1 replays the record of an ISR change whose answer it has applied: forgets its pending change to add 2, which the controller has committed
drop 2 "$(host 1)"
drop 2 "$(host 3)"
# broker 1 must get the answer to a fetch that it sent before the last change; sleep 5
wait_for 2 2,3
# logs now, but for m0: broker 1: []  broker 2: []  broker 3: []

# 12. stale leader 1 receives the producer's next record: appends m1 at offset 0
# 13. broker 3 receives a fetch response of stale leader 1: appends m1 at offset 0
# 14. stale leader 1 handles the fetch of 3: HW 0 -> 1, past m1, which ISR member 2 lacks; m1 acknowledged by the stale ISR=1,3, while the controller has ISR=2,3
produce 1 m1 all &
wait_for 2 2,3
# logs now, but for m0: broker 1: [m1]  broker 2: []  broker 3: [m1]; acknowledged m1

# 15. broker 2 applies its leadership: its ISR is 2,3
for each in $CONTROLLERS; do undeafen 2 "$each"; done
wait_for 2 2,3
# logs now, but for m0: broker 1: [m1]  broker 2: []  broker 3: [m1]; acknowledged m1

# the end: end every fault, then read the partition from its beginning
pass 1 "$(host 2)"
pass 1 "$(host 3)"
pass 2 "$(host 1)"
pass 2 "$(host 3)"
for each in $CONTROLLERS; do undeafen 1 "$each"; done
for each in $CONTROLLERS; do undeafen 3 "$each"; done
kafka-console-consumer.sh --bootstrap-server "$BOOTSTRAP" --topic "$TOPIC" --from-beginning --property print.offset=true --timeout-ms 10000
