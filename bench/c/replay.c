/* Replays one captured Produce request over one connection, keeping DEPTH of them unanswered.
 *
 *   replay PORT FILE COUNT DEPTH
 *
 * FILE holds the frame as it was on the wire, its length first. Prints one line of JSON. The client
 * does as little as it can (no encoding, no checksums), so what is measured is the broker.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RUN_BYTES (256 * 1024)
#define FIRST_FLEXIBLE_VERSION 9
#define FIRST_TOPIC_ID_VERSION 13

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

static uint32_t be32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int be16(const unsigned char *p) { return (int16_t)(p[0] << 8 | p[1]); }

/* The error code of the first partition; `answer` starts after the length. */
static int error_of(const unsigned char *answer, int version) {
    const unsigned char *p = answer + 4; /* correlation id */
    if (version >= FIRST_FLEXIBLE_VERSION) {
        p += 1 + 1; /* tagged fields of the header, number of topics */
        p += version >= FIRST_TOPIC_ID_VERSION ? 16 : *p; /* id, or length + 1 and the name */
        p += 1;                                           /* number of partitions */
    } else {
        p += 4;                /* number of topics */
        p += 2 + be16(p) + 4; /* name, number of partitions */
    }
    return be16(p + 4); /* after the partition's index */
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static unsigned char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file)
        die(path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*length);
    if (fread(data, 1, *length, file) != *length)
        die(path);
    fclose(file);
    return data;
}

static int connect_to(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address))
        die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static int fd, version;
static size_t length, run_length, sent_bytes;
static unsigned char *run; /* as many copies of the frame as make good use of one send */
static long count, depth, sent, answered, failed;
static double *sent_at, *delays;
static unsigned char inbox[1 << 16];
static size_t inbox_used;

/* Sends until DEPTH are under way or the socket is full; returns whether it was the socket. */
static int fill(void) {
    while (sent < count && sent - answered < depth) {
        long may = depth - (sent - answered);
        if (may > count - sent)
            may = count - sent;
        if ((size_t)may > run_length / length)
            may = (long)(run_length / length);
        double stamp = now();
        for (long i = sent_bytes ? 1 : 0; i < may; i++)
            sent_at[(sent + i) % depth] = stamp;
        ssize_t n = send(fd, run + sent_bytes, (size_t)may * length - sent_bytes, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EAGAIN)
                return 1;
            die("send");
        }
        sent += (long)((sent_bytes + (size_t)n) / length);
        sent_bytes = (sent_bytes + (size_t)n) % length;
    }
    return 0;
}

static void drain(void) {
    ssize_t n = recv(fd, inbox + inbox_used, sizeof inbox - inbox_used, 0);
    if (n == 0) {
        fprintf(stderr, "replay: the broker closed the connection after %ld answers\n", answered);
        exit(1);
    }
    if (n < 0) {
        if (errno == EAGAIN)
            return;
        die("recv");
    }
    inbox_used += (size_t)n;
    size_t at = 0;
    double stamp = now();
    while (inbox_used - at >= 4 && inbox_used - at - 4 >= be32(inbox + at)) {
        if (error_of(inbox + at + 4, version))
            failed++;
        delays[answered] = stamp - sent_at[answered % depth];
        answered++;
        at += 4 + be32(inbox + at);
    }
    memmove(inbox, inbox + at, inbox_used - at);
    inbox_used -= at;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: replay PORT FILE COUNT DEPTH\n");
        return 2;
    }
    unsigned char *frame = read_file(argv[2], &length);
    version = be16(frame + 6);
    count = atol(argv[3]);
    depth = atol(argv[4]);
    size_t copies = RUN_BYTES / length + 1;
    run_length = copies * length;
    run = malloc(run_length);
    for (size_t i = 0; i < copies; i++)
        memcpy(run + i * length, frame, length);
    sent_at = calloc((size_t)depth, sizeof(double));
    delays = calloc((size_t)count, sizeof(double));
    fd = connect_to(atoi(argv[1]));
    double start = now();
    while (answered < count) {
        struct pollfd wanted = {fd, POLLIN, 0};
        if (fill())
            wanted.events |= POLLOUT;
        if (poll(&wanted, 1, 30000) <= 0) {
            fprintf(stderr, "replay: no answer for 30 s, %ld of %ld came\n", answered, count);
            return 1;
        }
        if (wanted.revents & (POLLIN | POLLHUP | POLLERR))
            drain();
    }
    double seconds = now() - start;
    qsort(delays, (size_t)count, sizeof(double), ascending);
    printf("{\"requests_per_s\": %.1f, \"mb_per_s\": %.3f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
           "\"failed\": %ld}\n",
           (double)count / seconds, (double)count * (double)length / 1e6 / seconds,
           delays[count / 2] * 1e6, delays[count * 99 / 100] * 1e6, failed);
    return failed != 0;
}
