/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Members of the server's documents. */
#include "ctl/tseed_ctl_members.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl_words.h"

#define BLANKS " \t\r\n"

/* The most values of a document: each takes some hundred bytes when it is read. */
#define VALUES_MAX ((size_t)1 << 20)

/* At least as many as the document has values: behind each but the last stands a comma or its
 * object's or list's end. Commas in texts count as well. */
static size_t count_values(const char *body, size_t length)
{
    size_t count = 1;

    for (size_t i = 0; i < length; i++) {
        count += body[i] == ',' || body[i] == '{' || body[i] == '[';
    }
    return count;
}

/* The reader wants a root: the object becomes the one member of another. */
const char *tseed_ctl_document_read(const tseed_node_t **document, const char *body, size_t length,
                                    apr_pool_t *pool)
{
    static const char before[] = "{\"answer\":", after[] = "}";
    const size_t size = sizeof(before) - 1 + length + sizeof(after);
    char *wrapped = apr_palloc(pool, size);
    tseed_node_t *root;
    const char *problem;

    *document = NULL;
    if (count_values(body, length) > VALUES_MAX) {
        return "the document has too many values";
    }
    memcpy(wrapped, before, sizeof(before) - 1);
    memcpy(wrapped + sizeof(before) - 1, body, length);
    memcpy(wrapped + sizeof(before) - 1 + length, after, sizeof(after));
    problem = tseed_document_read(&root, TSEED_BODY_JSON, wrapped, size - 1, pool);
    *document = root;
    return problem;
}

const tseed_node_t *tseed_ctl_member(const tseed_node_t *object, const char *name)
{
    const tseed_node_t *member = object ? tseed_node_find(object, name) : NULL;

    return member && !member->is_null ? member : NULL;
}

const char *tseed_ctl_text(const tseed_node_t *object, const char *name, const char *absent)
{
    const tseed_node_t *member = tseed_ctl_member(object, name);

    return member ? member->text : absent;
}

const char *tseed_ctl_words(const tseed_node_t *object, const char *name, const char *absent,
                            apr_pool_t *pool)
{
    const char *text = tseed_ctl_text(object, name, absent);

    return text ? tseed_ctl_clean(text, pool) : NULL;
}

int64_t tseed_ctl_number(const tseed_node_t *object, const char *name, int64_t absent)
{
    int64_t number;

    return tseed_text_int64(&number, tseed_ctl_text(object, name, ""), INT64_MIN, INT64_MAX) == 0
               ? number
               : absent;
}

double tseed_ctl_decimal(const tseed_node_t *object, const char *name, double absent)
{
    double number;

    return tseed_text_double(&number, tseed_ctl_text(object, name, "")) == 0 ? number : absent;
}

int tseed_ctl_is_true(const tseed_node_t *object, const char *name)
{
    return strcmp(tseed_ctl_text(object, name, ""), "true") == 0;
}

/* An empty list is one empty entry. */
const tseed_node_t *tseed_ctl_first(const tseed_node_t *object, const char *name)
{
    const tseed_node_t *entry = tseed_ctl_member(object, name);

    return entry && !tseed_node_is_empty(entry) ? entry : NULL;
}

const tseed_node_t *tseed_ctl_next(const tseed_node_t *entry)
{
    const tseed_node_t *next = entry->next;

    return next && strcmp(next->name, entry->name) == 0 ? next : NULL;
}

const char *tseed_ctl_parameters(const tseed_node_t *object, apr_pool_t *pool)
{
    const tseed_node_t *parameters = tseed_ctl_member(object, "parameters");
    const char *words = "";

    for (const tseed_node_t *one = parameters ? parameters->children : NULL; one; one = one->next) {
        words = apr_pstrcat(pool, words, *words ? ", " : "", tseed_ctl_clean(one->name, pool), "=",
                            tseed_ctl_clean(one->text, pool), NULL);
    }
    return words;
}

/* ---- the status list ---- */

static const char *skip(const char *at)
{
    return at + strspn(at, BLANKS);
}

/* Moves behind a mark; 0 when something else stands there. */
static int take(const char **at, const char *mark)
{
    const size_t length = strlen(mark);
    const char *begin = skip(*at);

    if (strncmp(begin, mark, length) != 0) {
        return 0;
    }
    *at = skip(begin + length);
    return 1;
}

static int take_number(const char **at, int64_t *number)
{
    char *end;

    *number = strtoll(*at, &end, 10);
    if (end == *at) {
        return 0;
    }
    *at = end;
    return 1;
}

/* [processed,total,remaining,id,state] */
static int take_row(const char **at, tseed_ctl_row_t *row)
{
    int64_t unused;

    return take(at, "[") && take_number(at, &row->processed) && take(at, ",") &&
           take_number(at, &row->total) && take(at, ",") && take_number(at, &unused) &&
           take(at, ",") && take_number(at, &row->id) && take(at, ",") &&
           take_number(at, &row->state) && take(at, "]");
}

apr_array_header_t *tseed_ctl_rows_read(const char *body, apr_pool_t *pool)
{
    apr_array_header_t *rows = apr_array_make(pool, 8, sizeof(tseed_ctl_row_t));
    tseed_ctl_row_t row;

    if (!take(&body, "{") || !take(&body, "\"long-array-array\"") || !take(&body, ":") ||
        !take(&body, "[")) {
        return NULL;
    }
    while (take_row(&body, &row)) {
        APR_ARRAY_PUSH(rows, tseed_ctl_row_t) = row;
        take(&body, ",");
    }
    return take(&body, "]") && take(&body, "}") ? rows : NULL;
}
