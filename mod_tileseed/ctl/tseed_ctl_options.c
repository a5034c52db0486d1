/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The rows of verbs and options, and what is made of them: the reader of a command line, help, and
 * completion.
 *
 * argp reads twice: up to the verb with the options of all verbs, from the verb on with those of
 * the verb too. Its own complaints are off, because they do not know verbs. */
#include "ctl/tseed_ctl_options.h"

#include <apr_strings.h>
#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"

/* The verbs that take an option, by name. */
#define ALL      ""
#define SEEDS    "seed reseed truncate "
#define REQUESTS SEEDS "estimate "
#define STARTS   SEEDS "retry "
#define WAITS    STARTS "wait "

const tseed_ctl_verb_t tseed_ctl_verbs[TSEED_VERBS] = {
    {"layers", "", "list layers, grid sets, formats and parameters"},
    {"status", "[LAYER]", "list the tasks under way"},
    {"tasks", "", "list tasks, ended ones too, the newest first"},
    {"seed", "LAYER", "make the tiles that are missing"},
    {"reseed", "LAYER", "make all tiles again"},
    {"truncate", "LAYER", "remove tiles"},
    {"estimate", "LAYER", "tell what a request would take"},
    {"show", "ID", "show one task"},
    {"wait", "ID...", "wait until tasks have ended"},
    {"kill", "[ID...|LAYER]", "end tasks"},
    {"failures", "ID", "list the metatiles that failed, and why"},
    {"retry", "ID", "try the failed metatiles of a task again"},
    {"quota", "[get|set NAME=VALUE...|usage|forget ID|remove ID]",
     "show or change the disk quota, show what the cache takes"},
    {"reconcile", "", "compare the books with the disk"},
    {"ask-again", "LAYER", "ask the upstreams of a layer at once"},
    {"drop-unlisted", "LAYER", "remove tile sets that requests made with values not listed"},
    {"coverage", "LAYER", "draw which tiles of a level are there"},
    {"hosts", "", "list the hosts that share the database"},
    {"drain", "HOST", "have a host give its work to another"},
    {"undrain", "HOST", "let a host take work again"},
    {"metrics", "", "print the metrics for Prometheus"},
    {"check", "", "check the server for Nagios or Icinga"},
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

    *(const char **)to = text;
    return tseed_text_int64(&number, text, 0, APR_INT32_MAX) == 0
               ? NULL
               : apr_psprintf(pool, "'%s' is no number from 0 on", text);
}

static const char *read_duration(void *to, const char *text, apr_pool_t *pool)
{
    apr_interval_time_t *duration = to;
    const char *problem = tseed_text_duration(duration, text, pool);

    return problem || *duration > 0 ? problem : "must be more than 0";
}

/* "5" or "0-8": the first of two texts, and the second. */
static const char *read_zoom(void *to, const char *text, apr_pool_t *pool)
{
    const size_t digits = strcspn(text, "-");
    int64_t start, stop;

    if (tseed_text_int64(&start, apr_pstrmemdup(pool, text, digits), 0, TSEED_LEVELS_MAX) != 0 ||
        tseed_text_int64(&stop, text[digits] ? text + digits + 1 : text, start, TSEED_LEVELS_MAX) !=
            0) {
        return apr_psprintf(pool, "'%s' is no level and no range of levels such as 0-8", text);
    }
    ((const char **)to)[0] = apr_itoa(pool, (int)start);
    ((const char **)to)[1] = apr_itoa(pool, (int)stop);
    return NULL;
}

static const char *read_box(void *to, const char *text, apr_pool_t *pool)
{
    char *last, *copy = apr_pstrdup(pool, text);
    int count = 0, is_wrong = 0;
    double n[4];

    for (char *one = apr_strtok(copy, ",", &last); one; one = apr_strtok(NULL, ",", &last)) {
        is_wrong |= count == 4 || tseed_text_double(&n[count], one) != 0;
        count += count < 4;
    }
    if (is_wrong || count != 4 || n[0] > n[2] || n[1] > n[3]) {
        return apr_psprintf(pool, "'%s' is no box: minx,miny,maxx,maxy is expected", text);
    }
    *(tseed_ctl_box_t *)to = (tseed_ctl_box_t){1, {n[0], n[1], n[2], n[3]}};
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
    *(const char **)to = text;
    return strcmp(text, "seed") == 0 || strcmp(text, "reseed") == 0 || strcmp(text, "truncate") == 0
               ? NULL
               : apr_psprintf(pool, "'%s' is none of seed, reseed and truncate", text);
}

static const char *read_by(void *to, const char *text, apr_pool_t *pool)
{
    *(const char **)to = text;
    return strcmp(text, "zoom") == 0 || strcmp(text, "layer") == 0
               ? NULL
               : apr_psprintf(pool, "'%s' is neither layer nor zoom", text);
}

/* ---- the options ---- */

/* `value` is what stands for the option's value in help, NULL: it has none. */
typedef struct {
    char letter; /* or 0 */
    const char *name, *value;
    const char *verbs;                                                 /* that take it */
    const char *(*read)(void *to, const char *text, apr_pool_t *pool); /* NULL: sets an int to */
    int number;                                                        /* this */
    size_t offset; /* of its member in tseed_ctl_options_t */
    const char *help;
} row_t;

#define TO(member)   offsetof(tseed_ctl_options_t, member)
#define FLAG(member) NULL, 1, TO(member)

static const row_t rows[] = {
    {'s', "server", "URL", ALL, read_text, 0, TO(server), "address of the REST interface"},
    {'u', "user", "USER", ALL, read_text, 0, TO(user), "log in as USER, ask for the password"},
    {0, "netrc-file", "FILE", ALL, read_text, 0, TO(netrc_file), "instead of ~/.netrc"},
    {0, "cacert", "FILE", ALL, read_text, 0, TO(cacert), "certificates that TLS trusts"},
    {0, "unix-socket", "FILE", ALL, read_text, 0, TO(unix_socket), "connect to this socket"},
    {0, "json", NULL, ALL, FLAG(is_json), "print the server's document as it came"},
    {'q', "quiet", NULL, ALL, FLAG(is_quiet), "print errors and what was asked for only"},
    {'h', "help", NULL, ALL, FLAG(wants_help), "print help"},
    {'V', "version", NULL, ALL, FLAG(wants_version), "print the version"},
    {'g', "gridset", "GRIDSET", REQUESTS "coverage", read_text, 0, TO(gridset),
     "the grid set; the layer's first"},
    {'z', "zoom", "A-B", REQUESTS "coverage", read_zoom, 0, TO(zoom_start),
     "levels; all of the layer"},
    {'b', "bounds", "MINX,MINY,MAXX,MAXY", REQUESTS, read_box, 0, TO(bounds),
     "a box in units of the grid set; everything"},
    {0, "lonlat", "WEST,SOUTH,EAST,NORTH", REQUESTS, read_box, 0, TO(lonlat), "a box in degrees"},
    {'f', "format", "FORMAT", REQUESTS "coverage", read_text, 0, TO(format),
     "the format; the layer's first"},
    {'p', "parameter", "NAME=VALUE", REQUESTS "coverage", read_parameter, 0, TO(parameters),
     "a parameter, for each one"},
    {'t', "threads", "N", REQUESTS, read_number, 0, TO(threads), "fetches at once; 1"},
    {0, "type", "TYPE", "estimate", read_type, 0, TO(type), "seed, reseed or truncate; seed"},
    {'n', "dry-run", NULL, SEEDS, FLAG(is_dry_run), "estimate, and start nothing"},
    {'w', "wait", NULL, STARTS, FLAG(is_waiting), "wait for the end, show the progress"},
    {0, "detach", NULL, STARTS, NULL, 0, TO(is_waiting), "do not wait; the default"},
    {0, "timeout", "DURATION", WAITS, read_duration, 0, TO(timeout), "wait this long: 90s, 4h"},
    {0, "interval", "DURATION", WAITS "status", read_duration, 0, TO(interval),
     "between two lines; 30s, on a terminal 1s"},
    {0, "no-wait-quota", NULL, WAITS, FLAG(leaves_at_quota),
     "wait no more when the disk quota holds the task up"},
    {0, "kill-on-interrupt", NULL, WAITS, FLAG(kills_on_interrupt),
     "Ctrl-C twice within two seconds ends the task"},
    {0, "key", "KEY", STARTS, read_text, 0, TO(key), "the Idempotency-Key; a random one"},
    {0, "lenient", NULL, SEEDS, FLAG(is_lenient), "take a pending task that makes it all"},
    {0, "max-failures", "N", SEEDS, read_number, 0, TO(max_failures),
     "failed metatiles that end the task"},
    {'y', "yes", NULL, "truncate kill quota", FLAG(is_confirmed), "do not ask back"},
    {0, "watch", NULL, "status", FLAG(is_watching), "show it again and again"},
    {0, "state", "STATES", "tasks", read_text, 0, TO(states),
     "pending, running, done, aborted; with commas"},
    {0, "layer", "LAYER", "tasks", read_text, 0, TO(layer), "of this layer only"},
    {'n', "limit", "N", "tasks", read_number, 0, TO(limit), "at most so many; 20"},
    {0, "all", NULL, "kill", FLAG(is_about_all), "all tasks, or all of LAYER"},
    {0, "csv", NULL, "failures", FLAG(is_csv), "as comma-separated values"},
    {0, "geojson", NULL, "failures", FLAG(is_geojson), "as GeoJSON"},
    {0, "by", "WHAT", "quota", read_by, 0, TO(by), "usage by layer or zoom; by tile set"},
    {0, "cells", "N", "coverage", read_number, 0, TO(cells), "at most N x N cells; 64"},
};
#define ROWS ((int)(sizeof(rows) / sizeof(*rows)))

/* What argp calls an option: its letter, or a number that is no letter. */
static int key_of(const row_t *row)
{
    return row->letter ? row->letter : 256 + (int)(row - rows);
}

/* A verb whose name is part of another one's has the same options. */
static int fits(const row_t *row, const tseed_ctl_verb_t *verb)
{
    return !*row->verbs || (verb && strstr(row->verbs, verb->name));
}

/* The row of a key, or of a name, that the verb takes; NULL: there is none. */
static const row_t *find_row(const tseed_ctl_verb_t *verb, int key, const char *name)
{
    for (const row_t *row = rows; row < rows + ROWS; row++) {
        if (fits(row, verb) && (key ? key_of(row) == key : strcmp(row->name, name) == 0)) {
            return row;
        }
    }
    return NULL;
}

/* ---- the reader ---- */

typedef struct {
    tseed_ctl_options_t *options;
    int verb_at; /* the index of the verb in argv */
    int at;      /* the index of the word that argp was at when it last called */
    const char *problem;
    apr_pool_t *pool;
} reader_t;

/* What getopt could not read: the word that it has just passed, or a letter with others behind it,
 * in the word that it is at. */
static const char *find_fault(const reader_t *reader, const struct argp_state *state)
{
    const char *word = state->argv[state->next > reader->at ? state->next - 1 : state->next];
    const tseed_ctl_verb_t *verb = reader->options->verb;
    const char *option = apr_pstrmemdup(reader->pool, word, strcspn(word, "="));
    const row_t *row = find_row(verb, 0, option + 2);

    for (const char *letter = word + 1; word[1] != '-' && *letter; letter++) {
        option = apr_psprintf(reader->pool, "-%c", *letter);
        row = find_row(verb, *letter, NULL);
        if (!row || row->value) {
            break;
        }
    }
    if (row && row->value) {
        reader->options->lacking = row->value;
        return apr_psprintf(reader->pool, "--%s needs a value: %s", row->name, row->value);
    }
    if (row) {
        return apr_psprintf(reader->pool, "--%s takes no value", row->name);
    }
    return verb ? apr_psprintf(reader->pool, "%s has no option %s", verb->name, option)
                : apr_psprintf(reader->pool, "%s is no option, or must stand behind its verb",
                               option);
}

/* The verb, with which the first reading ends, or an argument of the verb. */
static error_t take_argument(reader_t *reader, const char *word, struct argp_state *state)
{
    tseed_ctl_options_t *options = reader->options;

    if (options->verb) {
        APR_ARRAY_PUSH(options->arguments, const char *) = word;
        return 0;
    }
    for (int i = 0; i < TSEED_VERBS && !options->verb; i++) {
        options->verb = strcmp(tseed_ctl_verbs[i].name, word) == 0 ? &tseed_ctl_verbs[i] : NULL;
    }
    if (!options->verb) {
        reader->problem =
            apr_psprintf(reader->pool, "'%s' is no verb; tileseedctl --help lists them", word);
        return EINVAL;
    }
    reader->verb_at = state->next - 1;
    state->next = state->argc;
    return 0;
}

static error_t take_option(reader_t *reader, const row_t *row, const char *value)
{
    void *to = (char *)reader->options + row->offset;
    const char *problem = NULL;

    if (row->value) {
        problem = row->read(to, value, reader->pool);
    } else {
        *(int *)to = row->number;
    }
    if (problem) {
        reader->problem = apr_psprintf(reader->pool, "--%s: %s", row->name, problem);
    }
    return problem ? EINVAL : 0;
}

/* argp calls it for each word, and when it has stopped at a word. */
static error_t take(int key, char *text, struct argp_state *state)
{
    reader_t *reader = state->input;
    const row_t *row;

    if (key == ARGP_KEY_ERROR && !reader->problem) {
        reader->problem = find_fault(reader, state);
    }
    reader->at = state->next;
    if (key == ARGP_KEY_ARG) {
        return take_argument(reader, text, state);
    }
    row = find_row(reader->options->verb, key, NULL);
    return row ? take_option(reader, row, text) : ARGP_ERR_UNKNOWN;
}

/* Reads up to the verb, or from the verb on. */
static void read_part(reader_t *reader, int argc, char **argv)
{
    struct argp_option options[ROWS + 1] = {{0}};
    const struct argp argp = {.options = options, .parser = take};
    int count = 0;

    for (const row_t *row = rows; row < rows + ROWS; row++) {
        if (fits(row, reader->options->verb)) {
            options[count++] =
                (struct argp_option){.name = row->name, .key = key_of(row), .arg = row->value};
        }
    }
    argp_parse(&argp, argc, argv, ARGP_SILENT | ARGP_IN_ORDER, NULL, reader);
}

/* What the first argument of a verb names: "ID...|LAYER]". */
static const char *first_of(const tseed_ctl_verb_t *verb)
{
    return verb->arguments + (verb->arguments[0] == '[');
}

/* Whether the arguments are as many as the verb takes, and ids where it takes those. */
static const char *check_arguments(const tseed_ctl_options_t *options, apr_pool_t *pool)
{
    const tseed_ctl_verb_t *verb = options->verb;
    const char *word = tseed_ctl_argument(options, *verb->arguments ? 1 : 0);
    const int are_ids = strncmp(first_of(verb), "ID", 2) == 0 && !options->is_about_all;
    int64_t id;

    if (!options->arguments->nelts && *verb->arguments && *verb->arguments != '[') {
        return apr_psprintf(pool, "%s needs %s", verb->name, verb->arguments);
    }
    if (word && !strstr(verb->arguments, "...")) {
        return apr_psprintf(pool, "%s has too many arguments, '%s' is one", verb->name, word);
    }
    for (int i = 0; i < options->arguments->nelts && are_ids; i++) {
        const char **one = &APR_ARRAY_IDX(options->arguments, i, const char *);

        if (tseed_text_int64(&id, *one, 1, INT64_MAX) != 0) {
            return apr_psprintf(pool, "'%s' is no id of a task", *one);
        }
        *one = apr_psprintf(pool, "%" APR_INT64_T_FMT, id);
    }
    return NULL;
}

const char *tseed_ctl_options_read(tseed_ctl_options_t *options, int count,
                                   const char *const *words, apr_pool_t *pool)
{
    reader_t reader = {.options = options, .pool = pool};
    char **argv = apr_pcalloc(pool, sizeof(*argv) * ((size_t)count + 2));

    argv[0] = apr_pstrdup(pool, "tileseedctl");
    memcpy(argv + 1, words, sizeof(*argv) * (size_t)count);
    *options = (tseed_ctl_options_t){.arguments = apr_array_make(pool, 4, sizeof(const char *)),
                                     .parameters = apr_table_make(pool, 2)};
    read_part(&reader, count + 1, argv);
    if (options->verb && !reader.problem) {
        read_part(&reader, count + 1 - reader.verb_at, argv + reader.verb_at);
    }
    if (reader.problem || options->wants_help || options->wants_version) {
        return reader.problem;
    }
    if (!options->verb) {
        return "a verb is missing; tileseedctl --help lists them";
    }
    if (!options->type) {
        options->type = tseed_ctl_verb_is(options, "estimate") ? "seed" : options->verb->name;
    }
    return check_arguments(options, pool);
}

const char *tseed_ctl_argument(const tseed_ctl_options_t *options, int index)
{
    return index < options->arguments->nelts
               ? APR_ARRAY_IDX(options->arguments, index, const char *)
               : NULL;
}

int tseed_ctl_verb_is(const tseed_ctl_options_t *options, const char *name)
{
    return options->verb && strcmp(options->verb->name, name) == 0;
}

/* ---- help and completion ---- */

/* Prints a list in argp's form. Names of options have their values in them, because argp
 * would set an equals sign between. A group of its own keeps each in its place. */
static void print_list(struct argp_option *list)
{
    const struct argp argp = {.options = list};
    char name[] = "tileseedctl";

    for (int i = 0; list[i].name; i++) {
        list[i].group = i + 1;
    }
    argp_help(&argp, stdout, ARGP_HELP_LONG, name);
}

/* Whether there are any. */
static int print_options(const tseed_ctl_verb_t *verb, int are_common, apr_pool_t *pool)
{
    struct argp_option list[ROWS + 1] = {{0}}, *end = list;

    for (const row_t *row = rows; row < rows + ROWS; row++) {
        if (fits(row, verb) && (row->verbs[0] == '\0') == are_common) {
            *end++ = (struct argp_option){
                .name = apr_pstrcat(pool, row->name, row->value ? " " : NULL, row->value, NULL),
                .key = key_of(row),
                .doc = row->help};
        }
    }
    if (end > list) {
        puts(are_common ? "options of all verbs:" : "options:");
        print_list(list);
    }
    return end > list;
}

void tseed_ctl_help(const tseed_ctl_verb_t *verb, apr_pool_t *pool)
{
    struct argp_option list[TSEED_VERBS + 1] = {{0}};

    if (verb) {
        printf("usage: tileseedctl [options] %s%s%s\n\n%s\n\n", verb->name,
               *verb->arguments ? " " : "", verb->arguments, verb->help);
        if (print_options(verb, 0, pool)) {
            putchar('\n');
        }
        print_options(verb, 1, pool);
        return;
    }
    for (int i = 0; i < TSEED_VERBS; i++) {
        verb = &tseed_ctl_verbs[i];
        list[i] =
            (struct argp_option){.name = apr_pstrcat(pool, verb->name, " ", verb->arguments, NULL),
                                 .flags = OPTION_DOC,
                                 .doc = verb->help};
    }
    puts("usage: tileseedctl [options] VERB [arguments]\n\nverbs:");
    print_list(list);
    putchar('\n');
    print_options(NULL, 1, pool);
    puts("\n\"tileseedctl VERB --help\" lists the options of a verb, tileseedctl(1) explains all.");
}

const char *tseed_ctl_complete(const tseed_ctl_options_t *options, const char *last)
{
    const tseed_ctl_verb_t *verb = options->verb;
    const size_t dashes = strnlen(last, 2);

    if (options->lacking) {
        return strcmp(options->lacking, "LAYER") == 0 ? "LAYER" : "";
    }
    for (int i = 0; i < ROWS && last[0] == '-'; i++) {
        if (fits(&rows[i], verb) && strncmp("--", last, dashes) == 0 &&
            strncmp(rows[i].name, last + dashes, strlen(last + dashes)) == 0) {
            printf("--%s\n", rows[i].name);
        }
    }
    for (int i = 0; i < TSEED_VERBS && !verb && last[0] != '-'; i++) {
        if (strncmp(tseed_ctl_verbs[i].name, last, strlen(last)) == 0) {
            puts(tseed_ctl_verbs[i].name);
        }
    }
    return verb && last[0] != '-' ? first_of(verb) : "";
}
