/* A librdkafka client to load a broker with, as fast as C goes.
 *
 *   rdclient produce BOOTSTRAP TOPIC COUNT SIZE [name=value...]
 *   rdclient consume BOOTSTRAP TOPIC COUNT SIZE [name=value...]
 *   rdclient version
 *   rdclient latency BOOTSTRAP TOPIC COUNT SIZE [name=value...]   (1,000 a second, partition 0)
 *
 * name=value are settings of librdkafka. One line of JSON comes out. produce spreads its records over
 * all partitions; consume reads all partitions from their beginning, without a group.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RATE_PER_SECOND 1000
#define WARM_UP_RECORDS 500

static long delivered, failed;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "rdclient: %s: %s\n", what, why);
    exit(1);
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
    (void)rk;
    (void)opaque;
    if (message->err)
        failed++;
    else
        delivered++;
}

static rd_kafka_t *client(rd_kafka_type_t type, const char *bootstrap, int argc, char **argv) {
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, error, sizeof error))
        die("bootstrap.servers", error);
    for (int i = 0; i < argc; i++) {
        char *name = strdup(argv[i]), *value = strchr(name, '=');
        if (!value)
            die(name, "not name=value");
        *value++ = 0;
        /* A setting of the other half (producer or consumer) only makes librdkafka warn. */
        if (rd_kafka_conf_set(conf, name, value, error, sizeof error))
            die(name, error);
        free(name);
    }
    rd_kafka_conf_set(conf, "log_level", "3", NULL, 0);
    if (type == RD_KAFKA_PRODUCER)
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_t *rk = rd_kafka_new(type, conf, error, sizeof error);
    if (!rk)
        die("rd_kafka_new", error);
    return rk;
}

static int partitions_of(rd_kafka_t *rk, rd_kafka_topic_t *topic) {
    const struct rd_kafka_metadata *metadata;
    rd_kafka_resp_err_t error = rd_kafka_metadata(rk, 0, topic, &metadata, 10000);
    if (error)
        die("metadata", rd_kafka_err2str(error));
    int count = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    if (count < 1)
        die("metadata", "the topic has no partitions");
    return count;
}

static char *letters(size_t size) {
    char *data = malloc(size + 1);
    unsigned seed = 1;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1103515245 + 12345;
        data[i] = 'A' + (seed >> 16) % 26;
    }
    return data;
}

static void hand_over(rd_kafka_t *rk, rd_kafka_topic_t *topic, int partition, void *data, size_t size) {
    while (rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_COPY, data, size, NULL, 0, NULL)) {
        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
            die("produce", rd_kafka_err2str(rd_kafka_last_error()));
        rd_kafka_poll(rk, 10);
    }
}

static void report(long records, size_t size, double seconds) {
    printf("{\"records\": %ld, \"seconds\": %.6f, \"mb_per_s\": %.3f, \"failed\": %ld}\n", records,
           seconds, (double)records * (double)size / 1e6 / seconds, failed);
}

static void produce(rd_kafka_t *rk, rd_kafka_topic_t *topic, long count, size_t size) {
    int partitions = partitions_of(rk, topic);
    char *data = letters(size);
    double start = now();
    for (long i = 0; i < count; i++) {
        hand_over(rk, topic, (int)(i % partitions), data, size);
        if (!(i & 1023))
            rd_kafka_poll(rk, 0);
    }
    while (delivered + failed < count)
        rd_kafka_poll(rk, 100);
    report(delivered, size, now() - start);
}

static void consume(rd_kafka_t *rk, rd_kafka_topic_t *topic, long count, size_t size) {
    static rd_kafka_message_t *batch[10000];
    int partitions = partitions_of(rk, topic);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    double start = now();
    for (int i = 0; i < partitions; i++)
        if (rd_kafka_consume_start_queue(topic, i, RD_KAFKA_OFFSET_BEGINNING, queue))
            die("consume", rd_kafka_err2str(rd_kafka_last_error()));
    long seen = 0;
    while (seen < count) {
        ssize_t got = rd_kafka_consume_batch_queue(queue, 30000, batch, 10000);
        if (got <= 0)
            die("consume", "nothing came for 30 s");
        for (ssize_t i = 0; i < got; i++) {
            if (batch[i]->err)
                failed++;
            else
                seen++;
            rd_kafka_message_destroy(batch[i]);
        }
    }
    report(seen, size, now() - start);
}

struct reader {
    rd_kafka_topic_t *topic;
    long count;
    double *delays;
};

/* Each record carries the time it was handed to the client; one clock, so one process. */
static void *read_delays(void *argument) {
    struct reader *reader = argument;
    for (long i = 0; i < reader->count;) {
        rd_kafka_message_t *message = rd_kafka_consume(reader->topic, 0, 30000);
        if (!message)
            die("latency", "nothing came for 30 s");
        if (!message->err) {
            double sent;
            memcpy(&sent, message->payload, sizeof sent);
            reader->delays[i++] = now() - sent;
        }
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void wait_for_end_of_partition(rd_kafka_topic_t *topic) {
    for (int there = 0; !there;) {
        rd_kafka_message_t *message = rd_kafka_consume(topic, 0, 30000);
        if (!message)
            die("latency", "the consumer did not reach the end");
        there = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
        rd_kafka_message_destroy(message);
    }
}

static void latency(rd_kafka_t *producer, rd_kafka_t *consumer, const char *name, long count,
                    size_t size) {
    rd_kafka_topic_t *out = rd_kafka_topic_new(producer, name, NULL);
    rd_kafka_topic_t *in = rd_kafka_topic_new(consumer, name, NULL);
    partitions_of(producer, out);
    if (rd_kafka_consume_start(in, 0, RD_KAFKA_OFFSET_END))
        die("consume", rd_kafka_err2str(rd_kafka_last_error()));
    wait_for_end_of_partition(in);
    long total = count + WARM_UP_RECORDS;
    struct reader reader = {in, total, calloc((size_t)total, sizeof(double))};
    pthread_t thread;
    pthread_create(&thread, NULL, read_delays, &reader);
    char *data = letters(size < sizeof(double) ? sizeof(double) : size);
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (long i = 0; i < total; i++) {
        double sent = now();
        memcpy(data, &sent, sizeof sent);
        hand_over(producer, out, 0, data, size);
        rd_kafka_poll(producer, 0);
        due.tv_nsec += 1000000000L / RATE_PER_SECOND;
        if (due.tv_nsec >= 1000000000L) {
            due.tv_nsec -= 1000000000L;
            due.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    pthread_join(thread, NULL);
    double *measured = reader.delays + WARM_UP_RECORDS;
    qsort(measured, (size_t)count, sizeof(double), ascending);
    printf("{\"p50_ms\": %.4f, \"p99_ms\": %.4f, \"p999_ms\": %.4f, \"failed\": %ld}\n",
           measured[count / 2] * 1e3, measured[count * 99 / 100] * 1e3,
           measured[count * 999 / 1000] * 1e3, failed);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "version")) {
        printf("{\"version\": \"%s\"}\n", rd_kafka_version_str());
        return 0;
    }
    if (argc < 6)
        die("usage", "rdclient produce|consume|latency BOOTSTRAP TOPIC COUNT SIZE [name=value...]");
    const char *mode = argv[1];
    long count = atol(argv[4]);
    size_t size = (size_t)atol(argv[5]);
    if (!strcmp(mode, "latency")) {
        char *consumer_settings[] = {"enable.partition.eof=true"};
        rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, argv[2], argc - 6, argv + 6);
        rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, argv[2], 1, consumer_settings);
        latency(producer, consumer, argv[3], count, size);
    } else {
        int producing = !strcmp(mode, "produce");
        rd_kafka_type_t type = producing ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER;
        rd_kafka_t *rk = client(type, argv[2], argc - 6, argv + 6);
        rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, argv[3], NULL);
        (producing ? produce : consume)(rk, topic, count, size);
    }
    fflush(stdout);
    _Exit(failed != 0); /* no time lost with the library's own tidying up */
}
