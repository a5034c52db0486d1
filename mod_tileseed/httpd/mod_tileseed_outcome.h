/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What became of a request for a tile, said in one place: to the access log in notes and the
 * environment, to the client in Cache-Status (RFC 9211) and GeoWebCache's headers. Request threads.
 */
#ifndef MOD_TILESEED_OUTCOME_H
#define MOD_TILESEED_OUTCOME_H

#include <httpd.h>

#include "mod_tileseed_config.h"
#include "mod_tileseed_wanted.h"

typedef enum {
    TSEED_OUTCOME_HIT,       /* the tile was there */
    TSEED_OUTCOME_MADE,      /* the tile was missing and was made for this request */
    TSEED_OUTCOME_UNSTORED,  /* the same, but the store did not take the tile */
    TSEED_OUTCOME_EMPTY,     /* a blank tile stands for the missing one */
    TSEED_OUTCOME_MISS,      /* the tile is missing and is not made */
    TSEED_OUTCOME_BUSY,      /* the tile can't be made just now */
    TSEED_OUTCOME_FAILED,    /* the upstream has not made the tile */
    TSEED_OUTCOME_FORBIDDEN, /* rules of the tile's directory keep the client out */
    TSEED_OUTCOME_ERROR,     /* the file can't be read */
    TSEED_OUTCOME_REFUSED,   /* the request names no tile and no document */
    TSEED_OUTCOME_DOCUMENT   /* a document of a service */
} tseed_tile_outcome_t;

/* Says the outcome, once a request and before the answer is sent. */
void tseed_outcome_say(request_rec *r, const tseed_dir_conf_t *dir, const tseed_wanted_t *wanted,
                       tseed_tile_outcome_t outcome);

/* How long the request waited for a missing tile, and for how many ms of that the upstream was
 * asked; 0: it was not asked. Comes before the outcome, which depends on it. */
void tseed_outcome_wait(request_rec *r, apr_interval_time_t waited, int upstream);

#endif
