/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Nodes, the tree that a document of either format is read into (tseed_document.h), and members of
 * a request that the module does not know: the ones that could narrow the request are refused,
 * others are noted.
 *
 * The rule: a request never comes to mean more than it says. A task that ignored `zoomstop` would
 * seed every level, a truncate that ignored `boundingBox` would remove everything. So a name is
 * refused that is almost a known one, or that speaks of what a request can be narrowed by: levels,
 * boxes, grid sets, reference systems, formats, parameters, the kind of the task, a part of the
 * tiles. An unknown member with members of its own, or a list, can narrow whatever its name is.
 * Every reader of documents, forms and queries asks here. A truncate takes no unknown member at
 * all, which tseed_seed_document_resolve sees to.
 *
 * Any thread. Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_MEMBERS_H
#define TSEED_MEMBERS_H

#include <apr_pools.h>

/* ---- nodes; a tree lives in one pool ---- */

typedef struct tseed_node_t {
    const char *name; /* local name, without prefix */
    const char *text; /* as it was sent, in UTF-8; "" when there are children */
    int is_null;      /* JSON null; its text is "null" */
    int is_compound;  /* JSON: an entry of a list, or an attribute with more than a text */
    int is_mixed;     /* there is text beside the children, which is dropped */
    int line;         /* from 1; XML: white space before the document not counted */
    struct tseed_node_t *children, *next;
    struct tseed_node_t *attributes; /* but for class, and those of XML itself and of XML Schema */
} tseed_node_t;

/* An empty node, in `pool`, which the name outlives. For the readers. */
tseed_node_t *tseed_node_create(const char *name, int line, apr_pool_t *pool);

/* Adds an attribute to a node and returns it; NULL: it is one that never says what is wanted.
 * `name`, which may have a prefix, and `text` live as long as the node, which is in `pool`. For the
 * readers. */
tseed_node_t *tseed_node_add_attribute(tseed_node_t *node, const char *name, const char *text,
                                       apr_pool_t *pool);

/* First child of that name, or NULL. */
const tseed_node_t *tseed_node_find(const tseed_node_t *parent, const char *name);

/* The text without white space around it, in `pool`; "" for null. */
const char *tseed_node_trimmed(const tseed_node_t *node, apr_pool_t *pool);

/* Whether there is nothing in it: no children, no text, or null. */
int tseed_node_is_empty(const tseed_node_t *node);

/* Whether nothing is said anywhere in it, nor in its attributes. */
int tseed_node_is_blank(const tseed_node_t *node);

/* ---- names ---- */

/* The known name that `name` is meant to be. Case, `-` and `_` do not count. A known name of up to
 * four letters may differ in one letter, a longer one in two. A letter that was added or left out
 * counts as one, and so do two neighbours that have changed places. NULL: `name` is far from all of
 * them. `known` ends with NULL and does not have `name` itself. */
const char *tseed_name_meant(const char *name, const char *const *known);

/* What a name speaks of. PART: of some of the tiles. CHOICE: of which tasks or layers. */
typedef enum {
    TSEED_SUBJECT_NONE,
    TSEED_SUBJECT_FIRST_LEVEL,
    TSEED_SUBJECT_LAST_LEVEL,
    TSEED_SUBJECT_LEVELS,
    TSEED_SUBJECT_BOX,
    TSEED_SUBJECT_GRID,
    TSEED_SUBJECT_SYSTEM,
    TSEED_SUBJECT_FORMAT,
    TSEED_SUBJECT_PARAMETER,
    TSEED_SUBJECT_KIND,
    TSEED_SUBJECT_PART,
    TSEED_SUBJECT_CHOICE,
    TSEED_SUBJECTS
} tseed_subject_t;

/* What a name of a member or field speaks of, in any case. */
tseed_subject_t tseed_name_subject(const char *name);

/* The members that may stand in one place, and how unknown ones are judged there. */
typedef struct {
    const char *const *known;          /* ends with NULL */
    const char *meant[TSEED_SUBJECTS]; /* what a name that speaks of the subject is meant to be; "":
                                        * it is refused all the same; NULL: it narrows nothing */
    const char *const *idle;           /* these say nothing, whatever their values; NULL: none */
    int is_closed;                     /* every unknown name is refused */
} tseed_members_t;

/* What an unknown member holds: nothing, a plain value, or a list or members of its own. */
typedef enum { TSEED_CONTENT_NONE, TSEED_CONTENT_PLAIN, TSEED_CONTENT_PARTS } tseed_content_t;

/* The unknown members of a request so far. */
typedef struct {
    const char *ignored; /* all that were noted, one a line; NULL: none */
    const char *dropped; /* the first of them that is not empty; NULL: all are empty */
} tseed_unknown_t;

/* Judges a member whose name is none of members->known. `part` is the member in which it stands, ""
 * for the root. Notes the name, each once, cut when there are many, and returns NULL. Or returns
 * the sentence of a 400, which says which name is meant. An empty member is always noted. */
const char *tseed_member_judge(tseed_unknown_t *unknown, const tseed_members_t *members,
                               const char *part, const char *name, tseed_content_t content,
                               apr_pool_t *pool);

/* A known member that has no content, and attributes that say something: the sentence of a 400. A
 * value that stands in attributes would be lost. NULL: it is no such member. */
const char *tseed_member_hollow(const tseed_node_t *node, apr_pool_t *pool);

/* The lines of `ignored` joined by ", ". */
const char *tseed_members_joined(const char *ignored, apr_pool_t *pool);

/* Notes a name among the lines of *ignored. */
void tseed_members_note(const char **ignored, const char *name, apr_pool_t *pool);

#endif
