package kafka.cluster;

import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;

import kafka.server.KafkaConfig;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.NotLeaderOrFollowerException;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import scala.Option;

import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * What `neverlost conform --free` found in /*title*/: events of Partition and ReplicaFetcherThread, and what the controller
 * (ReplicationControlManager) answered then, as its metadata. A test passes if the last leader has every record that was
 * acknowledged to acks=all, or was below the high watermark of a leader.
 * What has moved between 3.9 and 4.4 is found by name, so the test needs Kafka's jars and JUnit only.
 */
public class BrokersKeepRecordsTest {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final Uuid TOPIC = new Uuid(5, 1);
    private static final String LOG = "org.apache.kafka.storage.internals.log.";
    private static final String SERVER = "org.apache.kafka.server.";

    @TempDir
    Path folder;
/*tests*/

    /** Some brokers with a log and a fetcher each; what lies between them waits until the test takes it. */
    private static class Group {
        private final Map<Integer, Broker> brokers = new TreeMap<>();
        private final Map<List<Integer>, Fetch> fetches = new HashMap<>();
        private final Set<Character> promised = new TreeSet<>();
        private char next = 'a';

        Group(Path folder, int minIsr, int count) {
            for (int me = 1; me <= count; me++) {
                brokers.put(me, new Broker(folder.resolve(String.valueOf(me)), me, minIsr, count));
            }
            brokers.values().forEach(each -> brokers.keySet().stream().filter(other -> other != each.me)
                .forEach(other -> each.fetchers.put(other, new Fetcher(each, brokers.get(other)))));
        }

        /** A broker replays the metadata log up to here. */
        void metadata(int me, int leader, List<Integer> isr, int leaderEpoch, int partitionEpoch, List<Integer> fenced,
                      List<Integer> epochs) {
            brokers.get(me).learn(leader, isr, leaderEpoch, partitionEpoch, fenced, epochs);
            settle();
        }

        /** A leader appends the next record; a request that stalls does not yet wait for followers. */
        void produce(int me, int acks, boolean stalls) {
            Broker broker = brokers.get(me);
            if (broker.append(next, acks)) {
                if (acks == -1) {
                    broker.produced.add(new Produced(next, broker.logEnd(), stalls));
                }
                next++;
            }
            settle();
        }

        /** The thread of a request that stood still goes on. */
        void goOn(int me) {
            brokers.get(me).produced.forEach(each -> each.stalls = false);
            settle();
        }

        void send(int follower) {
            Broker broker = brokers.get(follower);
            FetchRequest.PartitionData asked = broker.fetchers.get(broker.fetchesFrom).request();
            if (asked != null) {
                fetches.putIfAbsent(List.of(follower, broker.fetchesFrom), new Fetch(asked, broker.epoch));
            }
            settle();
        }

        void answer(int follower, int leader) {
            fetches.get(List.of(follower, leader)).response =
                brokers.get(leader).read(follower, fetches.get(List.of(follower, leader)));
            settle();
        }

        /** A follower processes a response, whose bytes are read from the leader's file now. */
        void deliver(int follower, int leader) {
            brokers.get(follower).fetchers.get(leader).deliver(fetches.remove(List.of(follower, leader)));
            settle();
        }

        /** A connection breaks. */
        void lose(int follower, int leader) {
            fetches.remove(List.of(follower, leader));
        }

        /** More than replica.lag.time.max.ms passes, and the timer looks for slow followers. */
        void lag(int me) {
            Broker broker = brokers.get(me);
            broker.now += broker.config.replicaLagTimeMaxMs() + 1;
            broker.partition.maybeShrinkIsr();
            settle();
        }

        /** The controller's answer to AlterPartition comes. */
        void answered(int me, String error) {
            Broker broker = brokers.get(me);
            CompletableFuture<Object> future = broker.future;
            broker.future = null;
            if (error.equals("NONE")) {
                int epoch = (Integer) call(broker.asked, "partitionEpoch") + 1;
                future.complete(call(broker.asked, "withPartitionEpoch", epoch));
            } else {
                future.completeExceptionally(Errors.valueOf(error).exception());
            }
            settle();
        }

        /** Producers that wait are answered, and what consumers may read is noted. */
        private void settle() {
            for (Broker broker : brokers.values()) {
                for (Iterator<Produced> all = broker.produced.iterator(); all.hasNext();) {
                    Produced each = all.next();
                    var reached = broker.partition.checkEnoughReplicasReachOffset(each.offset);
                    if (!each.stalls && ((Boolean) reached._1() || reached._2() != Errors.NONE)) {
                        all.remove();
                        if (reached._2() == Errors.NONE) {
                            promised.add(each.record);
                        }
                    }
                }
                if (broker.partition.isLeader()) {
                    promised.addAll(broker.content().subList(0, (int) broker.highWatermark()));
                }
            }
        }

        /** The leader has all that was acknowledged or could be read. */
        void keeps(int leader) {
            List<Character> log = brokers.get(leader).content();
            assertTrue(log.containsAll(promised),
                () -> "broker " + leader + " leads with " + log + ", without some of " + promised);
        }
    }

    private static class Produced {
        private final char record;
        private final long offset;
        private boolean stalls;

        Produced(char record, long offset, boolean stalls) {
            this.record = record;
            this.offset = offset;
            this.stalls = stalls;
        }
    }

    private static class Fetch {
        private final FetchRequest.PartitionData asked;
        private final long epoch;
        private FetchResponseData.PartitionData response;

        Fetch(FetchRequest.PartitionData asked, long epoch) {
            this.asked = asked;
            this.epoch = epoch;
        }
    }

    /** A Partition on a log, with a fetcher for each other broker. */
    private static class Broker {
        private final int me;
        private final int count;
        private final KafkaConfig config;
        private final Partition partition;
        private final Object manager;
        private final Object statistics;
        private final Map<Integer, Fetcher> fetchers = new HashMap<>();
        private final List<Produced> produced = new ArrayList<>();
        private long now = 1_000_000;
        private long epoch = -1;
        private int fetchesFrom;
        private List<Integer> fenced = List.of();
        private List<Integer> epochs = List.of();
        private Object asked;
        private CompletableFuture<Object> future;

        Broker(Path folder, int me, int minIsr, int count) {
            this.me = me;
            this.count = count;
            Properties given = new Properties();
            given.putAll(Map.of("process.roles", "broker", "node.id", String.valueOf(me), "controller.quorum.voters", "9@h:1",
                "controller.listener.names", "C", "listeners", "PLAINTEXT://h:2", "log.dirs", folder.toString(),
                "min.insync.replicas", String.valueOf(minIsr), "log.cleaner.enable", "false", "replica.fetch.backoff.ms", "0"));
            folder.toFile().mkdirs();
            config = KafkaConfig.fromProps(given);
            statistics = make(type("org.apache.kafka.storage.log.metrics.BrokerTopicStats", "kafka.server.BrokerTopicStats"),
                Map.of("Optional", Optional.empty(), "boolean", false));
            partition = (Partition) make(Partition.class, Map.ofEntries(
                Map.entry("TopicPartition", PARTITION), Map.entry("long", config.replicaLagTimeMaxMs()),
                Map.entry("MetadataVersion", MetadataVersion.latestProduction()), Map.entry("int", me),
                Map.entry("Function0", function(() -> epoch)), Map.entry("Time", clock()),
                Map.entry("AlterPartitionListener", Map.of()), Map.entry("DelayedOperations", delayed()),
                Map.entry("MetadataCache", Map.<String, Function<Object[], Object>>of(
                    "isBrokerFenced", of -> fenced.contains(of[0]), "hasAliveBroker", of -> !fenced.contains(of[0]),
                    "getAliveBrokerEpoch", of -> fenced.contains(of[0]) ? null : (long) epochs.get((Integer) of[0] - 1))),
                Map.entry("LogManager", logs()),
                Map.entry("AlterPartitionManager", Map.<String, Function<Object[], Object>>of("submit", this::submitted)),
                Map.entry("Option", Option.apply(TOPIC))));
            manager = manager();
        }

        private Object submitted(Object... given) {
            CompletableFuture<Object> found = new CompletableFuture<>();
            if (future != null) {
                found.completeExceptionally(Errors.OPERATION_NOT_ATTEMPTED.exception());
                return found;
            }
            asked = given[1];
            future = found;
            return found;
        }

        private Object clock() {
            return proxy(Time.class, Map.of("milliseconds", of -> now, "nanoseconds", of -> now * 1_000_000));
        }

        private Object delayed() {
            Class<?> purgatory = type(SERVER + "purgatory.DelayedOperationPurgatory", "kafka.server.DelayedOperationPurgatory");
            Object idle = make(purgatory, Map.of("String", "p", "Timer", Map.of(), "int", 1000, "boolean", false));
            return make(DelayedOperations.class, Map.of("TopicPartition", PARTITION, "Option", Option.apply(TOPIC),
                "DelayedOperationPurgatory", idle));
        }

        private Object logs() {
            Method apply = Arrays.stream(type("kafka.log.LogManager").getMethods())
                .filter(each -> each.getName().equals("apply")).findFirst().orElseThrow();
            Map<String, Function<Object[], Object>> scheduler = Map.of("schedule", of -> null, "isStarted", of -> true);
            Map<String, Function<Object[], Object>> topics = new HashMap<>();
            List.of("config", "topicConfig", "brokerConfig").forEach(each -> topics.put(each, of -> new Properties()));
            Object none = scala.jdk.javaapi.CollectionConverters.asScala(List.of()).toSeq();
            return invoke(apply, null, arguments(apply.getParameterTypes(), Map.of("KafkaConfig", config, "Seq", none,
                "Set", Set.of(), "ConfigRepository", topics, "Scheduler", scheduler, "Time", clock(),
                "BrokerTopicStats", statistics, "boolean", true,
                "LogDirFailureChannel", make(type(LOG + "LogDirFailureChannel"), Map.of("int", 1)))));
        }

        /** A ReplicaManager with this partition, and nothing else: its constructor has not run. */
        private Object manager() {
            try {
                Class<?> made = type("kafka.server.ReplicaManager");
                Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
                unsafe.setAccessible(true);
                Object found = ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(made);
                Field partitions = field(made, "allPartitions");
                Class<?> kind = partitions.getType();
                Object map = kind.getName().endsWith("Pool") ? make(kind, Map.of("Option", Option.empty()))
                    : kind.getDeclaredConstructor().newInstance();
                Class<?> online = type(SERVER + "HostedPartition$Online", "kafka.server.HostedPartition$Online");
                call(map, "put", PARTITION, construct(longest(online), partition));
                partitions.set(found, map);
                field(made, "brokerTopicStats").set(found, statistics);
                Map<String, Object> mover = new HashMap<>(Map.of("KafkaConfig", config, "ReplicaManager", found,
                    "BrokerTopicStats", statistics, "DirectoryEventHandler", DirectoryEventHandler.NOOP));
                mover.put("ReplicationQuotaManager", null);
                field(made, "replicaAlterLogDirsManager")
                    .set(found, make(type("kafka.server.ReplicaAlterLogDirsManager"), mover));
                return found;
            } catch (ReflectiveOperationException changed) {
                throw new AssertionError(changed);
            }
        }

        /** As ReplicaManager.applyDelta does. */
        void learn(int leader, List<Integer> isr, int leaderEpoch, int partitionEpoch, List<Integer> nowFenced,
                   List<Integer> nowEpochs) {
            fenced = nowFenced;
            epochs = nowEpochs;
            epoch = epoch < 0 ? epochs.get(me - 1) : epoch;
            int before = partition.getLeaderEpoch();
            if (leader == me) {
                stopFetching();
            }
            Uuid[] directories = new Uuid[count];
            Arrays.fill(directories, DirectoryId.UNASSIGNED);
            int[] members = isr.stream().mapToInt(each -> each).toArray();
            int[] replicas = IntStream.rangeClosed(1, count).toArray();
            Object record = new PartitionRegistration.Builder().setReplicas(replicas).setDirectories(directories).setIsr(members)
                .setLeader(leader).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
                .setLeaderEpoch(leaderEpoch).setPartitionEpoch(partitionEpoch).build();
            Method old = method(record.getClass(), "toLeaderAndIsrPartitionState", 2);
            Class<?> places = type("org.apache.kafka.storage.internals.checkpoint.OffsetCheckpoints",
                "kafka.server.checkpoints.OffsetCheckpoints");
            List<Object> given = new ArrayList<>(
                old == null ? List.of(record, false) : List.of(invoke(old, record, PARTITION, false)));
            given.addAll(List.of(proxy(places, Map.of()), Option.apply(TOPIC), Option.empty()));
            String what = leader == me ? "makeLeader" : "makeFollower";
            while (method(Partition.class, what, given.size()) == null) {
                given.remove(given.size() - 1);
            }
            call(partition, what, given.toArray());
            if (leader != me && leaderEpoch > before) {
                stopFetching();
                boolean knowsEpoch = !part(call(log(), "latestEpoch"), "isEmpty").equals(true);
                fetchers.get(leader).add(leaderEpoch, knowsEpoch ? logEnd() : highWatermark());
                fetchesFrom = leader;
            }
        }

        private void stopFetching() {
            if (fetchesFrom != 0) {
                fetchers.get(fetchesFrom).remove();
                fetchesFrom = 0;
            }
        }

        private Object log() {
            return partition.log().get();
        }

        long logEnd() {
            return (Long) call(log(), "logEndOffset");
        }

        long highWatermark() {
            return (Long) call(log(), "highWatermark");
        }

        /** The records of the log, each of one letter. */
        List<Character> content() {
            List<Character> found = new ArrayList<>();
            while (found.size() < logEnd()) {
                Object read = call(log(), "read", (long) found.size(), 1 << 20, logEndIsolation(), true);
                for (Object each : (Iterable<?>) call(part(read, "records"), "records")) {
                    found.add((char) ((ByteBuffer) call(each, "value")).get());
                }
            }
            return found;
        }

        private static Object logEndIsolation() {
            return constant(type(SERVER + "storage.log.FetchIsolation", LOG + "FetchIsolation"), "LOG_END");
        }

        /** Return whether the record was appended. */
        boolean append(char content, int acks) {
            String records = ".MemoryRecords";
            Class<?> made = type("org.apache.kafka.common.record.internal" + records, "org.apache.kafka.common.record" + records);
            Class<?> one = type(made.getName().replace("MemoryRecords", "SimpleRecord"));
            Class<?> local = type(SERVER + "common.RequestLocal", "kafka.server.RequestLocal");
            Method none = method(local, "noCaching", 0);
            try {
                Object batch = Array.newInstance(one, 1);
                Array.set(batch, 0, one.getConstructor(byte[].class).newInstance((Object) new byte[] {(byte) content}));
                Object all = invoke(method(made, "withRecords", 2), null, Compression.NONE, batch);
                Object localNone = none == null ? local.getMethod("NoCaching").invoke(null) : invoke(none, null);
                List<Object> given = new ArrayList<>(List.of(all, constant(type(LOG + "AppendOrigin"), "CLIENT"), acks,
                    localNone, constant(type(LOG + "VerificationGuard"), "SENTINEL")));
                if (method(Partition.class, "appendRecordsToLeader", 6) != null) {
                    given.add(constant(type(SERVER + "common.TransactionVersion"), "TV_UNKNOWN"));
                }
                call(partition, "appendRecordsToLeader", given.toArray());
                return true;
            } catch (org.apache.kafka.common.errors.ApiException refused) {
                return false;
            } catch (ReflectiveOperationException changed) {
                throw new AssertionError(changed);
            }
        }

        FetchResponseData.PartitionData read(int follower, Fetch fetch) {
            FetchResponseData.PartitionData found = new FetchResponseData.PartitionData().setPartitionIndex(0);
            try {
                Class<?> made = type(SERVER + "storage.log.FetchParams", LOG + "FetchParams", "kafka.server.FetchParams");
                Constructor<?> longest = longest(made);
                List<Object> given = new ArrayList<>(
                    List.of(follower, fetch.epoch, 0L, 1, 1 << 20, logEndIsolation(), Optional.empty()));
                if (longest.getParameterTypes()[0] == short.class) {
                    given.add(0, (short) 13);
                }
                if (given.size() < longest.getParameterCount()) {
                    given.add(false);
                }
                Object how = construct(longest, given.toArray());
                Object read = call(partition, "fetchRecords", how, fetch.asked, now, 1 << 20, true, true);
                Object fetched = part(read, "fetchedData");
                found.setHighWatermark((Long) part(read, "highWatermark")).setLogStartOffset(0);
                call(found, "setRecords", part(fetched, "records"));
                ((Optional<?>) part(read, "divergingEpoch"))
                    .ifPresent(each -> found.setDivergingEpoch((FetchResponseData.EpochEndOffset) each));
            } catch (org.apache.kafka.common.errors.ApiException refused) {
                found.setErrorCode(Errors.forException(refused).code());
            }
            return found;
        }
    }

    /** ReplicaFetcherThread, never started. */
    private static class Fetcher {
        private final Object thread;
        private final Object endPoint;
        private Map<TopicPartition, Object> responses = Map.of();

        Fetcher(Broker broker, Broker leader) {
            Class<?> made = type("kafka.server.ReplicaFetcherThread");
            endPoint = make(type(SERVER + "network.BrokerEndPoint", "kafka.cluster.BrokerEndPoint"),
                Map.of("int", leader.me, "String", "h", "Optional", Optional.empty()));
            boolean isScala = Arrays.stream(longest(made).getParameterTypes())
                .anyMatch(each -> each.getName().equals("kafka.server.LeaderEndPoint"));
            Map<String, Function<Object[], Object>> channel = new HashMap<>(Map.of("isTruncationOnFetchSupported", of -> true,
                "brokerEndPoint", of -> endPoint, "fetch", of -> isScala ? scala(responses) : responses));
            channel.put("fetchLatestOffset", of -> {
                if (!leader.partition.isLeader() || leader.partition.getLeaderEpoch() != (Integer) of[1]) {
                    throw new NotLeaderOrFollowerException("not the leader of this epoch");
                }
                return new OffsetAndEpoch(leader.logEnd(), (Integer) of[1]);
            });
            List.of("fetchEarliestOffset", "fetchEarliestLocalOffset")
                .forEach(each -> channel.put(each, of -> new OffsetAndEpoch(0, 0)));
            thread = make(made, Map.of("String", "fetcher", "LeaderEndPoint", channel, "KafkaConfig", broker.config,
                "FailedPartitions", make(type("kafka.server.FailedPartitions"), Map.of()), "ReplicaManager", broker.manager,
                "ReplicaQuota", Map.of(), "Function0", function(MetadataVersion::latestProduction)));
        }

        void add(int leaderEpoch, long offset) {
            Object initial = make(type(SERVER + "InitialFetchState", "kafka.server.InitialFetchState"),
                Map.of("Option", Option.apply(TOPIC), "BrokerEndPoint", endPoint, "int", leaderEpoch, "long", offset));
            call(thread, "addPartitions", scala(new HashMap<>(Map.of(PARTITION, initial))));
        }

        void remove() {
            call(thread, "removePartitions", scala.jdk.javaapi.CollectionConverters.asScala(new HashSet<>(Set.of(PARTITION))));
        }

        /** What the next fetch asks for; null if there is none to send. */
        FetchRequest.PartitionData request() {
            call(thread, "maybeTruncate");
            Option<?> found = (Option<?>) call(thread, "fetchState", PARTITION);
            if (found.isEmpty() || !(Boolean) call(found.get(), "isReadyForFetch")) {
                return null;
            }
            Object state = found.get();
            Object last = call(state, "lastFetchedEpoch");
            boolean hasNone = part(last, "isEmpty").equals(true);
            return new FetchRequest.PartitionData(TOPIC, (Long) call(state, "fetchOffset"), 0, 1 << 20,
                Optional.of((Integer) call(state, "currentLeaderEpoch")),
                hasNone ? Optional.empty() : Optional.of((Integer) call(last, "get")));
        }

        void deliver(Fetch fetch) {
            responses = new HashMap<>(Map.of(PARTITION, fetch.response));
            call(thread, "processFetchRequest", new HashMap<>(Map.of(PARTITION, fetch.asked)), null);
        }
    }

    // what differs between versions is found by name

    private static Class<?> type(String... names) {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException older) {
                // the next one
            }
        }
        throw new AssertionError("no class " + names[0]);
    }

    private static Constructor<?> longest(Class<?> made) {
        Constructor<?> found = Arrays.stream(made.getDeclaredConstructors())
            .max((one, other) -> Integer.compare(one.getParameterCount(), other.getParameterCount())).orElseThrow();
        found.setAccessible(true);
        return found;
    }

    /** Call the longest constructor with the value for each parameter's type. */
    private static Object make(Class<?> made, Map<String, ?> byType) {
        return construct(longest(made), arguments(longest(made).getParameterTypes(), byType));
    }

    private static Object construct(Constructor<?> made, Object... given) {
        try {
            return made.newInstance(given);
        } catch (ReflectiveOperationException changed) {
            throw new AssertionError(made.toString(), changed);
        }
    }

    @SuppressWarnings("unchecked")
    private static Object[] arguments(Class<?>[] types, Map<String, ?> byType) {
        return Arrays.stream(types).map(each -> {
            Object found = byType.get(each.getSimpleName());
            return each.isInterface() && each != Map.class && found instanceof Map
                ? proxy(each, (Map<String, Function<Object[], Object>>) found) : found;
        }).toArray();
    }

    /** An instance of an interface that does what is given, and else what is usual or nothing. */
    private static Object proxy(Class<?> interfaceOf, Map<String, Function<Object[], Object>> does) {
        return Proxy.newProxyInstance(interfaceOf.getClassLoader(), new Class<?>[] {interfaceOf}, (self, method, arguments) -> {
            Class<?> kind = method.getReturnType();
            Object found = null;
            if (does.containsKey(method.getName())) {
                found = does.get(method.getName()).apply(arguments);
            } else if (method.isDefault()) {
                return InvocationHandler.invokeDefault(self, method, arguments);
            }
            if (kind == Optional.class || kind == Option.class) {
                return kind == Option.class ? Option.apply(found) : Optional.ofNullable(found);
            }
            return found != null || !kind.isPrimitive() || kind == void.class ? found
                : kind == boolean.class ? (Object) false : kind == long.class ? (Object) 0L : (Object) 0;
        });
    }

    private static Object function(Supplier<Object> gives) {
        return proxy(scala.Function0.class, Map.of("apply", of -> gives.get(), "apply$mcJ$sp", of -> gives.get()));
    }

    private static Object scala(Map<?, ?> map) {
        return scala.jdk.javaapi.CollectionConverters.asScala(map);
    }

    private static Object constant(Class<?> of, String name) {
        try {
            return of.getField(name).get(null);
        } catch (ReflectiveOperationException changed) {
            throw new AssertionError(changed);
        }
    }

    private static Field field(Class<?> of, String name) throws NoSuchFieldException {
        for (Class<?> at = of; at != null; at = at.getSuperclass()) {
            for (Field each : at.getDeclaredFields()) {
                if (each.getName().equals(name)) {
                    each.setAccessible(true);
                    return each;
                }
            }
        }
        throw new NoSuchFieldException(name);
    }

    private static Method method(Class<?> of, String name, int count) {
        for (Class<?> at = of; at != null; at = at.getSuperclass()) {
            for (Method each : at.getDeclaredMethods()) {
                if (each.getName().equals(name) && each.getParameterCount() == count) {
                    each.setAccessible(true);
                    return each;
                }
            }
        }
        return null;
    }

    private static Object call(Object target, String name, Object... given) {
        Method found = method(target.getClass(), name, given.length);
        if (found == null) {
            throw new AssertionError(target.getClass() + " has no " + name);
        }
        return invoke(found, target, given);
    }

    private static Object invoke(Method method, Object target, Object... given) {
        try {
            return method.invoke(target, given);
        } catch (InvocationTargetException thrown) {
            if (thrown.getCause() instanceof RuntimeException) {
                throw (RuntimeException) thrown.getCause();
            }
            throw new AssertionError(thrown.getCause());
        } catch (IllegalAccessException changed) {
            throw new AssertionError(changed);
        }
    }

    /** A public field, or what a method without parameters returns. */
    private static Object part(Object of, String name) {
        try {
            Method found = method(of.getClass(), name, 0);
            return found != null ? invoke(found, of) : field(of.getClass(), name).get(of);
        } catch (ReflectiveOperationException changed) {
            throw new AssertionError(changed);
        }
    }
}
