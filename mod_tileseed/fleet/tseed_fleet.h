/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The fleet as this build and this configuration have it: one host, or several. */
#ifndef TSEED_FLEET_H
#define TSEED_FLEET_H

#include "fleet/tseed_doors.h"

/* Makes the fleet of the seeder, in the context's pool. Children of httpd ask at the other end of
 * `miss_socket`, see work/tseed_miss.h; -1: they don't. */
tseed_fleet_t *tseed_fleet_create(const tseed_context_t *context, tseed_session_t *session,
                                  int miss_socket);

/* Whether this build has a fleet. Any process and thread. */
int tseed_fleet_is_built(void);

/* Whether several hosts can share a database of that driver. Any process and thread. */
int tseed_fleet_can_share(const char *driver);

#endif
