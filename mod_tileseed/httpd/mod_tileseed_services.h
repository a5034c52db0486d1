/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The answers of a location with TileSeedTiles that are no tiles. */
#ifndef MOD_TILESEED_SERVICES_H
#define MOD_TILESEED_SERVICES_H

#include "mod_tileseed_wanted.h"

/* Sends a document, or the service's exception that says what is wrong. Returns OK. Request thread.
 */
int tseed_services_answer(request_rec *r, const tseed_dir_conf_t *dir,
                          const tseed_wanted_t *wanted);

#endif
