import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Sends numbers with the default settings (idempotent, acks=all) until its input ends, to all
 * partitions in turn: bootstrap, topic, first number, partitions, pause in seconds. Prints a line
 * for each answer: number, partition, offset; the offset is -1 where none was told.
 */
public final class SoakProducer {
    public static void main(String[] args) throws Exception {
        String topic = args[1];
        long first = Long.parseLong(args[2]);
        int partitions = Integer.parseInt(args[3]);
        long pauseNanos = (long) (Double.parseDouble(args[4]) * 1e9);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        AtomicBoolean isOver = new AtomicBoolean();
        Thread input = new Thread(() -> awaitEnd(isOver));
        input.setDaemon(true);
        input.start();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            long due = System.nanoTime();
            for (long count = 0; !isOver.get(); count++) {
                long value = first + count;
                int partition = (int) (count % partitions);
                producer.send(
                        new ProducerRecord<>(topic, partition, null, Long.toString(value)),
                        (told, error) -> answer(value, partition, error == null ? told.offset() : -1));
                due += pauseNanos;
                long left = due - System.nanoTime();
                if (left > 0) {
                    Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
                }
            }
        }
        System.out.flush();
    }

    private static void awaitEnd(AtomicBoolean isOver) {
        try {
            while (System.in.read() >= 0) {}
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        } finally {
            isOver.set(true);
        }
    }

    private static synchronized void answer(long value, int partition, long offset) {
        System.out.println(value + " " + partition + " " + offset);
    }
}
