/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* JSON to a tree. This file mends the body as people really send it, json-c reads what it has
 * mended, and this file copies json-c's tree and frees it.
 *
 * A shell turns -d "{"seedRequest":{"name":"topp:states"}}" into {seedRequest:{name:topp:states}}.
 * The mender puts every word but null into double quotes, numbers too: so json-c keeps numbers as
 * they were written. It copies blanks, braces, brackets, commas and colons. json-c judges whether
 * they stand where they may. The mark before a word tells names from values: only a name ends at a
 * colon ("topp:states" is a value).
 *
 * Every body is mended, correct JSON too. By itself json-c keeps one of two members that have the
 * same name, accepts half a surrogate pair, forgets how a number was written, and says no lines.
 */
#include <apr_hash.h>
#include <apr_lib.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_document.h"

#define BLANKS    " \t\r\n"
#define QUOTE_MAX 20
/* Each name in the mended text begins with so many hexadecimal digits: its number in `names`. A
 * library keeps one of two members that have the same name, and says no lines. */
#define DIGITS 8

typedef struct {
    const char *at;    /* in the body */
    const char *value; /* behind its colon, NULL without one */
    int line;          /* from 1 */
    size_t offset;     /* of its quote in the mended text */
} mended_name_t;

typedef struct {
    const char *text;    /* up to the end of the root, or up to the problem; ends with a NUL */
    size_t length;       /* without it */
    const char *token;   /* in the body: the last token of the text */
    int line;            /* the token's line */
    int depth;           /* braces and brackets that the text leaves open */
    const char *problem; /* NULL, or what is wrong with the token behind the text */
    const mended_name_t *names;
    int name_count;
} mended_t;

#define MARKS  ",{}[]"
#define QUOTES "\"'"

/* Kinds of the token before, besides a mark. */
#define NAME 'n'
#define TEXT 't'

_Static_assert(TSEED_DOCUMENT_DEPTH <= 32, "a bit for each open brace or bracket");

typedef struct {
    const char *at, *end;
    apr_array_header_t *text, *names;
    char before;    /* the token before, 0 at first: its mark, NAME or TEXT */
    uint32_t lists; /* the lowest bit is set: the innermost of what is open is a bracket */
    mended_t *mended;
    apr_pool_t *pool;
} mender_t;

/* Notes the problem; always -1. */
static int fail_mend(mender_t *mender, const char *problem)
{
    mender->mended->problem = problem;
    return -1;
}

static int is_one_of(char c, const char *set)
{
    return memchr(set, c, strlen(set)) != NULL;
}

static void put(mender_t *mender, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        APR_ARRAY_PUSH(mender->text, char) = text[i];
    }
}

static int expects_name(const mender_t *mender)
{
    return !(mender->lists & 1) && (mender->before == '{' || mender->before == ',');
}

static int expects_value(const mender_t *mender)
{
    return mender->before == ':' || mender->before == '[' ||
           (mender->before == ',' && mender->lists & 1);
}

/* ---- texts ---- */

/* The four digits behind \u, or -1. */
static int hex4(const char *at, const char *end)
{
    char digits[5] = {0};

    if (end - at < 4) {
        return -1;
    }
    memcpy(digits, at, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? (int)strtol(digits, NULL, 16) : -1;
}

/* The length of the escape at `at`, 0 if it stands for no character: a NUL does not, nor does half
 * a surrogate pair. A letter that stands for nothing is for the library to refuse. */
static size_t escape_length(const char *at, const char *end)
{
    int first, second;

    if (end - at < 2) {
        return 0;
    }
    if (at[1] != 'u') {
        return 2;
    }
    first = hex4(at + 2, end);
    if (first < 0xD800 || first > 0xDFFF) {
        return first > 0 ? 6 : 0;
    }
    second = end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? hex4(at + 8, end) : -1;
    return first < 0xDC00 && second >= 0xDC00 && second <= 0xDFFF ? 12 : 0;
}

/* Puts begin..end, which lies in single quotes, in double quotes or in none. */
static int put_content(mender_t *mender, const char *begin, const char *end)
{
    for (size_t length = 1; begin < end; begin += length) {
        length = *begin == '\\' ? escape_length(begin, end) : 1;
        if ((unsigned char)*begin < 0x20) {
            return fail_mend(mender, "a control character within a text");
        }
        if (length == 0) {
            return fail_mend(mender, "a backslash that begins no escape of JSON");
        }
        if (*begin == '"') {
            put(mender, "\\\"", 2);
        } else if (length == 2 && begin[1] == '\'') {
            put(mender, "'", 1);
        } else {
            put(mender, begin, length);
        }
    }
    return 0;
}

static void put_number(mender_t *mender)
{
    char digits[DIGITS + 1];

    apr_snprintf(digits, sizeof(digits), "%08x", mender->names->nelts);
    APR_ARRAY_PUSH(mender->names, mended_name_t) = (mended_name_t){
        .at = mender->mended->token,
        .line = mender->mended->line,
        .offset = (size_t)mender->text->nelts - 1,
    };
    put(mender, digits, DIGITS);
}

/* Where the text or word at `begin` ends: at its quote, which may be missing (NULL), or at what can
 * be in no word. */
static const char *find_end(const mender_t *mender, const char *begin, char quote)
{
    const char *stops = expects_value(mender) ? BLANKS MARKS QUOTES : BLANKS MARKS QUOTES ":";
    const char *at = begin;

    if (!quote) {
        while (at < mender->end && !is_one_of(*at, stops)) {
            at++;
        }
        return at;
    }
    while (at < mender->end && *at != quote) {
        at += *at == '\\' && at + 1 < mender->end ? 2 : 1;
    }
    return at < mender->end ? at : NULL;
}

static int mend_text(mender_t *mender)
{
    const char quote = is_one_of(*mender->at, QUOTES) ? *mender->at : 0;
    const char *begin = mender->at + (quote != 0), *end = find_end(mender, begin, quote);
    const int is_name = expects_name(mender);

    if (!end) {
        return fail_mend(mender, apr_psprintf(mender->pool, "a text that no %c ends", quote));
    }
    mender->at = end + (quote != 0);
    mender->before = is_name ? NAME : TEXT;
    if (!quote && !is_name && end - begin == 4 && memcmp(begin, "null", 4) == 0) {
        put(mender, begin, 4);
        return 0;
    }
    put(mender, "\"", 1);
    if (is_name) {
        put_number(mender);
    }
    if (put_content(mender, begin, end) != 0) {
        return -1;
    }
    put(mender, "\"", 1);
    return 0;
}

/* ---- marks ---- */

static int mend_mark(mender_t *mender)
{
    const char mark = *mender->at++;
    mended_t *mended = mender->mended;

    if (mark == '[' && mender->lists & 1) {
        return fail_mend(mender, "a list within a list");
    }
    if (mark == '{' || mark == '[') {
        if (++mended->depth > TSEED_DOCUMENT_DEPTH) {
            return fail_mend(mender, apr_psprintf(mender->pool, "nested deeper than %d levels",
                                                  TSEED_DOCUMENT_DEPTH));
        }
        mender->lists = mender->lists << 1 | (mark == '[');
    } else if (mark == '}' || mark == ']') {
        mended->depth--;
        mender->lists >>= 1;
    } else if (mark == ':' && mender->before == NAME) {
        APR_ARRAY_IDX(mender->names, mender->names->nelts - 1, mended_name_t).value = mender->at;
    }
    mender->before = mark;
    put(mender, &mark, 1);
    return 0;
}

static int mend_token(mender_t *mender)
{
    const char c = *mender->at;

    mender->mended->token = mender->at;
    if (is_one_of(c, BLANKS)) {
        mender->mended->line += c == '\n';
        mender->at++;
        put(mender, &c, 1);
        return 0;
    }
    return is_one_of(c, MARKS) || (c == ':' && !expects_value(mender)) ? mend_mark(mender)
                                                                       : mend_text(mender);
}

/* Mends a body until the mended text is longer than `most`: to find the token that stands at an
 * offset of it. The results lie in `pool`, or point into the body. */
static void mend(mended_t *mended, const char *body, size_t length, size_t most, apr_pool_t *pool)
{
    mender_t mender = {
        .at = body,
        .end = body + length,
        .text = apr_array_make(pool, (int)length + 64, sizeof(char)),
        .names = apr_array_make(pool, 16, sizeof(mended_name_t)),
        .mended = mended,
        .pool = pool,
    };
    size_t whole = 0;

    *mended = (mended_t){.token = body, .line = 1};
    while (mender.at < mender.end && whole <= most && mend_token(&mender) == 0) {
        whole = (size_t)mender.text->nelts;
        if (mended->depth <= 0 && is_one_of(mender.before, "}]")) {
            break;
        }
    }
    put(&mender, "", 1);
    mender.text->elts[whole] = '\0';
    mended->text = mender.text->elts;
    mended->length = whole;
    mended->names = (const mended_name_t *)mender.names->elts;
    mended->name_count = mender.names->nelts;
}

/* ---- reading ---- */

/* json-c counts a level for what is in the innermost braces. The mender keeps the limit. */
#define DEPTH_MAX (TSEED_DOCUMENT_DEPTH + 2)

/* A byte that JSON never has: json-c stops there and says what it expected instead. */
#define STOP "\x01"

typedef struct {
    const char *body, *end;
    mended_t mended;
    const char *problem;
    apr_pool_t *pool;
} reader_t;

static int copy_object(reader_t *reader, tseed_node_t *node, json_object *object);

/* Notes the first problem; always -1, for `return fail(…)`. */
static int fail(reader_t *reader, int line, const char *what)
{
    if (!reader->problem) {
        reader->problem =
            apr_psprintf(reader->pool, "The body is not well-formed JSON, line %d: %s", line, what);
    }
    return -1;
}

/* Says which token is expected at `at`, and which stands there. */
static int fail_expected(reader_t *reader, int line, const char *at, const char *what)
{
    size_t left = (size_t)(reader->end - at);
    const char *found;

    if (left == 0) {
        return fail(reader, line,
                    apr_pstrcat(reader->pool, what, " expected, but the body ends here", NULL));
    }
    found = apr_pstrmemdup(reader->pool, at, left < QUOTE_MAX ? left : QUOTE_MAX);
    return fail(reader, line,
                apr_psprintf(reader->pool, "%s expected before '%.*s'", what,
                             (int)strcspn(found, "\r\n"), found));
}

static const char *skip_blanks(const reader_t *reader, const char *at)
{
    while (at < reader->end && memchr(BLANKS, *at, strlen(BLANKS))) {
        at++;
    }
    return at;
}

/* ---- json-c ---- */

/* The token that json-c expected; NULL: its error is another one. */
static const char *expected_by(enum json_tokener_error error)
{
    switch (error) {
    case json_tokener_error_parse_unexpected:
        return "a value";
    case json_tokener_error_parse_array:
        return "',' or ']'";
    case json_tokener_error_parse_object_key_name:
        return "a name or '}'";
    case json_tokener_error_parse_object_key_sep:
        return "':'";
    case json_tokener_error_parse_object_value_sep:
        return "',' or '}'";
    default:
        return NULL;
    }
}

/* json-c wants more than there is. */
static void explain_end(reader_t *reader, json_tokener *tokener)
{
    const mended_t *mended = &reader->mended;
    const char *expected;

    if (mended->problem) {
        fail(reader, mended->line, mended->problem);
        return;
    }
    json_object_put(json_tokener_parse_ex(tokener, STOP, 1));
    expected = expected_by(json_tokener_get_error(tokener));
    if (json_tokener_get_error(tokener) == json_tokener_error_parse_object_value_sep &&
        mended->depth == 1) {
        expected = "the closing '}'";
    }
    fail_expected(reader, mended->line, reader->end, expected ? expected : "more");
}

/* json-c refuses what stands at `offset` of the mended text. */
static void explain_refusal(reader_t *reader, enum json_tokener_error error, size_t offset)
{
    const char *expected = expected_by(error);
    mended_t place;

    mend(&place, reader->body, (size_t)(reader->end - reader->body), offset, reader->pool);
    if (expected) {
        fail_expected(reader, place.line, place.token, expected);
    } else {
        fail(reader, place.line,
             error == json_tokener_error_parse_string ? "a backslash that begins no escape of JSON"
                                                      : json_tokener_error_desc(error));
    }
}

/* The mended text as json-c reads it; NULL after a problem. The caller puts it. */
static json_object *parse(reader_t *reader)
{
    json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    enum json_tokener_error error;
    json_object *parsed;

    if (!tokener) {
        abort(); /* no memory: as an APR pool of httpd does */
    }
    parsed = json_tokener_parse_ex(tokener, reader->mended.text, (int)reader->mended.length);
    error = json_tokener_get_error(tokener);
    if (error == json_tokener_continue) {
        explain_end(reader, tokener);
    } else if (error != json_tokener_success) {
        explain_refusal(reader, error, json_tokener_get_parse_end(tokener));
    }
    json_tokener_free(tokener);
    return parsed;
}

/* ---- the tree ---- */

static int copy_text(reader_t *reader, const char **copy, const char *text, int line)
{
    *copy = apr_pstrdup(reader->pool, text);
    return tseed_text_is_utf8(text) ? 0 : fail(reader, line, "a text that is not UTF-8");
}

/* An object, a text or null: the mender leaves nothing else, and no list in a list. */
static int copy_value(reader_t *reader, tseed_node_t *node, json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_object:
        return copy_object(reader, node, value);
    case json_type_string:
        return copy_text(reader, &node->text, json_object_get_string(value), node->line);
    default:
        node->is_null = 1;
        node->text = "null";
        return 0;
    }
}

/* The nodes of a member: of a list one for each entry, all of one name, and an empty one of an
 * empty list. */
static int copy_member(reader_t *reader, tseed_node_t ***slot, tseed_node_t *node,
                       json_object *value)
{
    const int is_list = json_object_is_type(value, json_type_array);
    const size_t count = is_list ? json_object_array_length(value) : 1;

    **slot = node;
    *slot = &node->next;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            node = tseed_node_create(node->name, node->line, reader->pool);
            **slot = node;
            *slot = &node->next;
        }
        node->is_compound = is_list;
        if (copy_value(reader, node, is_list ? json_object_array_get_idx(value, i) : value) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The mender's note about a name. */
static const mended_name_t *find_name(const reader_t *reader, const char *name)
{
    const char *digits = apr_pstrmemdup(reader->pool, name, DIGITS);

    return &reader->mended.names[strtoul(digits, NULL, 16)];
}

/* An empty node with the name, without its number. */
static int copy_name(reader_t *reader, tseed_node_t **node, const char *name)
{
    const char *copy;
    const int line = find_name(reader, name)->line;

    if (copy_text(reader, &copy, name + DIGITS, line) != 0) {
        return -1;
    }
    *node = tseed_node_create(copy, line, reader->pool);
    return 0;
}

/* The text of an element that has attributes, as encoders for XML name it. */
static int is_text(const char *name)
{
    return strcmp(name, "$") == 0 || strcmp(name, "#text") == 0;
}

/* Takes out of the members what is an attribute, and the text if it stands alone then. */
static void take_attributes(const reader_t *reader, tseed_node_t *node)
{
    const tseed_node_t *text;

    for (tseed_node_t **slot = &node->children; *slot;) {
        const tseed_node_t *member = *slot;

        if (*member->name == '@') {
            const char *said = tseed_node_is_blank(member) ? ""
                               : member->children          ? "{}"
                                                           : member->text;
            tseed_node_t *attribute =
                tseed_node_add_attribute(node, member->name + 1, said, reader->pool);

            *slot = member->next;
            if (attribute) {
                attribute->is_compound = member->children || member->is_compound;
            }
        } else {
            slot = &(*slot)->next;
        }
    }
    text = node->children;
    if (text && !text->next && !text->children && is_text(text->name)) {
        node->text = text->text;
        node->is_null = text->is_null;
        node->children = NULL;
    }
}

static int copy_object(reader_t *reader, tseed_node_t *node, json_object *object)
{
    apr_hash_t *seen = apr_hash_make(reader->pool);
    tseed_node_t **slot = &node->children;

    json_object_object_foreach(object, name, value)
    {
        tseed_node_t *child = NULL;

        if (copy_name(reader, &child, name) != 0) {
            return -1;
        }
        if (apr_hash_get(seen, child->name, APR_HASH_KEY_STRING)) {
            return fail(reader, child->line,
                        apr_psprintf(reader->pool, "'%s' stands twice in one object", child->name));
        }
        apr_hash_set(seen, child->name, APR_HASH_KEY_STRING, child);
        if (copy_member(reader, &slot, child, value) != 0) {
            return -1;
        }
    }
    take_attributes(reader, node);
    return 0;
}

/* An attribute beside the root, among the `members` that surround it. */
static int copy_beside(reader_t *reader, tseed_node_t *members, const char *name,
                       json_object *value)
{
    tseed_node_t **slot = &members->children, *others = members->children, *node = NULL;

    if (copy_name(reader, &node, name) != 0 || copy_member(reader, &slot, node, value) != 0) {
        return -1;
    }
    *slot = others;
    return 0;
}

/* {"root": {…}} and no other member but attributes, which become the root's; the root has no name
 * in {}. */
static int copy_root(reader_t *reader, tseed_node_t **root, json_object *parsed)
{
    tseed_node_t *around = tseed_node_create("", 1, reader->pool);
    tseed_node_t **last;

    *root = NULL;
    json_object_object_foreach(parsed, name, value)
    {
        const mended_name_t *place = find_name(reader, name);

        if (name[DIGITS] == '@') {
            if (copy_beside(reader, around, name, value) != 0) {
                return -1;
            }
            continue;
        }
        if (*root) {
            return fail_expected(reader, place->line, place->at, "the closing '}'");
        }
        if (copy_name(reader, root, name) != 0) {
            return -1;
        }
        if (!json_object_is_type(value, json_type_object)) {
            return fail_expected(reader, place->line, skip_blanks(reader, place->value),
                                 apr_psprintf(reader->pool, "the object of '%s'", (*root)->name));
        }
        if (copy_object(reader, *root, value) != 0) {
            return -1;
        }
    }
    if (!*root) {
        *root = tseed_node_create("", 1, reader->pool);
        return fail(reader, 1, "the root's name expected");
    }
    take_attributes(reader, around);
    for (last = &(*root)->attributes; *last; last = &(*last)->next) {
    }
    *last = around->attributes;
    return 0;
}

/* People count braces wrong: what stands behind the root means nothing. A member there was meant to
 * be in it. */
static int check_tail(reader_t *reader)
{
    const char *at = skip_blanks(reader, reader->mended.token + 1);
    int line = reader->mended.line;

    while (at < reader->end && *at == '}') {
        at = skip_blanks(reader, at + 1);
    }
    for (const char *before = reader->mended.token; before < at; before++) {
        line += *before == '\n';
    }
    return memchr(at, ':', (size_t)(reader->end - at))
               ? fail_expected(reader, line, at, "only '}' or the end of the body")
               : 0;
}

/* The root's name of a body that is wrong behind it. */
static void copy_root_name(reader_t *reader, tseed_node_t **root)
{
    const mended_t *mended = &reader->mended;
    const char *inside = mended->text + strspn(mended->text, BLANKS) + 1; /* the root's brace */
    const char *quote = inside + strspn(inside, BLANKS);
    json_object *name;

    if (mended->name_count == 0 || !mended->names[0].value ||
        mended->text + mended->names[0].offset != quote) {
        return;
    }
    name = json_tokener_parse(quote);
    if (name) {
        copy_name(reader, root, json_object_get_string(name));
    }
    json_object_put(name);
}

const char *tseed_json_read(tseed_node_t **root, const char *body, size_t length, apr_pool_t *pool)
{
    reader_t reader = {.body = body, .end = body + length, .pool = pool};
    const char *begin = skip_blanks(&reader, body);
    json_object *parsed;

    mend(&reader.mended, body, length, APR_INT32_MAX, pool);
    if (length >= 3 && memcmp(body, "\xEF\xBB\xBF", 3) == 0) {
        fail(&reader, 1, "a byte order mark, which JSON must not have");
    } else if (begin == reader.end || *begin != '{') {
        fail_expected(&reader, 1, begin, "'{'");
    } else {
        parsed = parse(&reader);
        if (parsed) {
            if (copy_root(&reader, root, parsed) == 0) {
                check_tail(&reader);
            }
        } else {
            copy_root_name(&reader, root);
        }
        json_object_put(parsed);
    }
    return reader.problem;
}
