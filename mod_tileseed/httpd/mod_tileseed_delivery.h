/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The file of a tile to the client. */
#ifndef MOD_TILESEED_DELIVERY_H
#define MOD_TILESEED_DELIVERY_H

#include "mod_tileseed_wanted.h"

/* Answers with the tile that is wanted, which is made if it is missing. Returns what a handler hook
 * returns. Request thread. */
int tseed_tile_serve(request_rec *r, const tseed_wanted_t *wanted);

#endif
