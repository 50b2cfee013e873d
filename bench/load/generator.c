/*
 * DNS load over UDP, cheaper a query than dnsperf, so that on two cores the server is what limits.
 *
 * Usage: generator PORT FILE SECONDS WINDOW RATE SOCKETS    to 127.0.0.1
 *   FILE     lines "name TYPE" as for dnsperf (A, AAAA, HTTPS)
 *   WINDOW   questions in flight over all sockets, when RATE is 0 (closed loop, for the ceiling)
 *   RATE     questions a second at even distances (open loop, for latency); 0 for closed loop
 *   SOCKETS  1..32 source ports
 *
 * Prints one line of JSON: sent, answered, lost (no answer within a second), bad (an answer to
 * nothing asked), seconds, qps, latency percentiles in microseconds, and answers by RCODE. In open
 * loop latency counts from when the question was due, so a stalled server cannot hide behind a
 * stalled generator.
 *
 * Closed loop sends runs of questions of equal length as one segmented datagram (UDP_SEGMENT): the
 * kernel cuts it, and the server receives ordinary single questions.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  RUN_MAX = 32,
  QUERY_BYTES_MAX = 12 + 255 + 4,
  QUERIES_MAX = 400000,
  SOCKETS_MAX = 32,
  RECEIVE_MAX = 64,
  ANSWER_BYTES = 1500,
  IDS = 65536,
  HISTOGRAM_US = 2000000,
  SOCKET_BUFFER_BYTES = 4 * 1024 * 1024,
};

static const uint64_t LOST_NS = 1000000000;

struct query {
  uint16_t length;
  uint8_t bytes[QUERY_BYTES_MAX];
};

struct asker {
  int fd;
  uint16_t next_id;
  uint16_t oldest_id;
  unsigned in_flight;
  uint64_t due_ns[IDS]; /* 0 when not in flight */
};

struct totals {
  uint64_t sent, answered, lost, bad;
  uint64_t rcodes[16];
  uint32_t *histogram; /* microseconds */
};

struct load {
  struct query *queries;
  size_t count;
  size_t next;
  struct asker *askers;
  unsigned sockets;
  struct totals totals;
};

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Questions */

static uint16_t type_number(const char *text) {
  if (strcmp(text, "AAAA") == 0) return 28;
  if (strcmp(text, "HTTPS") == 0) return 65;
  return 1;
}

static bool write_query(struct query *query, const char *name, const char *type) {
  static const uint8_t HEADER[12] = {0, 0, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0};
  memcpy(query->bytes, HEADER, sizeof HEADER);
  size_t at = sizeof HEADER;
  while (*name != '\0') {
    size_t label = strcspn(name, ".");
    if (label == 0 || label > 63 || at + label + 2 > 12 + 254) return false;
    query->bytes[at++] = (uint8_t)label;
    memcpy(query->bytes + at, name, label);
    at += label;
    name += label + (name[label] == '.');
  }
  uint16_t number = type_number(type);
  const uint8_t tail[5] = {0, (uint8_t)(number >> 8), (uint8_t)number, 0, 1};
  memcpy(query->bytes + at, tail, sizeof tail);
  query->length = (uint16_t)(at + sizeof tail);
  return true;
}

static int by_length(const void *left, const void *right) {
  const struct query *a = left;
  const struct query *b = right;
  return a->length != b->length ? a->length - b->length : memcmp(a, b, sizeof *a);
}

static void shuffle(struct query *queries, size_t from, size_t to) {
  for (size_t at = from; at + 1 < to; at++) {
    size_t other = at + (size_t)random() % (to - at);
    struct query kept = queries[at];
    queries[at] = queries[other];
    queries[other] = kept;
  }
}

/* Groups by length for segmentation; inside a group the order is random. */
static void arrange(struct load *load) {
  qsort(load->queries, load->count, sizeof *load->queries, by_length);
  for (size_t from = 0, to = 0; from < load->count; from = to) {
    while (to < load->count && load->queries[to].length == load->queries[from].length) to++;
    shuffle(load->queries, from, to);
  }
}

static bool read_queries(struct load *load, const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return false;
  char name[300];
  char type[16];
  load->queries = calloc(QUERIES_MAX, sizeof *load->queries);
  while (load->queries != NULL && load->count < QUERIES_MAX &&
         fscanf(file, "%299s %15s", name, type) == 2) {
    if (write_query(&load->queries[load->count], name, type)) load->count++;
  }
  (void)fclose(file);
  return load->count > 0;
}

/* Sending */

static void stamp(struct load *load, struct asker *asker, uint8_t *bytes, uint64_t due_ns) {
  uint16_t id = asker->next_id++;
  bytes[0] = (uint8_t)(id >> 8);
  bytes[1] = (uint8_t)id;
  if (asker->due_ns[id] != 0) {
    load->totals.lost++;
    asker->in_flight--;
  }
  asker->due_ns[id] = due_ns;
  asker->in_flight++;
  load->totals.sent++;
}

static bool send_one(struct load *load, struct asker *asker, uint64_t due_ns) {
  struct query *query = &load->queries[load->next];
  load->next = (load->next + 7919) % load->count;
  stamp(load, asker, query->bytes, due_ns);
  return send(asker->fd, query->bytes, query->length, 0) == query->length;
}

/* Sends a run of at most `wanted` questions of one length from a random place. */
static void send_run(struct load *load, struct asker *asker, unsigned wanted) {
  union {
    struct cmsghdr header;
    uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
  } control = {0};
  struct iovec parts[RUN_MAX];
  size_t first = (size_t)random() % load->count;
  uint16_t length = load->queries[first].length;
  uint64_t now = now_ns();
  unsigned count = 0;
  while (count < wanted && first + count < load->count &&
         load->queries[first + count].length == length) {
    uint8_t *bytes = load->queries[first + count].bytes;
    stamp(load, asker, bytes, now);
    parts[count++] = (struct iovec){bytes, length};
  }
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  control.header.cmsg_level = IPPROTO_UDP;
  control.header.cmsg_type = UDP_SEGMENT;
  control.header.cmsg_len = CMSG_LEN(sizeof length);
  memcpy(CMSG_DATA(&control.header), &length, sizeof length);
  if (sendmsg(asker->fd, &message, 0) < 0 && errno != ECONNREFUSED) perror("generator: send");
}

/* Receiving */

static void count_answer(struct load *load, struct asker *asker, const uint8_t *bytes,
                         unsigned length, uint64_t now) {
  uint16_t id = length >= 12 ? (uint16_t)(bytes[0] << 8 | bytes[1]) : 0;
  if (length < 12 || (bytes[2] & 0x80) == 0 || asker->due_ns[id] == 0) {
    load->totals.bad++;
    return;
  }
  uint64_t us = (now - asker->due_ns[id]) / 1000;
  load->totals.histogram[us < HISTOGRAM_US ? us : HISTOGRAM_US - 1]++;
  load->totals.rcodes[bytes[3] & 15]++;
  load->totals.answered++;
  asker->due_ns[id] = 0;
  asker->in_flight--;
}

static void receive(struct load *load, struct asker *asker) {
  static uint8_t bytes[RECEIVE_MAX][ANSWER_BYTES];
  struct mmsghdr messages[RECEIVE_MAX];
  struct iovec parts[RECEIVE_MAX];
  memset(messages, 0, sizeof messages);
  for (unsigned at = 0; at < RECEIVE_MAX; at++) {
    parts[at] = (struct iovec){bytes[at], ANSWER_BYTES};
    messages[at].msg_hdr.msg_iov = &parts[at];
    messages[at].msg_hdr.msg_iovlen = 1;
  }
  int count = recvmmsg(asker->fd, messages, RECEIVE_MAX, MSG_DONTWAIT, NULL);
  uint64_t now = now_ns();
  for (int at = 0; at < count; at++) {
    count_answer(load, asker, bytes[at], messages[at].msg_len, now);
  }
}

static void expire(struct load *load, struct asker *asker, uint64_t now) {
  while (asker->oldest_id != asker->next_id) {
    uint64_t due = asker->due_ns[asker->oldest_id];
    if (due != 0) {
      if (due + LOST_NS > now) return;
      asker->due_ns[asker->oldest_id] = 0;
      asker->in_flight--;
      load->totals.lost++;
    }
    asker->oldest_id++;
  }
}

/* Loops */

static void run_closed(struct load *load, unsigned window, uint64_t end_ns) {
  unsigned share = window / load->sockets;
  for (uint64_t now = now_ns(); now < end_ns; now = now_ns()) {
    for (unsigned at = 0; at < load->sockets; at++) {
      struct asker *asker = &load->askers[at];
      receive(load, asker);
      expire(load, asker, now);
      unsigned room = share > asker->in_flight ? share - asker->in_flight : 0;
      if (room > 0) send_run(load, asker, room < RUN_MAX ? room : RUN_MAX);
    }
  }
}

static void run_open(struct load *load, double rate, uint64_t end_ns) {
  uint64_t start = now_ns();
  uint64_t index = 0;
  for (uint64_t now = start; now < end_ns; now = now_ns()) {
    uint64_t due = start + (uint64_t)((double)index * 1e9 / rate);
    if (due <= now) {
      (void)send_one(load, &load->askers[index % load->sockets], due);
      index++;
    } else {
      struct asker *asker = &load->askers[(now >> 10) % load->sockets];
      receive(load, asker);
      expire(load, asker, now);
    }
  }
}

/* Waits for the last answers; what is missing then is lost. */
static void finish(struct load *load) {
  uint64_t end = now_ns() + LOST_NS;
  unsigned in_flight = 1;
  while (in_flight > 0 && now_ns() < end) {
    in_flight = 0;
    for (unsigned at = 0; at < load->sockets; at++) {
      receive(load, &load->askers[at]);
      in_flight += load->askers[at].in_flight;
    }
  }
  for (unsigned at = 0; at < load->sockets; at++) {
    load->totals.lost += load->askers[at].in_flight;
  }
}

static unsigned percentile(const struct totals *totals, double share) {
  uint64_t wanted = (uint64_t)((double)totals->answered * share);
  uint64_t seen = 0;
  unsigned us = 0;
  while (us < HISTOGRAM_US - 1 && (seen += totals->histogram[us]) <= wanted) us++;
  return us;
}

static void report(const struct totals *totals, double seconds) {
  printf("{\"sent\":%llu,\"answered\":%llu,\"lost\":%llu,\"bad\":%llu,\"seconds\":%.3f,",
         (unsigned long long)totals->sent, (unsigned long long)totals->answered,
         (unsigned long long)totals->lost, (unsigned long long)totals->bad, seconds);
  printf("\"qps\":%.0f,\"p50\":%u,\"p99\":%u,\"p999\":%u,\"rcodes\":[",
         (double)totals->answered / seconds, percentile(totals, 0.5), percentile(totals, 0.99),
         percentile(totals, 0.999));
  for (unsigned at = 0; at < 16; at++) {
    printf("%s%llu", at == 0 ? "" : ",", (unsigned long long)totals->rcodes[at]);
  }
  printf("]}\n");
}

static bool open_askers(struct load *load, uint16_t port) {
  struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port)};
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int bytes = SOCKET_BUFFER_BYTES;
  load->askers = calloc(load->sockets, sizeof *load->askers);
  for (unsigned at = 0; load->askers != NULL && at < load->sockets; at++) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) != 0 ||
        connect(fd, (struct sockaddr *)&server, sizeof server) != 0) {
      return false;
    }
    load->askers[at].fd = fd;
  }
  return load->askers != NULL;
}

int main(int argc, char **argv) {
  static struct load load;
  if (argc != 7) {
    fprintf(stderr, "usage: generator PORT FILE SECONDS WINDOW RATE SOCKETS\n");
    return 2;
  }
  double seconds = atof(argv[3]);
  double rate = atof(argv[5]);
  load.sockets = (unsigned)atoi(argv[6]);
  if (load.sockets < 1 || load.sockets > SOCKETS_MAX || !(seconds > 0)) return 2;
  load.totals.histogram = calloc(HISTOGRAM_US, sizeof *load.totals.histogram);
  if (load.totals.histogram == NULL || !read_queries(&load, argv[2]) ||
      !open_askers(&load, (uint16_t)atoi(argv[1]))) {
    perror("generator: cannot start");
    return 1;
  }
  srandom(1);
  arrange(&load);
  uint64_t start = now_ns();
  uint64_t end = start + (uint64_t)(seconds * 1e9);
  if (rate > 0) {
    run_open(&load, rate, end);
  } else {
    run_closed(&load, (unsigned)atoi(argv[4]), end);
  }
  double taken = (double)(now_ns() - start) / 1e9;
  finish(&load);
  report(&load.totals, taken);
  return 0;
}
