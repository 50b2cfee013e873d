/*
 * The yardstick: a UDP server that does nothing but receive, set the QR bit and send back, in
 * batches, on one thread. What a DNS server on the same machine reaches is quoted as a share of
 * what this reaches in the same run.
 *
 * Usage: echo PORT [BATCH [reuse]]    on 127.0.0.1; BATCH 1..64, 64 by default.
 * On SIGTERM or SIGINT it ends and prints: packets, batches, CPU seconds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { BATCH_MAX = 64, SLOT_BYTES = 4096 + 64, SOCKET_BUFFER_BYTES = 4 * 1024 * 1024 };

static volatile sig_atomic_t is_ending;

struct batch {
  struct mmsghdr messages[BATCH_MAX];
  struct iovec parts[BATCH_MAX];
  struct sockaddr_in from[BATCH_MAX];
  uint8_t bytes[BATCH_MAX][SLOT_BYTES];
};

static void on_signal(int number) {
  (void)number;
  is_ending = 1;
}

static int open_socket(uint16_t port, int reuse) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) return -1;
  int bytes = SOCKET_BUFFER_BYTES;
  int on = 1;
  if (reuse && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) return -1;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) != 0) return -1;
  if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) != 0) return -1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bind(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static int receive(int fd, struct batch *batch, unsigned size) {
  for (unsigned at = 0; at < size; at++) {
    batch->parts[at] = (struct iovec){batch->bytes[at], SLOT_BYTES};
    batch->messages[at].msg_hdr = (struct msghdr){.msg_name = &batch->from[at],
                                                  .msg_namelen = sizeof batch->from[at],
                                                  .msg_iov = &batch->parts[at],
                                                  .msg_iovlen = 1};
  }
  return recvmmsg(fd, batch->messages, size, MSG_WAITFORONE, NULL);
}

static void answer(int fd, struct batch *batch, unsigned count) {
  for (unsigned at = 0; at < count; at++) {
    batch->parts[at].iov_len = batch->messages[at].msg_len;
    if (batch->messages[at].msg_len > 2) batch->bytes[at][2] |= 0x80;
  }
  for (unsigned sent = 0; sent < count;) {
    int now = sendmmsg(fd, batch->messages + sent, count - sent, 0);
    if (now < 0 && errno == EINTR) continue;
    sent += now > 0 ? (unsigned)now : 1;
  }
}

static double cpu_seconds(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv) {
  static struct batch batch;
  unsigned size = argc > 2 ? (unsigned)atoi(argv[2]) : BATCH_MAX;
  if (argc < 2 || size < 1 || size > BATCH_MAX) {
    fprintf(stderr, "usage: echo PORT [BATCH [reuse]]\n");
    return 2;
  }
  struct sigaction action = {.sa_handler = on_signal};
  if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0) return 1;
  int fd = open_socket((uint16_t)atoi(argv[1]), argc > 3 && strcmp(argv[3], "reuse") == 0);
  if (fd < 0) {
    perror("echo: cannot listen");
    return 1;
  }
  printf("listening\n");
  fflush(stdout);
  unsigned long packets = 0;
  unsigned long batches = 0;
  while (!is_ending) {
    int count = receive(fd, &batch, size);
    if (count <= 0) continue;
    answer(fd, &batch, (unsigned)count);
    packets += (unsigned)count;
    batches++;
  }
  printf("packets %lu batches %lu cpu %.3f\n", packets, batches, cpu_seconds());
  return 0;
}
