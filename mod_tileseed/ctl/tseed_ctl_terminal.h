/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The terminal: a line that is drawn again and again, questions, and tables. Main thread. */
#ifndef TSEED_CTL_TERMINAL_H
#define TSEED_CTL_TERMINAL_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <stdio.h>

/* How many columns the terminal of a stream has; 0: the stream goes elsewhere. */
int tseed_ctl_columns(FILE *stream);

/* Writes what the server has said to standard output: byte for byte, but to a terminal without what
 * it would obey. Scratch in `pool`. */
void tseed_ctl_write(const char *text, size_t length, apr_pool_t *pool);

/* Draws a line over the one before, on standard error, which is a terminal. Scratch in `pool`. */
void tseed_ctl_redraw(const char *line, apr_pool_t *pool);

/* Begins a new line behind what was drawn, if that is not empty. */
void tseed_ctl_release(void);

/* Asks a question that wants yes or no: 1, 0, or -1 when nobody is there to answer. */
int tseed_ctl_confirm(const char *question);

/* Asks for a password at the terminal, unseen. In `pool`; NULL: there is no terminal, or the user
 * has pressed Ctrl-C. */
const char *tseed_ctl_ask_password(const char *prompt, apr_pool_t *pool);

/* A table in the making. */
typedef struct {
    int columns;
    unsigned rights;           /* bit i: column i is set to the right */
    apr_array_header_t *cells; /* of const char *, row by row */
    apr_pool_t *pool;
} tseed_ctl_table_t;

/* A table with its heading: names of columns, separated by blanks. A column whose name ends with
 * '>' is set to the right. In `pool`. */
tseed_ctl_table_t *tseed_ctl_table_create(const char *heading, apr_pool_t *pool);

/* Adds the next cell of the row; in the last column a new row begins. The text is clean and
 * outlives the table. */
void tseed_ctl_table_add(tseed_ctl_table_t *table, const char *text);

/* Prints the table, if it has a row, else `empty`. */
void tseed_ctl_table_print(const tseed_ctl_table_t *table, const char *empty);

#endif
