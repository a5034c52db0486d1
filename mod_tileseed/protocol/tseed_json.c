/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* JSON to a tree, as people really send it.
 *
 * No JSON library takes what a shell leaves of -d "{"seedRequest":{…}}", so this is a reader of its
 * own. Beyond RFC 8259: single quotes, bare names and words, one trailing comma, and whatever
 * follows the root's closing brace. Stricter than most: a member may stand once in its object.
 */
#include <apr_hash.h>
#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "protocol/tseed_reader.h"

/* What ends a bare word; a colon ends a name only ("topp:states" is a value). */
#define BLANKS_AND_MARKS " \t\r\n,{}[]\"'"

typedef struct {
    const char *at, *end;
    int line;
    int depth; /* open braces and brackets */
    const char *problem;
    apr_pool_t *pool;
} reader_t;

static int read_value(reader_t *reader, tseed_node_t *node);

/* Notes the problem; always -1, for `return fail(…)`. */
static int fail(reader_t *reader, const char *what)
{
    reader->problem = apr_psprintf(reader->pool, "The body is not well-formed JSON, line %d: %s",
                                   reader->line, what);
    return -1;
}

/* What should have stood here, and what does. */
static int fail_expected(reader_t *reader, const char *what)
{
    size_t left = (size_t)(reader->end - reader->at);
    const char *found;

    if (left == 0) {
        return fail(reader,
                    apr_pstrcat(reader->pool, what, " expected, but the body ends here", NULL));
    }
    found = apr_pstrmemdup(reader->pool, reader->at, left < 20 ? left : 20);
    return fail(reader, apr_psprintf(reader->pool, "%s expected before '%.*s'", what,
                                     (int)strcspn(found, "\r\n"), found));
}

static void skip_space(reader_t *reader)
{
    while (reader->at < reader->end && memchr(" \t\r\n", *reader->at, 4)) {
        reader->line += *reader->at == '\n';
        reader->at++;
    }
}

/* Whether this character comes next, after white space. */
static int is_next(reader_t *reader, char c)
{
    skip_space(reader);
    return reader->at < reader->end && *reader->at == c;
}

/* Goes on over it, if it does. */
static int take(reader_t *reader, char c)
{
    int taken = is_next(reader, c);

    reader->at += taken;
    return taken;
}

/* Over an opening brace or bracket. */
static int enter(reader_t *reader)
{
    reader->at++;
    if (++reader->depth > TSEED_DOCUMENT_DEPTH) {
        return fail(reader, apr_psprintf(reader->pool, "nested deeper than %d levels",
                                         TSEED_DOCUMENT_DEPTH));
    }
    return 0;
}

/* Whether an entry of an object or list is followed as it must be: by a comma or the end. */
static int check_separator(reader_t *reader, char close)
{
    if (take(reader, ',') || is_next(reader, close)) {
        return 0;
    }
    return fail_expected(reader, close == '}' ? "',' or '}'" : "',' or ']'");
}

/* ---- texts ---- */

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xC0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *out++ = (char)(0xE0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3F));
        *out++ = (char)(0x80 | (c & 0x3F));
    } else {
        *out++ = (char)(0xF0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3F));
        *out++ = (char)(0x80 | (c >> 6 & 0x3F));
        *out++ = (char)(0x80 | (c & 0x3F));
    }
    return out;
}

/* The four digits behind \u, or -1. */
static int32_t hex4(const char *at, const char *end)
{
    int32_t value = 0;

    if (end - at < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        if (!apr_isxdigit(at[i])) {
            return -1;
        }
        value = value << 4 | (apr_isdigit(at[i]) ? at[i] - '0' : apr_tolower(at[i]) - 'a' + 10);
    }
    return value;
}

/* The character of a \u at `at` (behind the u) and, for a surrogate, its partner. Returns the place
 * behind, or NULL: a NUL and half a pair stand for no character. */
static const char *read_unicode(uint32_t *c, const char *at, const char *end)
{
    int32_t first = hex4(at, end), second;

    if (first <= 0 || (first >= 0xDC00 && first <= 0xDFFF)) {
        return NULL;
    }
    *c = (uint32_t)first;
    if (first < 0xD800 || first > 0xDFFF) {
        return at + 4;
    }
    if (end - at < 10 || at[4] != '\\' || at[5] != 'u') {
        return NULL;
    }
    second = hex4(at + 6, end);
    if (second < 0xDC00 || second > 0xDFFF) {
        return NULL;
    }
    *c = 0x10000 + ((uint32_t)(first - 0xD800) << 10) + (uint32_t)(second - 0xDC00);
    return at + 10;
}

/* What the escape at `at` (behind the backslash) stands for. Returns the place behind, or NULL. */
static const char *read_escape(uint32_t *c, const char *at, const char *end)
{
    static const char letters[] = "\"'\\/bfnrt", meanings[] = "\"'\\/\b\f\n\r\t";
    const char *letter;

    if (at == end) {
        return NULL;
    }
    if (*at == 'u') {
        return read_unicode(c, at + 1, end);
    }
    letter = memchr(letters, *at, sizeof(letters) - 1);
    if (!letter) {
        return NULL;
    }
    *c = (uint32_t)meanings[letter - letters];
    return at + 1;
}

static int is_utf8(const char *text)
{
    const char *at = text;

    for (;;) {
        const char *before = at;
        uint32_t c = tseed_utf8_next(&at);

        if (c == 0) {
            return 1;
        }
        if (c == 0xFFFD && at - before == 1) { /* U+FFFD itself has three bytes */
            return 0;
        }
    }
}

/* begin..end with its escapes undone, which never makes it longer. */
static int unescape(reader_t *reader, const char **text, const char *begin, const char *end)
{
    char *out = apr_palloc(reader->pool, (apr_size_t)(end - begin) + 1);

    *text = out;
    while (begin < end) {
        uint32_t c;

        if ((unsigned char)*begin < 0x20) {
            return fail(reader, "a control character within a text");
        }
        if (*begin != '\\') {
            *out++ = *begin++;
            continue;
        }
        begin = read_escape(&c, begin + 1, end);
        if (!begin) {
            return fail(reader, "a backslash that begins no escape of JSON");
        }
        out = put_utf8(out, c);
    }
    *out = '\0';
    return is_utf8(*text) ? 0 : fail(reader, "a text that is not UTF-8");
}

static int read_quoted(reader_t *reader, const char **text)
{
    const char quote = *reader->at, *begin = ++reader->at;

    while (reader->at < reader->end && *reader->at != quote) {
        reader->at += *reader->at == '\\' && reader->at + 1 < reader->end ? 2 : 1;
    }
    if (reader->at == reader->end) {
        return fail(reader, apr_psprintf(reader->pool, "a text that no %c ends", quote));
    }
    return unescape(reader, text, begin, reader->at++);
}

/* A text in quotes, or a bare word: up to white space or one of `stops`. */
static int read_text(reader_t *reader, const char **text, const char *stops, const char *what)
{
    const char *begin;

    if (is_next(reader, '"') || is_next(reader, '\'')) {
        return read_quoted(reader, text);
    }
    begin = reader->at;
    while (reader->at < reader->end && !strchr(stops, *reader->at)) {
        reader->at++;
    }
    return reader->at > begin ? unescape(reader, text, begin, reader->at)
                              : fail_expected(reader, what);
}

/* ---- objects and lists ---- */

/* A node with the value that comes next; `slot` moves on to where its next sibling belongs. */
static int append_value(reader_t *reader, tseed_node_t ***slot, const char *name)
{
    tseed_node_t *node = tseed_node_create(name, reader->line, reader->pool);

    **slot = node;
    *slot = &node->next;
    return read_value(reader, node);
}

/* Each entry becomes a node of the list's name; an empty list one empty node. */
static int read_list(reader_t *reader, tseed_node_t ***slot, const char *name)
{
    if (enter(reader) != 0) {
        return -1;
    }
    if (is_next(reader, ']')) {
        **slot = tseed_node_create(name, reader->line, reader->pool);
        *slot = &(**slot)->next;
    }
    while (!take(reader, ']')) {
        if (is_next(reader, '[')) {
            return fail(reader, "a list within a list");
        }
        if (append_value(reader, slot, name) != 0 || check_separator(reader, ']') != 0) {
            return -1;
        }
    }
    reader->depth--;
    return 0;
}

/* A name and the ':' behind it. */
static int read_name(reader_t *reader, const char **name, const char *what)
{
    if (read_text(reader, name, BLANKS_AND_MARKS ":", what) != 0) {
        return -1;
    }
    return take(reader, ':') ? 0 : fail_expected(reader, "':'");
}

static int read_member(reader_t *reader, tseed_node_t ***slot, apr_hash_t *seen)
{
    const char *name;

    if (read_name(reader, &name, "a name or '}'") != 0) {
        return -1;
    }
    if (apr_hash_get(seen, name, APR_HASH_KEY_STRING)) {
        return fail(reader, apr_psprintf(reader->pool, "'%s' stands twice in one object", name));
    }
    apr_hash_set(seen, name, APR_HASH_KEY_STRING, name);
    return is_next(reader, '[') ? read_list(reader, slot, name) : append_value(reader, slot, name);
}

static int read_object(reader_t *reader, tseed_node_t *node)
{
    apr_hash_t *seen = apr_hash_make(reader->pool);
    tseed_node_t **slot = &node->children;

    if (enter(reader) != 0) {
        return -1;
    }
    while (!take(reader, '}')) {
        if (read_member(reader, &slot, seen) != 0 || check_separator(reader, '}') != 0) {
            return -1;
        }
    }
    reader->depth--;
    return 0;
}

static int read_value(reader_t *reader, tseed_node_t *node)
{
    int is_bare;

    if (is_next(reader, '{')) {
        return read_object(reader, node);
    }
    is_bare = !is_next(reader, '"') && !is_next(reader, '\'');
    if (read_text(reader, &node->text, BLANKS_AND_MARKS, "a value") != 0) {
        return -1;
    }
    node->is_null = is_bare && strcmp(node->text, "null") == 0;
    return 0;
}

/* {"root": {…}} and nothing that is looked at behind it. The root is there as soon as its name is
 * known; it has none in {}. */
static int read_root(reader_t *reader, tseed_node_t **root)
{
    const char *name;

    if (reader->end - reader->at >= 3 && memcmp(reader->at, "\xEF\xBB\xBF", 3) == 0) {
        return fail(reader, "a byte order mark, which JSON must not have");
    }
    if (!is_next(reader, '{')) {
        return fail_expected(reader, "'{'");
    }
    if (enter(reader) != 0) {
        return -1;
    }
    if (is_next(reader, '}')) {
        *root = tseed_node_create("", reader->line, reader->pool);
    }
    if (read_name(reader, &name, "the root's name") != 0) {
        return -1;
    }
    skip_space(reader);
    *root = tseed_node_create(name, reader->line, reader->pool);
    if (!is_next(reader, '{')) {
        return fail_expected(reader, apr_psprintf(reader->pool, "the object of '%s'", name));
    }
    if (read_object(reader, *root) != 0) {
        return -1;
    }
    take(reader, ',');
    return take(reader, '}') ? 0 : fail_expected(reader, "the closing '}'");
}

const char *tseed_json_read(tseed_node_t **root, const char *body, size_t length, apr_pool_t *pool)
{
    reader_t reader = {.at = body, .end = body + length, .line = 1, .pool = pool};

    return read_root(&reader, root) == 0 ? NULL : reader.problem;
}
