/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* JSON to a tree: tseed_mend.h mends the body, json-c reads it, and this file copies json-c's tree
 * and frees it.
 *
 * Every body is mended, correct JSON too. By itself json-c keeps one of two members that have the
 * same name, accepts half a surrogate pair, and forgets how a number was written.
 */
#include <apr_hash.h>
#include <apr_strings.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_mend.h"
#include "protocol/tseed_reader.h"

#define BLANKS    " \t\r\n"
#define QUOTE_MAX 20

/* json-c counts a level for what is in the innermost braces. The mender keeps the limit. */
#define DEPTH_MAX (TSEED_DOCUMENT_DEPTH + 2)

/* A byte that JSON never has: json-c stops there and says what it expected instead. */
#define STOP "\x01"

typedef struct {
    const char *body, *end;
    tseed_mended_t mended;
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
    const tseed_mended_t *mended = &reader->mended;
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
    tseed_mended_t place;

    tseed_mend(&place, reader->body, (size_t)(reader->end - reader->body), offset, reader->pool);
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
static const tseed_mended_name_t *find_name(const reader_t *reader, const char *name)
{
    const char *digits = apr_pstrmemdup(reader->pool, name, TSEED_MEND_DIGITS);

    return &reader->mended.names[strtoul(digits, NULL, 16)];
}

/* An empty node with the name, without its number. */
static int copy_name(reader_t *reader, tseed_node_t **node, const char *name)
{
    const char *copy;
    const int line = find_name(reader, name)->line;

    if (copy_text(reader, &copy, name + TSEED_MEND_DIGITS, line) != 0) {
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
        const tseed_mended_name_t *place = find_name(reader, name);

        if (name[TSEED_MEND_DIGITS] == '@') {
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
    const tseed_mended_t *mended = &reader->mended;
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

    tseed_mend(&reader.mended, body, length, APR_INT32_MAX, pool);
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
