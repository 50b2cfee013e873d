/*
 * The guardian's eyes: a program of its own, some 1 MiB, that watches the app and its engine, and
 * becomes the Node program which gives the resolver back (system-dns/guardian/guardian-process.ts) when one
 * of them fails. Node alone would hold some 45 MiB all the time for this.
 *
 * Started by system-dns/guardian/guardian.ts with
 *   watcher APP_PID ADDRESS PORT NAME EVERY_MS SILENCE_MS STALL_MS SCRIPT EXECUTABLE FLAG...
 * It prints "armed", and asks ADDRESS for fresh names below NAME. The rules are those of
 * system-dns/guardian/guardian-watch.ts, but that an app which was stopped is not waited for.
 * Script and executable are held open from the start, because the program's folder may be gone
 * when they are needed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { URGENT = -10 };
enum { NONCE_DIGITS = 12, HEADER_BYTES = 12, QUERY_BYTES_MAX = 300, TRIES = 240 };
static const int RETRY_MS = 250;
/* Silence after which it is looked whether the app stands still: nobody would answer then. */
static const long STOPPED_MS = 400;
/* Questions at a time while none is answered: a flood from another program keeps the queue full. */
static const int COPIES = 8;

struct orders {
  pid_t app;
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } server;
  socklen_t server_bytes;
  const char *name;
  long every_ms, silence_ms, stall_ms;
  int script;     /* a copy in memory */
  int executable; /* -1 when it could not be opened */
  char **command; /* executable, flags, room for "-" and the end */
};

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

static bool read_server(struct orders *orders, const char *address, const char *port) {
  memset(&orders->server, 0, sizeof orders->server);
  in_port_t number = htons((uint16_t)atoi(port));
  if (inet_pton(AF_INET, address, &orders->server.v4.sin_addr) == 1) {
    orders->server.v4.sin_family = AF_INET;
    orders->server.v4.sin_port = number;
    orders->server_bytes = sizeof orders->server.v4;
    return true;
  }
  if (inet_pton(AF_INET6, address, &orders->server.v6.sin6_addr) != 1) return false;
  orders->server.v6.sin6_family = AF_INET6;
  orders->server.v6.sin6_port = number;
  orders->server_bytes = sizeof orders->server.v6;
  return true;
}

/* Copies a file into memory. Returns its descriptor, or -1. */
static int hold(const char *path) {
  int from = open(path, O_RDONLY | O_CLOEXEC);
  int copy = memfd_create("guardian", MFD_CLOEXEC);
  char bytes[4096];
  ssize_t count = from < 0 || copy < 0 ? -1 : 1;
  while (count > 0) {
    count = read(from, bytes, sizeof bytes);
    if (count > 0 && write(copy, bytes, (size_t)count) != count) count = -1;
  }
  if (from >= 0) close(from);
  return count < 0 ? -1 : copy;
}

/* Writes a label, or all labels of a dotted name. Returns the place behind it; RFC 1035 §3.1. */
static uint8_t *put_labels(uint8_t *at, const char *name) {
  while (*name != '\0') {
    size_t length = strcspn(name, ".");
    *at++ = (uint8_t)length;
    memcpy(at, name, length);
    at += length;
    name += length + (name[length] == '.');
  }
  return at;
}

/* Asks for the A record of a name never asked before. */
static void ask(int socket, const struct orders *orders, uint16_t id) {
  static uint64_t nonce = 0;
  uint8_t query[QUERY_BYTES_MAX] = {(uint8_t)(id >> 8), (uint8_t)id, 1, 0, 0, 1};
  char label[NONCE_DIGITS + 1];
  if (nonce == 0) nonce = ((uint64_t)getpid() << 24) ^ (uint64_t)now_ms();
  snprintf(label, sizeof label, "%012llx", (unsigned long long)(nonce++ & 0xffffffffffffULL));
  uint8_t *at = put_labels(put_labels(query + HEADER_BYTES, label), orders->name);
  const uint8_t end[] = {0, 0, 1, 0, 1};
  memcpy(at, end, sizeof end);
  send(socket, query, (size_t)(at + sizeof end - query), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Takes in what has arrived. Returns whether the engine answered the latest question. */
static bool hears(int socket, uint16_t id) {
  uint8_t reply[512];
  bool heard = false;
  for (;;) {
    ssize_t length = recv(socket, reply, sizeof reply, MSG_DONTWAIT);
    if (length < 0) {
      if (errno == ECONNREFUSED || errno == EINTR) continue; /* nobody listens there: silence */
      return heard;
    }
    if (length < HEADER_BYTES || reply[0] != id >> 8 || reply[1] != (id & 0xff)) continue;
    heard = heard || ((reply[2] & 0x80) != 0 && (reply[3] & 0x0f) == 0 && (reply[6] | reply[7]));
  }
}

/* Whether the app was stopped by a signal or a debugger: its state is field 3 of proc(5) stat. */
static bool is_stopped(pid_t app) {
  char path[40], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)app);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = '\0';
  const char *name_end = strrchr(text, ')');
  return name_end && name_end[1] == ' ' && (name_end[2] == 'T' || name_end[2] == 't');
}

static bool is_silent(const struct orders *orders, long silent_ms) {
  if (silent_ms > orders->silence_ms) return true;
  return silent_ms > STOPPED_MS && is_stopped(orders->app);
}

/* What guardian-watch.ts decides by; in milliseconds of the monotonic clock. */
struct rules {
  long heard, ticked;
};

/* Takes in the time of a tick. This process itself stood still: that says nothing of the engine. */
static void tick(struct rules *rules, const struct orders *orders, long now) {
  if (now - rules->ticked > orders->stall_ms) rules->heard = now;
  rules->ticked = now;
}

/* Returns when the resolver has to be given back, with the reason. */
static const char *watch(const struct orders *orders, int socket) {
  struct pollfd waited[2] = {
      {.fd = socket, .events = POLLIN},
      /* Readable once the app has ended; without it, its end is seen at the next tick. */
      {.fd = (int)syscall(SYS_pidfd_open, orders->app, 0), .events = POLLIN},
  };
  const long start = now_ms();
  struct rules rules = {start, start};
  uint16_t id = 0;
  for (;;) {
    if (getppid() != orders->app) return "app-ended";
    long now = now_ms();
    bool is_due = now - rules.ticked >= orders->every_ms || id == 0;
    if (is_due) tick(&rules, orders, now);
    if (is_silent(orders, now - rules.heard)) return "engine-silent";
    if (is_due) {
      id++;
      int copies = now - rules.heard > orders->every_ms * 2 ? COPIES : 1;
      while (copies-- > 0) ask(socket, orders, id);
    }
    long next = rules.ticked + orders->every_ms, end = rules.heard + orders->silence_ms + 1;
    long left = (next < end ? next : end) - now_ms();
    poll(waited, 2, left > 0 ? (int)left : 0);
    if (hears(socket, id)) rules.heard = now_ms();
  }
}

/* Becomes the program that gives back; comes back only when that could not be started at all. */
static void give_back(const struct orders *orders, const char *verdict) {
  setenv("SLUICE_GUARDIAN_VERDICT", verdict, 1);
  for (int tries = TRIES; tries > 0; tries--) {
    lseek(orders->script, 0, SEEK_SET);
    dup2(orders->script, STDIN_FILENO);
    execv(orders->command[0], orders->command);
    if (orders->executable >= 0) fexecve(orders->executable, orders->command, environ);
    const struct timespec pause = {0, RETRY_MS * 1000000L};
    nanosleep(&pause, NULL);
  }
}

int main(int count, char **words) {
  struct orders orders;
  if (count < 10 || strlen(words[4]) > QUERY_BYTES_MAX - 50) return 2;
  orders.app = (pid_t)atol(words[1]);
  orders.name = words[4];
  orders.every_ms = atol(words[5]);
  orders.silence_ms = atol(words[6]);
  orders.stall_ms = atol(words[7]);
  orders.script = hold(words[8]);
  orders.executable = open(words[9], O_RDONLY | O_CLOEXEC);
  orders.command = calloc((size_t)count, sizeof(char *));
  if (!read_server(&orders, words[2], words[3]) || orders.script < 0 || !orders.command) return 2;
  for (int index = 9; index < count; index++) orders.command[index - 9] = words[index];
  orders.command[count - 9] = (char[]){"-"};
  /* What ends a session or a terminal must not end the one that cleans up after it. */
  const int deaf[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE};
  for (size_t index = 0; index < sizeof deaf / sizeof *deaf; index++) signal(deaf[index], SIG_IGN);
  /* Where that is allowed: on a machine with too much to do, names must not wait for their turn. */
  setpriority(PRIO_PROCESS, 0, URGENT);
  int asking = socket(orders.server.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (asking < 0 || connect(asking, &orders.server.any, orders.server_bytes) != 0) return 2;
  if (write(STDOUT_FILENO, "armed\n", 6) != 6) return 2;
  give_back(&orders, watch(&orders, asking));
  return 1;
}
