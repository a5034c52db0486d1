/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writes JSON, member by member, without white space. Commas come by themselves. Private to the
 * protocol room. A document is written by one thread, into one pool. */
#ifndef TSEED_JSON_WRITE_H
#define TSEED_JSON_WRITE_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <apr_time.h>
#include <stdint.h>

#include "tiling/tseed_gridset.h"

/* A document in the making: pieces of text in its pool. */
typedef struct {
    apr_pool_t *pool;
    apr_array_header_t *pieces;
    int has_entry; /* what is open has one: a comma comes before the next */
} tseed_json_t;

/* A document in `pool`: an object, which is open. */
tseed_json_t tseed_json_begin(apr_pool_t *pool);

/* Closes the object and gives the whole text, in the pool of its beginning. */
const char *tseed_json_end(tseed_json_t *json);

/* Opens an object ('{') or a list ('['), closes the innermost one ('}' or ']'). In all of these
 * `name` is NULL for an entry of a list. */
void tseed_json_open(tseed_json_t *json, const char *name, char mark);
void tseed_json_close(tseed_json_t *json, char mark);

/* A value that is JSON already; NULL: null. */
void tseed_json_raw(tseed_json_t *json, const char *name, const char *value);

/* A text. tseed_json_text writes null for NULL, tseed_json_words for "" as well. */
void tseed_json_text(tseed_json_t *json, const char *name, const char *text);
void tseed_json_words(tseed_json_t *json, const char *name, const char *text);

/* A number; tseed_json_known writes null unless it `is_known`. */
void tseed_json_number(tseed_json_t *json, const char *name, int64_t number);
void tseed_json_known(tseed_json_t *json, const char *name, int is_known, int64_t number);

/* true or false. */
void tseed_json_flag(tseed_json_t *json, const char *name, int flag);

/* A time as RFC 3339 has it; 0: null. */
void tseed_json_time(tseed_json_t *json, const char *name, apr_time_t time);

/* The list minx, miny, maxx, maxy. */
void tseed_json_bounds(tseed_json_t *json, const char *name, const tseed_bounds_t *bounds);

/* The zoom levels first .. last as an object; null: there are none, because last < first. */
void tseed_json_levels(tseed_json_t *json, const char *name, int first, int last);

#endif
