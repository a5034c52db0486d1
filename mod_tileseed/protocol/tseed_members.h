/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Members that a request has and nobody asked for: misspelt ones are refused, others are noted.
 *
 * A client may send members that this module does not know. A member that is almost one it knows
 * is a mistake: running `zoomstop` as if it were absent would seed every level. So is a name by
 * which other services know a member that limits a task: a truncate without its box removes all.
 *
 * Any thread. Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_MEMBERS_H
#define TSEED_MEMBERS_H

#include <apr_pools.h>

/* The known name that `name` is meant to be: the same but for case, `-`, `_`, or for one letter
 * (of names up to four letters) or two; neighbours that have changed places are one letter. NULL:
 * `name` is far from all of them. `known` ends with NULL; a name of the list itself is not asked
 * for. */
const char *tseed_name_meant(const char *name, const char *const *known);

/* Judges a member that is none of `known`; `part` is the member it stands in, "" for the document's
 * own. NULL: it was added to *ignored, one a line, each once, cut when they are many. Or the
 * sentence of a 400 that says which name is meant. */
const char *tseed_member_unknown(const char **ignored, const char *part, const char *name,
                                 const char *const *known, apr_pool_t *pool);

/* A name that other services use for one that is known here. */
typedef struct {
    const char *name, *meant;
} tseed_alias_t;

/* NULL, or the sentence of a 400 that says which name is meant; `aliases` ends with a name NULL. */
const char *tseed_member_alias(const char *name, const tseed_alias_t *aliases, apr_pool_t *pool);

/* The lines of `ignored` joined by ", ". */
const char *tseed_members_joined(const char *ignored, apr_pool_t *pool);

#endif
