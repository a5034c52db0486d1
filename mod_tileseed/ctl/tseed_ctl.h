/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* tileseedctl: one process, one thread, one verb, one server. What all of it needs stands in the
 * one variable of this room, `tseed_ctl`: the user's words, and the pool. A function "or ends" the
 * process, after a complaint, with the code that the manual page names; a verb ends by returning or
 * that way. Results live in tseed_ctl.pool, which lives as long as the process; a loop puts a pool
 * of its own in its place, which it clears before each round. */
#ifndef TSEED_CTL_H
#define TSEED_CTL_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <apr_time.h>
#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "protocol/tseed_document.h"
#include "tiling/tseed_gridset.h"

typedef enum {
    TSEED_CTL_DONE = 0,
    TSEED_CTL_FAILURES = 1, /* done, but tiles failed */
    TSEED_CTL_USAGE = 2,
    TSEED_CTL_ABORTED = 3,
    TSEED_CTL_NO_ANSWER = 4,
    TSEED_CTL_DENIED = 5,
    TSEED_CTL_NOT_FOUND = 6,
    TSEED_CTL_CONFLICT = 7,
    TSEED_CTL_NO_ROOM = 8,
    TSEED_CTL_TIMEOUT = 124, /* as of timeout(1) */
    TSEED_CTL_INTERRUPTED = 130
} tseed_ctl_exit_t;

/* ---- the command line (tseed_ctl_options.c) ---- */

typedef struct {
    int place; /* in the list of all verbs, from 1 without a gap */
    const char *name;
    const char *arguments; /* for people: "LAYER"; in brackets: none will do; "...": one or more */
    const char *help;
    void (*run)(void);
} tseed_ctl_verb_t;

/* The verbs of the files that have some; one without a name ends them. */
extern const tseed_ctl_verb_t tseed_ctl_task_verbs[], tseed_ctl_seed_verbs[],
    tseed_ctl_quota_verbs[], tseed_ctl_server_verbs[];

/* No number counts unless the box is given. */
typedef struct {
    int is_given;
    tseed_bounds_t box;
} tseed_ctl_box_t;

/* The pool, the verbs, and what the user has given; all else is zero. Texts point into the command
 * line; those that are numbers and ids have been checked. */
typedef struct {
    apr_pool_t *pool;
    const tseed_ctl_verb_t *const *verbs; /* of each file; NULL ends them */
    const tseed_ctl_verb_t *verb;         /* NULL: none */
    int wants_help, wants_version, is_completing;
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
} tseed_ctl_t;

extern tseed_ctl_t tseed_ctl;

/* Reads words such as argv + 1 into tseed_ctl, of which only the pool and the verbs
 * stay. NULL or a sentence. */
const char *tseed_ctl_options_read(int count, const char *const *words);

/* The argument of that index, or NULL; an entry of the parameters, or NULL. */
const char *tseed_ctl_argument(int index);
const apr_table_entry_t *tseed_ctl_parameter(int index);

/* Whether the verb is the one of that name. */
int tseed_ctl_verb_is(const char *name);

/* Reads lines such as "server http://localhost/rest": the name of a long option without its dashes,
 * and its value. An option that is set already stays as it is. `file` may be NULL, `name` is its
 * name, for sentences. NULL or a sentence. */
const char *tseed_ctl_profile_read(FILE *file, const char *name);

/* NULL, or a sentence when the address is none of a REST interface or holds a password. */
const char *tseed_ctl_server_check(const char *url);

/* The seed request that the user's words describe, whose box is in units of the grid set: as a
 * document, and as what stands behind the question mark. */
const char *tseed_ctl_seed_xml(void);
const char *tseed_ctl_seed_query(void);

/* Prints the help of a verb, or of all (NULL). */
void tseed_ctl_help(const tseed_ctl_verb_t *verb);

/* Prints the options, or the verbs, that the last word of an unfinished command line begins. The
 * words before it were read. Returns what the word may name besides: the text begins with "LAYER",
 * for instance. */
const char *tseed_ctl_complete(const char *last);

/* ---- the server (tseed_ctl_http.c) ---- */

typedef struct {
    const char *method; /* NULL: GET */
    const char *path;   /* behind the server's address, without a slash */
    const char *body, *type;
    const char *key; /* the Idempotency-Key, or NULL */
} tseed_ctl_request_t;

typedef struct {
    tseed_ctl_exit_t code; /* what it stands for */
    const char *problem;   /* what is wrong, in a line; TSEED_CTL_DONE: with its document */
    int status;            /* of HTTP; 0: no answer came */
    int is_lost;           /* then: the server may have got the request */
    const char *path;
    const char *body; /* ends with a NUL */
    size_t length;
    const char *type, *task, *warning, *redirect; /* headers, or NULL */
} tseed_ctl_answer_t;

/* Completes the options by the environment and by files, and readies the connection, or ends. A
 * password comes from a file or from the terminal, never from a command line, which all users of
 * the machine can read. */
void tseed_ctl_profile(void);

/* Sends a request and waits for the answer. Redirects are not followed: they would take the
 * credentials along. The second: of a method (NULL: GET), with a body of a type or without one
 * (NULL), to the path that a format makes. */
tseed_ctl_answer_t *tseed_ctl_ask(const tseed_ctl_request_t *request);
tseed_ctl_answer_t *tseed_ctl_send(const char *method, const char *type, const char *body,
                                   const char *format, ...) __attribute__((format(printf, 4, 5)));
#define tseed_ctl_get(...) tseed_ctl_send(NULL, NULL, NULL, __VA_ARGS__)

/* The code of an answer; says what is wrong, if anything is. The second ends then. */
tseed_ctl_exit_t tseed_ctl_refused(const tseed_ctl_answer_t *answer);
void tseed_ctl_expect(const tseed_ctl_answer_t *answer);

/* The object of an answer; NULL: none, and its problem is a sentence. The second ends then; the
 * third too, and with --json it prints the body and ends. */
json_object *tseed_ctl_document(tseed_ctl_answer_t *answer);
json_object *tseed_ctl_read(tseed_ctl_answer_t *answer);
json_object *tseed_ctl_take(tseed_ctl_answer_t *answer);

/* The tree of an XML document with one of those roots (NULL ends them), which is else said to be
 * `no`: or it ends. */
const tseed_node_t *tseed_ctl_read_xml(const tseed_ctl_answer_t *answer, const char *const *roots,
                                       const char *no);

/* Says what happens after a request, unless nobody wants to know; ends when it was refused. */
void tseed_ctl_tell(const tseed_ctl_answer_t *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* From now on Ctrl-C does not end the process: the kernel keeps the signal, no handler runs, and
 * the program fetches the signal where it can act on it: it waits so long for a Ctrl-C. Whether one
 * came. */
void tseed_ctl_interrupt_hold(void);
int tseed_ctl_interrupted(apr_interval_time_t time);

/* ---- what people see (tseed_ctl_print.c) ----
 * All that a server or a user has said goes out through these, which take from it what a terminal
 * would obey: control characters, ends of lines too, and marks that turn the direction of writing
 * become `?`; bytes that are not UTF-8 become U+FFFD. No caller has to think of that. */

/* Prints one line: on standard output, on standard error, or there behind the program's name. */
void tseed_ctl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tseed_ctl_note(const char *line);
void tseed_ctl_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the process with a code, or with another one if standard output could not be written: what
 * could not be written was not said. The second complains before. */
__attribute__((noreturn)) void tseed_ctl_end(int code);
__attribute__((noreturn, format(printf, 2, 3))) void tseed_ctl_fail(tseed_ctl_exit_t code,
                                                                    const char *format, ...);
#define tseed_ctl_misuse(...) tseed_ctl_fail(TSEED_CTL_USAGE, __VA_ARGS__)

/* Passes on what the server has said, up to the NUL behind it: byte for byte, but to a terminal as
 * above, with its tabs and lines. */
void tseed_ctl_pass(const char *text, size_t length);

/* Draws a line over the one before, on standard error, which is a terminal; erases the line. */
void tseed_ctl_redraw(const char *line);
void tseed_ctl_release(void);

/* Asks a question that wants yes, unless the user has said it. If the answer is no, or nobody is
 * there to answer, it says that nothing was `done`, or that `what` needs --yes, and ends. */
void tseed_ctl_confirm(const char *question, const char *what, const char *done);

/* Asks for a password at the terminal, unseen. NULL: there is no terminal, or the user has pressed
 * Ctrl-C. */
const char *tseed_ctl_ask_password(const char *prompt);

/* A text by a format; an element of XML with a text; a name as a segment of a path or as a value of
 * a query. */
const char *tseed_ctl_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *tseed_ctl_element(const char *name, const char *text);
const char *tseed_ctl_segment(const char *name);

/* A share: "61.3 %". It is cut and not rounded, so that 100.0 % means all. */
const char *tseed_ctl_share(int64_t part, int64_t whole);

/* A text by a template, which takes members of an object.
 *
 *     {name}  {list.name}     its text; a list as "a, b", an object as "NAME=VALUE, ..."
 *     {name|-}                `-` when it is absent or null, else `?`
 *     {name:count}            a number that is not below 0: count "1.37M", rate "412/s", bytes and
 *                             size "1.5 GiB", time "2 h 05 min", lease "1.5 s"; number (a count)
 *                             and positive are absent when they are 0
 *     {name:of/all}           as a share of another member; absent when that is 0
 *     {names*{name} {other}}  a template for each entry of a list
 *     [, {name} made]         left out when the member is absent or "" */
const char *tseed_ctl_fill(json_object *object, const char *template);

/* Prints a list as a table, or `empty` for an empty one. A column is two texts, a heading ("SIZE>":
 * set to the right) and a template for each entry; NULL ends them. */
void tseed_ctl_print_table(json_object *list, const char *const *columns, const char *empty);

/* ---- the server's documents (tseed_ctl_print.c) ----
 * A member that is missing or null has the value that the caller names, because a server may be
 * older than this client. */

/* Reads a document, which must be an object, from a text that ends with a NUL. NULL: *problem is a
 * sentence; so a document ends that would take more than TSEED_CTL_MEMORY_MAX when it is read. */
#define TSEED_CTL_MEMORY_MAX ((size_t)256 << 20)
json_object *tseed_ctl_json_read(const char *text, size_t length, const char **problem);

/* The rows of a status list {"long-array-array":[[processed,all,,id,state],...]} as a list of tasks
 * with five members; NULL: the document is something else. */
json_object *tseed_ctl_rows(json_object *document);

/* Gives an object to the pool. Returns it. */
json_object *tseed_ctl_keep(json_object *object);

/* The member; its text as it was sent; whether the text is `value`; the whole number it is. */
json_object *tseed_ctl_part(json_object *object, const char *name);
const char *tseed_ctl_text(json_object *object, const char *name, const char *absent);
int tseed_ctl_is(json_object *object, const char *name, const char *value);
int64_t tseed_ctl_number(json_object *object, const char *name, int64_t absent);

/* The entry of that index in a list, which is a member or (NULL) the object; NULL: none. The
 * second: the entry that has a member of that name, or the first one (NULL). */
json_object *tseed_ctl_entry(json_object *object, const char *list, size_t index);
json_object *tseed_ctl_find(json_object *object, const char *list, const char *member,
                            const char *name);

/* ---- tasks, for those who wait (tseed_ctl_tasks.c) ---- */

/* A box in degrees as a box of a system that is longitude and latitude or web mercator, or
 * (is_back) the reverse. 0, or -1: the system is another one. */
int tseed_ctl_project(tseed_bounds_t *to, int64_t srs, const tseed_bounds_t *from, int is_back);

/* How far a task is, in one line: "z14  61.3 %  1.37M/2.24M tiles  412/s  ETA 35 min  failed 2
 * (HTTP 500)"; the level only where the document has `levels`. `cause` is why metatiles failed, or
 * NULL. And how it ended: "task 7 done: 341 tiles, 329 made, 12 skipped; ...". */
const char *tseed_ctl_progress(json_object *task, const char *cause);
const char *tseed_ctl_result(json_object *task);

/* Whether the task waits for the disk quota, or for room on the disk. */
int tseed_ctl_is_at_quota(json_object *task);

#endif
