/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The rows of verbs and options, and the reader of a command line. */
#include "ctl/tseed_ctl_options.h"

#include <apr_strings.h>
#include <stddef.h>
#include <string.h>

#include "base/tseed_text.h"

const tseed_ctl_verb_row_t tseed_ctl_verbs[TSEED_VERB_COUNT] = {
    {"layers", "", TSEED_ARGUMENT_NONE, 0, 0, "list layers, grid sets, formats and parameters"},
    {"status", "[LAYER]", TSEED_ARGUMENT_LAYER, 0, 1, "list the tasks under way"},
    {"tasks", "", TSEED_ARGUMENT_NONE, 0, 0, "list tasks, ended ones too, the newest first"},
    {"seed", "LAYER", TSEED_ARGUMENT_LAYER, 1, 1, "make the tiles that are missing"},
    {"reseed", "LAYER", TSEED_ARGUMENT_LAYER, 1, 1, "make all tiles again"},
    {"truncate", "LAYER", TSEED_ARGUMENT_LAYER, 1, 1, "remove tiles"},
    {"estimate", "LAYER", TSEED_ARGUMENT_LAYER, 1, 1, "tell what a request would take"},
    {"show", "ID", TSEED_ARGUMENT_TASK, 1, 1, "show one task"},
    {"wait", "ID...", TSEED_ARGUMENT_TASK, 1, 1000, "wait until tasks have ended"},
    {"kill", "[ID...|LAYER]", TSEED_ARGUMENT_TASK, 0, 1000, "end tasks"},
    {"failures", "ID", TSEED_ARGUMENT_TASK, 1, 1, "list the metatiles that failed, and why"},
    {"retry", "ID", TSEED_ARGUMENT_TASK, 1, 1, "try the failed metatiles of a task again"},
    {"quota", "[get|set NAME=VALUE...|usage]", TSEED_ARGUMENT_NONE, 0, 100,
     "show or change the disk quota, show what the cache takes"},
    {"reconcile", "", TSEED_ARGUMENT_NONE, 0, 0, "compare the books with the disk"},
    {"ask-again", "LAYER", TSEED_ARGUMENT_LAYER, 1, 1, "ask the upstreams of a layer at once"},
    {"coverage", "LAYER", TSEED_ARGUMENT_LAYER, 1, 1, "draw which tiles of a level are there"},
    {"hosts", "", TSEED_ARGUMENT_NONE, 0, 0, "list the hosts that share the database"},
    {"drain", "HOST", TSEED_ARGUMENT_HOST, 1, 1, "have a host give its work to another"},
    {"undrain", "HOST", TSEED_ARGUMENT_HOST, 1, 1, "let a host take work again"},
    {"metrics", "", TSEED_ARGUMENT_NONE, 0, 0, "print the metrics for Prometheus"},
    {"check", "", TSEED_ARGUMENT_NONE, 0, 0, "check the server for Nagios or Icinga"},
};

/* ---- readers of values ---- */

static const char *read_text(void *to, const char *text, apr_pool_t *pool)
{
    (void)pool;
    *(const char **)to = text;
    return *text ? NULL : "has no value";
}

static const char *read_number(void *to, const char *text, apr_pool_t *pool)
{
    int64_t number;

    if (tseed_text_int64(&number, text, 0, APR_INT32_MAX) != 0) {
        return apr_psprintf(pool, "'%s' is no number from 0 on", text);
    }
    *(const char **)to = text;
    return NULL;
}

static const char *read_duration(void *to, const char *text, apr_pool_t *pool)
{
    apr_interval_time_t *duration = to;
    const char *problem = tseed_text_duration(duration, text, pool);

    return problem || *duration > 0 ? problem : "must be more than 0";
}

/* "5" or "0-8". */
static const char *read_zoom(void *to, const char *text, apr_pool_t *pool)
{
    tseed_ctl_zoom_t *zoom = to;
    const char *dash = strchr(text, '-');
    const char *first = dash ? apr_pstrmemdup(pool, text, (apr_size_t)(dash - text)) : text;
    int64_t start, stop;

    if (tseed_text_int64(&start, first, 0, TSEED_LEVELS_MAX) != 0 ||
        tseed_text_int64(&stop, dash ? dash + 1 : text, start, TSEED_LEVELS_MAX) != 0) {
        return apr_psprintf(pool, "'%s' is no level and no range of levels such as 0-8", text);
    }
    zoom->is_given = 1;
    zoom->start = (int)start;
    zoom->stop = (int)stop;
    return NULL;
}

static const char *read_box(void *to, const char *text, apr_pool_t *pool)
{
    tseed_ctl_box_t *box = to;
    double numbers[4];
    char *last, *copy = apr_pstrdup(pool, text);
    int count = 0, is_wrong = 0;

    for (char *one = apr_strtok(copy, ",", &last); one; one = apr_strtok(NULL, ",", &last)) {
        is_wrong |= count == 4 || tseed_text_double(&numbers[count], one) != 0;
        count += count < 4;
    }
    if (is_wrong || count != 4 || numbers[0] > numbers[2] || numbers[1] > numbers[3]) {
        return apr_psprintf(pool, "'%s' is no box: minx,miny,maxx,maxy is expected", text);
    }
    box->is_given = 1;
    box->box = (tseed_bounds_t){numbers[0], numbers[1], numbers[2], numbers[3]};
    return NULL;
}

static const char *read_parameter(void *to, const char *text, apr_pool_t *pool)
{
    const char *sign = strchr(text, '=');

    if (!sign || sign == text) {
        return apr_psprintf(pool, "'%s' is no parameter: NAME=VALUE is expected", text);
    }
    apr_table_add(*(apr_table_t **)to, apr_pstrmemdup(pool, text, (apr_size_t)(sign - text)),
                  sign + 1);
    return NULL;
}

static const char *read_type(void *to, const char *text, apr_pool_t *pool)
{
    if (strcmp(text, "seed") != 0 && strcmp(text, "reseed") != 0 && strcmp(text, "truncate") != 0) {
        return apr_psprintf(pool, "'%s' is none of seed, reseed and truncate", text);
    }
    *(const char **)to = text;
    return NULL;
}

static const char *read_by(void *to, const char *text, apr_pool_t *pool)
{
    if (strcmp(text, "zoom") != 0 && strcmp(text, "layer") != 0) {
        return apr_psprintf(pool, "'%s' is neither layer nor zoom", text);
    }
    *(const char **)to = text;
    return NULL;
}

/* ---- the options ---- */

#define BIT(verb)    (1U << TSEED_VERB_##verb)
#define ALL          ((1U << TSEED_VERB_COUNT) - 1)
#define SEEDS        (BIT(SEED) | BIT(RESEED) | BIT(TRUNCATE))
#define REQUESTS     (SEEDS | BIT(ESTIMATE))
#define WAITS        (SEEDS | BIT(RETRY) | BIT(WAIT))
#define STARTS       (SEEDS | BIT(RETRY))
#define TO(member)   offsetof(tseed_ctl_options_t, member)
#define FLAG(member) NULL, 1, TO(member)

const tseed_ctl_option_row_t tseed_ctl_option_rows[] = {
    {'s', "server", "URL", ALL, read_text, 0, TO(server), "address of the REST interface"},
    {'u', "user", "USER", ALL, read_text, 0, TO(user), "log in as USER, ask for the password"},
    {0, "netrc-file", "FILE", ALL, read_text, 0, TO(netrc_file), "instead of ~/.netrc"},
    {0, "cacert", "FILE", ALL, read_text, 0, TO(cacert), "certificates that TLS trusts"},
    {0, "unix-socket", "FILE", ALL, read_text, 0, TO(unix_socket), "connect to this socket"},
    {0, "json", NULL, ALL, FLAG(is_json), "print the server's document as it came"},
    {'q', "quiet", NULL, ALL, FLAG(is_quiet), "print errors and what was asked for only"},
    {'h', "help", NULL, ALL, FLAG(wants_help), "print help"},
    {'V', "version", NULL, ALL, FLAG(wants_version), "print the version"},
    {'g', "gridset", "GRIDSET", REQUESTS | BIT(COVERAGE), read_text, 0, TO(gridset),
     "the grid set; the layer's first"},
    {'z', "zoom", "A-B", REQUESTS | BIT(COVERAGE), read_zoom, 0, TO(zoom),
     "levels; all of the layer"},
    {'b', "bounds", "MINX,MINY,MAXX,MAXY", REQUESTS, read_box, 0, TO(bounds),
     "a box in units of the grid set; everything"},
    {0, "lonlat", "WEST,SOUTH,EAST,NORTH", REQUESTS, read_box, 0, TO(lonlat), "a box in degrees"},
    {'f', "format", "FORMAT", REQUESTS | BIT(COVERAGE), read_text, 0, TO(format),
     "the format; the layer's first"},
    {'p', "parameter", "NAME=VALUE", REQUESTS | BIT(COVERAGE), read_parameter, 0, TO(parameters),
     "a parameter, for each one"},
    {'t', "threads", "N", REQUESTS, read_number, 0, TO(threads), "fetches at once; 1"},
    {0, "type", "TYPE", BIT(ESTIMATE), read_type, 0, TO(type), "seed, reseed or truncate; seed"},
    {'n', "dry-run", NULL, SEEDS, FLAG(is_dry_run), "estimate, and start nothing"},
    {'w', "wait", NULL, STARTS, FLAG(is_waiting), "wait for the end, show the progress"},
    {0, "detach", NULL, STARTS, NULL, 0, TO(is_waiting), "do not wait; the default"},
    {0, "timeout", "DURATION", WAITS, read_duration, 0, TO(timeout), "wait this long: 90s, 4h"},
    {0, "interval", "DURATION", WAITS | BIT(STATUS), read_duration, 0, TO(interval),
     "between two lines; 30s, on a terminal 1s"},
    {0, "no-wait-quota", NULL, WAITS, FLAG(leaves_at_quota),
     "wait no more when the disk quota holds the task up"},
    {0, "kill-on-interrupt", NULL, WAITS, FLAG(kills_on_interrupt),
     "Ctrl-C twice within two seconds ends the task"},
    {0, "key", "KEY", STARTS, read_text, 0, TO(key), "the Idempotency-Key; a random one"},
    {0, "lenient", NULL, SEEDS, FLAG(is_lenient), "take a pending task that makes it all"},
    {0, "max-failures", "N", SEEDS, read_number, 0, TO(max_failures),
     "failed metatiles that end the task"},
    {'y', "yes", NULL, BIT(TRUNCATE) | BIT(KILL), FLAG(is_confirmed), "do not ask back"},
    {0, "watch", NULL, BIT(STATUS), FLAG(is_watching), "show it again and again"},
    {0, "state", "STATES", BIT(TASKS), read_text, 0, TO(states),
     "pending, running, done, aborted; with commas"},
    {0, "layer", "LAYER", BIT(TASKS), read_text, 0, TO(layer), "of this layer only"},
    {'n', "limit", "N", BIT(TASKS), read_number, 0, TO(limit), "at most so many; 20"},
    {0, "all", NULL, BIT(KILL), FLAG(is_about_all), "all tasks, or all of LAYER"},
    {0, "csv", NULL, BIT(FAILURES), FLAG(is_csv), "as comma-separated values"},
    {0, "geojson", NULL, BIT(FAILURES), FLAG(is_geojson), "as GeoJSON"},
    {0, "by", "WHAT", BIT(QUOTA), read_by, 0, TO(by), "usage by layer or zoom; by tile set"},
    {0, "cells", "N", BIT(COVERAGE), read_number, 0, TO(cells), "at most N x N cells; 64"},
};
const int tseed_ctl_option_count = sizeof(tseed_ctl_option_rows) / sizeof(*tseed_ctl_option_rows);

int tseed_ctl_option_is_common(const tseed_ctl_option_row_t *row)
{
    return row->verbs == ALL;
}

int tseed_ctl_option_fits(const tseed_ctl_option_row_t *row, tseed_ctl_verb_t verb)
{
    return tseed_ctl_option_is_common(row) ||
           (verb != TSEED_VERB_COUNT && (row->verbs & (1U << verb)));
}

/* ---- the reader ---- */

typedef struct {
    tseed_ctl_options_t *options;
    const char *const *words, *const *end;
    apr_pool_t *pool;
} reader_t;

tseed_ctl_verb_t tseed_ctl_verb_find(const char *name)
{
    int verb = 0;

    while (verb < TSEED_VERB_COUNT && strcmp(tseed_ctl_verbs[verb].name, name) != 0) {
        verb++;
    }
    return verb;
}

/* The row of a letter, or of a name of so many bytes, that the verb takes. */
static const tseed_ctl_option_row_t *find_row(const reader_t *reader, char letter, const char *name,
                                              size_t length)
{
    for (int i = 0; i < tseed_ctl_option_count; i++) {
        const tseed_ctl_option_row_t *row = &tseed_ctl_option_rows[i];

        if (tseed_ctl_option_fits(row, reader->options->verb) &&
            (letter ? row->letter == letter
                    : strlen(row->name) == length && strncmp(row->name, name, length) == 0)) {
            return row;
        }
    }
    return NULL;
}

/* Says which option is unknown, and to what. */
static const char *unknown(const reader_t *reader, const char *option)
{
    const tseed_ctl_verb_t verb = reader->options->verb;

    return verb == TSEED_VERB_COUNT
               ? apr_psprintf(reader->pool, "%s is no option, or must stand behind its verb",
                              option)
               : apr_psprintf(reader->pool, "%s has no option %s", tseed_ctl_verbs[verb].name,
                              option);
}

/* Sets the option's member; `value` is NULL for the next word. */
static const char *set(reader_t *reader, const tseed_ctl_option_row_t *row, const char *value)
{
    void *to = (char *)reader->options + row->offset;
    const char *problem;

    if (!row->value) {
        *(int *)to = row->number;
        return value ? apr_psprintf(reader->pool, "--%s takes no value", row->name) : NULL;
    }
    if (!value && reader->words == reader->end) {
        return apr_psprintf(reader->pool, "--%s needs a value: %s", row->name, row->value);
    }
    problem = row->read(to, value ? value : *reader->words++, reader->pool);
    return problem ? apr_psprintf(reader->pool, "--%s: %s", row->name, problem) : NULL;
}

/* --name, --name=value */
static const char *read_long(reader_t *reader, const char *word)
{
    const char *sign = strchr(word, '=');
    const size_t length = sign ? (size_t)(sign - word) : strlen(word);
    const tseed_ctl_option_row_t *row = find_row(reader, 0, word + 2, length - 2);

    if (!row) {
        return unknown(reader, apr_pstrmemdup(reader->pool, word, length));
    }
    return set(reader, row, sign ? sign + 1 : NULL);
}

/* -qw, -z5, -z 5 */
static const char *read_short(reader_t *reader, const char *word)
{
    const char *problem = NULL;

    for (const char *at = word + 1; *at && !problem; at++) {
        const tseed_ctl_option_row_t *row = find_row(reader, *at, NULL, 0);

        if (!row) {
            return unknown(reader, apr_psprintf(reader->pool, "-%c", *at));
        }
        if (row->value) {
            return set(reader, row, at[1] ? at + 1 : NULL);
        }
        problem = set(reader, row, NULL);
    }
    return problem;
}

/* The verb, or an argument of the verb. */
static const char *read_plain(reader_t *reader, const char *word)
{
    tseed_ctl_options_t *options = reader->options;

    if (options->verb != TSEED_VERB_COUNT) {
        APR_ARRAY_PUSH(options->arguments, const char *) = word;
        return NULL;
    }
    options->verb = tseed_ctl_verb_find(word);
    return options->verb == TSEED_VERB_COUNT
               ? apr_psprintf(reader->pool, "'%s' is no verb; tileseedctl --help lists them", word)
               : NULL;
}

static const char *check_count(const tseed_ctl_options_t *options, apr_pool_t *pool)
{
    const tseed_ctl_verb_row_t *row = &tseed_ctl_verbs[options->verb];
    const int count = options->arguments->nelts;

    if (count < row->least) {
        return apr_psprintf(pool, "%s needs %s", row->name, row->arguments);
    }
    if (count > row->most) {
        return apr_psprintf(pool, "%s has too many arguments, '%s' is one", row->name,
                            tseed_ctl_argument(options, row->most));
    }
    return NULL;
}

const char *tseed_ctl_options_read(tseed_ctl_options_t *options, int count,
                                   const char *const *words, apr_pool_t *pool)
{
    reader_t reader = {options, words, words + count, pool};
    const char *problem = NULL;
    int is_plain = 0;

    memset(options, 0, sizeof(*options));
    options->verb = TSEED_VERB_COUNT;
    options->arguments = apr_array_make(pool, 4, sizeof(const char *));
    options->parameters = apr_table_make(pool, 2);
    while (reader.words < reader.end && !problem) {
        const char *word = *reader.words++;

        if (!is_plain && strcmp(word, "--") == 0) {
            is_plain = 1;
        } else if (!is_plain && word[0] == '-' && word[1] == '-') {
            problem = read_long(&reader, word);
        } else if (!is_plain && word[0] == '-' && word[1]) {
            problem = read_short(&reader, word);
        } else {
            problem = read_plain(&reader, word);
        }
    }
    if (problem || options->wants_help || options->wants_version) {
        return problem;
    }
    return options->verb == TSEED_VERB_COUNT ? "a verb is missing; tileseedctl --help lists them"
                                             : check_count(options, pool);
}

const char *tseed_ctl_argument(const tseed_ctl_options_t *options, int index)
{
    return index < options->arguments->nelts
               ? APR_ARRAY_IDX(options->arguments, index, const char *)
               : NULL;
}
