package kafka.cluster;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;

import kafka.server.KafkaConfig;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TopicIdPartition;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.partition.AlterPartitionListener;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
/*imports*/
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import scala.Option;
import scala.runtime.AbstractFunction0;

import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * What `neverlost conform` found, as calls of Partition's own entry points: /*title*/.
 * Broker 1 is the leader; nothing but Partition and its log is real.
 */
public class PartitionDiffersTest {
    @TempDir
    Path folder;
/*tests*/
    /** One Partition on broker 1, with a controller and followers that do what the test says. */
    private static class Leader {
        private static final TopicPartition PARTITION = new TopicPartition("t", 0);
        private static final Uuid TOPIC = new Uuid(5, 1);

        private final int replicas;
        private final KafkaConfig config;
        private final Partition partition;
        private Set<Integer> fenced = Set.of();
        private long now = 1_000_000;
        private LeaderAndIsr asked;
        private CompletableFuture<LeaderAndIsr> answer;

        Leader(Path folder, int minIsr, int replicas) {
            this.replicas = replicas;
            Properties given = new Properties();
            given.putAll(Map.of("process.roles", "broker", "node.id", "1", "controller.quorum.voters", "9@h:1",
                "controller.listener.names", "C", "listeners", "PLAINTEXT://h:2", "log.dirs", folder.toString(),
                "min.insync.replicas", Integer.toString(minIsr), "log.cleaner.enable", "false"));
            config = KafkaConfig.fromProps(given);
            DelayedOperations delayed = new DelayedOperations(Option.apply(TOPIC), PARTITION, null, null, null, null) {
                @Override
                public void checkAndCompleteAll() { }

                @Override
                public int numDelayedDelete() {
                    return 0;
                }
            };
            partition = new Partition(PARTITION, config.replicaLagTimeMaxMs(), 1, brokerEpoch(), clock(), listener(), delayed,
                cache(), logs(), controller(), Option.apply(TOPIC));
        }

        /** A metadata record is replayed. */
        void learn(int leader, List<Integer> isr, int leaderEpoch, int partitionEpoch) {
            Uuid[] directories = new Uuid[replicas];
            int[] assigned = new int[replicas];
            for (int i = 0; i < replicas; i++) {
                assigned[i] = i + 1;
                directories[i] = org.apache.kafka.common.DirectoryId.UNASSIGNED;
            }
            PartitionRegistration record = new PartitionRegistration.Builder().setReplicas(assigned).setDirectories(directories)
                .setIsr(isr.stream().mapToInt(each -> each).toArray()).setLeader(leader)
                .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
                .setLeaderEpoch(leaderEpoch).setPartitionEpoch(partitionEpoch).build();
            if (leader == 1) {
                partition.makeLeader(record, false, (directory, of) -> Optional.empty(), Option.apply(TOPIC), Option.empty());
            } else {
                partition.makeFollower(record, false, (directory, of) -> Optional.empty(), Option.apply(TOPIC), Option.empty());
            }
        }

        /** A producer's record. */
        void append(int acks) {
            MemoryRecords records = MemoryRecords.withRecords(
                Compression.NONE, new SimpleRecord("m".getBytes(StandardCharsets.UTF_8)));
            try {
                partition.appendRecordsToLeader(records, AppendOrigin.CLIENT, acks, RequestLocal.noCaching(),
                    VerificationGuard.SENTINEL, TransactionVersion.TV_UNKNOWN);
            } catch (org.apache.kafka.common.errors.ApiException refused) {
                // the state is what is looked at
            }
        }

        void append() {
            append(-1);
        }

        /** A follower's fetch; lastFetchedEpoch is below 0 where it says none. */
        void fetch(int follower, long offset, int lastFetchedEpoch) {
            FetchParams how = new FetchParams(follower, 100 + follower, 0, 1, 1 << 20, FetchIsolation.LOG_END, Optional.empty());
            FetchRequest.PartitionData what = new FetchRequest.PartitionData(TOPIC, offset, 0, 1 << 20,
                Optional.of(partition.getLeaderEpoch()), lastFetchedEpoch < 0 ? Optional.empty() : Optional.of(lastFetchedEpoch));
            try {
                partition.fetchRecords(how, what, now, 1 << 20, true, true);
            } catch (org.apache.kafka.common.errors.ApiException refused) {
                // the state is what is looked at
            }
        }

        void fetch(int follower, long offset) {
            fetch(follower, offset, -1);
        }

        void fence(Integer... brokers) {
            fenced = Set.of(brokers);
        }

        /** The timer that looks for slow followers. */
        void shrink() {
            partition.maybeShrinkIsr();
        }

        /** More than replica.lag.time.max.ms passes. */
        void passLag() {
            now += config.replicaLagTimeMaxMs() + 1;
        }

        /** The leader looks at its high watermark again, as each append and each new fetch offset makes it do. */
        void lookAgain() {
            try {
                var method = Arrays.stream(Partition.class.getDeclaredMethods())
                    .filter(each -> each.getName().equals("maybeIncrementLeaderHW") && each.getParameterCount() == 2)
                    .findFirst().orElseThrow();
                method.setAccessible(true);
                method.invoke(partition, partition.log().get(), now);
            } catch (ReflectiveOperationException changed) {
                throw new AssertionError(changed);
            }
        }

        /** The newest AlterPartition request was applied at this partition epoch. */
        void answer(int partitionEpoch) {
            answer.complete(asked.withPartitionEpoch(partitionEpoch));
        }

        void refuse(String error) {
            answer.completeExceptionally(Errors.valueOf(error).exception());
        }

        String seen(boolean withAcknowledged) {
            UnifiedLog log = partition.log().get();
            String found = "LEO " + log.logEndOffset() + " HW " + log.highWatermark()
                + " ISR " + new TreeSet<>(partition.partitionState().isr())
                + " maximal ISR " + new TreeSet<>(partition.partitionState().maximalIsr());
            List<Long> acknowledged = new ArrayList<>();
            for (long offset = 0; offset < log.logEndOffset(); offset++) {
                var reached = partition.checkEnoughReplicasReachOffset(offset + 1);
                if ((Boolean) reached._1() && reached._2() == Errors.NONE) {
                    acknowledged.add(offset);
                }
            }
            return withAcknowledged ? found + " acknowledged " + acknowledged : found;
        }

        /** Now, when the leader looks again, or when it has waited for a replica that is about to join. */
        void shows(String... expected) {
            Set<String> all = Set.of(expected);
            boolean withAcknowledged = expected[0].contains("acknowledged");
            String first = seen(withAcknowledged);
            if (all.contains(first)) {
                return;
            }
            if (partition.isLeader()) {
                lookAgain();
                if (all.contains(seen(withAcknowledged))) {
                    return;
                }
                passLag();
                lookAgain();
            }
            assertTrue(all.contains(seen(withAcknowledged)), () -> "expected one of " + all + ", but it shows " + first);
        }

        private static AbstractFunction0<Object> brokerEpoch() {
            return new AbstractFunction0<>() {
                @Override
                public Object apply() {
                    return 101L;
                }
            };
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

        private static AlterPartitionListener listener() {
            return new AlterPartitionListener() {
                @Override
                public void markIsrExpand() { }

                @Override
                public void markIsrShrink() { }

                @Override
                public void markFailed() { }
            };
        }

        private MetadataCache cache() {
            return (MetadataCache) java.lang.reflect.Proxy.newProxyInstance(
                MetadataCache.class.getClassLoader(), new Class<?>[] {MetadataCache.class}, (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "isBrokerFenced":
                            return fenced.contains(arguments[0]);
                        case "isBrokerShuttingDown":
                            return false;
                        case "hasAliveBroker":
                            return !fenced.contains(arguments[0]);
                        case "getAliveBrokerEpoch":
                            return fenced.contains(arguments[0]) ? Optional.empty() : Optional.of(100L + (Integer) arguments[0]);
                        default:
                            throw new UnsupportedOperationException(method.getName());
                    }
                });
        }

        private LogManager logs() {
            Scheduler idle = new Scheduler() {
                @Override
                public void startup() { }

                @Override
                public void shutdown() { }

                @Override
                public ScheduledFuture<?> schedule(String name, Runnable task, long delay, long period) {
                    return null;
                }

                @Override
                public void resizeThreadPool(int size) { }
            };
            return LogManager.apply(config, /*nothing*/, (ConfigResource of) -> new Properties(), idle, clock(),
                new BrokerTopicStats(), new LogDirFailureChannel(1));
        }

        private AlterPartitionManager controller() {
            return new AlterPartitionManager() {
                @Override
                public void start() { }

                @Override
                public void shutdown() { }

                @Override
                public CompletableFuture<LeaderAndIsr> submit(TopicIdPartition of, LeaderAndIsr wanted) {
                    asked = wanted;
                    answer = new CompletableFuture<>();
                    return answer;
                }
            };
        }
    }
}
