/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What became of a request for a tile. Almost all requests find their tile: for them nothing is
 * copied or formatted but the level. */
#include "mod_tileseed_outcome.h"

#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "board/tseed_counters.h"
#include "mod_tileseed_supervise.h"

/* `cached`: for Cache-Status; NULL: the cache has no part in the answer. */
static const struct {
    const char *result, *variable, *cached;
    int has_tile; /* the answer */
} outcomes[] = {
    [TSEED_OUTCOME_HIT] = {"hit", "tileseed-hit", "tileseed; hit", 1},
    [TSEED_OUTCOME_MADE] = {"made", "tileseed-made", "tileseed; fwd=uri-miss; stored", 1},
    [TSEED_OUTCOME_UNSTORED] = {"unstored", "tileseed-unstored", "tileseed; fwd=uri-miss", 1},
    [TSEED_OUTCOME_EMPTY] = {"empty", "tileseed-empty", "tileseed; detail=empty", 1},
    [TSEED_OUTCOME_MISS] = {"miss", "tileseed-miss", "tileseed; detail=miss", 0},
    [TSEED_OUTCOME_BUSY] = {"busy", "tileseed-busy", "tileseed; detail=busy", 0},
    [TSEED_OUTCOME_FAILED] = {"failed", "tileseed-failed", "tileseed; detail=failed", 0},
    [TSEED_OUTCOME_FORBIDDEN] = {"forbidden", "tileseed-forbidden", NULL, 0},
    [TSEED_OUTCOME_ERROR] = {"error", "tileseed-error", NULL, 0},
    [TSEED_OUTCOME_REFUSED] = {"refused", "tileseed-refused", NULL, 0},
    [TSEED_OUTCOME_DOCUMENT] = {"document", "tileseed-document", NULL, 0},
};

/* ---- headers of GeoWebCache ---- */

/* As GeoWebCache writes a bound: "-180.0", "-20037508.34", at most 16 decimals. */
static const char *bound_of(double number, apr_pool_t *pool)
{
    char text[350]; /* the largest number has 309 digits */

    for (int digits = 1; digits <= 16; digits++) {
        tseed_ascii_print(text, sizeof(text), "%.*f", digits, number);
        if (tseed_ascii_strtod(text, NULL) == number) {
            break;
        }
    }
    return apr_pstrdup(pool, text);
}

/* Names, order and form of the values are those of GeoWebCache's tile services. */
static void set_headers_of_geowebcache(request_rec *r, const tseed_wanted_t *wanted,
                                       tseed_tile_outcome_t outcome)
{
    const tseed_gridset_t *gridset = wanted->chart->subset->gridset;
    const tseed_tile_t *tile = &wanted->tile;
    const tseed_range_t range = {tile->z, tile->x, tile->y, tile->x, tile->y};
    const tseed_bounds_t bounds = tseed_range_bounds(gridset, &range);
    apr_table_t *headers = r->headers_out;

    apr_table_setn(headers, "geowebcache-cache-result",
                   outcome == TSEED_OUTCOME_HIT ? "HIT" : "MISS");
    apr_table_setn(headers, "geowebcache-tile-index",
                   apr_psprintf(r->pool, "[%" APR_INT64_T_FMT ", %" APR_INT64_T_FMT ", %d]",
                                tile->x, tile->y, tile->z));
    apr_table_setn(headers, "geowebcache-tile-bounds",
                   apr_pstrcat(r->pool, bound_of(bounds.minx, r->pool), ",",
                               bound_of(bounds.miny, r->pool), ",", bound_of(bounds.maxx, r->pool),
                               ",", bound_of(bounds.maxy, r->pool), NULL));
    apr_table_setn(headers, "geowebcache-gridset", gridset->name);
    apr_table_setn(headers, "geowebcache-crs", apr_psprintf(r->pool, "EPSG:%d", gridset->srs));
}

/* ---- what everybody hears ---- */

static void note_tile(request_rec *r, const tseed_wanted_t *wanted)
{
    const tseed_tileset_t *tileset = &wanted->served->tileset;

    apr_table_setn(r->notes, "tileseed-layer", tileset->layer->name);
    apr_table_setn(r->notes, "tileseed-tileset", tileset->key);
    apr_table_setn(r->notes, "tileseed-z", apr_itoa(r->pool, wanted->tile.z));
}

/* A failure is a forwarded request only if the upstream was asked: it may be remembered. */
static const char *cached(const request_rec *r, tseed_tile_outcome_t outcome)
{
    const char *status = outcomes[outcome].cached;

    return outcome == TSEED_OUTCOME_FAILED && apr_table_get(r->notes, TSEED_UPSTREAM_NOTE)
               ? "tileseed; fwd=uri-miss; detail=failed"
               : status;
}

/* Nothing but additions: almost all requests come here. */
static void count(const request_rec *r, const tseed_wanted_t *wanted, tseed_tile_outcome_t outcome)
{
    tseed_board_t *board = tseed_supervise_board();

    if (!board) {
        return;
    }
    if (outcome < TSEED_OUTCOMES_OF_TILES) {
        tseed_counters_request(board, wanted->served->tileset.layer->counted, outcome,
                               apr_time_now() - r->request_time, (unsigned)r->connection->id);
    } else {
        tseed_counters_service(board, outcome);
    }
}

void tseed_outcome_say(request_rec *r, const tseed_dir_conf_t *dir, const tseed_wanted_t *wanted,
                       tseed_tile_outcome_t outcome)
{
    const char *status = cached(r, outcome);

    count(r, wanted, outcome);
    apr_table_setn(r->notes, "tileseed-result", outcomes[outcome].result);
    apr_table_setn(r->subprocess_env, outcomes[outcome].variable, "1");
    if (wanted->kind == TSEED_WANTED_TILE) {
        note_tile(r, wanted);
    }
    if (status) {
        apr_table_setn(r->headers_out, "Cache-Status", status);
    }
    if (dir->dialect == TSEED_DIALECT_GEOWEBCACHE && outcomes[outcome].has_tile) {
        set_headers_of_geowebcache(r, wanted, outcome);
    }
}
