/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The table of refused requests, tests/data/malformed.json, which the tests over HTTP share. */
#ifndef MALFORMED_FIXTURE_H
#define MALFORMED_FIXTURE_H

#include <apr_strings.h>
#include <json-c/json.h>
#include <string.h>

#include "protocol/tseed_route.h"

typedef struct {
    const char *method, *address, *body, *message;
} malformed_t;

/* What a request is answered; NULL: it was not refused. */
typedef const char *malformed_answer_t(const malformed_t *request, const tseed_route_t *route);

static inline const char *malformed_text(json_object *row, const char *name)
{
    json_object *value;

    assert_true(json_object_object_get_ex(row, name, &value));
    return json_object_get_string(value);
}

static inline int malformed_check(json_object *row, tseed_action_t action,
                                  malformed_answer_t *answer, apr_pool_t *pool)
{
    const malformed_t request = {malformed_text(row, "method"), malformed_text(row, "address"),
                                 malformed_text(row, "body"), malformed_text(row, "message")};
    const tseed_method_t method =
        strcmp(request.method, "PUT") == 0 ? TSEED_METHOD_PUT : TSEED_METHOD_POST;
    const tseed_route_t route = tseed_route(request.address, method, pool);
    const char *message;

    if (route.action != action) {
        return 0;
    }
    message = answer(&request, &route);
    if (!message) {
        fail_msg("%s was not refused: %s", request.address, request.body);
    }
    assert_string_equal(tseed_escape_plain(message, pool), request.message);
    return 1;
}

/* Tries all requests that mean this action; returns how many. */
static inline int malformed_each(tseed_action_t action, malformed_answer_t *answer,
                                 apr_pool_t *pool)
{
    const char *folder = getenv("TSEED_TEST_DATA");
    json_object *rows, *file = json_object_from_file(apr_pstrcat(
                           pool, folder ? folder : "tests/data", "/malformed.json", NULL));
    int tried = 0;

    assert_true(json_object_object_get_ex(file, "requests", &rows));
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        tried += malformed_check(json_object_array_get_idx(rows, i), action, answer, pool);
    }
    json_object_put(file);
    return tried;
}

#endif
