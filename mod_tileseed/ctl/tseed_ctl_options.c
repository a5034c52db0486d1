/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The rows of verbs and options, and what is made of them: the reader of a command line, help, and
 * completion. An option stands before or behind the verb; one letter may mean different things
 * behind different verbs (-n).
 *
 * argp reads twice: up to the verb with the options of all verbs, from the verb on with those of
 * the verb too. Its own complaints are off, because they do not know verbs. */
#include <apr_strings.h>
#include <argp.h>
#include <errno.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"

/* The verbs that take an option, by name. */
#define ALL      ""
#define SEEDS    "seed reseed truncate "
#define REQUESTS SEEDS "estimate "
#define ASKS     REQUESTS "coverage "
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

/* ---- readers of values: NULL, or a sentence ---- */

static const char *read_text(void *to, const char *text)
{
    *(const char **)to = text;
    return *text ? NULL : "has no value";
}

static const char *read_number(void *to, const char *text)
{
    int64_t number;

    *(const char **)to = text;
    return tseed_text_int64(&number, text, 0, APR_INT32_MAX) == 0
               ? NULL
               : tseed_ctl_format("'%s' is no number from 0 on", text);
}

static const char *read_duration(void *to, const char *text)
{
    const char *problem = tseed_text_duration(to, text, tseed_ctl.pool);

    return problem || *(apr_interval_time_t *)to > 0 ? problem : "must be more than 0";
}

/* "5" or "0-8": the first of two texts, and the second. */
static const char *read_zoom(void *to, const char *text)
{
    const char *dash = strchr(text, '-');
    int64_t start, stop;

    if (tseed_text_int64(&start, tseed_ctl_format("%.*s", (int)strcspn(text, "-"), text), 0,
                         TSEED_LEVELS_MAX) != 0 ||
        tseed_text_int64(&stop, dash ? dash + 1 : text, start, TSEED_LEVELS_MAX) != 0) {
        return tseed_ctl_format("'%s' is no level and no range of levels such as 0-8", text);
    }
    ((const char **)to)[0] = apr_itoa(tseed_ctl.pool, (int)start);
    ((const char **)to)[1] = apr_itoa(tseed_ctl.pool, (int)stop);
    return NULL;
}

static const char *read_box(void *to, const char *text)
{
    char *last, *copy = apr_pstrdup(tseed_ctl.pool, text);
    int count = 0, is_wrong = 0;
    double n[4];

    for (char *one = apr_strtok(copy, ",", &last); one; one = apr_strtok(NULL, ",", &last)) {
        is_wrong |= count == 4 || tseed_text_double(&n[count], one) != 0;
        count += count < 4;
    }
    if (is_wrong || count != 4 || n[0] > n[2] || n[1] > n[3]) {
        return tseed_ctl_format("'%s' is no box: minx,miny,maxx,maxy is expected", text);
    }
    *(tseed_ctl_box_t *)to = (tseed_ctl_box_t){1, {n[0], n[1], n[2], n[3]}};
    return NULL;
}

static const char *read_parameter(void *to, const char *text)
{
    const char *sign = strchr(text, '=');

    if (!sign || sign == text) {
        return tseed_ctl_format("'%s' is no parameter: NAME=VALUE is expected", text);
    }
    apr_table_add(*(apr_table_t **)to, tseed_ctl_format("%.*s", (int)(sign - text), text),
                  sign + 1);
    return NULL;
}

static const char *read_type(void *to, const char *text)
{
    *(const char **)to = text;
    return strcmp(text, "seed") == 0 || strcmp(text, "reseed") == 0 || strcmp(text, "truncate") == 0
               ? NULL
               : tseed_ctl_format("'%s' is none of seed, reseed and truncate", text);
}

static const char *read_by(void *to, const char *text)
{
    *(const char **)to = text;
    return strcmp(text, "zoom") == 0 || strcmp(text, "layer") == 0
               ? NULL
               : tseed_ctl_format("'%s' is neither layer nor zoom", text);
}

/* ---- the options ---- */

/* `value` is what stands for the option's value in help, NULL: it has none. */
typedef struct {
    char letter; /* or 0 */
    const char *name, *value;
    const char *verbs;                               /* that take it */
    const char *(*read)(void *to, const char *text); /* NULL: sets an int to */
    int number;                                      /* this */
    void *to;
    const char *help;
} row_t;

#define FOR(read, member) read_##read, 0, &tseed_ctl.member
#define FLAG(member)      NULL, 1, &tseed_ctl.member

static const row_t rows[] = {
    {'s', "server", "URL", ALL, FOR(text, server), "address of the REST interface"},
    {'u', "user", "USER", ALL, FOR(text, user), "log in as USER, ask for the password"},
    {0, "netrc-file", "FILE", ALL, FOR(text, netrc_file), "instead of ~/.netrc"},
    {0, "cacert", "FILE", ALL, FOR(text, cacert), "certificates that TLS trusts"},
    {0, "unix-socket", "FILE", ALL, FOR(text, unix_socket), "connect to this socket"},
    {0, "json", NULL, ALL, FLAG(is_json), "print the server's document as it came"},
    {'q', "quiet", NULL, ALL, FLAG(is_quiet), "print errors and what was asked for only"},
    {'h', "help", NULL, ALL, FLAG(wants_help), "print help"},
    {'V', "version", NULL, ALL, FLAG(wants_version), "print the version"},
    {'g', "gridset", "GRIDSET", ASKS, FOR(text, gridset), "the grid set; the layer's first"},
    {'z', "zoom", "A-B", ASKS, FOR(zoom, zoom_start), "levels; all of the layer"},
    {'b', "bounds", "MINX,MINY,MAXX,MAXY", REQUESTS, FOR(box, bounds),
     "a box in units of the grid set; everything"},
    {0, "lonlat", "WEST,SOUTH,EAST,NORTH", REQUESTS, FOR(box, lonlat), "a box in degrees"},
    {'f', "format", "FORMAT", ASKS, FOR(text, format), "the format; the layer's first"},
    {'p', "parameter", "NAME=VALUE", ASKS, FOR(parameter, parameters), "a parameter, for each one"},
    {'t', "threads", "N", REQUESTS, FOR(number, threads), "fetches at once; 1"},
    {0, "type", "TYPE", "estimate", FOR(type, type), "seed, reseed or truncate; seed"},
    {'n', "dry-run", NULL, SEEDS, FLAG(is_dry_run), "estimate, and start nothing"},
    {'w', "wait", NULL, STARTS, FLAG(is_waiting), "wait for the end, show the progress"},
    {0, "detach", NULL, STARTS, NULL, 0, &tseed_ctl.is_waiting, "do not wait; the default"},
    {0, "timeout", "DURATION", WAITS, FOR(duration, timeout), "wait this long: 90s, 4h"},
    {0, "interval", "DURATION", WAITS "status", FOR(duration, interval),
     "between two lines; 30s, on a terminal 1s"},
    {0, "no-wait-quota", NULL, WAITS, FLAG(leaves_at_quota),
     "wait no more when the disk quota holds the task up"},
    {0, "kill-on-interrupt", NULL, WAITS, FLAG(kills_on_interrupt),
     "Ctrl-C twice within two seconds ends the task"},
    {0, "key", "KEY", STARTS, FOR(text, key), "the Idempotency-Key; a random one"},
    {0, "lenient", NULL, SEEDS, FLAG(is_lenient), "take a pending task that makes it all"},
    {0, "max-failures", "N", SEEDS, FOR(number, max_failures),
     "failed metatiles that end the task"},
    {'y', "yes", NULL, "truncate kill quota", FLAG(is_confirmed), "do not ask back"},
    {0, "watch", NULL, "status", FLAG(is_watching), "show it again and again"},
    {0, "state", "STATES", "tasks", FOR(text, states),
     "pending, running, done, aborted; with commas"},
    {0, "layer", "LAYER", "tasks", FOR(text, layer), "of this layer only"},
    {'n', "limit", "N", "tasks", FOR(number, limit), "at most so many; 20"},
    {0, "all", NULL, "kill", FLAG(is_about_all), "all tasks, or all of LAYER"},
    {0, "csv", NULL, "failures", FLAG(is_csv), "as comma-separated values"},
    {0, "geojson", NULL, "failures", FLAG(is_geojson), "as GeoJSON"},
    {0, "by", "WHAT", "quota", FOR(by, by), "usage by layer or zoom; by tile set"},
    {0, "cells", "N", "coverage", FOR(number, cells), "at most N x N cells; 64"},
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
static const row_t *find_row(int key, const char *name)
{
    for (const row_t *row = rows; row < rows + ROWS; row++) {
        if (fits(row, tseed_ctl.verb) &&
            (key ? key_of(row) == key : strcmp(row->name, name) == 0)) {
            return row;
        }
    }
    return NULL;
}

/* ---- the reader ---- */

typedef struct {
    int verb_at; /* the index of the verb in argv */
    int at;      /* the index of the word that argp was at when it last called */
    const char *problem;
} reader_t;

/* What getopt could not read: the word that it has just passed, or a letter with others behind it,
 * in the word that it is at. */
static const char *find_fault(const reader_t *reader, const struct argp_state *state)
{
    const char *word = state->argv[state->next > reader->at ? state->next - 1 : state->next];
    const char *option = tseed_ctl_format("%.*s", (int)strcspn(word, "="), word);
    const row_t *row = find_row(0, option + 2);

    for (const char *letter = word + 1; word[1] != '-' && *letter; letter++) {
        option = tseed_ctl_format("-%c", *letter);
        row = find_row(*letter, NULL);
        if (!row || row->value) {
            break;
        }
    }
    if (row && row->value) {
        tseed_ctl.lacking = row->value;
        return tseed_ctl_format("--%s needs a value: %s", row->name, row->value);
    }
    return row ? tseed_ctl_format("--%s takes no value", row->name)
           : tseed_ctl.verb
               ? tseed_ctl_format("%s has no option %s", tseed_ctl.verb->name, option)
               : tseed_ctl_format("%s is no option, or must stand behind its verb", option);
}

/* The verb, with which the first reading ends, or an argument of the verb. */
static error_t take_argument(reader_t *reader, const char *word, struct argp_state *state)
{
    if (tseed_ctl.verb) {
        APR_ARRAY_PUSH(tseed_ctl.arguments, const char *) = word;
        return 0;
    }
    for (int i = 0; i < TSEED_VERBS; i++) {
        if (strcmp(tseed_ctl_verbs[i].name, word) == 0) {
            tseed_ctl.verb = &tseed_ctl_verbs[i];
            reader->verb_at = state->next - 1;
            state->next = state->argc;
            return 0;
        }
    }
    reader->problem = tseed_ctl_format("'%s' is no verb; tileseedctl --help lists them", word);
    return EINVAL;
}

/* argp calls it for each word, and when it has stopped at a word. */
static error_t take(int key, char *text, struct argp_state *state)
{
    reader_t *reader = state->input;
    const char *problem = NULL;
    const row_t *row;

    if (key == ARGP_KEY_ERROR && !reader->problem) {
        reader->problem = find_fault(reader, state);
    }
    reader->at = state->next;
    if (key == ARGP_KEY_ARG) {
        return take_argument(reader, text, state);
    }
    row = find_row(key, NULL);
    if (!row) {
        return ARGP_ERR_UNKNOWN;
    }
    if (row->read) {
        problem = row->read(row->to, text);
    } else {
        *(int *)row->to = row->number;
    }
    if (problem) {
        reader->problem = tseed_ctl_format("--%s: %s", row->name, problem);
    }
    return problem ? EINVAL : 0;
}

/* Reads up to the verb, or from the verb on. */
static void read_part(reader_t *reader, int argc, char **argv)
{
    struct argp_option options[ROWS + 1] = {{0}}, *end = options;
    const struct argp argp = {.options = options, .parser = take};

    for (const row_t *row = rows; row < rows + ROWS; row++) {
        if (fits(row, tseed_ctl.verb)) {
            *end++ = (struct argp_option){.name = row->name, .key = key_of(row), .arg = row->value};
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
static const char *check_arguments(const tseed_ctl_verb_t *verb)
{
    const char *word = tseed_ctl_argument(*verb->arguments ? 1 : 0);
    const int are_ids = strncmp(first_of(verb), "ID", 2) == 0 && !tseed_ctl.is_about_all;
    int64_t id;

    if (!tseed_ctl.arguments->nelts && *verb->arguments && *verb->arguments != '[') {
        return tseed_ctl_format("%s needs %s", verb->name, verb->arguments);
    }
    if (word && !strstr(verb->arguments, "...")) {
        return tseed_ctl_format("%s has too many arguments, '%s' is one", verb->name, word);
    }
    for (int i = 0; i < tseed_ctl.arguments->nelts && are_ids; i++) {
        const char **one = &APR_ARRAY_IDX(tseed_ctl.arguments, i, const char *);

        if (tseed_text_int64(&id, *one, 1, INT64_MAX) != 0) {
            return tseed_ctl_format("'%s' is no id of a task", *one);
        }
        *one = tseed_ctl_format("%" APR_INT64_T_FMT, id);
    }
    return NULL;
}

const char *tseed_ctl_options_read(int count, const char *const *words)
{
    apr_pool_t *pool = tseed_ctl.pool;
    char **argv = apr_pcalloc(pool, sizeof(*argv) * ((size_t)count + 2));
    reader_t reader = {0};

    argv[0] = apr_pstrdup(pool, "tileseedctl");
    memcpy(argv + 1, words, sizeof(*argv) * (size_t)count);
    tseed_ctl = (tseed_ctl_t){.pool = pool,
                              .arguments = apr_array_make(pool, 4, sizeof(const char *)),
                              .parameters = apr_table_make(pool, 2)};
    read_part(&reader, count + 1, argv);
    if (tseed_ctl.verb && !reader.problem) {
        read_part(&reader, count + 1 - reader.verb_at, argv + reader.verb_at);
    }
    if (reader.problem || tseed_ctl.wants_help || tseed_ctl.wants_version) {
        return reader.problem;
    }
    if (!tseed_ctl.verb) {
        return "a verb is missing; tileseedctl --help lists them";
    }
    if (!tseed_ctl.type) {
        tseed_ctl.type = tseed_ctl_verb_is("estimate") ? "seed" : tseed_ctl.verb->name;
    }
    return check_arguments(tseed_ctl.verb);
}

const char *tseed_ctl_argument(int index)
{
    return index < tseed_ctl.arguments->nelts
               ? APR_ARRAY_IDX(tseed_ctl.arguments, index, const char *)
               : NULL;
}

const apr_table_entry_t *tseed_ctl_parameter(int index)
{
    const apr_array_header_t *entries = apr_table_elts(tseed_ctl.parameters);

    return index < entries->nelts ? &APR_ARRAY_IDX(entries, index, apr_table_entry_t) : NULL;
}

int tseed_ctl_verb_is(const char *name)
{
    return tseed_ctl.verb && strcmp(tseed_ctl.verb->name, name) == 0;
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
static int print_options(const tseed_ctl_verb_t *verb, int are_common)
{
    struct argp_option list[ROWS + 1] = {{0}}, *end = list;

    for (const row_t *row = rows; row < rows + ROWS; row++) {
        if (fits(row, verb) && (row->verbs[0] == '\0') == are_common) {
            *end++ = (struct argp_option){.name = tseed_ctl_format("%s%s%s", row->name,
                                                                   row->value ? " " : "",
                                                                   row->value ? row->value : ""),
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

void tseed_ctl_help(const tseed_ctl_verb_t *verb)
{
    struct argp_option list[TSEED_VERBS + 1] = {{0}};

    if (verb) {
        printf("usage: tileseedctl [options] %s%s%s\n\n%s\n\n", verb->name,
               *verb->arguments ? " " : "", verb->arguments, verb->help);
        if (print_options(verb, 0)) {
            putchar('\n');
        }
        print_options(verb, 1);
        return;
    }
    for (int i = 0; i < TSEED_VERBS; i++) {
        verb = &tseed_ctl_verbs[i];
        list[i] =
            (struct argp_option){.name = tseed_ctl_format("%s %s", verb->name, verb->arguments),
                                 .flags = OPTION_DOC,
                                 .doc = verb->help};
    }
    puts("usage: tileseedctl [options] VERB [arguments]\n\nverbs:");
    print_list(list);
    putchar('\n');
    print_options(NULL, 1);
    puts("\n\"tileseedctl VERB --help\" lists the options of a verb, tileseedctl(1) explains all.");
}

const char *tseed_ctl_complete(const char *last)
{
    const tseed_ctl_verb_t *verb = tseed_ctl.verb;
    const size_t dashes = strnlen(last, 2);

    if (tseed_ctl.lacking) {
        return strcmp(tseed_ctl.lacking, "LAYER") == 0 ? "LAYER" : "";
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
