/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The command line of tileseedctl: verbs, options, and what a user has given.
 *
 * Verbs and options are rows of two tables. Help, completion and the reader use the same rows. An
 * option stands before or behind the verb; one letter may mean different things behind different
 * verbs (-n). Pure functions; sentences and results live in the pool that a call takes. */
#ifndef TSEED_CTL_OPTIONS_H
#define TSEED_CTL_OPTIONS_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <apr_time.h>

#include "tiling/tseed_gridset.h"

typedef enum {
    TSEED_VERB_LAYERS,
    TSEED_VERB_STATUS,
    TSEED_VERB_TASKS,
    TSEED_VERB_SEED,
    TSEED_VERB_RESEED,
    TSEED_VERB_TRUNCATE,
    TSEED_VERB_ESTIMATE,
    TSEED_VERB_SHOW,
    TSEED_VERB_WAIT,
    TSEED_VERB_KILL,
    TSEED_VERB_FAILURES,
    TSEED_VERB_RETRY,
    TSEED_VERB_QUOTA,
    TSEED_VERB_RECONCILE,
    TSEED_VERB_ASK_AGAIN,
    TSEED_VERB_COVERAGE,
    TSEED_VERB_HOSTS,
    TSEED_VERB_DRAIN,
    TSEED_VERB_UNDRAIN,
    TSEED_VERB_METRICS,
    TSEED_VERB_CHECK,
    TSEED_VERB_COUNT
} tseed_ctl_verb_t;

/* What the arguments of a verb name, for completion. */
typedef enum {
    TSEED_ARGUMENT_NONE,
    TSEED_ARGUMENT_LAYER,
    TSEED_ARGUMENT_TASK,
    TSEED_ARGUMENT_HOST
} tseed_argument_t;

typedef struct {
    const char *name;
    const char *arguments; /* for people: "LAYER" */
    tseed_argument_t kind;
    int least, most; /* how many arguments */
    const char *help;
} tseed_ctl_verb_row_t;

/* A row for each verb, in the order of the enumeration. */
extern const tseed_ctl_verb_row_t tseed_ctl_verbs[TSEED_VERB_COUNT];

/* A box or a range of levels; no number counts unless it is given. */
typedef struct {
    int is_given;
    tseed_bounds_t box;
} tseed_ctl_box_t;

typedef struct {
    int is_given, start, stop;
} tseed_ctl_zoom_t;

/* What the user has given; all else is zero. Texts point into the command line. */
typedef struct {
    tseed_ctl_verb_t verb; /* TSEED_VERB_COUNT: none */
    int wants_help, wants_version;
    apr_array_header_t *arguments; /* of const char * */

    const char *server, *user, *netrc_file, *cacert, *unix_socket; /* the profile completes them */
    int is_json, is_quiet;

    const char *gridset, *format;
    apr_table_t *parameters; /* as they were given */
    tseed_ctl_zoom_t zoom;
    tseed_ctl_box_t bounds, lonlat;
    const char *threads, *max_failures, *type; /* decimal numbers; a task's type */

    int is_dry_run, is_lenient, is_confirmed;
    const char *key;
    int is_waiting, kills_on_interrupt, leaves_at_quota;
    apr_interval_time_t timeout, interval; /* 0: not given */

    int is_watching, is_about_all, is_csv, is_geojson;
    const char *states, *layer, *limit, *by, *cells;
} tseed_ctl_options_t;

/* An option: `value` is what stands for its value in help, NULL: it has none. */
typedef struct {
    char letter; /* or 0 */
    const char *name, *value;
    unsigned verbs;                                                    /* bit i: verb i takes it */
    const char *(*read)(void *to, const char *text, apr_pool_t *pool); /* NULL: sets an int to */
    int number;                                                        /* this */
    size_t offset; /* of its member in tseed_ctl_options_t */
    const char *help;
} tseed_ctl_option_row_t;

/* The rows, and how many there are. */
extern const tseed_ctl_option_row_t tseed_ctl_option_rows[];
extern const int tseed_ctl_option_count;

/* Whether a verb, or TSEED_VERB_COUNT for none, takes the option. */
int tseed_ctl_option_fits(const tseed_ctl_option_row_t *row, tseed_ctl_verb_t verb);

/* Whether every verb takes the option. */
int tseed_ctl_option_is_common(const tseed_ctl_option_row_t *row);

/* The verb of that name, or TSEED_VERB_COUNT. */
tseed_ctl_verb_t tseed_ctl_verb_find(const char *name);

/* Reads words such as argv + 1. NULL, or a sentence. */
const char *tseed_ctl_options_read(tseed_ctl_options_t *options, int count,
                                   const char *const *words, apr_pool_t *pool);

/* The argument of that index, or NULL. */
const char *tseed_ctl_argument(const tseed_ctl_options_t *options, int index);

#endif
