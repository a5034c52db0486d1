/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Members of a request that the module does not know: misspelt ones are refused, others are noted.
 *
 * A client may send members that this module does not know. A name that is almost a known one is a
 * mistake: a task that ignored `zoomstop` would seed every level. A name is a mistake, too, when
 * other services use it for a member that limits a task: a truncate that ignored `bbox` would
 * remove everything.
 *
 * Any thread. Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_MEMBERS_H
#define TSEED_MEMBERS_H

#include <apr_pools.h>

/* The known name that `name` is meant to be. Case, `-` and `_` do not count. A known name of up to
 * four letters may differ in one letter, a longer one in two. A letter that was added or left out
 * counts as one, and so do two neighbours that have changed places. NULL: `name` is far from all of
 * them. `known` ends with NULL and does not have `name` itself. */
const char *tseed_name_meant(const char *name, const char *const *known);

/* Judges a member whose name is none of `known`. `part` is the member in which it stands, "" for
 * the root. Adds the name to *ignored, one name a line, each once, cut when there are many, and
 * returns NULL. Or returns the sentence of a 400 that says which name is meant. */
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
