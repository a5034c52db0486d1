/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What people see: lines, tables, questions, and numbers in words. All that a server or a user has
 * said goes out through this file, which takes from it what a terminal would obey: no caller has to
 * think of that. Main thread; results and scratch live in `pool`. */
#ifndef TSEED_CTL_PRINT_H
#define TSEED_CTL_PRINT_H

#include <apr_pools.h>
#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Prints one line: on standard output, on standard error, or there behind the program's name. In it
 * control characters, ends of lines too, and marks that turn the direction of writing become `?`;
 * bytes that are not UTF-8 become U+FFFD. */
void tseed_ctl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tseed_ctl_note(const char *line);
void tseed_ctl_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Passes on what the server has said, up to the NUL behind it: byte for byte, but to a terminal as
 * above, with its tabs and lines. */
void tseed_ctl_pass(const char *text, size_t length);

/* Whether standard error is a terminal. */
int tseed_ctl_is_terminal(void);

/* Draws a line over the one before, on standard error, which is a terminal. */
void tseed_ctl_redraw(const char *line, apr_pool_t *pool);

/* Erases the line that was drawn, if standard error is a terminal. */
void tseed_ctl_release(void);

/* Erases the screen, if standard output is a terminal. */
void tseed_ctl_erase_screen(void);

/* Asks a question that wants yes or no: 1, 0, or -1 when nobody is there to answer. */
int tseed_ctl_question(const char *question);

/* Asks for a password at the terminal, unseen. In `pool`; NULL: there is no terminal, or the user
 * has pressed Ctrl-C. */
const char *tseed_ctl_ask_password(const char *prompt, apr_pool_t *pool);

/* A column of a table: a member of each entry, or what `say` makes of the entry in `pool`. */
typedef struct tseed_ctl_column_t {
    const char *heading; /* "SIZE>": set to the right */
    const char *member, *absent;
    const char *(*say)(json_object *entry, const struct tseed_ctl_column_t *column,
                       apr_pool_t *pool);
} tseed_ctl_column_t;

/* Prints a list as a table, or `empty` for an empty one. The columns end with one of zeros. Scratch
 * in `pool`. */
void tseed_ctl_print_table(json_object *list, const tseed_ctl_column_t *columns, const char *empty,
                           apr_pool_t *pool);

/* For a column: the member as a count. In `pool`. */
const char *tseed_ctl_say_count(json_object *entry, const tseed_ctl_column_t *column,
                                apr_pool_t *pool);

/* A count: "9999", "12.3k", "1.37M". In `pool`. */
const char *tseed_ctl_count(int64_t number, apr_pool_t *pool);

/* A share: "61.3 %". It is cut and not rounded, so that 100.0 % means all. In `pool`. */
const char *tseed_ctl_share(int64_t part, int64_t whole, apr_pool_t *pool);

/* "12 s", "35 min", "2 h 05 min", "3 d 4 h". In `pool`. */
const char *tseed_ctl_seconds(double seconds, apr_pool_t *pool);

/* "0.5/s", "412/s". In `pool`. */
const char *tseed_ctl_rate(double per_second, apr_pool_t *pool);

#endif
