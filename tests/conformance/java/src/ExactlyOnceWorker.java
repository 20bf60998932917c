import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApplicationRecoverableException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/**
 * Consume, transform, produce, by transactions: what tests/support/exactly_once_worker.py does, with
 * Kafka's own client. One argument, a JSON object; a line after each step; ends on what is fatal.
 */
public final class ExactlyOnceWorker {
    private static final Duration IDLE = Duration.ofMillis(300);

    private final JsonNode job;
    private final KafkaConsumer<String, String> consumer;
    private final KafkaProducer<String, String> producer;

    private ExactlyOnceWorker(JsonNode job) {
        this.job = job;
        Properties consuming = properties(job.get("consumer"));
        consuming.put("max.poll.records", job.get("batch").asText());
        this.consumer = new KafkaConsumer<>(
            consuming, new StringDeserializer(), new StringDeserializer());
        this.producer = new KafkaProducer<>(
            properties(job.get("producer")), new StringSerializer(), new StringSerializer());
    }

    public static void main(String[] args) throws Exception {
        try {
            new ExactlyOnceWorker(Harness.JSON.readTree(args[0])).run();
        } catch (Throwable thrown) {
            thrown.printStackTrace();
        }
        Runtime.getRuntime().halt(1); // as dead as can be: nothing is closed, nothing is aborted
    }

    private void run() throws Exception {
        producer.initTransactions();
        // With a listener a rebalance waits for `poll`: the group's epoch is that of the batch.
        consumer.subscribe(List.of(job.get("input").asText()), new Unmoved());
        say("ready", Map.of());
        int transactions = 0;
        while (true) {
            ConsumerRecords<String, String> records = consumer.poll(IDLE);
            if (records.isEmpty()) {
                say("idle", committed());
                continue;
            }
            transactions++;
            transaction(records, transactions % job.get("abort_every").asInt() != 1);
        }
    }

    private static final class Unmoved implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        }
    }

    private void transaction(ConsumerRecords<String, String> records, boolean commit)
            throws Exception {
        Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        ConsumerGroupMetadata group = consumer.groupMetadata();
        try {
            producer.beginTransaction();
            say("began", Map.of());
            for (ConsumerRecord<String, String> record : records) {
                send(record);
                positions.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
            }
            if (!commit) {
                producer.flush(); // an abort would drop what has not been sent
            }
            say("sent", Map.of());
            producer.sendOffsetsToTransaction(positions, group);
            say("offered", Map.of());
            if (commit) {
                producer.commitTransaction();
                say("committed", offsets(positions));
                return;
            }
        } catch (ApplicationRecoverableException fenced) {
            throw fenced; // the next worker takes over
        } catch (KafkaException abortable) {
            System.err.println("to be aborted: " + abortable);
        }
        producer.abortTransaction();
        say("aborted", Map.of());
        rewind();
    }

    private void send(ConsumerRecord<String, String> record) {
        int partition = Integer.parseInt(record.key()) / 7 % job.get("partitions").asInt();
        producer.send(new ProducerRecord<>(
            job.get("output").asText(), partition, record.key(), record.value().toUpperCase()));
    }

    /** Back to the committed positions, of what is still assigned. */
    private void rewind() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        committed.forEach((partition, position) ->
            consumer.seek(partition, position == null ? 0 : position.offset()));
    }

    private Map<Integer, Long> committed() {
        return offsets(consumer.committed(consumer.assignment()));
    }

    private static Map<Integer, Long> offsets(Map<TopicPartition, OffsetAndMetadata> positions) {
        Map<Integer, Long> offsets = new TreeMap<>();
        positions.forEach((partition, position) ->
            offsets.put(partition.partition(), position == null ? 0 : position.offset()));
        return offsets;
    }

    private static void say(String step, Map<Integer, Long> positions) throws Exception {
        System.out.println(step + " " + Harness.JSON.writeValueAsString(positions));
    }

    private static Properties properties(JsonNode object) {
        Properties properties = new Properties();
        object.properties().forEach(
            field -> properties.put(field.getKey(), field.getValue().asText()));
        return properties;
    }
}
