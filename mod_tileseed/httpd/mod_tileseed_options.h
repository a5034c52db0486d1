/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Arguments of directives: words, name=value options and their values, read by tables.
 *
 * Every function that can refuse returns NULL or a sentence, in the pool given.
 *
 * Any thread.
 */
#ifndef MOD_TILESEED_OPTIONS_H
#define MOD_TILESEED_OPTIONS_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tseed_option_t tseed_option_t;

/* Reads `text` into a member of the type that the reader says. */
typedef const char *tseed_option_read_t(void *member, const tseed_option_t *option,
                                        const char *text, apr_pool_t *pool);

#define TSEED_REPEATS INT64_MIN

/* One row of a table, which a row without a name ends. */
struct tseed_option_t {
    const char *name;
    tseed_option_read_t *read;
    size_t offset;            /* of the member in the struct that is filled */
    int64_t lowest, highest;  /* of numbers, durations (microseconds) and sizes (bytes); highest is
                               * TSEED_REPEATS of what may be there more than once */
    const char *const *words; /* of tseed_read_word, NULL at the end */
};

/* Rows of a table; `type` is the struct that is filled. */
#define TSEED_OPTION(name, read, type, member)                                                     \
    {name, read, offsetof(type, member), 0, 0, NULL}
#define TSEED_OPTION_RANGE(name, read, type, member, lowest, highest)                              \
    {name, read, offsetof(type, member), lowest, highest, NULL}
#define TSEED_OPTION_WORD(name, type, member, words)                                               \
    {name, tseed_read_word, offsetof(type, member), 0, 0, words}

tseed_option_read_t tseed_read_int;      /* int: decimal */
tseed_option_read_t tseed_read_int64;    /* int64_t: decimal */
tseed_option_read_t tseed_read_mode;     /* int: octal permission bits */
tseed_option_read_t tseed_read_duration; /* apr_interval_time_t */
tseed_option_read_t tseed_read_size;     /* int64_t */
tseed_option_read_t tseed_read_word;     /* int or enum: index in option->words, any case */
tseed_option_read_t tseed_read_switch;   /* int: off or on, 0 or 1; needs no row */
tseed_option_read_t tseed_read_text;     /* const char *: anything */
tseed_option_read_t tseed_read_list;     /* apr_array_header_t * of const char *: one more */

/* Splits arguments at blanks as httpd does. Quotes may begin inside a word too (header="K: v").
 * Within quotes a backslash before a quote makes the quote a character. *words: array of const char
 * *. */
const char *tseed_words_split(apr_array_header_t **words, const char *text, apr_pool_t *pool);

/* Cuts "name=value" at the first '='. Returns 0 when there is no name in front of one. */
int tseed_option_cut(const char **name, const char **value, const char *word, apr_pool_t *pool);

/* A value without the name of its option is a usual slip: TileSeedKeep 0-7. If the word at that
 * place begins with a digit, returns the sentence that says how it is written, in `pool`; else
 * NULL. */
const char *tseed_option_apart(const apr_array_header_t *words, int at, const char *name,
                               apr_pool_t *pool);

/* Reads the words from the `first` on into `target`. */
const char *tseed_options_read(void *target, const tseed_option_t *options,
                               const apr_array_header_t *words, int first, apr_pool_t *pool);

/* Reads `count` numbers, separated by `separators`, and nothing else. Returns 0, or -1. */
int tseed_read_doubles(double *numbers, int count, const char *text, const char *separators,
                       apr_pool_t *pool);

/* Reads "3-14", or one level, from 0 to `highest`. Returns 0, or -1. */
int tseed_read_levels(int *first, int *last, const char *text, int highest, apr_pool_t *pool);

/* Reads "256x512": two numbers from 1 to `highest`. */
const char *tseed_read_pair(int *width, int *height, const char *text, int highest,
                            apr_pool_t *pool);

/* The other way round: a word in quotes as tseed_words_split reads it, and a duration as
 * tseed_read_duration does, in the largest unit that fits: "500ms", "60s", "30d". In `pool`. */
const char *tseed_show_word(const char *text, apr_pool_t *pool);
const char *tseed_show_duration(int64_t duration, apr_pool_t *pool);

#endif
