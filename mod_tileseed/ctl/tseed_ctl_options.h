/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The command line of tileseedctl: verbs, options, and what a user has given.
 *
 * Verbs and options are rows of two tables, and argp reads with them. An option stands before or
 * behind the verb; one letter may mean different things behind different verbs (-n). Main thread:
 * argp and getopt print. Sentences and results live in the pool that a call takes. */
#ifndef TSEED_CTL_OPTIONS_H
#define TSEED_CTL_OPTIONS_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <apr_time.h>

#include "tiling/tseed_gridset.h"

typedef struct {
    const char *name;
    const char *arguments; /* for people: "LAYER"; in brackets: none will do; "...": one or more */
    const char *help;
} tseed_ctl_verb_t;

#define TSEED_VERBS 22

extern const tseed_ctl_verb_t tseed_ctl_verbs[TSEED_VERBS];

/* No number counts unless the box is given. */
typedef struct {
    int is_given;
    tseed_bounds_t box;
} tseed_ctl_box_t;

/* What the user has given; all else is zero. Texts point into the command line; those that are
 * numbers and ids have been checked. */
typedef struct {
    const tseed_ctl_verb_t *verb; /* NULL: none */
    int wants_help, wants_version;
    apr_array_header_t *arguments; /* of const char * */
    const char *lacking;           /* what the value stands for that is missing: "LAYER" */

    const char *server, *user, *netrc_file, *cacert, *unix_socket; /* the profile completes them */
    int is_json, is_quiet;

    const char *gridset, *format, *zoom_start, *zoom_stop, *type, *threads, *max_failures;
    apr_table_t *parameters; /* as they were given */
    tseed_ctl_box_t bounds, lonlat;

    int is_dry_run, is_lenient, is_confirmed;
    const char *key;
    int is_waiting, kills_on_interrupt, leaves_at_quota;
    apr_interval_time_t timeout, interval; /* 0: not given */

    int is_watching, is_about_all, is_csv, is_geojson;
    const char *states, *layer, *limit, *by, *cells;
} tseed_ctl_options_t;

/* Reads words such as argv + 1. NULL, or a sentence. */
const char *tseed_ctl_options_read(tseed_ctl_options_t *options, int count,
                                   const char *const *words, apr_pool_t *pool);

/* The argument of that index, or NULL. */
const char *tseed_ctl_argument(const tseed_ctl_options_t *options, int index);

/* Whether the verb is the one of that name. */
int tseed_ctl_verb_is(const tseed_ctl_options_t *options, const char *name);

/* Prints the help of a verb, or of all (NULL). Scratch in `pool`. */
void tseed_ctl_help(const tseed_ctl_verb_t *verb, apr_pool_t *pool);

/* Prints the options, or the verbs, that the last word of an unfinished command line begins. The
 * words before it are in `options`. Returns what the word may name besides: the text begins with
 * "LAYER", for instance. */
const char *tseed_ctl_complete(const tseed_ctl_options_t *options, const char *last);

#endif
