package org.apache.kafka.controller;

import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import kafka.server.KafkaRaftServer;

import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;
/*imports*/
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;

/**
 * What `neverlost conform` found, as requests and timers of the controller: /*title*/.
 * Only the clock is not real.
 */
public class ReplicationControlManagerDiffersTest {
/*tests*/
    /** The controller of one partition, with brokers that do what the test says. */
    private static class Controller {
        private static final String TOPIC = "t";
        private static final long SESSION_MS = 9_000;

        private final Map<Integer, Long> epochs = new HashMap<>();
        private final Map<Integer, Integer> incarnations = new HashMap<>();
        private final FeatureControlManager features;
        private final ConfigurationControlManager configurations;
        private final ClusterControlManager cluster;
        private final ReplicationControlManager replication;
        private final Uuid topic;
        private long now;
        private long offset = 100;
        private int leaderEpoch;
        private int partitionEpoch;
        private String error = "";

        Controller(int brokers, int minIsr, boolean elr, boolean unclean) {
            LogContext context = new LogContext();
            SnapshotRegistry snapshots = new SnapshotRegistry(context);
            features = new FeatureControlManager.Builder().setSnapshotRegistry(snapshots)
                .setQuorumFeatures(new QuorumFeatures(0, supported(), List.of(0))).build();
            level("metadata.version", MetadataVersion.latestProduction().featureLevel());
            if (elr) {
                level("eligible.leader.replicas.version", (short) 1);
            }
            cluster = new ClusterControlManager.Builder().setTime(clock()).setSnapshotRegistry(snapshots).setClusterId("c")
                .setSessionTimeoutNs(SESSION_MS * 1_000_000).setFeatureControlManager(features)
                .setBrokerShutdownHandler((broker, clean, records) -> shutDown(broker, clean, records)).build();
            configurations = new ConfigurationControlManager.Builder().setSnapshotRegistry(snapshots)
                .setFeatureControl(features).setKafkaConfigSchema(KafkaRaftServer.configSchema()).build();
            replication = new ReplicationControlManager.Builder().setSnapshotRegistry(snapshots).setLogContext(context)
                .setConfigurationControl(configurations).setClusterControl(cluster).setFeatureControl(features)
                .setMaxElectionsPerImbalance(1000).build();
            cluster.activate();
            for (int each = 1; each <= brokers; each++) {
                register(each, false);
                heartbeat(each, false);
            }
            topic = create(brokers, minIsr);
            if (unclean) {
                configure("unclean.leader.election.enable", "true");
            }
        }

        private void shutDown(int broker, boolean clean, List<ApiMessageAndVersion> records) {
            replication.handleBrokerShutdown(broker, clean, records);
        }

        private static Map<String, VersionRange> supported() {
            return QuorumFeatures.defaultSupportedFeatureMap(true);
        }

        private void level(String name, short level) {
            features.replay(new FeatureLevelRecord().setName(name).setFeatureLevel(level));
        }

        private Uuid create(int brokers, int minIsr) {
            List<Integer> assigned = new ArrayList<>();
            for (int each = 1; each <= brokers; each++) {
                assigned.add(each);
            }
            var asked = new CreateTopicsRequestData.CreatableTopic().setName(TOPIC).setNumPartitions(-1)
                .setReplicationFactor((short) -1);
            asked.assignments().add(
                new CreateTopicsRequestData.CreatableReplicaAssignment().setPartitionIndex(0).setBrokerIds(assigned));
            asked.configs().add(new CreateTopicsRequestData.CreatableTopicConfig().setName("min.insync.replicas")
                .setValue(Integer.toString(minIsr)));
            CreateTopicsRequestData request = new CreateTopicsRequestData();
            request.topics().add(asked);
            done(replication.createTopics(context(19, 7), request, Set.of(TOPIC), false));
            return replication.getTopicId(TOPIC);
        }

        private static ControllerRequestContext context(int api, int version) {
            return new ControllerRequestContext(
                new RequestHeaderData().setRequestApiKey((short) api).setRequestApiVersion((short) version),
                KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
        }

        /** What the metadata log does with the records of an answer: each manager takes its own. */
        private <T> T done(ControllerResult<T> result) {
            for (ApiMessageAndVersion each : result.records()) {
                offset++;
                ApiMessage message = each.message();
                if (message instanceof RegisterBrokerRecord record) {
                    cluster.replay(record, offset);
                } else if (message instanceof BrokerRegistrationChangeRecord record) {
                    cluster.replay(record);
                } else if (message instanceof ConfigRecord record) {
                    configurations.replay(record);
                } else if (message instanceof TopicRecord record) {
                    replication.replay(record);
                } else if (message instanceof PartitionRecord record) {
                    replication.replay(record);
                } else if (message instanceof PartitionChangeRecord record) {
                    replication.replay(record);
                } else if (message instanceof ClearElrRecord record) {
                    replication.replay(record);
                } else {
                    throw new AssertionError(message);
                }
            }
            return result.response();
        }

        private static Uuid directory(int broker, int number) {
            return new Uuid(77 + number, broker);
        }

        /** A new incarnation registers; clean: it presents the epoch of its last registration. */
        void register(int broker, boolean clean) {
            var request = new BrokerRegistrationRequestData().setBrokerId(broker).setClusterId("c")
                .setIncarnationId(new Uuid(broker, incarnations.merge(broker, 1, Integer::sum)))
                .setLogDirs(List.of(directory(broker, 0), directory(broker, 1)))
                .setPreviousBrokerEpoch(clean ? epochs.get(broker) : -1);
            request.listeners().add(new BrokerRegistrationRequestData.Listener().setName("L").setHost("h").setPort(9092)
                .setSecurityProtocol((short) 0));
            supported().forEach((name, levels) -> request.features().add(new BrokerRegistrationRequestData.Feature()
                .setName(name).setMinSupportedVersion(levels.min()).setMaxSupportedVersion(levels.max())));
            done(cluster.registerBroker(request, offset + 1, features.finalizedFeatures(Long.MAX_VALUE), true));
            epochs.put(broker, cluster.registration(broker).epoch());
        }

        /** It unfences the broker, or asks for a controlled shutdown. */
        void heartbeat(int broker, boolean stop) {
            cluster.trackBrokerHeartbeat(broker, epochs.get(broker));
            done(replication.processBrokerHeartbeat(new BrokerHeartbeatRequestData().setBrokerId(broker)
                .setBrokerEpoch(epochs.get(broker)).setCurrentMetadataOffset(offset).setWantShutDown(stop), offset));
        }

        /** The session of a broker runs out, no other does. */
        void expire(int lost) {
            now += SESSION_MS - 1_000;
            epochs.forEach((broker, epoch) -> {
                if (broker != lost) {
                    cluster.trackBrokerHeartbeat(broker, epoch);
                }
            });
            now += 2_000;
            boolean more = true;
            while (more) {
                ControllerResult<Boolean> result = replication.maybeFenceOneStaleBroker();
                more = !result.records().isEmpty() || result.response();
                done(result);
            }
        }

        /** The leader's AlterPartition; stale: those whose broker epoch it names is one too low. */
        void alterPartition(int leader, List<Integer> isr, int leaderEpoch, int partitionEpoch, List<Integer> stale) {
            List<AlterPartitionRequestData.BrokerState> states = isr.stream().map(each ->
                new AlterPartitionRequestData.BrokerState().setBrokerId(each)
                    .setBrokerEpoch(epochs.get(each) - (stale.contains(each) ? 1 : 0))).toList();
            var part = new AlterPartitionRequestData.PartitionData().setPartitionIndex(0).setNewIsrWithEpochs(states)
                .setLeaderEpoch(leaderEpoch).setPartitionEpoch(partitionEpoch);
            var request = new AlterPartitionRequestData().setBrokerId(leader).setBrokerEpoch(epochs.get(leader))
                .setTopics(List.of(new AlterPartitionRequestData.TopicData().setTopicId(topic).setPartitions(List.of(part))));
            var answer = done(replication.alterPartition(context(56, 3), request));
            error = Errors.forCode(answer.topics().get(0).partitions().get(0).errorCode()).name();
        }

        /** A broker says in which directory its replica is. */
        void assignDirectory(int broker, int number) {
            var part = new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(0);
            var of = new AssignReplicasToDirsRequestData.TopicData().setTopicId(topic).setPartitions(List.of(part));
            var place = new AssignReplicasToDirsRequestData.DirectoryData().setId(directory(broker, number)).setTopics(List.of(of));
            done(replication.handleAssignReplicasToDirs(new AssignReplicasToDirsRequestData().setBrokerId(broker)
                .setBrokerEpoch(epochs.get(broker)).setDirectories(List.of(place))));
        }

        /** An operator's election. */
        void elect(boolean unclean) {
            var topics = new ElectLeadersRequestData.TopicPartitionsCollection();
            topics.add(new ElectLeadersRequestData.TopicPartitions().setTopic(TOPIC).setPartitions(List.of(0)));
            done(replication.electLeaders(
                new ElectLeadersRequestData().setElectionType((byte) (unclean ? 1 : 0)).setTopicPartitions(topics)));
        }

        /** An operator's reassignment; null: its cancellation. */
        void reassign(List<Integer> replicas) {
            var part = new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(0)
                .setReplicas(replicas);
            var of = new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(TOPIC).setPartitions(List.of(part));
            done(replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(of))));
        }

        /** An operator sets a topic's configuration. */
        void configure(String key, String value) {
            done(configurations.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, TOPIC),
                Map.of(key, new AbstractMap.SimpleEntry<>(AlterConfigOp.OpType.SET, value))), false, false));
        }

        /** The records that a snapshot of this state would hold are replayed. */
        void install(List<Integer> replicas, List<Integer> isr, List<Integer> elr, List<Integer> lastKnown, int leader,
                List<Integer> adding, List<Integer> removing, int leaderEpoch, int partitionEpoch, List<Integer> fenced) {
            this.leaderEpoch = leaderEpoch;
            this.partitionEpoch = partitionEpoch;
            now += 2 * SESSION_MS;
            replication.replay(new PartitionRecord().setTopicId(topic).setPartitionId(0).setReplicas(replicas).setIsr(isr)
                .setEligibleLeaderReplicas(elr.isEmpty() ? null : elr).setLastKnownElr(lastKnown.isEmpty() ? null : lastKnown)
                .setLeader(leader).setLeaderEpoch(leaderEpoch).setPartitionEpoch(partitionEpoch)
                .setAddingReplicas(adding).setRemovingReplicas(removing)
                .setDirectories(replicas.stream().map(each -> directory(each, 0)).toList()));
            epochs.forEach((broker, epoch) -> {
                boolean isFenced = fenced.contains(broker);
                if (cluster.registration(broker).fenced() != isFenced) {
                    cluster.replay(new BrokerRegistrationChangeRecord().setBrokerId(broker).setBrokerEpoch(epoch)
                        .setFenced((byte) (isFenced ? 1 : -1)));
                }
                if (!isFenced) {
                    cluster.trackBrokerHeartbeat(broker, epoch);
                }
            });
        }

        /** The error of the last answer. */
        String error() {
            return error;
        }

        /** The partition and who is fenced; follows: how far the leader of before followed the controller's epochs. */
        String seen(String follows) {
            PartitionRegistration found = replication.getPartition(topic, 0);
            String epochs = found.leaderEpoch != leaderEpoch ? "/*elected*/"
                : found.partitionEpoch != partitionEpoch && follows.equals("/*up to date*/") ? "/*behind*/" : follows;
            Collection<Integer> fenced = this.epochs.keySet().stream()
                .filter(each -> cluster.registration(each).fenced()).collect(Collectors.toCollection(TreeSet::new));
            return "leader=" + found.leader + " isr=" + shown(found.isr) + named("elr", shown(found.elr))
                + named("fenced", shown(fenced)) + " replicas=" + shown(found.replicas)
                + named("adding", shown(found.addingReplicas)) + named("removing", shown(found.removingReplicas))
                + (found.lastKnownElr.length == 0 ? "" : " lastKnownLeader=" + found.lastKnownElr[0]) + " (" + epochs + ")";
        }

        private static String named(String name, String shown) {
            return shown.equals("[]") ? "" : " " + name + "=" + shown;
        }

        private static String shown(int[] brokers) {
            return shown(java.util.Arrays.stream(brokers).boxed().collect(Collectors.toCollection(TreeSet::new)));
        }

        private static String shown(Collection<Integer> brokers) {
            return brokers.stream().map(String::valueOf).collect(Collectors.joining(",", "[", "]"));
        }

        private Time clock() {
            return new Time() {
                @Override
                public long milliseconds() {
                    return now;
                }

                @Override
                public long nanoseconds() {
                    return now * 1_000_000;
                }

                @Override
                public void sleep(long ms) {
                    now += ms;
                }

                @Override
                public void waitObject(Object object, Supplier<Boolean> condition, long deadline) { }
            };
        }
    }
}
