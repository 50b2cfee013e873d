/* Gives memory back to the system that the process no longer needs. */
#ifndef SLUICE_MEMORY_H
#define SLUICE_MEMORY_H

/*
 * Bounds the areas that malloc spreads over threads, and what it keeps in them. To be called before other threads allocate
 * much; without glibc it does nothing.
 */
void memory_limit_arenas(int count);

/*
 * Returns what malloc keeps free, and lets go of pages of unchanged files, program code above all,
 * that this process has mapped. The kernel maps those that are used again, from its page cache.
 */
void memory_give_back(void);

#endif
