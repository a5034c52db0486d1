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

/* ---- parts ----
 *
 * What a file of this room adds to the module. All its functions stay in the file.
 */

struct tseed_handler_t;

typedef struct {
    const command_rec *directives;          /* a row without a name ends them; NULL: none */
    const struct tseed_handler_t *handlers; /* of the REST interface, mod_tileseed_handlers.h; a
                                             * row without a function ends them; NULL: none */
    void (*hook)(apr_pool_t *pool);         /* registers its hooks; NULL: it has none */
    void (*start)(server_rec *server, apr_pool_t *pconf, apr_pool_t *ptemp); /* post_config of the
                                             * real pass, if there is a layer; NULL: nothing */
} tseed_module_part_t;

/* Runs a hook in the C locale. A neighbour may have set another one. Our own code does not ask it
 * (base/tseed_ascii.h), but APR's tables do when they compare the names of parameters. */
int tseed_run_hook(int (*hook)(request_rec *), request_rec *r);

extern module AP_MODULE_DECLARE_DATA tileseed_module;

#endif
