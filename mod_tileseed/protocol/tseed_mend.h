/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Mends JSON as people really send it, so that a JSON library takes it.
 *
 * A shell turns -d "{"seedRequest":{"name":"topp:states"}}" into {seedRequest:{name:topp:states}}.
 * The mender puts every word but null into double quotes, numbers too: so the library keeps numbers
 * as they were written. It copies blanks, braces, brackets, commas and colons. The library judges
 * whether they stand where they may.
 */
#ifndef TSEED_MEND_H
#define TSEED_MEND_H

#include <apr_pools.h>
#include <stddef.h>

/* Each name in the mended text begins with so many hexadecimal digits: its number in `names`. A
 * library keeps one of two members that have the same name, and says no lines. */
#define TSEED_MEND_DIGITS 8

typedef struct {
    const char *at;    /* in the body */
    const char *value; /* behind its colon, NULL without one */
    int line;          /* from 1 */
    size_t offset;     /* of its quote in the mended text */
} tseed_mended_name_t;

typedef struct {
    const char *text;    /* up to the end of the root, or up to the problem; ends with a NUL */
    size_t length;       /* without it */
    const char *token;   /* in the body: the last token of the text */
    int line;            /* the token's line */
    int depth;           /* braces and brackets that the text leaves open */
    const char *problem; /* NULL, or what is wrong with the token behind the text */
    const tseed_mended_name_t *names;
    int name_count;
} tseed_mended_t;

/* Mends a body until the mended text is longer than `most`: to find the token that stands at an
 * offset of it. The results lie in `pool`, or point into the body. Any thread. */
void tseed_mend(tseed_mended_t *mended, const char *body, size_t length, size_t most,
                apr_pool_t *pool);

#endif
