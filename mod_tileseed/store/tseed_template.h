/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Path templates: how they are read, and which ones an administrator may use. Pure functions.
 * Sentences live in the pool that a call takes. */
#ifndef TSEED_TEMPLATE_H
#define TSEED_TEMPLATE_H

#include <apr_pools.h>
#include <stddef.h>

typedef enum {
    TSEED_TOKEN_END,
    TSEED_TOKEN_TEXT,        /* stands for itself, holds no slash */
    TSEED_TOKEN_SLASH,       /* ends a component of the path */
    TSEED_TOKEN_PLACEHOLDER, /* text is what stands between the braces */
    TSEED_TOKEN_BAD          /* a brace without its partner */
} tseed_token_kind_t;

typedef struct {
    tseed_token_kind_t kind;
    const char *text; /* inside the template, not terminated */
    size_t length;
} tseed_token_t;

/* Reads the token at *at and moves *at behind it. */
tseed_token_t tseed_template_next(const char **at);

/* Whether a token is the placeholder of that name. */
int tseed_token_is(const tseed_token_t *token, const char *name);

/* Whether {name} occurs in the template. */
int tseed_template_holds(const char *path_template, const char *name);

/* Judges an administrator's template: relative, no component that is empty, "." or "..", known
 * placeholders only, and enough of them, kept apart, that no two tiles of a tile set share a file.
 * NULL or a sentence. */
const char *tseed_template_check(const char *path_template, apr_pool_t *pool);

#endif
