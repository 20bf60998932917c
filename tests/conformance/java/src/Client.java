import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.Future;

/** Kafka's Java client, one method an operation. Bytes travel as base64, absent ones as null. */
final class Client implements AutoCloseable {
    private final Map<String, Admin> admins = new HashMap<>();
    private final Transactions transactions = new Transactions();

    JsonNode call(String op, JsonNode q) throws Exception {
        if (op.startsWith("txn_")) {
            return transactions.call(op, q);
        }
        switch (op) {
            case "create_topic": return createTopic(q);
            case "delete_topic": return deleteTopic(q);
            case "add_partitions": return addPartitions(q);
            case "list_topics": return listTopics(q);
            case "describe_topic": return describeTopic(q);
            case "describe_cluster": return describeCluster(q);
            case "describe_configs": return describeConfigs(q);
            case "alter_configs": return alterConfigs(q);
            case "delete_records": return deleteRecords(q);
            case "offset": return offset(q);
            case "produce": return produce(q);
            case "consume": return consume(q);
            default: throw new IllegalArgumentException("unknown operation " + op);
        }
    }

    @Override
    public void close() {
        transactions.close();
        admins.values().forEach(admin -> admin.close(Duration.ofSeconds(5)));
    }

    private Admin admin(JsonNode q) {
        return admins.computeIfAbsent(q.get("bootstrap").asText(), bootstrap -> {
            Properties properties = new Properties();
            properties.put("bootstrap.servers", bootstrap);
            return Admin.create(properties);
        });
    }

    private JsonNode createTopic(JsonNode q) throws Exception {
        NewTopic topic = new NewTopic(topic(q), Optional.of(q.get("partitions").asInt()),
            Optional.empty());
        topic.configs(strings(q.path("configs")));
        return text(admin(q).createTopics(List.of(topic)).topicId(topic(q)).get().toString());
    }

    private JsonNode deleteTopic(JsonNode q) throws Exception {
        admin(q).deleteTopics(List.of(topic(q))).all().get();
        return text("");
    }

    private JsonNode addPartitions(JsonNode q) throws Exception {
        NewPartitions total = NewPartitions.increaseTo(q.get("total").asInt());
        admin(q).createPartitions(Map.of(topic(q), total)).all().get();
        return text("");
    }

    private JsonNode listTopics(JsonNode q) throws Exception {
        return Harness.JSON.valueToTree(admin(q).listTopics().names().get().stream().sorted().toList());
    }

    private JsonNode describeTopic(JsonNode q) throws Exception {
        TopicDescription description =
            admin(q).describeTopics(List.of(topic(q))).allTopicNames().get().get(topic(q));
        ObjectNode result = Harness.JSON.createObjectNode();
        result.put("id", description.topicId().toString());
        ArrayNode partitions = result.putArray("partitions");
        description.partitions().forEach(partition -> {
            ObjectNode node = partitions.addObject();
            node.put("partition", partition.partition());
            node.put("leader", partition.leader().id());
            ArrayNode replicas = node.putArray("replicas");
            partition.replicas().forEach(replica -> replicas.add(replica.id()));
            ArrayNode isr = node.putArray("isr");
            partition.isr().forEach(replica -> isr.add(replica.id()));
        });
        return result;
    }

    private JsonNode describeCluster(JsonNode q) throws Exception {
        var cluster = admin(q).describeCluster();
        ObjectNode result = Harness.JSON.createObjectNode();
        result.put("cluster_id", cluster.clusterId().get());
        result.put("controller", cluster.controller().get().id());
        ArrayNode nodes = result.putArray("nodes");
        cluster.nodes().get().forEach(node -> nodes.add(node.host() + ":" + node.port()));
        return result;
    }

    private static ConfigResource resource(JsonNode q) {
        return new ConfigResource(
            ConfigResource.Type.valueOf(q.get("kind").asText().toUpperCase()), q.get("name").asText());
    }

    private JsonNode describeConfigs(JsonNode q) throws Exception {
        ObjectNode result = Harness.JSON.createObjectNode();
        for (ConfigEntry entry : admin(q).describeConfigs(List.of(resource(q))).all().get()
                .get(resource(q)).entries()) {
            ObjectNode node = result.putObject(entry.name());
            node.put("value", entry.value());
            node.put("source", entry.source().name());
            node.put("type", entry.type().name());
            node.put("sensitive", entry.isSensitive());
            node.put("read_only", entry.isReadOnly());
        }
        return result;
    }

    private JsonNode alterConfigs(JsonNode q) throws Exception {
        List<AlterConfigOp> ops = new ArrayList<>();
        strings(q.path("set")).forEach((name, value) -> ops.add(
            new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        q.path("unset").forEach(name -> ops.add(
            new AlterConfigOp(new ConfigEntry(name.asText(), ""), AlterConfigOp.OpType.DELETE)));
        admin(q).incrementalAlterConfigs(Map.of(resource(q), ops)).all().get();
        return text("");
    }

    private JsonNode deleteRecords(JsonNode q) throws Exception {
        RecordsToDelete before = RecordsToDelete.beforeOffset(q.get("before").asLong());
        return Harness.JSON.valueToTree(admin(q).deleteRecords(Map.of(partition(q), before))
            .lowWatermarks().get(partition(q)).get().lowWatermark());
    }

    private JsonNode offset(JsonNode q) throws Exception {
        String at = q.get("at").asText();
        OffsetSpec spec = switch (at) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            case "max_timestamp" -> OffsetSpec.maxTimestamp();
            default -> OffsetSpec.forTimestamp(Long.parseLong(at));
        };
        ListOffsetsResultInfo found =
            admin(q).listOffsets(Map.of(partition(q), spec)).partitionResult(partition(q)).get();
        ObjectNode result = Harness.JSON.createObjectNode();
        result.put("offset", found.offset());
        result.put("timestamp", found.timestamp());
        return result;
    }

    private JsonNode produce(JsonNode q) throws Exception {
        Properties properties = properties(q);
        ArrayNode answers = Harness.JSON.createArrayNode();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> futures = new ArrayList<>();
            for (JsonNode r : q.get("records")) {
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                    topic(q),
                    r.hasNonNull("partition") ? r.get("partition").asInt() : null,
                    r.hasNonNull("timestamp") ? r.get("timestamp").asLong() : null,
                    bytes(r.path("key")),
                    bytes(r.path("value")));
                addHeaders(record.headers(), r.path("headers"));
                futures.add(producer.send(record));
            }
            producer.flush();
            for (Future<RecordMetadata> future : futures) {
                RecordMetadata metadata = future.get();
                ObjectNode answer = answers.addObject();
                answer.put("partition", metadata.partition());
                answer.put("offset", metadata.hasOffset() ? metadata.offset() : -1);
                answer.put("timestamp", metadata.timestamp());
            }
        }
        return answers;
    }

    private static void addHeaders(Headers headers, JsonNode pairs) throws IOException {
        for (JsonNode pair : pairs) {
            headers.add(pair.get(0).asText(), bytes(pair.get(1)));
        }
    }

    /** Reads until `count` records came, or fails when `timeout_ms` passed first. */
    private JsonNode consume(JsonNode q) throws Exception {
        Properties properties = properties(q);
        ArrayNode records = Harness.JSON.createArrayNode();
        long count = q.get("count").asLong();
        long deadline = System.nanoTime() + q.path("timeout_ms").asLong(30_000) * 1_000_000;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            TopicPartition partition = partition(q);
            consumer.assign(List.of(partition));
            seek(consumer, partition, q.get("from").asText());
            while (records.size() < count) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException(
                        "only " + records.size() + " of " + count + " records came");
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    if (records.size() < count) {
                        records.add(node(record));
                    }
                }
            }
        }
        return records;
    }

    private static void seek(
            KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, String from) {
        if (from.equals("beginning")) {
            consumer.seekToBeginning(List.of(partition));
        } else if (from.startsWith("time:")) {
            long time = Long.parseLong(from.substring(5));
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, time)).get(partition);
            consumer.seek(partition, found.offset());
        } else {
            consumer.seek(partition, Long.parseLong(from));
        }
    }

    private static ObjectNode node(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode node = Harness.JSON.createObjectNode();
        node.put("partition", record.partition());
        node.put("offset", record.offset());
        node.put("timestamp", record.timestamp());
        node.put("timestamp_type", record.timestampType().toString());
        node.put("key", record.key());
        node.put("value", record.value());
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(header.value());
        }
        return node;
    }

    private static Properties properties(JsonNode q) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", q.get("bootstrap").asText());
        properties.putAll(strings(q.path("properties")));
        return properties;
    }

    private static String topic(JsonNode q) {
        return q.get("topic").asText();
    }

    private static TopicPartition partition(JsonNode q) {
        return new TopicPartition(topic(q), q.get("partition").asInt());
    }

    private static byte[] bytes(JsonNode node) throws IOException {
        return node.isNull() || node.isMissingNode() ? null : node.binaryValue();
    }

    private static Map<String, String> strings(JsonNode object) {
        Map<String, String> map = new HashMap<>();
        object.properties().forEach(field -> map.put(field.getKey(), field.getValue().asText()));
        return map;
    }

    private static JsonNode text(String value) {
        return Harness.JSON.valueToTree(value);
    }
}
