/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pairs: records in shared memory that one writer replaces as a whole while others read, without
 * a lock.
 *
 * A pair is two copies and a turn. Copy turn % 2 is valid. The writer fills the other copy, then
 * moves the turn on with one store:
 *
 *      turn 6:  [valid copy 0] [ being filled ]
 *      turn 7:  [ free again ] [valid copy 1]
 *
 * A writer that dies at any instant leaves the last whole record behind. Every word is stored
 * with release and loaded with acquire: a reader that met a word of a later filling therefore
 * also sees the turn that was set before it, and tries again. On x86-64 these are plain moves;
 * fences would do as well, but thread sanitizers don't understand them.
 */
#ifndef TSEED_PAIR_H
#define TSEED_PAIR_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Lock-free means address-free: good between processes. */
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "the board needs lock-free 64-bit atomics");
static_assert(sizeof(_Atomic uint64_t) == 8, "atomic words are plain words in memory");

typedef _Atomic uint64_t tseed_word_t;

/* Words of a record, whose size must be a multiple of eight. */
#define TSEED_WORDS(type) (sizeof(type) / sizeof(uint64_t))

/* Copies a record of so many words into shared memory. The writer. */
static inline void tseed_words_store(tseed_word_t *to, const void *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word;

        memcpy(&word, (const char *)from + i * sizeof(word), sizeof(word));
        atomic_store_explicit(&to[i], word, memory_order_release);
    }
}

/* Copies a record of so many words out of shared memory. The copy may be torn if the writer writes
 * meanwhile. Any process. */
static inline void tseed_words_load(void *to, const tseed_word_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word = atomic_load_explicit(&from[i], memory_order_acquire);

        memcpy((char *)to + i * sizeof(word), &word, sizeof(word));
    }
}

/* The only writer: `copies` are two records of `words` words. */
static inline void tseed_pair_write(tseed_word_t *turn, tseed_word_t *copies, const void *record,
                                    size_t words)
{
    uint64_t next = atomic_load_explicit(turn, memory_order_relaxed) + 1;

    tseed_words_store(copies + (next % 2) * words, record, words);
    atomic_store_explicit(turn, next, memory_order_release);
}

/* Whether the valid copy is this record. The writer. */
static inline int tseed_pair_shows(const tseed_word_t *turn, const tseed_word_t *copies,
                                   const void *record, size_t words)
{
    const tseed_word_t *valid =
        copies + (atomic_load_explicit(turn, memory_order_relaxed) % 2) * words;

    for (size_t i = 0; i < words; i++) {
        uint64_t word;

        memcpy(&word, (const char *)record + i * sizeof(word), sizeof(word));
        if (atomic_load_explicit(&valid[i], memory_order_relaxed) != word) {
            return 0;
        }
    }
    return 1;
}

/* Writes a record unless the pair shows it; a pair of turn 0 shows nothing. Returns whether it was
 * written. The only writer, which reads back what it has written: nobody else writes there, and
 * nonsense makes it write once more. */
static inline int tseed_pair_show(tseed_word_t *turn, tseed_word_t *copies, const void *record,
                                  size_t words)
{
    if (atomic_load_explicit(turn, memory_order_relaxed) != 0 &&
        tseed_pair_shows(turn, copies, record, words)) {
        return 0;
    }
    tseed_pair_write(turn, copies, record, words);
    return 1;
}

/* One attempt to read; 0 when the writer came in between. */
static inline int tseed_pair_read(void *record, const tseed_word_t *turn,
                                  const tseed_word_t *copies, size_t words)
{
    uint64_t now = atomic_load_explicit(turn, memory_order_acquire);

    tseed_words_load(record, copies + (now % 2) * words, words);
    return atomic_load_explicit(turn, memory_order_relaxed) == now;
}

#endif
