/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Text as pure ASCII: one walk over UTF-8, one writer for each format. */
#include "protocol/tseed_escape.h"

#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"

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
