import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

/** Transactional producers that stay between calls, each under the name that it was opened with. */
final class Transactions implements AutoCloseable {
    private final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();

    JsonNode call(String op, JsonNode q) throws Exception {
        String name = q.get("name").asText();
        if (op.equals("txn_open")) {
            open(name, q);
            return done();
        }
        KafkaProducer<String, String> producer = producers.get(name);
        switch (op) {
            case "txn_begin" -> producer.beginTransaction();
            case "txn_send" -> send(producer, q);
            case "txn_offset" -> producer.sendOffsetsToTransaction(
                Map.of(new TopicPartition(q.get("topic").asText(), 0),
                    new OffsetAndMetadata(q.get("offset").asLong())),
                new ConsumerGroupMetadata(q.get("group").asText()));
            case "txn_commit" -> producer.commitTransaction();
            case "txn_abort" -> producer.abortTransaction();
            case "txn_close" -> producers.remove(name).close(Duration.ZERO);
            default -> throw new IllegalArgumentException("unknown operation " + op);
        }
        return done();
    }

    @Override
    public void close() {
        producers.values().forEach(producer -> producer.close(Duration.ZERO));
    }

    private void open(String name, JsonNode q) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", q.get("bootstrap").asText());
        properties.put("transactional.id", q.get("transactional_id").asText());
        properties.put("transaction.timeout.ms", q.get("timeout_ms").asText());
        KafkaProducer<String, String> producer = new KafkaProducer<>(
            properties, new StringSerializer(), new StringSerializer());
        producers.put(name, producer);
        producer.initTransactions();
    }

    private static void send(KafkaProducer<String, String> producer, JsonNode q) throws Exception {
        producer.send(new ProducerRecord<>(
            q.get("topic").asText(), 0, null, q.get("value").asText())).get();
    }

    private static JsonNode done() {
        return Harness.JSON.nullNode();
    }
}
