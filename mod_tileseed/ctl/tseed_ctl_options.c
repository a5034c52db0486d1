/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The rows of options, and what is made of them and of the verbs: the reader of a command line and
 * of profiles, help, completion, and the request that seeds. An option stands before or behind the
 * verb; one letter may mean different things behind different verbs (-n). */
#include <apr_strings.h>
#include <argp.h>
#include <getopt.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"

#define VERBS_MAX 64
#define LINE_SIZE 4096 /* of a profile */

/* The verbs that take an option, by name. */
#define ALL      ""
#define SEEDS    "seed reseed truncate "
#define REQUESTS SEEDS "estimate "
#define ASKS     REQUESTS "coverage "
#define STARTS   SEEDS "retry "
#define WAITS    STARTS "wait "

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

/* The option's letter, or a number that is no letter. */
static int key_of(const row_t *row)
{
    return row->letter ? row->letter : 256 + (int)(row - rows);
}

/* A verb whose name is part of another one's has the same options. */
static int fits(const row_t *row, const tseed_ctl_verb_t *verb)
{
    return !*row->verbs || (verb && strstr(row->verbs, verb->name));
}

/* The row of a key that the verb takes; NULL: there is none. */
static const row_t *find_row(int key)
{
    for (const row_t *row = rows; row < rows + ROWS; row++) {
        if (fits(row, tseed_ctl.verb) && key_of(row) == key) {
            return row;
        }
    }
    return NULL;
}

/* The verb of that place, of all files; NULL: there are no more. */
static const tseed_ctl_verb_t *verb_at(int place)
{
    for (const tseed_ctl_verb_t *const *file = tseed_ctl.verbs; *file; file++) {
        for (const tseed_ctl_verb_t *verb = *file; verb->name; verb++) {
            if (verb->place == place) {
                return verb;
            }
        }
    }
    return NULL;
}

/* ---- the reader: NULL, or a sentence ---- */

/* What getopt could not read; `word` is the one that it has just passed. */
static const char *find_fault(int is_lacking, const char *word)
{
    const row_t *row = find_row(optopt);
    const char *option = optopt && optopt < 256
                             ? tseed_ctl_format("-%c", optopt)
                             : tseed_ctl_format("%.*s", (int)strcspn(word, "="), word);

    if (is_lacking) {
        tseed_ctl.lacking = row->value;
        return tseed_ctl_format("--%s needs a value: %s", row->name, row->value);
    }
    return row ? tseed_ctl_format("--%s takes no value", row->name)
           : tseed_ctl.verb
               ? tseed_ctl_format("%s has no option %s", tseed_ctl.verb->name, option)
               : tseed_ctl_format("%s is no option, or must stand behind its verb", option);
}

static const char *take_option(const row_t *row)
{
    const char *problem = row->read ? row->read(row->to, optarg) : NULL;

    if (!row->read) {
        *(int *)row->to = row->number;
    }
    return problem ? tseed_ctl_format("--%s: %s", row->name, problem) : NULL;
}

/* Reads the words behind the first one, which is the program or the verb, up to the verb or to the
 * end. Returns the index of the first word that is not read. */
static int read_words(const char **problem, int argc, char **argv)
{
    struct option names[ROWS + 1] = {{0}}, *name = names;
    char letters[2 * ROWS + 3] = "-:", *letter = letters + 2; /* words in their order; no output */
    int key = 0;

    for (const row_t *row = rows; row < rows + ROWS; row++) {
        if (fits(row, tseed_ctl.verb)) {
            *name++ = (struct option){row->name, row->value != NULL, NULL, key_of(row)};
            letter += row->letter ? sprintf(letter, row->value ? "%c:" : "%c", row->letter) : 0;
        }
    }
    optind = 0; /* another argv */
    while (!*problem && (key = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        if (key == 1 && !tseed_ctl.verb) {
            return optind - 1;
        }
        if (key == 1) {
            APR_ARRAY_PUSH(tseed_ctl.arguments, const char *) = optarg;
        } else {
            *problem = strchr(":?", key) ? find_fault(key == ':', argv[optind - 1])
                                         : take_option(find_row(key));
        }
    }
    return optind;
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
    const char *problem = NULL;
    int at;

    argv[0] = apr_pstrdup(pool, "tileseedctl");
    memcpy(argv + 1, words, sizeof(*argv) * (size_t)count);
    tseed_ctl = (tseed_ctl_t){.pool = pool,
                              .verbs = tseed_ctl.verbs,
                              .arguments = apr_array_make(pool, 4, sizeof(const char *)),
                              .parameters = apr_table_make(pool, 2)};
    at = read_words(&problem, count + 1, argv);
    if (!problem && at <= count) {
        for (int i = 1; (tseed_ctl.verb = verb_at(i)) && strcmp(tseed_ctl.verb->name, argv[at]);) {
            i++;
        }
        if (!tseed_ctl.verb) {
            return tseed_ctl_format("'%s' is no verb; tileseedctl --help lists them", argv[at]);
        }
        for (at += read_words(&problem, count + 1 - at, argv + at); at <= count; at++) {
            APR_ARRAY_PUSH(tseed_ctl.arguments, const char *) = argv[at]; /* behind two dashes */
        }
    }
    if (problem || tseed_ctl.wants_help || tseed_ctl.wants_version) {
        return problem;
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

/* ---- profiles ---- */

const char *tseed_ctl_profile_read(FILE *file, const char *name)
{
    char line[LINE_SIZE];

    while (file && fgets(line, sizeof(line), file)) {
        const char *whole = tseed_text_trim(line, strlen(line), tseed_ctl.pool);
        const char *word = tseed_ctl_format("%.*s", (int)strcspn(whole, " \t"), whole);
        const char *value = whole + strlen(word) + strspn(whole + strlen(word), " \t");
        const row_t *row = rows;

        while (row->value && strcmp(row->name, word) != 0) { /* the first have to do with it */
            row++;
        }
        if (row->value && *value) {
            *(const char **)row->to = *(const char **)row->to ? *(const char **)row->to : value;
        } else if (*whole && *whole != '#') {
            return tseed_ctl_format("%s: '%s' is not known; lines such as 'server URL' and "
                                    "'user NAME' are",
                                    name, whole);
        }
    }
    return NULL;
}

const char *tseed_ctl_server_check(const char *url)
{
    const char *host = strstr(url, "://");

    if (!host || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)) {
        return tseed_ctl_format("'%s' is no address of a REST interface; http://localhost/rest is",
                                url);
    }
    host += 3;
    return memchr(host, '@', strcspn(host, "/?#"))
               ? "an address holds no user and no password; use -u USER or ~/.netrc"
           : url[strcspn(url, "?# \t")] ? "an address of a REST interface has no query"
                                        : NULL;
}

/* ---- the request ---- */

/* Members that are one text each, by their name on the wire. */
static const struct {
    const char *name, **text;
    int is_asked; /* of an estimate, behind the type */
} members[] = {{"gridSetId", &tseed_ctl.gridset, 1},
               {"zoomStart", &tseed_ctl.zoom_start, 1},
               {"zoomStop", &tseed_ctl.zoom_stop, 1},
               {"format", &tseed_ctl.format, 1},
               {"type", &tseed_ctl.type, 0},
               {"threadCount", &tseed_ctl.threads, 1},
               {"totalFailuresBeforeAborting", &tseed_ctl.max_failures, 0}};
#define MEMBERS (sizeof(members) / sizeof(*members))

/* The four numbers of the box, with a text between each. */
static const char *say_box(const char *gap)
{
    const tseed_bounds_t *box = &tseed_ctl.bounds.box;

    return tseed_ctl_format("%s%s%s%s%s%s%s", tseed_text_number(box->minx, tseed_ctl.pool), gap,
                            tseed_text_number(box->miny, tseed_ctl.pool), gap,
                            tseed_text_number(box->maxx, tseed_ctl.pool), gap,
                            tseed_text_number(box->maxy, tseed_ctl.pool));
}

/* GeoWebCache wants a number of threads. */
const char *tseed_ctl_seed_xml(void)
{
    const char *xml = tseed_ctl_element("name", tseed_ctl_argument(0)), *entries = "";
    const apr_table_entry_t *entry;

    for (size_t i = 0; i < MEMBERS; i++) {
        const char *text = *members[i].text;

        xml = text ? tseed_ctl_format("%s%s", xml, tseed_ctl_element(members[i].name, text)) : xml;
    }
    xml = tseed_ctl.threads ? xml : tseed_ctl_format("%s<threadCount>1</threadCount>", xml);
    for (int i = 0; (entry = tseed_ctl_parameter(i)); i++) {
        entries = tseed_ctl_format("%s<entry>%s%s</entry>", entries,
                                   tseed_ctl_element("string", entry->key),
                                   tseed_ctl_element("string", entry->val));
    }
    if (tseed_ctl.bounds.is_given) {
        xml = tseed_ctl_format("%s<bounds><coords><double>%s</double></coords></bounds>", xml,
                               say_box("</double><double>"));
    }
    return tseed_ctl_format(*entries ? "<seedRequest>%s<parameters>%s</parameters></seedRequest>"
                                     : "<seedRequest>%s%s</seedRequest>",
                            xml, entries);
}

const char *tseed_ctl_seed_query(void)
{
    const char *query = tseed_ctl_format("type=%s", tseed_ctl.type);
    const apr_table_entry_t *entry;

    for (size_t i = 0; i < MEMBERS; i++) {
        if (members[i].is_asked && *members[i].text) {
            query = tseed_ctl_format("%s&%s=%s", query, members[i].name,
                                     tseed_ctl_segment(*members[i].text));
        }
    }
    if (tseed_ctl.bounds.is_given) {
        query = tseed_ctl_format("%s&bbox=%s", query, say_box(","));
    }
    for (int i = 0; (entry = tseed_ctl_parameter(i)); i++) {
        query = tseed_ctl_format("%s&parameter_%s=%s", query, tseed_ctl_segment(entry->key),
                                 tseed_ctl_segment(entry->val));
    }
    return query;
}

/* ---- help and completion ---- */

/* Prints a heading and a list in argp's form, unless there is none. Whether there is one. */
static int print_list(const char *heading, const struct argp_option *list)
{
    const struct argp argp = {.options = list};
    char name[] = "tileseedctl";

    if (list->name) {
        puts(heading);
        argp_help(&argp, stdout, ARGP_HELP_LONG, name);
    }
    return list->name != NULL;
}

/* A name, and what stands behind it: argp would set an equals sign between. */
static const char *name_with(const char *name, const char *value)
{
    return value && *value ? tseed_ctl_format("%s %s", name, value) : name;
}

/* A group of its own keeps each line in its place. */
static int print_options(const tseed_ctl_verb_t *verb, int are_common)
{
    struct argp_option list[ROWS + 1] = {{0}}, *end = list;

    for (const row_t *row = rows; row < rows + ROWS; row++) {
        if (fits(row, verb) && (row->verbs[0] == '\0') == are_common) {
            *end++ = (struct argp_option){.name = name_with(row->name, row->value),
                                          .key = key_of(row),
                                          .doc = row->help,
                                          .group = (int)(row - rows) + 1};
        }
    }
    return print_list(are_common ? "options of all verbs:" : "options:", list);
}

void tseed_ctl_help(const tseed_ctl_verb_t *verb)
{
    struct argp_option list[VERBS_MAX] = {{0}};

    if (verb) {
        printf("usage: tileseedctl [options] %s\n\n%s\n\n", name_with(verb->name, verb->arguments),
               verb->help);
        if (print_options(verb, 0)) {
            putchar('\n');
        }
        print_options(verb, 1);
        return;
    }
    for (int i = 1; i < VERBS_MAX && (verb = verb_at(i)); i++) {
        list[i - 1] = (struct argp_option){.name = name_with(verb->name, verb->arguments),
                                           .flags = OPTION_DOC,
                                           .doc = verb->help,
                                           .group = i};
    }
    print_list("usage: tileseedctl [options] VERB [arguments]\n\nverbs:", list);
    putchar('\n');
    print_options(NULL, 1);
    puts("\n\"tileseedctl VERB --help\" lists the options of a verb, tileseedctl(1) explains all.");
}

const char *tseed_ctl_complete(const char *last)
{
    const tseed_ctl_verb_t *verb = tseed_ctl.verb, *one;
    const size_t dashes = strnlen(last, 2);

    if (tseed_ctl.lacking) {
        return strcmp(tseed_ctl.lacking, "LAYER") == 0 ? "LAYER" : "";
    }
    for (const row_t *row = rows; row < rows + ROWS && last[0] == '-'; row++) {
        if (fits(row, verb) && strncmp("--", last, dashes) == 0 &&
            strncmp(row->name, last + dashes, strlen(last + dashes)) == 0) {
            printf("--%s\n", row->name);
        }
    }
    for (int i = 1; !verb && last[0] != '-' && (one = verb_at(i)); i++) {
        if (strncmp(one->name, last, strlen(last)) == 0) {
            puts(one->name);
        }
    }
    return verb && last[0] != '-' ? first_of(verb) : "";
}
