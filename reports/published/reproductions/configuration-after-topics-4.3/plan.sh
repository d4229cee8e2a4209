#!/usr/bin/env bash
# acked-never-lost of kraft-elr, 7 steps, by hand.  Read it before you run it: it kills brokers and loses records on purpose.
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

# kafka-storage.sh format --feature eligible.leader.replicas.version=1 (or a version that has it by default)

# the beginning
kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --create --topic "$TOPIC" --replica-assignment 1:2 --config min.insync.replicas=1 --config unclean.leader.election.enable=false
wait_for 1 1,2
# logs now, but for m0: broker 1: []  broker 2: []

# 1. an operator sets min.insync.replicas to 2: min.insync.replicas is 2 now
for each in $CONTROLLERS; do deafen 1 "$each"; done
kafka-configs.sh --bootstrap-server "$BOOTSTRAP" --alter --entity-type topics --entity-name $TOPIC --add-config min.insync.replicas=2
wait_for 1 1,2
# logs now, but for m0: broker 1: []  broker 2: []

# 2. leader 1 finds 2 too slow: sends AlterPartition to remove 2 from the ISR
# 3. controller commits the AlterPartition of leader 1: 2 leaves the ISR for the ELR; the ISR is below min.insync.replicas=2; leader 1 does not know yet
drop 2 "$(host 1)"
produce 1 m0 1  # unless broker 2 lacks something anyway
wait_for 1 1
# ELR: 2
# logs now, but for m0: broker 1: []  broker 2: []

# 4. leader 1 receives the producer's next record: appends m1 at offset 0
produce 1 m1 all &
wait_for 1 1
# ELR: 2
# logs now, but for m0: broker 1: [m1]  broker 2: []

# 5. leader 1 replays the newest partition record: its ISR is 1; HW 0 -> 1; m1 acknowledged, though only 1 has it
wait_for 1 1
# ELR: 2
# logs now, but for m0: broker 1: [m1]  broker 2: []; acknowledged m1

# 6. controlled shutdown of broker 1: 1 leaves the ISR for the ELR; 2 joins the ISR; leadership moves from 1 to 2 from the ELR, though it lacks acknowledged m1
# 7. broker 2 applies its leadership: its ISR is 2
end 1 TERM
for each in $CONTROLLERS; do undeafen 1 "$each"; done
wait_for 2 2
# ELR: 1
# logs now, but for m0: broker 1: [m1]  broker 2: []; acknowledged m1

# the end: end every fault, then read the partition from its beginning
pass 2 "$(host 1)"
start 1
kafka-console-consumer.sh --bootstrap-server "$BOOTSTRAP" --topic "$TOPIC" --from-beginning --property print.offset=true --timeout-ms 10000
