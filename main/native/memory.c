/*
 * What the kernel would do under memory pressure, done when starting is over: two thirds of the
 * pages of Node's program file that a start touches are not touched again.
 *
 * Only mappings of a file that cannot be written and in which no page was changed (Anonymous: 0 in
 * /proc/self/smaps; relocated data, say, was) are let go, so that nothing can be lost.
 */
#include "memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/*
 * From this size on, memory is mapped by itself, and unmapped when it is freed. glibc would raise its
 * own bound to the size of what was freed last, and keep the arrays of a compilation in an area.
 */
#define LARGE_BYTES (128 * 1024)

struct mapping {
  uintptr_t start;
  uintptr_t end;
  bool is_unwritable_file;
};

void memory_limit_arenas(int count) {
#ifdef __GLIBC__
  (void)mallopt(M_ARENA_MAX, count);
  (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#else
  (void)count;
#endif
}

/* Reads the first line of a mapping: "start-end perms offset device inode path". */
static bool read_header(const char *line, struct mapping *to) {
  unsigned long start = 0;
  unsigned long end = 0;
  unsigned long inode = 0;
  char permissions[5];
  if (sscanf(line, "%lx-%lx %4s %*s %*s %lu", &start, &end, permissions, &inode) != 4) return false;
  bool is_unwritable = permissions[0] == 'r' && permissions[1] == '-' && permissions[3] == 'p';
  *to = (struct mapping){start, end, inode != 0 && is_unwritable};
  return true;
}

static void drop_unchanged_files(void) {
  FILE *maps = fopen("/proc/self/smaps", "re");
  if (maps == NULL) return;
  char line[4608];
  struct mapping mapping = {0, 0, false};
  unsigned long changed_kib = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    if (read_header(line, &mapping)) continue;
    if (sscanf(line, "Anonymous: %lu", &changed_kib) != 1) continue;
    if (mapping.is_unwritable_file && changed_kib == 0) {
      (void)madvise((void *)mapping.start, mapping.end - mapping.start, MADV_DONTNEED);
    }
    mapping.is_unwritable_file = false;
  }
  (void)fclose(maps);
}

void memory_give_back(void) {
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
  drop_unchanged_files();
}
