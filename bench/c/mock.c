/* librdkafka's mock cluster (one broker, in memory) as a process of its own.
 *
 *   mock TOPIC:PARTITIONS...
 *
 * Prints "started HOST:PORT" and serves until it gets SIGTERM.
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* inherited by librdkafka's threads */
    char error[512];
    rd_kafka_t *rk =
        rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), error, sizeof error);
    if (!rk) {
        fprintf(stderr, "mock: %s\n", error);
        return 1;
    }
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(rk, 1);
    for (int i = 1; i < argc; i++) {
        char *partitions = strchr(argv[i], ':');
        if (!partitions)
            return 1;
        *partitions++ = 0;
        if (rd_kafka_mock_topic_create(cluster, argv[i], atoi(partitions), 1)) {
            fprintf(stderr, "mock: no topic %s\n", argv[i]);
            return 1;
        }
    }
    printf("started %s\n", rd_kafka_mock_cluster_bootstraps(cluster));
    fflush(stdout);
    int signal_number;
    sigwait(&signals, &signal_number);
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(rk);
    return 0;
}
