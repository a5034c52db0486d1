/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Members of a JSON object, written piece by piece into an array of const char * and joined once.
 * Each begins with a comma. Private to the protocol room. Pure functions; pieces live in the pool
 * of the array. */
#ifndef TSEED_PIECES_H
#define TSEED_PIECES_H

#include <apr_strings.h>
#include <apr_tables.h>

#include "base/tseed_text.h"
#include "protocol/tseed_escape.h"

/* A piece as it is, which lives as long as the array. */
static inline void add(apr_array_header_t *pieces, const char *piece)
{
    APR_ARRAY_PUSH(pieces, const char *) = piece;
}

/* Empty or NULL: null. */
static inline void add_string(apr_array_header_t *pieces, const char *name, const char *text)
{
    add(pieces, apr_psprintf(pieces->pool, ",\"%s\":%s", name,
                             text && *text ? tseed_escape_json(text, pieces->pool) : "null"));
}

/* A member that is a number. */
static inline void add_number(apr_array_header_t *pieces, const char *name, int64_t number)
{
    add(pieces, apr_psprintf(pieces->pool, ",\"%s\":%" APR_INT64_T_FMT, name, number));
}

/* 0: null. */
static inline void add_time(apr_array_header_t *pieces, const char *name, apr_time_t time)
{
    add_string(pieces, name, time ? tseed_text_rfc3339(time, pieces->pool) : NULL);
}

#endif
