/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests that other hosts send. */
#include "seeder/tseed_portions.h"

#include <pthread.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_memory.h"
#include "seeder/tseed_exchange.h"
#include "seeder/tseed_pack_file.h"
#include "state/tseed_hosts.h"

#define TURN        (50 * 1000)            /* microseconds */
#define GATHER      (5 * 1000)             /* likewise, from the first errand to the turn */
#define IDLE        (250 * 1000)           /* likewise, while there is no errand */
#define FAILED      (500 * 1000)           /* likewise, while the database fails */
#define OUTAGE      (5 * APR_USEC_PER_SEC) /* of the database, until errands are taken back */
#define CLEAN_EVERY (60 * APR_USEC_PER_SEC)

struct tseed_portions_t {
    const tseed_settings_t *settings;
    tseed_errands_t errands;

    /* the thread's */
    tseed_exchange_t exchange;
    apr_pool_t *pool;
    apr_time_t failed;   /* monotonic: since then the database fails; 0: it does not */
    apr_time_t clean_at; /* monotonic */
};

/* ---- the fetcher's thread ---- */

static void hand_over(void *baton, tseed_transfer_t *transfer)
{
    tseed_portions_t *portions = baton;

    tseed_errands_add(&portions->errands, transfer);
}

static int recall(void *baton, tseed_transfer_t *transfer)
{
    tseed_portions_t *portions = baton;

    return tseed_errands_recall(&portions->errands, transfer);
}

/* ---- what nobody waits for ---- */

static int is_wanted(void *baton, const tseed_pack_name_t *name)
{
    tseed_portions_t *portions = baton;

    return name->giver == portions->exchange.giver &&
           tseed_errands_lines(&portions->errands, name->number) > name->index;
}

/* Deletes rows of earlier givers, and own rows without errands: a deletion may have failed, or the
 * answer to a commit may be lost. */
static apr_status_t clean_rows(tseed_portions_t *portions)
{
    apr_array_header_t *rows, *old;
    apr_status_t rv = tseed_portion_rows_forget(portions->exchange.state);

    if (rv == APR_SUCCESS) {
        rv = tseed_portion_rows_of(portions->exchange.state, &rows, portions->exchange.giver,
                                   portions->exchange.scratch);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    old = apr_array_make(portions->exchange.scratch, 4, sizeof(tseed_portion_row_t));
    for (int i = 0; i < rows->nelts; i++) {
        const tseed_portion_row_t *row = &APR_ARRAY_IDX(rows, i, tseed_portion_row_t);

        if (tseed_errands_lines(&portions->errands, row->number) == 0) {
            tseed_exchange_add_row(old, &portions->exchange, row->epoch, row->number);
        }
    }
    return tseed_portion_rows_delete(portions->exchange.state, old);
}

/* Once a minute, and when the database is back. */
static apr_status_t clean(tseed_portions_t *portions)
{
    const apr_time_t now = tseed_clock_monotonic();
    apr_status_t rv;

    if (now < portions->clean_at) {
        return APR_SUCCESS;
    }
    rv = clean_rows(portions);
    if (rv == APR_SUCCESS) {
        tseed_pack_files_clean(portions->exchange.catalog, is_wanted, portions,
                               portions->exchange.scratch);
        portions->clean_at = now + CLEAN_EVERY;
    }
    return rv;
}

/* ---- the thread ---- */

static apr_status_t prepare(tseed_portions_t *portions)
{
    const tseed_settings_t *settings = portions->settings;
    apr_status_t rv = APR_SUCCESS;

    if (!portions->exchange.state) {
        rv = tseed_state_open(&portions->exchange.state, settings->state_dir, settings->db_driver,
                              settings->db_params, portions->pool);
    }
    return rv == APR_SUCCESS
               ? tseed_portion_hosts_look(portions->exchange.hosts, portions->exchange.state,
                                          settings->host, portions->exchange.scratch)
               : rv;
}

static apr_status_t do_turn(tseed_portions_t *portions)
{
    apr_status_t rv = prepare(portions);

    if (rv == APR_SUCCESS && (tseed_portion_hosts_count_open(portions->exchange.hosts) > 0 ||
                              tseed_errands_wait(&portions->errands, 0))) {
        rv = tseed_exchange_collect(&portions->exchange);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_exchange_give(&portions->exchange);
    }
    return rv == APR_SUCCESS ? clean(portions) : rv;
}

/* Others look after a database that fails, and say so. If it fails for long, nobody helps. */
static void note_failure_of_database(tseed_portions_t *portions)
{
    const apr_time_t now = tseed_clock_monotonic();

    portions->clean_at = 0;
    portions->failed = portions->failed ? portions->failed : now;
    if (now > portions->failed + OUTAGE) {
        tseed_portion_hosts_lose(portions->exchange.hosts);
        tseed_exchange_take_back(&portions->exchange, apr_array_make(portions->exchange.scratch, 4,
                                                                     sizeof(tseed_portion_row_t)));
    }
}

static void turn(tseed_portions_t *portions)
{
    if (do_turn(portions) == APR_SUCCESS) {
        portions->failed = 0;
    } else {
        note_failure_of_database(portions);
    }
    tseed_fetcher_remote_room(portions->exchange.fetcher,
                              tseed_portion_hosts_count_open(portions->exchange.hosts));
}

/* Errands come in crowds: what follows the first one closely goes with it. */
static void wait_for_turn(tseed_portions_t *portions)
{
    if (portions->failed) {
        usleep(FAILED);
    } else if (tseed_errands_wait(&portions->errands, 0)) {
        usleep(TURN);
    } else if (tseed_errands_wait(&portions->errands, IDLE)) {
        usleep(GATHER);
    }
}

static void *run(void *data)
{
    tseed_portions_t *portions = data;

    for (;;) {
        turn(portions);
        apr_pool_clear(portions->exchange.scratch);
        wait_for_turn(portions);
    }
    return NULL;
}

void tseed_portions_begin(const tseed_settings_t *settings, const tseed_catalog_t *catalog,
                          tseed_fetcher_t *fetcher, int64_t epoch, apr_pool_t *pool)
{
    tseed_portions_t *portions = apr_pcalloc(pool, sizeof(*portions));
    pthread_t thread;

    if (!tseed_hosts_can_share(settings->db_driver)) {
        return;
    }
    portions->settings = settings;
    portions->pool = tseed_memory_pool();
    tseed_errands_init(&portions->errands);
    portions->exchange = (tseed_exchange_t){.errands = &portions->errands,
                                            .hosts = tseed_portion_hosts_create(portions->pool),
                                            .fetcher = fetcher,
                                            .catalog = catalog,
                                            .giver = epoch};
    apr_pool_create(&portions->exchange.scratch, portions->pool);
    tseed_fetcher_remote(fetcher, &(tseed_fetch_remote_t){portions, hand_over, recall});
    if (pthread_create(&thread, NULL, run, portions) == 0) {
        pthread_detach(thread);
    }
}
