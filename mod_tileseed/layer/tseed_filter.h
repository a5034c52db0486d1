/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Parameter filters: which GetMap parameters a client may choose, and from which values. Any
 * thread, once the configuration is through. Results and sentences live in the pool that a call
 * takes. */
#ifndef TSEED_FILTER_H
#define TSEED_FILTER_H

#include <apr_pools.h>
#include <apr_tables.h>

typedef enum { TSEED_CASE_KEEP, TSEED_CASE_UPPER, TSEED_CASE_LOWER } tseed_case_t;

/* Bytes of a value that the configuration does not list, unless it says how many: each value makes
 * a tile set. */
#define TSEED_FILTER_USUAL 1024

typedef struct {
    const char *name;           /* upper case: STYLES, CQL_FILTER, … */
    const char *default_value;  /* "" unless configured */
    apr_array_header_t *values; /* of const char *; never NULL, may be empty */
    const char *regex;          /* POSIX extended, matched against the whole value; NULL: none */
    void *compiled;             /* regex_t of regex, anchored, freed with the pool */
    int most;                   /* bytes of a value that is not listed; 0: TSEED_FILTER_USUAL */
    tseed_case_t letter_case;   /* ASCII letters become this before a value is compared and used */
} tseed_filter_t;

/* Compiles filter->regex, if any; `pool` frees it. NULL or a sentence: also for a regex that refers
 * back to a part of itself, which can take for ever. */
const char *tseed_filter_compile(tseed_filter_t *filter, apr_pool_t *pool);

/* Judges one submitted value. *value is the value to use, folded as letter_case says; for NULL and
 * "" it is the default as it was configured, as in GeoWebCache. The default always passes; a filter
 * without values and regex lets everything pass. NULL, or a sentence that names the values there
 * are. */
const char *tseed_filter_accept(const char **value, const tseed_filter_t *filter,
                                const char *submitted, apr_pool_t *pool);

/* The name in documents of a default that is empty, and of the style of a layer that offers none.
 */
#define TSEED_DEFAULT_NAME "default"

/* Whether a value is TSEED_DEFAULT_NAME and the filter has no such value of its own. Then the value
 * stands for the default. */
int tseed_filter_means_default(const tseed_filter_t *filter, const char *value);

/* Whether there are values that pass without being listed. */
int tseed_filter_is_open(const tseed_filter_t *filter);

/* Whether a value that has passed is the default or listed. */
int tseed_filter_lists(const tseed_filter_t *filter, const char *value, apr_pool_t *pool);

#endif
