/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder: the process that owns every running task.
 *
 *      main thread   state database, board, doorbell; decides what is done next
 *        |  ^
 *        |  mailbox: jobs whose stage is over
 *        v  |
 *      fetcher (one thread, curl multi)     workers (APR thread pool: look, cut, store, remove)
 *
 * Only the main thread knows tasks, so nothing here is locked but the mailbox.
 */
#ifndef TSEED_SEEDER_H
#define TSEED_SEEDER_H

#include "board/tseed_board.h"
#include "protocol/tseed_settings.h"
#include "work/tseed_session.h"

typedef struct {
    const tseed_settings_t *settings;
    const tseed_catalog_t *catalog;
    tseed_board_t *board;
    uint64_t generation; /* of the configuration; the board has the one in force */
    int doorbell;        /* eventfd that children ring */
    int miss_socket;     /* where children ask for missing tiles (tseed_miss.h); -1: they don't */
    int miss_ask;        /* the children's end of that */
    int stop;            /* readable: leave (a signalfd); -1: only when the parent is gone */
    int64_t parent;      /* pid of the process that started this one; 0: don't watch */
} tseed_seeder_setup_t;

/* Works until httpd stops it or the parent is gone. Then waits for its workers for
 * settings->stop_timeout at the most, writes a last record and returns. The caller leaves with
 * _exit, because workers may still run. Call it in the seeder's process, on its only thread, with
 * all signals blocked and privileges dropped. Everything lives in `pool`. */
tseed_exit_t tseed_seeder_run(const tseed_seeder_setup_t *setup, apr_pool_t *pool);

#endif
