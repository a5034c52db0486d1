/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Retained data: plain data that points to nothing in this shared object, because httpd loads the
 * shared object anew between two generations. Earlier and later builds find the data too. So a
 * record never changes, and new data gets a record of its own. */
#include "mod_tileseed_retained.h"

#include <apr_shm.h>
#include <http_config.h>
#include <http_log.h>
#include <sys/eventfd.h>

#include "mod_tileseed.h"
#include "seeder/tseed_miss.h"

APLOG_USE_MODULE(tileseed);

typedef struct {
    void *segment;
    apr_size_t size;
    int doorbell;
} retained_t;

/* What the parent has noted about the segment in its own memory. */
typedef struct {
    void *segment; /* of which it is said; another: an earlier build has made that one */
    uint64_t layout, generation;
    unsigned slots, workers;
} retained_shape_t;

typedef struct {
    int ends[2];
} retained_miss_socket_t;

/* A record of that size, zeroed when it is made. */
static void *record_get(const char *key, apr_size_t size)
{
    void *record = ap_retained_data_get(key);

    return record ? record : ap_retained_data_create(key, size);
}

static retained_t *retained_get(server_rec *server)
{
    const int is_first = ap_retained_data_get("mod_tileseed-board") == NULL;
    retained_t *retained = record_get("mod_tileseed-board", sizeof(*retained));

    if (is_first) {
        retained->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (retained->doorbell < 0) {
            ap_log_error(APLOG_MARK, APLOG_CRIT, errno, server, "TS0008: no doorbell");
        }
    }
    return retained;
}

int tseed_retained_doorbell(server_rec *server)
{
    return retained_get(server)->doorbell;
}

/* The name that earlier builds gave the socket: a graceful restart into this build finds theirs. */
#define MISS_SOCKET_KEY "mod_tileseed-hatch"

int tseed_retained_miss_socket(int end, int most, server_rec *server)
{
    const int is_first = ap_retained_data_get(MISS_SOCKET_KEY) == NULL;
    retained_miss_socket_t *retained = record_get(MISS_SOCKET_KEY, sizeof(*retained));

    if (is_first) {
        apr_status_t rv = tseed_miss_open(retained->ends, most);

        if (rv != APR_SUCCESS) {
            retained->ends[0] = retained->ends[1] = -1;
            ap_log_error(APLOG_MARK, APLOG_ERR, rv, server,
                         "TS0009: missing tiles can't be asked for; they are answered 503");
        }
    }
    return retained->ends[end];
}

/* ---- board ---- */

static tseed_board_t *board_make(retained_t *retained, retained_shape_t *shape, server_rec *server,
                                 apr_pool_t *pconf)
{
    apr_size_t size = tseed_board_size(shape->slots, shape->workers);
    apr_shm_t *shm;
    apr_status_t rv = apr_shm_create(&shm, size + 64, NULL, server->process->pool);

    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, server,
                     "TS0006: no shared memory of %" APR_SIZE_T_FMT " bytes for the task table; "
                     "lower TileSeedMaxTasks",
                     size);
        return NULL;
    }
    /* the segment begins 8 bytes behind a cache line */
    shape->segment = retained->segment =
        (void *)(((uintptr_t)apr_shm_baseaddr_get(shm) + 63) & ~(uintptr_t)63);
    retained->size = size;
    shape->layout = tseed_board_layout();
    return tseed_board_init(shape->segment, shape->slots, shape->workers, pconf);
}

static tseed_board_t *board_get(retained_t *retained, retained_shape_t *shape, unsigned slots,
                                server_rec *server, apr_pool_t *pconf)
{
    const int is_known = shape->segment == retained->segment;
    tseed_board_t *board = retained->segment
                               ? tseed_board_attach(retained->segment, is_known ? shape->layout : 0,
                                                    shape->slots, shape->workers, pconf)
                               : NULL;

    if (!board) {
        shape->slots = slots;
        shape->workers = TSEED_WORKERS_MAX;
        return board_make(retained, shape, server, pconf);
    }
    if (shape->slots != slots) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                     "TS0007: a changed TileSeedMaxTasks takes effect when httpd is stopped and "
                     "started");
    }
    return board;
}

tseed_board_t *tseed_retained_board(uint64_t *generation, const tseed_settings_t *settings,
                                    server_rec *server, apr_pool_t *pconf)
{
    retained_shape_t *shape = record_get("mod_tileseed-shape", sizeof(*shape));
    tseed_board_t *board =
        board_get(retained_get(server), shape, (unsigned)settings->max_tasks + TSEED_SPARE_SLOTS,
                  server, pconf);

    *generation = ++shape->generation;
    if (board) {
        tseed_board_generation_set(board, *generation);
    }
    return board;
}
