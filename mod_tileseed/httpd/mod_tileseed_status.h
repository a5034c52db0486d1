/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Our section of mod_status' page. */
#ifndef MOD_TILESEED_STATUS_H
#define MOD_TILESEED_STATUS_H

#include <httpd.h>

/* status_hook of mod_status: seeder, disk quota and tasks; in the short form one line a value, for
 * machines. Request thread. Tasks come from the board; what the cache takes comes from the
 * database, and is left out when the database can't be read now. */
int tseed_status_section(request_rec *r, int flags);

#endif
