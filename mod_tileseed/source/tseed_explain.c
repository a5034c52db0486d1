/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Explains an answer that is no picture. Without a parser: such answers are often broken, cut short
 * or wrongly labelled, and only their words are wanted. */
#include "source/tseed_explain.h"

#include <apr_cstr.h>
#include <stdint.h>
#include <string.h>

#include "base/tseed_ascii.h"

#define READ_MAX 65536 /* bytes of a document that are looked at */

typedef struct {
    const unsigned char *at, *end;
} stretch_t;

/* The line that is written; runs of blanks become one, none stands at its ends. */
typedef struct {
    char *text;
    size_t size, length;
    int gap, full;
} line_t;

/* ---- characters ---- */

/* Controls of both sets, the no-break space, the line separators and the byte order mark. */
static int is_blank(uint32_t code)
{
    return code <= 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0x2028 || code == 0x2029 ||
           code == 0xFEFF;
}

static size_t encode(char bytes[4], uint32_t code)
{
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = count - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    bytes[0] = (char)(lead[count == 1 ? 0 : count] | code);
    return count;
}

static void put(line_t *line, uint32_t code)
{
    char bytes[4];
    size_t count;

    if (is_blank(code)) {
        line->gap = line->length > 0;
        return;
    }
    count = encode(bytes, code);
    if (line->full || line->length + (size_t)line->gap + count >= line->size) {
        line->full = 1;
        return;
    }
    if (line->gap) {
        line->text[line->length++] = ' ';
        line->gap = 0;
    }
    memcpy(line->text + line->length, bytes, count);
    line->length += count;
}

/* Bytes of a UTF-8 sequence by its first byte; 0: none begins so. */
static size_t sequence_length(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || first > 0xF4) {
        return 0;
    }
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

static int is_character(uint32_t code)
{
    return code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

/* A byte that belongs to no UTF-8 sequence is taken for ISO 8859-1, which old servers write. */
static uint32_t next_character(stretch_t *rest)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = rest->at++;
    size_t count = sequence_length(*at);
    uint32_t code = count > 1 ? *at & (0x7FU >> count) : *at;

    if (count < 2 || (size_t)(rest->end - at) < count) {
        return *at;
    }
    for (size_t i = 1; i < count; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return *at;
        }
        code = code << 6 | (at[i] & 0x3F);
    }
    if (code < smallest[count] || !is_character(code)) {
        return *at;
    }
    rest->at = at + count;
    return code;
}

/* ---- markup ---- */

static int begins(stretch_t rest, const char *word)
{
    size_t length = strlen(word);

    return (size_t)(rest.end - rest.at) >= length &&
           apr_cstr_casecmpn((const char *)rest.at, word, length) == 0;
}

/* The stretch before `word`, in any case; `rest` goes on behind it, or ends when there is none. */
static stretch_t cut_before(stretch_t *rest, const char *word)
{
    stretch_t before = *rest;

    while (rest->at < rest->end && !begins(*rest, word)) {
        rest->at++;
    }
    before.end = rest->at;
    if (rest->at < rest->end) {
        rest->at += strlen(word);
    }
    return before;
}

static int contains(stretch_t rest, const char *word)
{
    return cut_before(&rest, word).end < rest.end;
}

static void put_plain(line_t *line, stretch_t rest)
{
    while (rest.at < rest.end && !line->full) {
        put(line, next_character(&rest));
    }
}

typedef struct {
    const char *opens, *closes;
    int is_text; /* what stands between them is for people */
} markup_t;

/* The first that fits counts. */
static const markup_t markups[] = {
    {"<!--", "-->", 0},        {"<![CDATA[", "]]>", 1}, {"<script", "</script>", 0},
    {"<style", "</style>", 0}, {"<", ">", 0},
};

static void pass_markup(line_t *line, stretch_t *rest)
{
    const markup_t *markup = markups;
    stretch_t inside;

    while (!begins(*rest, markup->opens)) {
        markup++;
    }
    rest->at += strlen(markup->opens);
    inside = cut_before(rest, markup->closes);
    put(line, ' ');
    if (markup->is_text) {
        put_plain(line, inside);
    }
}

typedef struct {
    const char *name;
    uint32_t code;
} entity_t;

static const entity_t entities[] = {
    {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''},
};

/* "&#228;" or "&#xE4;". Returns 0 if it is neither. */
static int take_number(uint32_t *code, stretch_t *rest)
{
    int hex = begins(*rest, "&#x");
    const unsigned char *first, *at;
    uint32_t number = 0;

    if (!begins(*rest, "&#")) {
        return 0;
    }
    first = at = rest->at + (hex ? 3 : 2);
    for (; at < rest->end && (hex ? tseed_ascii_is_xdigit(*at) : tseed_ascii_is_digit(*at)); at++) {
        int digit = tseed_ascii_is_digit(*at) ? *at - '0' : (*at | 0x20) - 'a' + 10;

        number = number > 0x10FFFF ? number : number * (hex ? 16 : 10) + (uint32_t)digit;
    }
    if (at == first || at == rest->end || *at != ';') {
        return 0;
    }
    *code = is_character(number) ? number : '?';
    rest->at = at + 1;
    return 1;
}

/* Unknown entities stay as they are written. */
static uint32_t next_reference(stretch_t *rest)
{
    uint32_t code;

    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        if (begins(*rest, entities[i].name)) {
            rest->at += strlen(entities[i].name);
            return entities[i].code;
        }
    }
    return take_number(&code, rest) ? code : next_character(rest);
}

static void put_words(line_t *line, stretch_t rest)
{
    while (rest.at < rest.end && !line->full) {
        if (*rest.at == '<') {
            pass_markup(line, &rest);
        } else if (*rest.at == '&') {
            put(line, next_reference(&rest));
        } else {
            put(line, next_character(&rest));
        }
    }
}

/* ---- kinds ---- */

static int is_text_type(const char *type)
{
    return apr_cstr_casecmpn(type, "text/", 5) == 0 || tseed_ascii_find(type, "xml") ||
           tseed_ascii_find(type, "json");
}

static const char *kind_of_markup(stretch_t document, const char *type)
{
    if (tseed_ascii_find(type, "html") || begins(document, "<!doctype html") ||
        begins(document, "<html")) {
        return "an HTML page";
    }
    if (contains(document, "ServiceException") || contains(document, "ExceptionReport")) {
        return "an XML exception";
    }
    return "an XML document";
}

static stretch_t without_lead(const unsigned char *body, size_t length)
{
    stretch_t rest = {body, body + (length < READ_MAX ? length : READ_MAX)};
    stretch_t after = rest;

    while (rest.at < rest.end && is_blank(next_character(&after))) {
        rest.at = after.at;
    }
    return rest;
}

const char *tseed_explain(char *text, size_t size, const char *type, const unsigned char *body,
                          size_t length)
{
    line_t line = {.text = text, .size = size};
    stretch_t document = without_lead(body, length);
    const char *kind = NULL;

    if (begins(document, "<")) {
        kind = kind_of_markup(document, type);
        put_words(&line, document);
    } else if (is_text_type(type) && memchr(body, '\0', length)) {
        kind = "data called text";
    } else if (is_text_type(type)) {
        kind = "text";
        put_plain(&line, document);
    }
    text[line.length] = '\0';
    return kind;
}
