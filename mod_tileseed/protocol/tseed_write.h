/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writing documents: JSON member by member and XML piece by piece, without white space, and what
 * the documents of the tile services have in common.
 *
 * All is pure ASCII, so that no reader can get its encoding wrong. Every `text` is taken for UTF-8;
 * a byte that is not part of it counts as U+FFFD. A document is written by one thread, into one
 * pool. */
#ifndef TSEED_WRITE_H
#define TSEED_WRITE_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <apr_time.h>
#include <stdint.h>

#include "layer/tseed_layer.h"
#include "tiling/tseed_gridset.h"
#include "tiling/tseed_range.h"

/* ---- text: pure functions, results live in `pool` ---- */

/* The character at *at, which moves on behind it; 0 at the end, where it stays. U+FFFD for a byte
 * that is no UTF-8 (overlong forms and surrogates are none). */
uint32_t tseed_utf8_next(const char **at);

/* A JSON string, quotes included: beyond U+007F and below U+0020 \uXXXX. */
const char *tseed_escape_json(const char *text, apr_pool_t *pool);

/* Content of an element or attribute, XML or HTML: characters beyond U+007F become &#n;. Characters
 * that XML 1.0 can't hold become U+FFFD. */
const char *tseed_escape_xml(const char *text, apr_pool_t *pool);

/* Plain text: "..." for an ellipsis, else beyond U+007F one `?` a character. */
const char *tseed_escape_plain(const char *text, apr_pool_t *pool);

/* ---- JSON; commas come by themselves ---- */

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

/* ---- XML ---- */

#define TSEED_XML_PROLOG "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

/* A document in the making: pieces of text in its pool. */
typedef struct {
    apr_pool_t *pool;
    apr_array_header_t *pieces;
} tseed_xml_t;

/* An empty document, in `pool`. */
tseed_xml_t tseed_xml_begin(apr_pool_t *pool);

/* Adds formatted text as it is: the caller passes names through tseed_escape_xml. */
void tseed_xml_put(const tseed_xml_t *xml, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The whole text, in the pool of its beginning. */
const char *tseed_xml_end(const tseed_xml_t *xml);

/* Escaped as a part of an address, and then for XML. */
const char *tseed_xml_segment(const char *name, apr_pool_t *pool);

/* The system's code as others know it: 3857 for all its names. */
int tseed_xml_epsg(const tseed_gridset_t *gridset);

/* The ground of a layer in one reference system. */
typedef struct {
    int epsg;
    int north_east; /* the system's own order of axes */
    tseed_bounds_t bounds;
} tseed_xml_box_t;

/* A layer's reference systems, each once, with a box around the extents of all its grid sets in
 * that system. Array of tseed_xml_box_t in `pool`. `are_merged`: systems are one when
 * tseed_xml_epsg says so, else when their configured codes are equal. */
apr_array_header_t *tseed_xml_boxes(const tseed_layer_t *layer, int are_merged, apr_pool_t *pool);

/* The corners of a bounding box of OWS; `is_turned`: the northing stands first. */
void tseed_xml_corners(const tseed_xml_t *xml, const tseed_bounds_t *box, int is_turned);

/* ---- either format, of documents that clients get in both; XML is indented ---- */

typedef enum { TSEED_BODY_XML, TSEED_BODY_JSON } tseed_format_of_body_t;

typedef struct {
    tseed_format_of_body_t format;
    int depth; /* XML: of indentation */
    tseed_json_t json;
    tseed_xml_t xml;
} tseed_either_t;

/* A document in `pool`, and its whole text. */
tseed_either_t tseed_either_begin(tseed_format_of_body_t format, apr_pool_t *pool);
const char *tseed_either_end(tseed_either_t *writer);

/* Opens an element that is an object ('{') or a list ('[') in JSON, with the name `json_name`
 * (NULL: an entry of a list), and closes it ('}' or ']'). */
void tseed_either_open(tseed_either_t *writer, const char *name, const char *json_name, char mark);
void tseed_either_close(tseed_either_t *writer, const char *name, char mark);

/* A member whose text is already what the format wants, or any text; NULL: null, an empty
 * element. */
void tseed_either_raw(tseed_either_t *writer, const char *name, const char *value);
void tseed_either_text(tseed_either_t *writer, const char *name, const char *text);

#endif
