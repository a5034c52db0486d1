/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writing documents: one walk over UTF-8 with a writer for each format, and pieces of text in an
 * array, joined once. */
#include "protocol/tseed_write.h"

#include <apr_escape.h>
#include <apr_strings.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"

/* ---- text as pure ASCII ---- */

#define REPLACEMENT 0xFFFD
#define ELLIPSIS    0x2026

uint32_t tseed_utf8_next(const char **at)
{
    uint32_t c;
    const size_t length = tseed_text_utf8_read(&c, *at, SIZE_MAX);

    if (!**at) {
        return 0;
    }
    *at += length > 0 ? length : 1;
    return length > 0 ? c : REPLACEMENT;
}

/* Writes one character and returns the place behind it. */
typedef char *writer_t(char *out, uint32_t c);

/* Writes all of `text` and a NUL, and returns the NUL's place. */
static char *escape(char *out, const char *text, writer_t *write)
{
    uint32_t c;

    while ((c = tseed_utf8_next(&text)) != 0) {
        out = write(out, c);
    }
    *out = '\0';
    return out;
}

static char *write_json(char *out, uint32_t c)
{
    if (c == '"' || c == '\\') {
        *out++ = '\\';
    } else if (c > 0xFFFF) {
        return out + sprintf(out, "\\u%04x\\u%04x", 0xD800 + ((c - 0x10000) >> 10),
                             0xDC00 + ((c - 0x10000) & 0x3FF));
    } else if (c < 0x20 || c > 0x7E) {
        return out + sprintf(out, "\\u%04x", c);
    }
    *out++ = (char)c;
    return out;
}

const char *tseed_escape_json(const char *text, apr_pool_t *pool)
{
    char *escaped = apr_palloc(pool, 6 * strlen(text) + 3);

    escaped[0] = '"';
    strcpy(escape(escaped + 1, text, write_json), "\"");
    return escaped;
}

static int is_xml_character(uint32_t c)
{
    return c >= 0x20 ? c < 0xFFFE || c > 0xFFFF : c == '\t' || c == '\n' || c == '\r';
}

static char *write_xml(char *out, uint32_t c)
{
    if (!is_xml_character(c)) {
        c = REPLACEMENT;
    }
    if (c > 0x7E || strchr("<>&\"'\r", (int)c)) {
        return out + sprintf(out, "&#%u;", c);
    }
    *out++ = (char)c;
    return out;
}

const char *tseed_escape_xml(const char *text, apr_pool_t *pool)
{
    char *escaped = apr_palloc(pool, 8 * strlen(text) + 1);

    escape(escaped, text, write_xml);
    return escaped;
}

static char *write_plain(char *out, uint32_t c)
{
    if (c == ELLIPSIS) { /* no longer than its three bytes of UTF-8 */
        memcpy(out, "...", 3);
        return out + 3;
    }
    *out++ = c > 0x7E ? '?' : (char)c;
    return out;
}

const char *tseed_escape_plain(const char *text, apr_pool_t *pool)
{
    char *escaped = apr_palloc(pool, strlen(text) + 1);

    escape(escaped, text, write_plain);
    return escaped;
}

/* ---- JSON ---- */

static void put(tseed_json_t *json, const char *piece)
{
    APR_ARRAY_PUSH(json->pieces, const char *) = piece;
}

/* The comma before an entry, and its name. */
static void put_name(tseed_json_t *json, const char *name)
{
    const char *comma = json->has_entry ? "," : "";

    if (name) {
        put(json, apr_pstrcat(json->pool, comma, tseed_escape_json(name, json->pool), ":", NULL));
    } else {
        put(json, comma);
    }
    json->has_entry = 1;
}

tseed_json_t tseed_json_begin(apr_pool_t *pool)
{
    tseed_json_t json = {.pool = pool, .pieces = apr_array_make(pool, 64, sizeof(const char *))};

    tseed_json_open(&json, NULL, '{');
    return json;
}

const char *tseed_json_end(tseed_json_t *json)
{
    tseed_json_close(json, '}');
    return apr_array_pstrcat(json->pool, json->pieces, '\0');
}

void tseed_json_open(tseed_json_t *json, const char *name, char mark)
{
    put_name(json, name);
    put(json, mark == '{' ? "{" : "[");
    json->has_entry = 0;
}

void tseed_json_close(tseed_json_t *json, char mark)
{
    put(json, mark == '}' ? "}" : "]");
    json->has_entry = 1;
}

void tseed_json_raw(tseed_json_t *json, const char *name, const char *value)
{
    put_name(json, name);
    put(json, value ? value : "null");
}

void tseed_json_text(tseed_json_t *json, const char *name, const char *text)
{
    tseed_json_raw(json, name, text ? tseed_escape_json(text, json->pool) : NULL);
}

void tseed_json_words(tseed_json_t *json, const char *name, const char *text)
{
    tseed_json_text(json, name, text && *text ? text : NULL);
}

void tseed_json_number(tseed_json_t *json, const char *name, int64_t number)
{
    tseed_json_raw(json, name, apr_psprintf(json->pool, "%" APR_INT64_T_FMT, number));
}

void tseed_json_known(tseed_json_t *json, const char *name, int is_known, int64_t number)
{
    if (is_known) {
        tseed_json_number(json, name, number);
    } else {
        tseed_json_raw(json, name, NULL);
    }
}

void tseed_json_flag(tseed_json_t *json, const char *name, int flag)
{
    tseed_json_raw(json, name, flag ? "true" : "false");
}

void tseed_json_time(tseed_json_t *json, const char *name, apr_time_t time)
{
    tseed_json_text(json, name, time ? tseed_text_rfc3339(time, json->pool) : NULL);
}

void tseed_json_bounds(tseed_json_t *json, const char *name, const tseed_bounds_t *bounds)
{
    tseed_json_open(json, name, '[');
    tseed_json_raw(json, NULL, tseed_text_number(bounds->minx, json->pool));
    tseed_json_raw(json, NULL, tseed_text_number(bounds->miny, json->pool));
    tseed_json_raw(json, NULL, tseed_text_number(bounds->maxx, json->pool));
    tseed_json_raw(json, NULL, tseed_text_number(bounds->maxy, json->pool));
    tseed_json_close(json, ']');
}

void tseed_json_levels(tseed_json_t *json, const char *name, int first, int last)
{
    if (last < first) {
        tseed_json_raw(json, name, NULL);
        return;
    }
    tseed_json_open(json, name, '{');
    tseed_json_number(json, "zoomStart", first);
    tseed_json_number(json, "zoomStop", last);
    tseed_json_close(json, '}');
}

/* ---- XML ---- */

tseed_xml_t tseed_xml_begin(apr_pool_t *pool)
{
    return (tseed_xml_t){pool, apr_array_make(pool, 256, sizeof(const char *))};
}

void tseed_xml_put(const tseed_xml_t *xml, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    APR_ARRAY_PUSH(xml->pieces, const char *) = apr_pvsprintf(xml->pool, format, args);
    va_end(args);
}

const char *tseed_xml_end(const tseed_xml_t *xml)
{
    return apr_array_pstrcat(xml->pool, xml->pieces, '\0');
}

const char *tseed_xml_segment(const char *name, apr_pool_t *pool)
{
    return tseed_escape_xml(apr_pescape_path_segment(pool, name), pool);
}

int tseed_xml_epsg(const tseed_gridset_t *gridset)
{
    return tseed_srs_same(gridset->srs, 3857) ? 3857 : gridset->srs;
}

/* The entry of a code, a new one if there is none. */
static tseed_xml_box_t *find_box(apr_array_header_t *boxes, int epsg)
{
    tseed_xml_box_t *box;

    for (int i = 0; i < boxes->nelts; i++) {
        box = &APR_ARRAY_IDX(boxes, i, tseed_xml_box_t);
        if (box->epsg == epsg) {
            return box;
        }
    }
    box = apr_array_push(boxes);
    *box = (tseed_xml_box_t){epsg, 0, {INFINITY, INFINITY, -INFINITY, -INFINITY}};
    return box;
}

apr_array_header_t *tseed_xml_boxes(const tseed_layer_t *layer, int are_merged, apr_pool_t *pool)
{
    apr_array_header_t *boxes = apr_array_make(pool, 2, sizeof(tseed_xml_box_t));

    for (int i = 0; i < layer->subsets->nelts; i++) {
        const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t);
        const tseed_gridset_t *gridset = subset->gridset;
        tseed_xml_box_t *box = find_box(boxes, are_merged ? tseed_xml_epsg(gridset) : gridset->srs);

        box->north_east = gridset->north_east;
        box->bounds.minx = fmin(box->bounds.minx, subset->extent.minx);
        box->bounds.miny = fmin(box->bounds.miny, subset->extent.miny);
        box->bounds.maxx = fmax(box->bounds.maxx, subset->extent.maxx);
        box->bounds.maxy = fmax(box->bounds.maxy, subset->extent.maxy);
    }
    return boxes;
}

void tseed_xml_corners(const tseed_xml_t *xml, const tseed_bounds_t *box, int is_turned)
{
    const char *west = tseed_text_number(box->minx, xml->pool);
    const char *south = tseed_text_number(box->miny, xml->pool);
    const char *east = tseed_text_number(box->maxx, xml->pool);
    const char *north = tseed_text_number(box->maxy, xml->pool);

    tseed_xml_put(xml,
                  "<ows:LowerCorner>%s %s</ows:LowerCorner><ows:UpperCorner>%s %s"
                  "</ows:UpperCorner>",
                  is_turned ? south : west, is_turned ? west : south, is_turned ? north : east,
                  is_turned ? east : north);
}

/* ---- either format ---- */

tseed_either_t tseed_either_begin(tseed_format_of_body_t format, apr_pool_t *pool)
{
    return (tseed_either_t){format, 0, tseed_json_begin(pool), tseed_xml_begin(pool)};
}

const char *tseed_either_end(tseed_either_t *writer)
{
    return writer->format == TSEED_BODY_JSON ? tseed_json_end(&writer->json)
                                             : tseed_xml_end(&writer->xml);
}

void tseed_either_open(tseed_either_t *writer, const char *name, const char *json_name, char mark)
{
    if (writer->format == TSEED_BODY_JSON) {
        tseed_json_open(&writer->json, json_name, mark);
    } else {
        tseed_xml_put(&writer->xml, "%*s<%s>\n", 2 * writer->depth++, "", name);
    }
}

void tseed_either_close(tseed_either_t *writer, const char *name, char mark)
{
    if (writer->format == TSEED_BODY_JSON) {
        tseed_json_close(&writer->json, mark);
    } else {
        tseed_xml_put(&writer->xml, "%*s</%s>\n", 2 * --writer->depth, "", name);
    }
}

void tseed_either_raw(tseed_either_t *writer, const char *name, const char *value)
{
    const int indent = 2 * writer->depth;

    if (writer->format == TSEED_BODY_JSON) {
        tseed_json_raw(&writer->json, name, value);
    } else if (value) {
        tseed_xml_put(&writer->xml, "%*s<%s>%s</%s>\n", indent, "", name, value, name);
    } else {
        tseed_xml_put(&writer->xml, "%*s<%s/>\n", indent, "", name);
    }
}

void tseed_either_text(tseed_either_t *writer, const char *name, const char *text)
{
    const int is_json = writer->format == TSEED_BODY_JSON;

    tseed_either_raw(
        writer, name,
        !text ? NULL : (is_json ? tseed_escape_json : tseed_escape_xml)(text, writer->xml.pool));
}
