/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Members that nobody asked for. */
#include "protocol/tseed_members.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"

#define NAME_MOST    40  /* letters of a name that is compared */
#define QUOTE_MAX    100 /* of a name in a sentence */
#define IGNORED_MOST 500 /* bytes after which no more names are noted */

/* ---- the name that is meant ---- */

/* The letters that count, in lower case. Returns how many; NAME_MOST + 1: too many. */
static int fold(char *letters, const char *name)
{
    int length = 0;

    for (; *name && length <= NAME_MOST; name++) {
        if (*name != '-' && *name != '_') {
            letters[length++] = tseed_ascii_lower(*name);
        }
    }
    return length;
}

static int least(int a, int b, int c)
{
    const int two = a < b ? a : b;

    return two < c ? two : c;
}

/* Letters that are added, left out, changed, or swapped with their neighbour between a and b: the
 * optimal string alignment distance. */
static int distance(const char *a, int a_length, const char *b, int b_length)
{
    int rows[3][NAME_MOST + 2];
    int *before = rows[0], *last = rows[1], *row = rows[2];

    for (int j = 0; j <= b_length; j++) {
        last[j] = j;
    }
    for (int i = 1; i <= a_length; i++) {
        int *free_row = before;

        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            const int is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

            row[j] = least(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            row[j] = is_swap && before[j - 2] + 1 < row[j] ? before[j - 2] + 1 : row[j];
        }
        before = last;
        last = row;
        row = free_row;
    }
    return last[b_length];
}

const char *tseed_name_meant(const char *name, const char *const *known)
{
    char letters[NAME_MOST + 1], others[NAME_MOST + 1];
    const int length = fold(letters, name);
    const char *nearest = NULL;
    int least_apart = 3;

    for (; *known && length > 0 && length <= NAME_MOST; known++) {
        const int other = fold(others, *known);
        const int most = other <= 4 ? 1 : 2;
        const int apart = other <= NAME_MOST ? distance(letters, length, others, other) : NAME_MOST;

        if (apart <= most && apart < least_apart) {
            nearest = *known;
            least_apart = apart;
        }
    }
    return nearest;
}

/* ---- members ---- */

static const char *sentence_of(const char *prefix, const char *quoted, const char *meant,
                               apr_pool_t *pool)
{
    return apr_psprintf(pool, "Unknown member: '%s%s'. Is %s%s meant?", prefix, quoted, prefix,
                        meant);
}

const char *tseed_member_alias(const char *name, const tseed_alias_t *aliases, apr_pool_t *pool)
{
    for (; aliases->name; aliases++) {
        if (apr_cstr_casecmp(name, aliases->name) == 0) {
            return sentence_of("", tseed_text_quote(name, QUOTE_MAX, pool), aliases->meant, pool);
        }
    }
    return NULL;
}

static int is_noted(const char *ignored, const char *name)
{
    const size_t length = strlen(name);

    for (const char *line = ignored; *line;) {
        const size_t end = strcspn(line, "\n");

        if (end == length && memcmp(line, name, length) == 0) {
            return 1;
        }
        line += end + (line[end] == '\n');
    }
    return 0;
}

/* Adds a name, once. */
static void note(const char **ignored, const char *name, apr_pool_t *pool)
{
    if (!*ignored) {
        *ignored = name;
    } else if (strlen(*ignored) < IGNORED_MOST && !is_noted(*ignored, name)) {
        *ignored = apr_pstrcat(pool, *ignored, "\n", name, NULL);
    }
}

const char *tseed_member_unknown(const char **ignored, const char *part, const char *name,
                                 const char *const *known, apr_pool_t *pool)
{
    const char *quoted = tseed_text_quote(name, QUOTE_MAX, pool);
    const char *prefix = *part ? apr_pstrcat(pool, part, ".", NULL) : "";
    const char *meant = tseed_name_meant(name, known);

    if (meant) {
        return sentence_of(prefix, quoted, meant, pool);
    }
    note(ignored, apr_pstrcat(pool, prefix, quoted, NULL), pool);
    return NULL;
}

const char *tseed_members_joined(const char *ignored, apr_pool_t *pool)
{
    const char *joined = "";

    for (const char *line = ignored; *line;) {
        const size_t length = strcspn(line, "\n");

        joined = apr_pstrcat(pool, joined, *joined ? ", " : "", apr_pstrmemdup(pool, line, length),
                             NULL);
        line += length + (line[length] == '\n');
    }
    return joined;
}
