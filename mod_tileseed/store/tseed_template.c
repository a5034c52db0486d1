/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Path templates: a tokenizer of a few lines and the judgement over what administrators write. */
#include "store/tseed_template.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "store/tseed_layout.h"

enum { HOLDS_Z = 1, HOLDS_X = 2, HOLDS_Y = 4, HOLDS_TILE = HOLDS_Z | HOLDS_X | HOLDS_Y };

typedef struct {
    const char *name;
    int holds; /* which parts of a tile's address; 0: a name, the same for all tiles */
} placeholder_t;

static const placeholder_t placeholders[] = {
    {"layer", 0},   {"gridset", 0},  {"hash", 0},
    {"ext", 0},     {"z", HOLDS_Z},  {"x", HOLDS_X},
    {"y", HOLDS_Y}, {"-y", HOLDS_Y}, {"quadkey", HOLDS_TILE},
};

#define KNOWN "{layer} {gridset} {hash} {ext} {z} {x} {y} {-y} {quadkey}"

tseed_token_t tseed_template_next(const char **at)
{
    const char *start = *at;
    tseed_token_t token = {TSEED_TOKEN_END, start, 0};

    if (*start == '/') {
        token.kind = TSEED_TOKEN_SLASH;
        token.length = 1;
        *at = start + 1;
    } else if (*start == '{') {
        token.text = start + 1;
        token.length = strcspn(token.text, "{}");
        *at = token.text + token.length;
        token.kind = **at == '}' ? TSEED_TOKEN_PLACEHOLDER : TSEED_TOKEN_BAD;
        *at += **at == '}';
    } else if (*start == '}') {
        token.kind = TSEED_TOKEN_BAD;
        *at = start + 1;
    } else if (*start) {
        token.kind = TSEED_TOKEN_TEXT;
        token.length = strcspn(start, "/{}");
        *at = start + token.length;
    }
    return token;
}

int tseed_token_is(const tseed_token_t *token, const char *name)
{
    return token->kind == TSEED_TOKEN_PLACEHOLDER && strlen(name) == token->length &&
           memcmp(token->text, name, token->length) == 0;
}

int tseed_template_holds(const char *path_template, const char *name)
{
    const char *at = path_template;
    tseed_token_t token;

    do {
        token = tseed_template_next(&at);
    } while (token.kind != TSEED_TOKEN_END && !tseed_token_is(&token, name));
    return token.kind != TSEED_TOKEN_END;
}

static const placeholder_t *find(const tseed_token_t *token)
{
    for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++) {
        if (tseed_token_is(token, placeholders[i].name)) {
            return &placeholders[i];
        }
    }
    return NULL;
}

/* Names that the store keeps for itself. */
static int is_ours(const char *name, size_t length)
{
    return strncmp(name, TSEED_LEFTOVER_PREFIX, strlen(TSEED_LEFTOVER_PREFIX)) == 0 ||
           (length == strlen(TSEED_HIDDEN) && memcmp(name, TSEED_HIDDEN, length) == 0);
}

/* Names never begin with a dot where a path is made of them, so the text alone decides. */
static const char *check_components(const char *path_template, apr_pool_t *pool)
{
    const char *start = path_template;

    for (;;) {
        size_t length = strcspn(start, "/");

        if (length == 0 || (length == 1 && *start == '.') ||
            (length == 2 && memcmp(start, "..", 2) == 0)) {
            return apr_psprintf(pool,
                                "the path template '%s' must be relative to the store's directory, "
                                "without empty parts, '.' and '..'",
                                path_template);
        }
        if (is_ours(start, length)) {
            return apr_psprintf(pool,
                                "the path template '%s' must not use the name '" TSEED_HIDDEN
                                "' nor names that begin with '" TSEED_LEFTOVER_PREFIX
                                "': the store's own files are called so",
                                path_template);
        }
        if (!start[length]) {
            return NULL;
        }
        start += length + 1;
    }
}

/* One placeholder; `next` is what follows it. Two numbers in a row, or a number and a digit, could
 * be read in two ways: two tiles might share a file. */
static const char *check_placeholder(int *holds, const char *path_template,
                                     const tseed_token_t *token, const char *next, apr_pool_t *pool)
{
    const placeholder_t *known = find(token);

    if (!known) {
        return apr_psprintf(
            pool, "the path template '%s' has the unknown placeholder {%.*s}; there are " KNOWN,
            path_template, (int)token->length, token->text);
    }
    if (*next == '{' || (known->holds && tseed_ascii_is_digit(*next))) {
        return apr_psprintf(pool,
                            "the path template '%s' needs a character that is no digit between "
                            "{%s} and what follows it, such as '/', '_' or '.'",
                            path_template, known->name);
    }
    *holds |= known->holds;
    return NULL;
}

const char *tseed_template_check(const char *path_template, apr_pool_t *pool)
{
    const char *at = path_template;
    const char *error = check_components(path_template, pool);
    int holds = 0;

    while (!error) {
        tseed_token_t token = tseed_template_next(&at);

        if (token.kind == TSEED_TOKEN_END) {
            break;
        }
        if (token.kind == TSEED_TOKEN_BAD) {
            return apr_psprintf(pool, "the path template '%s' has a brace without its partner",
                                path_template);
        }
        if (token.kind == TSEED_TOKEN_PLACEHOLDER) {
            error = check_placeholder(&holds, path_template, &token, at, pool);
        }
    }
    if (!error && holds != HOLDS_TILE) {
        error = apr_psprintf(pool,
                             "the path template '%s' does not give each tile a file of its own: it "
                             "needs {z}, {x} and one of {y} {-y}, or {quadkey}",
                             path_template);
    }
    return error;
}
