import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RetriableCommitFailedException;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A group member of Apache Kafka's client: a program that reads and commits until its input ends.
 *
 * <p>Its orders are JSON in the first argument; its diary goes to standard output, one write a line.
 * The Python programs beside the tests keep the same diary, in the same words.
 */
public final class GroupMember implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(100);

    private final JsonNode orders;
    private final FileOutputStream output = new FileOutputStream(FileDescriptor.out);
    private final AtomicBoolean leave = new AtomicBoolean();
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Set<TopicPartition> held = new HashSet<>();
    private final Map<TopicPartition, OffsetAndMetadata> uncommitted = new HashMap<>();
    private int generation = -1;
    private int rounds;

    private GroupMember(JsonNode orders) {
        this.orders = orders;
        this.consumer = new KafkaConsumer<>(
            settings(orders), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] args) throws Exception {
        int status = new GroupMember(Harness.JSON.readTree(args[0])).run();
        Runtime.getRuntime().halt(status);
    }

    private static Properties settings(JsonNode orders) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", orders.get("bootstrap").asText());
        settings.put("client.id", orders.get("name").asText());
        settings.put("group.id", orders.get("group").asText());
        settings.put("group.protocol", orders.get("protocol").asText());
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("fetch.max.wait.ms", "50");
        settings.put("metadata.max.age.ms", "1000");
        if (orders.hasNonNull("instance")) {
            settings.put("group.instance.id", orders.get("instance").asText());
        }
        String assignor = orders.get("assignor").asText();
        if (orders.get("protocol").asText().equals("consumer")) {
            settings.put("group.remote.assignor", assignor);
            return settings;
        }
        settings.put("session.timeout.ms", orders.get("session_ms").asText());
        settings.put("heartbeat.interval.ms", "500");
        settings.put("partition.assignment.strategy", switch (assignor) {
            case "range" -> RangeAssignor.class.getName();
            case "roundrobin" -> RoundRobinAssignor.class.getName();
            case "cooperative-sticky" -> CooperativeStickyAssignor.class.getName();
            default -> throw new IllegalArgumentException(assignor);
        });
        return settings;
    }

    private int run() {
        Thread ear = new Thread(this::waitForEnd);
        ear.setDaemon(true);
        ear.start();
        subscribe();
        try {
            while (!leave.get()) {
                round();
            }
            commit(held);
            giveUp("revoked", held);
            consumer.close();
        } catch (FencedInstanceIdException | UnreleasedInstanceIdException error) {
            write(line("error").put("error", error.getClass().getSimpleName()));
            write(line("ended"));
            return 1;
        }
        write(line("ended"));
        return 0;
    }

    private void waitForEnd() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        leave.set(true);
    }

    private void subscribe() {
        List<String> topics = new ArrayList<>();
        orders.get("topics").forEach(topic -> topics.add(topic.asText()));
        if (topics.get(0).startsWith("^")) {
            consumer.subscribe(new SubscriptionPattern(topics.get(0)), this);
        } else {
            consumer.subscribe(topics, this);
        }
    }

    private void round() {
        Map<TopicPartition, long[]> read = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
            TopicPartition part = new TopicPartition(record.topic(), record.partition());
            long[] span = read.computeIfAbsent(part, key -> new long[] {record.offset(), record.offset()});
            if (span[1] != record.offset()) {
                throw new IllegalStateException(part + " jumps from " + span[1] + " to " + record.offset());
            }
            span[1]++;
        }
        int now = consumer.groupMetadata().generationId();
        if (now != generation && now >= 0) {
            generation = now;
            write(line("generation").put("g", generation));
        }
        read.forEach((part, span) -> {
            write(line("records").put("g", generation).put("t", part.topic()).put("p", part.partition())
                .put("from", span[0]).put("to", span[1]));
            uncommitted.put(part, new OffsetAndMetadata(span[1]));
        });
        if (!uncommitted.isEmpty() && ++rounds % orders.get("commit_every").asInt() == 0) {
            commit(held);
        }
    }

    private void commit(Collection<TopicPartition> parts) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>(uncommitted);
        offsets.keySet().retainAll(parts);
        if (offsets.isEmpty()) {
            return;
        }
        write(withOffsets("committing", offsets));
        try {
            consumer.commitSync(offsets);
        } catch (CommitFailedException | RebalanceInProgressException
                | RetriableCommitFailedException error) {
            write(withOffsets("refused", offsets).put("error", error.getClass().getSimpleName()));
            return;
        }
        write(withOffsets("committed", offsets));
        uncommitted.keySet().removeAll(offsets.keySet());
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> parts) {
        generation = consumer.groupMetadata().generationId();
        Set<TopicPartition> fresh = new HashSet<>(parts);
        fresh.removeAll(held);
        held.addAll(fresh);
        write(withParts("assigned", fresh).put("g", generation));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> parts) {
        commit(parts);
        giveUp("revoked", parts);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> parts) {
        giveUp("lost", parts);
    }

    private void giveUp(String kind, Collection<TopicPartition> parts) {
        Set<TopicPartition> gone = new HashSet<>(parts);
        gone.retainAll(held);
        held.removeAll(gone);
        uncommitted.keySet().removeAll(gone);
        if (!gone.isEmpty()) {
            write(withParts(kind, gone));
        }
    }

    private ObjectNode line(String kind) {
        return Harness.JSON.createObjectNode().put("m", orders.get("name").asText()).put("e", kind);
    }

    private ObjectNode withParts(String kind, Collection<TopicPartition> parts) {
        ObjectNode line = line(kind);
        ArrayNode rows = line.putArray("parts");
        parts.forEach(part -> rows.addArray().add(part.topic()).add(part.partition()));
        return line;
    }

    private ObjectNode withOffsets(String kind, Map<TopicPartition, OffsetAndMetadata> offsets) {
        ObjectNode line = line(kind);
        ArrayNode rows = line.putArray("offsets");
        offsets.forEach((part, offset) ->
            rows.addArray().add(part.topic()).add(part.partition()).add(offset.offset()));
        return line;
    }

    private void write(ObjectNode line) {
        try {
            output.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new KafkaException(error);
        }
    }
}
