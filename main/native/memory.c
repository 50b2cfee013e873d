#include "memory.h"

#include <stdlib.h> /* also says whether this is glibc */

#ifdef __GLIBC__
#include <malloc.h>
#endif

/*
 * From this size on, memory is mapped by itself, and unmapped when it is freed. glibc would raise its
 * own bound to the size of what was freed last, and keep the arrays of a compilation in an area.
 */
#define LARGE_BYTES (128 * 1024)

void memory_limit_arenas(int count) {
#ifdef __GLIBC__
  (void)mallopt(M_ARENA_MAX, count);
  (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#else
  (void)count;
#endif
}

void memory_trim(void) {
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
}
