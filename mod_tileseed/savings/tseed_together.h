/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Which savings go together: one table, asked by the savings and by the check of the configuration,
 * and shown in the manual (manual/directives.md, where a lint compares it). Pure functions. */
#ifndef TSEED_TOGETHER_H
#define TSEED_TOGETHER_H

#include "layer/tseed_layer.h"

/* The savings, by what becomes of metatiles. */
#define TSEED_SAVING_LIST(X)                                                                       \
    X(JOINED)    /* one request fetches neighbours: TileSeedMetatile auto */                       \
    X(PRUNED)    /* taken to be of the colour above: TileSeedPrune */                              \
    X(SHARED)    /* the answer of another run's request is taken */                                \
    X(DERIVED)   /* made of the tiles below: TileSeedDerive */                                     \
    X(UNCHANGED) /* left alone by a reseed: TileSeedReseed changed */

/* Two savings, how they go together, and why:
 *
 *      BOTH    the same metatile may have both
 *      ONE     a layer may have both; what the later one takes the earlier one leaves out
 *      NEVER   a layer has one of them */
#define TSEED_TOGETHER_LIST(X)                                                                     \
    X(JOINED, PRUNED, ONE, "a request leaves out the metatiles that are pruned")                   \
    X(JOINED, SHARED, BOTH, "the run that comes later asks by the size of the earlier request")    \
    X(JOINED, DERIVED, ONE, "nothing is asked for")                                                \
    X(JOINED, UNCHANGED, BOTH, "a reseed asks by the size that the tiles came from")               \
    X(PRUNED, SHARED, BOTH, "what is fetched all the same may be shared")                          \
    X(PRUNED, DERIVED, NEVER,                                                                      \
      "derived levels are made of tiles of the store, which pruned tiles are not in")              \
    X(PRUNED, UNCHANGED, BOTH, "a reseed prunes below what it has found again")                    \
    X(SHARED, DERIVED, ONE, "nothing is asked for")                                                \
    X(SHARED, UNCHANGED, BOTH, "requests with the same condition, or an answer in full")           \
    X(DERIVED, UNCHANGED, BOTH, "tiles stay whose four tiles below are as they were")

#define TSEED_SAVING_NAME(name) TSEED_##name,
typedef enum { TSEED_SAVING_LIST(TSEED_SAVING_NAME) TSEED_SAVINGS } tseed_saving_kind_t;

typedef enum { TSEED_BOTH, TSEED_ONE, TSEED_NEVER } tseed_together_t;

/* How two savings go together, in whichever order. */
tseed_together_t tseed_together_how(tseed_saving_kind_t a, tseed_saving_kind_t b);

/* Why a layer can't have the savings that it is configured for, as the start of a sentence; NULL:
 * it can. *other: the one of the two that the layer can do without. */
const char *tseed_together_problem(const tseed_layer_t *layer, tseed_saving_kind_t *other);

/* How a layer's block does without a saving: "TileSeedPrune off". */
const char *tseed_together_off(tseed_saving_kind_t kind);

#endif
