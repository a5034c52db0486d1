/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The server's documents and their members. */
#include "ctl/tseed_ctl_json.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Deepest nesting of a document. */
#define DEPTH_MAX 16

/* What a document may take as objects, which hostile servers make of few bytes: by json-c 0.16 an
 * object takes about 800 bytes, a list 400, and any value 150. */
#define MEMORY_MAX    ((size_t)256 << 20)
#define OBJECT_MEMORY 800
#define LIST_MEMORY   400
#define VALUE_MEMORY  150

static apr_status_t put_object(void *object)
{
    json_object_put(object);
    return APR_SUCCESS;
}

json_object *tseed_ctl_keep(json_object *object, apr_pool_t *pool)
{
    apr_pool_cleanup_register(pool, object, put_object, apr_pool_cleanup_null);
    return object;
}

/* Behind each value but the last stands a comma, or the end of its object or list. Marks within
 * texts count as well. */
size_t tseed_ctl_json_memory(const char *text, size_t length)
{
    size_t memory = length;

    for (size_t i = 0; i < length; i++) {
        const char c = text[i];

        memory += c == '{'   ? OBJECT_MEMORY + VALUE_MEMORY
                  : c == '[' ? LIST_MEMORY + VALUE_MEMORY
                  : c == ',' ? VALUE_MEMORY
                             : 0;
    }
    return memory;
}

const char *tseed_ctl_json_read(json_object **document, const char *text, size_t length,
                                apr_pool_t *pool)
{
    json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    enum json_tokener_error error;

    *document = NULL;
    if (!tokener) {
        abort(); /* no memory */
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    if (tseed_ctl_json_memory(text, length) <= MEMORY_MAX) {
        *document = tseed_ctl_keep(json_tokener_parse_ex(tokener, text, (int)length), pool);
    }
    error = json_tokener_get_error(tokener);
    json_tokener_free(tokener);
    if (json_object_is_type(*document, json_type_object)) {
        return NULL;
    }
    *document = NULL;
    return tseed_ctl_json_memory(text, length) > MEMORY_MAX ? "the document has too many values"
           : error == json_tokener_success                  ? "an object is expected"
           : error == json_tokener_continue                 ? "the document has no end"
                                                            : json_tokener_error_desc(error);
}

/* ---- members ---- */

const char *tseed_ctl_text(json_object *object, const char *name, const char *absent)
{
    json_object *member = json_object_object_get(object, name);

    return !member || json_object_is_type(member, json_type_object) ||
                   json_object_is_type(member, json_type_array)
               ? absent
               : json_object_get_string(member);
}

int tseed_ctl_is(json_object *object, const char *name, const char *value)
{
    return strcmp(tseed_ctl_text(object, name, ""), value) == 0;
}

int64_t tseed_ctl_number(json_object *object, const char *name, int64_t absent)
{
    json_object *member = json_object_object_get(object, name);

    return json_object_is_type(member, json_type_int) ? json_object_get_int64(member) : absent;
}

double tseed_ctl_decimal(json_object *object, const char *name, double absent)
{
    json_object *member = json_object_object_get(object, name);
    const double number =
        json_object_is_type(member, json_type_int) || json_object_is_type(member, json_type_double)
            ? json_object_get_double(member)
            : absent;

    return isfinite(number) ? number : absent;
}

json_object *tseed_ctl_entry(json_object *object, const char *list, size_t index)
{
    json_object *entries = list ? json_object_object_get(object, list) : object;

    return json_object_is_type(entries, json_type_array) ? json_object_array_get_idx(entries, index)
                                                         : NULL;
}

json_object *tseed_ctl_find(json_object *object, const char *list, const char *member,
                            const char *name)
{
    json_object *one;

    for (size_t i = 0; (one = tseed_ctl_entry(object, list, i)); i++) {
        if (!name || tseed_ctl_is(one, member, name)) {
            return one;
        }
    }
    return NULL;
}

const char *tseed_ctl_parameters(json_object *object, apr_pool_t *pool)
{
    json_object *parameters = json_object_object_get(object, "parameters");
    apr_array_header_t *words = apr_array_make(pool, 8, sizeof(const char *));

    if (!json_object_is_type(parameters, json_type_object)) {
        return "";
    }
    json_object_object_foreach(parameters, name, value)
    {
        const char *text = json_object_get_string(value);

        APR_ARRAY_PUSH(words, const char *) = words->nelts ? ", " : "";
        APR_ARRAY_PUSH(words, const char *) = name;
        APR_ARRAY_PUSH(words, const char *) = "=";
        APR_ARRAY_PUSH(words, const char *) = text ? text : "";
    }
    return apr_array_pstrcat(pool, words, 0);
}

/* ---- the status list ---- */

json_object *tseed_ctl_rows(json_object *document, apr_pool_t *pool)
{
    static const char *const names[] = {"tilesProcessed", "tilesTotal", "unused", "id", "code"};
    json_object *tasks = tseed_ctl_keep(json_object_new_array(), pool), *row;
    int64_t code;

    if (!json_object_is_type(json_object_object_get(document, "long-array-array"),
                             json_type_array)) {
        return NULL;
    }
    for (size_t i = 0; (row = tseed_ctl_entry(document, "long-array-array", i)); i++) {
        json_object *task = json_object_new_object();

        json_object_array_add(tasks, task);
        for (size_t k = 0; k < 5; k++) {
            json_object *number = tseed_ctl_entry(row, NULL, k);

            if (!json_object_is_type(number, json_type_int)) {
                return NULL;
            }
            json_object_object_add(task, names[k], json_object_get(number));
        }
        code = tseed_ctl_number(task, "code", 0);
        json_object_object_add(task, "state",
                               json_object_new_string(code < 0    ? "ABORTED"
                                                      : code == 0 ? "PENDING"
                                                      : code == 1 ? "RUNNING"
                                                                  : "DONE"));
    }
    return tasks;
}
