/* How malloc shares memory out, and gives back what it does not need. */
#ifndef SLUICE_MEMORY_H
#define SLUICE_MEMORY_H

/*
 * Bounds the areas that malloc spreads over threads, and what it keeps in them. To be called before
 * other threads allocate much; without glibc it does nothing.
 */
void memory_limit_arenas(int count);

/* Returns to the system what malloc keeps free; without glibc it does nothing. */
void memory_trim(void);

#endif
