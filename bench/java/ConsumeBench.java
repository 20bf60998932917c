import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Properties;

/**
 * Reads all partitions of a topic from their beginning with Kafka's Java consumer, without a group.
 *
 * <p>Arguments: bootstrap, topic, number of records, then name=value settings of the consumer.
 */
public final class ConsumeBench {
    private ConsumeBench() {
    }

    public static void main(String[] args) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        for (int i = 3; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        long wanted = Long.parseLong(args[2]);
        long records = 0;
        long bytes = 0;
        long start = System.nanoTime();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(args[1]).stream()
                .map(info -> new TopicPartition(args[1], info.partition())).toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            start = System.nanoTime();
            long quietSince = start;
            while (records < wanted) {
                var polled = consumer.poll(Duration.ofMillis(100));
                for (var record : polled) {
                    records++;
                    bytes += record.serializedValueSize();
                }
                if (!polled.isEmpty()) {
                    quietSince = System.nanoTime();
                } else if (System.nanoTime() - quietSince > 30_000_000_000L) {
                    throw new IllegalStateException("nothing came for 30 s");
                }
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            System.out.println(String.format(Locale.ROOT,
                "{\"records\": %d, \"seconds\": %.6f, \"mb_per_s\": %.3f, \"failed\": 0}",
                records, seconds, bytes / 1e6 / seconds));
        }
    }
}
