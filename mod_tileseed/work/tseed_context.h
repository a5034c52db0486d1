/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The context: what every module of the seeder's main thread has at hand. The loop makes the
 * context before it makes any module. Only the loop changes the context. Main thread only; other
 * threads use the mailbox, through pointers of their own. */
#ifndef TSEED_CONTEXT_H
#define TSEED_CONTEXT_H

#include "base/tseed_calendar.h"
#include "board/tseed_board.h"
#include "protocol/tseed_settings.h"
#include "source/tseed_fetcher.h"
#include "work/tseed_clients.h"
#include "work/tseed_mailbox.h"
#include "work/tseed_workers.h"

typedef struct tseed_context_t {
    const tseed_settings_t *settings;
    const tseed_catalog_t *catalog;
    uint64_t generation; /* of the configuration */
    tseed_board_t *board;
    apr_pool_t *pool;    /* lives as long as the process */
    apr_pool_t *scratch; /* cleared every turn of the loop */
    tseed_calendar_t calendar;
    unsigned ticks; /* of the loop, one a second */
    tseed_clients_t *clients;
    tseed_mailbox_t *mailbox;
    tseed_fetcher_t *fetcher;
    tseed_workers_t *workers;
} tseed_context_t;

#endif
