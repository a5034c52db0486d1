/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Explains an answer that is no picture. Without a parser: such answers are often broken, cut short
 * or wrongly labelled, and only their words are wanted. */
#include "source/tseed_explain.h"

#include <apr_cstr.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"

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

static void put(line_t *line, uint32_t code)
{
    char bytes[4];
    size_t count;

    if (is_blank(code)) {
        line->gap = line->length > 0;
        return;
    }
    count = tseed_text_utf8_write(bytes, code);
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

static int is_character(uint32_t code)
{
    return code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

/* A byte that belongs to no UTF-8 sequence is taken for ISO 8859-1, which old servers write. */
static uint32_t next_character(stretch_t *rest)
{
    uint32_t code;
    const size_t count = tseed_text_utf8_read(&code, rest->at, (size_t)(rest->end - rest->at));

    code = count > 0 ? code : *rest->at;
    rest->at += count > 0 ? count : 1;
    return code;
}

/* ---- references ---- */

size_t tseed_explain_reference(uint32_t *code, const char *text, size_t most)
{
    static const struct {
        const char *name;
        char character;
    } names[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    const int is_hex = most > 2 && (text[2] | 0x20) == 'x';
    const size_t first = is_hex ? 3 : 2;
    size_t at = first;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t length = strlen(names[i].name);

        if (most >= length && apr_cstr_casecmpn(text, names[i].name, length) == 0) {
            *code = (uint32_t)names[i].character;
            return length;
        }
    }
    if (most < first || memcmp(text, "&#", 2) != 0) {
        return 0;
    }
    *code = 0;
    for (; at < most && (is_hex ? tseed_ascii_is_xdigit(text[at]) : tseed_ascii_is_digit(text[at]));
         at++) {
        const int digit =
            tseed_ascii_is_digit(text[at]) ? text[at] - '0' : (text[at] | 0x20) - 'a' + 10;

        *code = *code > 0x10FFFF ? *code : *code * (is_hex ? 16 : 10) + (uint32_t)digit;
    }
    return at > first && at < most && text[at] == ';' ? at + 1 : 0;
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

/* Unknown entities stay as they are written. */
static uint32_t next_reference(stretch_t *rest)
{
    uint32_t code;
    const size_t length =
        tseed_explain_reference(&code, (const char *)rest->at, (size_t)(rest->end - rest->at));

    if (length == 0) {
        return next_character(rest);
    }
    rest->at += length;
    return is_character(code) ? code : '?';
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

/* ---- codes of exceptions ---- */

/* The value of an attribute of an element's tag; empty: there is none. */
static stretch_t value_of(stretch_t tag, const char *name)
{
    stretch_t value = {tag.end, tag.end};
    char quote[2] = "";

    cut_before(&tag, name);
    if (tag.at < tag.end && (*tag.at == '"' || *tag.at == '\'')) {
        quote[0] = (char)*tag.at++;
        value = contains(tag, quote) ? cut_before(&tag, quote) : value;
    }
    return value;
}

static void find_code(char *code, size_t size, const unsigned char *body, size_t length)
{
    line_t line = {.text = code, .size = size};
    stretch_t rest = {body, body + (length < READ_MAX ? length : READ_MAX)};

    while (rest.at < rest.end && line.length == 0) {
        stretch_t tag;

        cut_before(&rest, "<");
        tag = cut_before(&rest, ">");
        if (contains(tag, "Exception")) {
            put_plain(&line, value_of(tag, "code=")); /* OWS calls it exceptionCode= */
        }
    }
    code[line.length] = '\0';
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

/* The type that a body begins like; NULL: it is no picture. */
static const char *picture_type(stretch_t body)
{
    return begins(body, "\x89png\r\n")    ? "image/png"
           : begins(body, "\xFF\xD8\xFF") ? "image/jpeg"
           : begins(body, "gif8")         ? "image/gif"
           : begins(body, "riff")         ? "image/webp"
                                          : NULL;
}

static void put_wrong_type(line_t *line, const char *is, const char *called)
{
    const char *words[] = {is, " called ", called};

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        put_plain(line, (stretch_t){(const unsigned char *)words[i],
                                    (const unsigned char *)words[i] + strlen(words[i])});
    }
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

/* ---- UTF-16 ---- */

/* Where the low byte of each character is; -1: that is no text in UTF-16. Without a mark, its first
 * character says so. */
static int low_byte(const unsigned char *body, size_t length)
{
    if (length < 2) {
        return -1;
    }
    return (body[0] == 0xFF && body[1] == 0xFE) || (body[0] == '<' && body[1] == 0)   ? 0
           : (body[0] == 0xFE && body[1] == 0xFF) || (body[0] == 0 && body[1] == '<') ? 1
                                                                                      : -1;
}

/* The same text in UTF-8, malloc'd: what is needed to find words. Halves of what UTF-16 writes as
 * two become question marks. NULL: the body is not in UTF-16. */
static unsigned char *from_utf16(const unsigned char *body, size_t *length)
{
    const size_t most = *length < READ_MAX ? *length : READ_MAX;
    const int low = low_byte(body, *length);
    unsigned char *text = low < 0 ? NULL : tseed_memory_get(most * 2);

    *length = 0;
    for (size_t i = 0; text && i + 1 < most; i += 2) {
        uint32_t code = (uint32_t)body[i + 1 - (size_t)low] << 8 | body[i + (size_t)low];

        code = is_character(code) ? code : '?';
        *length += tseed_text_utf8_write((char *)text + *length, code);
    }
    return text;
}

static const char *explain(char *text, size_t size, const char *type, const unsigned char *body,
                           size_t length)
{
    line_t line = {.text = text, .size = size};
    stretch_t document = without_lead(body, length);
    const char *kind = NULL;

    if (begins(document, "<")) {
        kind = kind_of_markup(document, type);
        put_words(&line, document);
    } else if (is_text_type(type) && memchr(body, '\0', length)) {
        const char *picture = picture_type((stretch_t){body, body + length});

        kind = picture ? "a picture of a wrong type" : "data called text";
        if (picture) {
            put_wrong_type(&line, picture, type);
        }
    } else if (is_text_type(type)) {
        kind = "text";
        put_plain(&line, document);
    }
    text[line.length] = '\0';
    return kind;
}

const char *tseed_explain(char *text, size_t size, const char *type, const unsigned char *body,
                          size_t length)
{
    size_t decoded_length = length;
    unsigned char *decoded = from_utf16(body, &decoded_length);
    const char *kind = decoded ? explain(text, size, type, decoded, decoded_length)
                               : explain(text, size, type, body, length);

    free(decoded);
    return kind;
}

void tseed_explain_code(char *code, size_t size, const unsigned char *body, size_t length)
{
    size_t decoded_length = length;
    unsigned char *decoded = from_utf16(body, &decoded_length);

    find_code(code, size, decoded ? decoded : body, decoded ? decoded_length : length);
    free(decoded);
}
