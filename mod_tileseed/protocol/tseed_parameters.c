/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Parameters of a tile set as text: as an object of JSON, and as Java's properties, which are lines
 * "key=value" behind comments, in ASCII.
 *
 * Escapes of properties are those of JSON, and a backslash before a character that would mean
 * something. So a line becomes a member of an object, which the reader of JSON takes from there.
 */
#include "protocol/tseed_parameters.h"

#include <apr_strings.h>
#include <string.h>

#include "protocol/tseed_document.h"
#include "protocol/tseed_write.h"

const char *tseed_parameters_save(const apr_table_t *parameters, apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(parameters);
    tseed_json_t json = tseed_json_begin(pool);

    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        tseed_json_text(&json, entry->key, entry->val);
    }
    return tseed_json_end(&json);
}

apr_table_t *tseed_parameters_load(const char *saved, apr_pool_t *pool)
{
    const char *document = apr_pstrcat(pool, "{\"parameters\":", saved, "}", NULL);
    apr_table_t *parameters = apr_table_make(pool, 4);
    tseed_node_t *root;

    if (tseed_document_read(&root, TSEED_BODY_JSON, document, strlen(document), pool) != NULL) {
        return NULL;
    }
    for (const tseed_node_t *node = root->children; node; node = node->next) {
        apr_table_addn(parameters, node->name, node->text);
    }
    return parameters;
}

/* ---- properties ---- */

/* Writes the text up to one of the stops, or the end, as a string; returns where that is. */
static const char *put_string(char **out, const char *at, const char *stops)
{
    *(*out)++ = '"';
    for (; *at && !strchr(stops, *at); at++) {
        if (*at == '"') {
            *(*out)++ = '\\';
        } else if (*at == '\\' && at[1]) {
            at++;
            if (!strchr(" :=#!", *at)) {
                *(*out)++ = '\\';
            }
        }
        *(*out)++ = *at;
    }
    *(*out)++ = '"';
    return at;
}

static const char *put_member(char **out, const char *line)
{
    const char *at = put_string(out, line, "=\r\n");

    *(*out)++ = ':';
    at = put_string(out, at + (*at == '='), "\r\n");
    *(*out)++ = ',';
    return at;
}

apr_table_t *tseed_properties_load(const char *text, apr_pool_t *pool)
{
    /* a character becomes two at most, a line six more */
    char *json = apr_palloc(pool, 8 * strlen(text) + 3), *out = json;

    *out++ = '{';
    while (*(text += strspn(text, "\r\n"))) {
        text = *text == '#' ? text + strcspn(text, "\r\n") : put_member(&out, text);
    }
    memcpy(out, "}", 2);
    return tseed_parameters_load(json, pool);
}
