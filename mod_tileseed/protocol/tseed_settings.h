/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The configuration of the server as a whole, layers apart.
 *
 * Plain data in the configuration's pool, filled by the configuration phase and immutable
 * afterwards. It stands in this room because the quota configuration does.
 */
#ifndef TSEED_SETTINGS_H
#define TSEED_SETTINGS_H

#include "protocol/tseed_quota_config.h"

#define TSEED_HOST_NAME_MAX 63 /* bytes of the name of a host */

typedef struct {
    const char *state_dir;     /* absolute path */
    const char *db_driver;     /* of apr_dbd */
    const char *db_params;     /* NULL: a file of its own choice in state_dir */
    const char *host;          /* name among the hosts that share the database */
    apr_interval_time_t lease; /* how long a host works on without the database, and a bit more */
    int threads;               /* seeding threads that all tasks share */
    int workers;               /* threads that cut, encode and store */
    int64_t max_tasks;         /* pending and running */
    int64_t history_most;      /* finished tasks kept, and for how long */
    apr_interval_time_t history_age;
    apr_interval_time_t give_up; /* how long a task waits for its upstream */
    int64_t max_request_body;    /* bytes */
    int nice;                    /* of the seeder */
    apr_interval_time_t stop_timeout, hang_timeout;
    int server_status;          /* mod_status' page has a section of ours */
    int sync;                   /* tiles are on the disk before the database calls them made */
    tseed_quota_config_t quota; /* of TileSeedDiskQuota, or the defaults */
    int miss_waiters; /* requests that may wait for missing tiles at once; 0: by default */
    int miss_of_layer, miss_of_client; /* those of a layer, of a client; 0: as many as are free */
    const char *quota_directive;       /* its arguments as written; "" when it is absent */
    int64_t quota_files;               /* most files when the quota is on; INT64_MAX: no limit */
    int64_t min_free; /* bytes that writes leave free below each store root; 0: none */
    apr_interval_time_t quota_grace; /* before a first clean-up that would remove much */
} tseed_settings_t;

#endif
