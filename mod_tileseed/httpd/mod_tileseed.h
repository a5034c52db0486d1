/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Declarations that all files of this room share. */
#ifndef MOD_TILESEED_H
#define MOD_TILESEED_H

#include <httpd.h>

#include <http_config.h>

#include "base/tseed_log.h"

/* Slots of the board beyond TileSeedMaxTasks: for tasks in termination, which count no more. */
#define TSEED_SPARE_SLOTS 256

/* Most that TileSeedWorkers may say; the board has room for them all, so a graceful restart may
 * change the number. */
#define TSEED_WORKERS_MAX 256

/* The log sink of children and seeder: httpd's error log. `server` is a server_rec. Any thread. */
void tseed_httpd_log(void *server, tseed_log_level_t level, apr_status_t rv, const char *line);

extern module AP_MODULE_DECLARE_DATA tileseed_module;

#endif
