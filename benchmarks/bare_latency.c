/* A producer in C, as bare as it can be: what benchmarks/latency.py compares the recorded one with.
 *
 *     bare_latency OUT TOPIC RATE SECONDS BYTES NAME=VALUE...
 *
 * Sends when a message is due; a second thread serves completions, as a Java client's does. Writes for each message
 * that was acknowledged two 64-bit integers: ns from the call, and from when it was due, to its acknowledgement.
 * librdkafka is the very library that confluent-kafka brings, which has no header: what is used of it is declared here.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct {
    int err;
    rd_kafka_topic_t *rkt;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *opaque;
} rd_kafka_message_t;

extern rd_kafka_conf_t *rd_kafka_conf_new(void);
extern int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
extern void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *,
                                        void (*)(rd_kafka_t *, const rd_kafka_message_t *, void *));
extern rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
extern rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, void *);
extern int rd_kafka_produce(rd_kafka_topic_t *, int32_t, int, void *, size_t, const void *, size_t, void *);
extern int rd_kafka_poll(rd_kafka_t *, int);
extern int rd_kafka_flush(rd_kafka_t *, int);

enum { PRODUCER = 0, COPY = 2 };

typedef struct {
    int64_t due, sent, done;
} message;

static atomic_int running = 1;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void delivered(rd_kafka_t *client, const rd_kafka_message_t *report, void *unused) {
    (void)client, (void)unused;
    if (!report->err)
        ((message *)report->opaque)->done = now_ns();
}

static void *serve(void *client) {
    while (running)
        rd_kafka_poll(client, 100);
    return NULL;
}

static void fail(const char *why) {
    fprintf(stderr, "bare_latency: %s\n", why);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc < 6)
        fail("bare_latency OUT TOPIC RATE SECONDS BYTES NAME=VALUE...");
    char why[512];
    rd_kafka_conf_t *settings = rd_kafka_conf_new();
    for (char **each = argv + 6; each < argv + argc; each++) {
        char *value = strchr(*each, '=');
        if (!value)
            fail("a setting is written NAME=VALUE");
        *value++ = 0;
        if (rd_kafka_conf_set(settings, *each, value, why, sizeof why))
            fail(why);
    }
    rd_kafka_conf_set_dr_msg_cb(settings, delivered);
    rd_kafka_t *client = rd_kafka_new(PRODUCER, settings, why, sizeof why);
    if (!client)
        fail(why);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, argv[2], NULL);
    int64_t rate = atoll(argv[3]), count = rate * atoll(argv[4]), size = atoll(argv[5]);
    message *messages = calloc(count + 1, sizeof *messages);
    char *payload = malloc(size);
    if (rate < 1 || size < 1 || !topic || !messages || !payload)
        fail("RATE, SECONDS and BYTES are positive");
    memset(payload, 'x', size);
    pthread_t server;
    pthread_create(&server, NULL, serve, client);
    if (rd_kafka_produce(topic, 0, COPY, payload, size, NULL, 0, messages + count))
        fail("the first message was refused");
    for (int tries = 0; !messages[count].done; tries++) {
        if (tries > 1500)
            fail("the first message was not acknowledged within 15 s");
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    int64_t start = now_ns() + 1000000;
    for (int64_t each = 0; each < count; each++) {
        int64_t due = start + each * 1000000000 / rate;
        struct timespec until = {due / 1000000000, due % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        messages[each].due = due;
        messages[each].sent = now_ns();
        while (rd_kafka_produce(topic, 0, COPY, payload, size, NULL, 0, messages + each))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    rd_kafka_flush(client, 30000);
    running = 0;
    pthread_join(server, NULL);
    FILE *out = fopen(argv[1], "wb");
    if (!out)
        fail("the file for the result cannot be written");
    for (message *each = messages; each < messages + count; each++) {
        if (each->done)
            fwrite((int64_t[]){each->done - each->sent, each->done - each->due}, 8, 2, out);
    }
    return fclose(out);
}
