/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests that other hosts send: which, to whom, and the exchange of rows and files. */
#include "fleet/tseed_portions.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "fleet/tseed_deadline.h"
#include "base/tseed_memory.h"
#include "base/tseed_thread.h"
#include "fleet/tseed_pack.h"
#include "layer/tseed_layer.h"
#include "fleet/tseed_errands.h"
#include "fleet/tseed_hosts.h"
#include "fleet/tseed_fleet_rows.h"
#include "store/tseed_layout.h"
#include "fleet/tseed_portion.h"

/* The exchange: what goes between the list of errands and the table portion. It gives errands to
 * hosts, takes over what the hosts bring, and takes back what they do not bring. The thread of the
 * portions only.
 */

/* Errands on their way to other hosts, and back. */

/* Who has what; all of it outlives the exchange. */
typedef struct {
    tseed_errands_t *errands;
    tseed_portion_hosts_t *hosts;
    tseed_fetcher_t *fetcher;
    const tseed_catalog_t *catalog;
    tseed_state_t *state; /* NULL: not open yet */
    int64_t giver;        /* this host's epoch */
    int64_t last;         /* number of a row */
    apr_pool_t *scratch;
} tseed_exchange_t;

#define PATIENCE (60 * APR_USEC_PER_SEC) /* beyond the upstream's timeout */
#define VISIBLE  (5 * APR_USEC_PER_SEC)  /* until a file of another host is seen here */

/* ---- errands ---- */

/* Ends an errand. What another host has not done is done here. */
static void return_errand(const tseed_exchange_t *exchange, tseed_errand_t *errand, int is_done)
{
    if (errand->transfer && !is_done) {
        errand->transfer->portion = NULL;
    }
    if (errand->transfer) {
        tseed_fetcher_return(exchange->fetcher, errand->transfer, is_done);
    }
    free(errand);
}

/* How long a host may be silent about an errand. */
static void renew(tseed_errand_t *errand, apr_time_t now)
{
    if (errand->transfer) {
        errand->until = now + errand->transfer->upstream->timeout + PATIENCE;
    }
}

/* A host carries its rows out in the order in which it got them. When it brings one, the later ones
 * are on their way; what it has left behind, or is to come back, stays so. */
static void renew_after(void *baton, tseed_errand_t *errand)
{
    const tseed_portion_row_t *row = baton;

    if (errand->epoch == row->epoch && errand->number > row->number && errand->until > 0) {
        renew(errand, tseed_clock_monotonic());
    }
}

static void expire_of(void *baton, tseed_errand_t *errand)
{
    const int64_t *epoch = baton;

    if (errand->epoch == *epoch) {
        errand->until = 0;
    }
}

/* ---- giving ---- */

/* Rows that are being made. */
typedef struct {
    tseed_exchange_t *exchange;
    apr_array_header_t *rows, *drafts; /* one of each for a row */
} giving_t;

/* What all transfers of a row have in common: they are recalled together. */
typedef struct {
    const void *owner;
    const tseed_upstream_t *upstream;
    int count;
} draft_t;

static int in_hand(const void *baton, int64_t epoch)
{
    return tseed_errands_in_hand(baton, epoch);
}

/* The index of the row to which one more portion for a host goes. */
static int row_for(giving_t *giving, int64_t epoch, const tseed_transfer_t *transfer)
{
    tseed_exchange_t *exchange = giving->exchange;

    for (int i = 0; i < giving->rows->nelts; i++) {
        const draft_t *draft = &APR_ARRAY_IDX(giving->drafts, i, draft_t);

        if (APR_ARRAY_IDX(giving->rows, i, tseed_portion_row_t).epoch == epoch &&
            draft->owner == transfer->owner && draft->upstream == transfer->upstream &&
            draft->count < TSEED_PORTIONS_IN_ROW) {
            return i;
        }
    }
    *(tseed_portion_row_t *)apr_array_push(giving->rows) = (tseed_portion_row_t){
        .giver = exchange->giver, .number = ++exchange->last, .epoch = epoch, .requests = ""};
    *(draft_t *)apr_array_push(giving->drafts) = (draft_t){transfer->owner, transfer->upstream, 0};
    return giving->rows->nelts - 1;
}

/* Gives an errand that has no host to the host with the fewest errands. */
static void assign(void *baton, tseed_errand_t *errand)
{
    giving_t *giving = baton;
    tseed_exchange_t *exchange = giving->exchange;
    tseed_portion_row_t *row;
    int i;

    if (errand->epoch) {
        return;
    }
    errand->epoch = tseed_portion_hosts_idlest(exchange->hosts, in_hand, exchange->errands);
    i = row_for(giving, errand->epoch, errand->transfer);
    row = &APR_ARRAY_IDX(giving->rows, i, tseed_portion_row_t);
    row->requests =
        apr_pstrcat(exchange->scratch, row->requests, errand->transfer->portion, "\n", NULL);
    errand->number = row->number;
    errand->index = APR_ARRAY_IDX(giving->drafts, i, draft_t).count++;
    errand->store =
        &tseed_portion_layer(errand->transfer->portion, exchange->catalog, exchange->scratch)
             ->store;
    renew(errand, tseed_clock_monotonic());
}

/* Gives the errands that have no host to hosts, if one is open and this process has the role.
 * Statuses of this one and the next as in tseed_state.h: errands stay what they were. */
static apr_status_t exchange_give(tseed_exchange_t *exchange)
{
    giving_t giving = {exchange, apr_array_make(exchange->scratch, 4, sizeof(tseed_portion_row_t)),
                       apr_array_make(exchange->scratch, 4, sizeof(draft_t))};
    apr_status_t rv;

    if (tseed_portion_hosts_count_open(exchange->hosts) == 0 || tseed_deadline_has_passed()) {
        return APR_SUCCESS;
    }
    tseed_errands_each(exchange->errands, assign, &giving);
    rv = tseed_portion_rows_give(exchange->state, giving.rows);
    tseed_errands_settle(exchange->errands, rv == APR_SUCCESS);
    return rv;
}

/* ---- taking back ---- */

/* Adds a row that this host has given to the host of an epoch, as one that is to be deleted. */
static void exchange_add_row(apr_array_header_t *rows, const tseed_exchange_t *exchange,
                             int64_t epoch, int64_t number)
{
    *(tseed_portion_row_t *)apr_array_push(rows) =
        (tseed_portion_row_t){.giver = exchange->giver, .epoch = epoch, .number = number};
}

typedef struct {
    const tseed_portion_hosts_t *hosts;
    apr_time_t now;
} look_t;

/* Whether an errand has to come back: its host has gone or is late, or there is no host to have it.
 */
static int is_lost(const tseed_errands_t *errands, const tseed_errand_t *errand, const void *data)
{
    const look_t *look = data;

    (void)errands;
    return errand->epoch
               ? !tseed_portion_hosts_has(look->hosts, errand->epoch) || look->now > errand->until
               : tseed_portion_hosts_count_open(look->hosts) == 0;
}

/* Takes back the errands whose host has gone or is late, and those that no host is there for. Adds
 * the rows that are nobody's then to `rows` (tseed_portion_row_t). */
/* Adds to `rows` those that are nobody's then. */
static void exchange_take_back(tseed_exchange_t *exchange, apr_array_header_t *rows)
{
    const look_t look = {exchange->hosts, tseed_clock_monotonic()};
    tseed_errand_t *errand;

    while ((errand = tseed_errands_take(exchange->errands, is_lost, &look))) {
        if (errand->epoch) {
            exchange_add_row(rows, exchange, errand->epoch, errand->number);
        }
        if (errand->epoch && look.now > errand->until) {
            tseed_portion_hosts_shun(exchange->hosts, errand->epoch,
                                     "it does not bring the tiles that it was asked for", 0);
        }
        return_errand(exchange, errand, 0);
    }
}

/* Whether all errands of a row were recalled. */
static int is_recalled(const tseed_errands_t *errands, int64_t number)
{
    for (const tseed_errand_t *errand = errands->first; errand; errand = errand->next) {
        if (errand->number == number && errand->transfer) {
            return 0;
        }
    }
    return 1;
}

static int is_of_recalled_row(const tseed_errands_t *errands, const tseed_errand_t *errand,
                              const void *data)
{
    (void)data;
    return !errand->transfer && is_recalled(errands, errand->number);
}

/* The host that has such a row ends its requests when the row has gone. */
static void withdraw_recalled(tseed_exchange_t *exchange, apr_array_header_t *rows)
{
    tseed_errand_t *errand;

    while ((errand = tseed_errands_take(exchange->errands, is_of_recalled_row, NULL))) {
        exchange_add_row(rows, exchange, errand->epoch, errand->number);
        return_errand(exchange, errand, 0);
    }
}

/* ---- results ---- */

typedef struct {
    int64_t number;
    int index; /* below 0: any */
} place_t;

static int is_at(const tseed_errands_t *errands, const tseed_errand_t *errand, const void *data)
{
    const place_t *place = data;

    (void)errands;
    return errand->is_given && errand->number == place->number &&
           (place->index < 0 || errand->index == place->index);
}

/* An errand whose pack is looked for. */
typedef struct {
    place_t place;
    const tseed_store_config_t *store; /* NULL: nobody waits for the pack */
    apr_time_t missed;                 /* as the errand's; set when the pack is not there */
} search_t;

static void look_up(void *baton, tseed_errand_t *errand)
{
    search_t *search = baton;

    if (errand->transfer && is_at(NULL, errand, &search->place)) {
        search->store = errand->store;
        errand->missed = errand->missed ? errand->missed : search->missed;
        search->missed = errand->missed;
    }
}

/* Whether a pack is not there, but may still become visible: file systems of a network remember for
 * a while that there was none. The errand stays in the list meanwhile, where it can be recalled. */
static int is_to_appear(tseed_exchange_t *exchange, const place_t *place)
{
    const apr_time_t now = tseed_clock_monotonic();
    const tseed_pack_name_t name = {exchange->giver, place->number, place->index};
    search_t search = {.place = *place};

    tseed_errands_each(exchange->errands, look_up, &search);
    if (!search.store || tseed_pack_file_is_there(search.store, &name, exchange->scratch)) {
        return 0;
    }
    search.missed = now;
    tseed_errands_each(exchange->errands, look_up, &search);
    return now < search.missed + VISIBLE;
}

/* Reads the pack of an errand. Returns whether it is one. */
static int read_pack(tseed_exchange_t *exchange, const tseed_errand_t *errand)
{
    const tseed_pack_name_t name = {exchange->giver, errand->number, errand->index};
    tseed_transfer_t *transfer = errand->transfer;
    apr_status_t rv = tseed_pack_file_read(transfer, errand->store, &name, exchange->scratch);
    const char *damage =
        rv == APR_SUCCESS ? tseed_pack_check(transfer->body, transfer->length) : NULL;

    if (rv != APR_SUCCESS) {
        damage =
            apr_psprintf(exchange->scratch,
                         "this host can't read what that host has written below %s/" TSEED_PACKS
                         " (%pm); have all hosts mount the store at the same path",
                         errand->store->root, &rv);
    }
    if (damage) {
        tseed_portion_hosts_shun(exchange->hosts, errand->epoch, damage, 0);
    }
    transfer->packed = damage ? NULL : &tseed_pack_reader;
    return !damage;
}

/* What the upstream does not give another host, this host asks for itself: its own pace, retries
 * and log are the ones that count. If the upstream has asked that host to wait, all that it has in
 * hand comes back. */
static void note_failure(tseed_exchange_t *exchange, const tseed_errand_t *errand,
                         const tseed_portion_result_t *result)
{
    int64_t epoch = errand->epoch;

    errand->transfer->sent_in_vain += result->sent;
    if (result->retry_after > 0) {
        tseed_portion_hosts_shun(exchange->hosts, errand->epoch, "an upstream asks it to wait",
                                 result->retry_after);
        tseed_errands_each(exchange->errands, expire_of, &epoch);
    } else {
        tseed_portion_hosts_failed(exchange->hosts, errand->epoch, result->cause,
                                   exchange->scratch);
    }
}

/* Takes the result of an errand over. Returns whether the transfer is done. */
static int take_result(tseed_exchange_t *exchange, const tseed_errand_t *errand,
                       const tseed_portion_result_t *result)
{
    switch (result->outcome) {
    case TSEED_PORTION_REFUSED:
        tseed_portion_hosts_shun(exchange->hosts, errand->epoch,
                                 apr_psprintf(exchange->scratch, "it says \"%s\"", result->cause),
                                 0);
        return 0;
    case TSEED_PORTION_FAILED:
        note_failure(exchange, errand, result);
        return 0;
    case TSEED_PORTION_UNDONE:
        errand->transfer->sent_in_vain += result->sent;
        return 0;
    case TSEED_PORTION_UNCHANGED:
    case TSEED_PORTION_OK:
        break;
    }
    tseed_portion_hosts_succeeded(exchange->hosts, errand->epoch);
    tseed_portion_result_put(errand->transfer, result);
    return result->outcome == TSEED_PORTION_OK
               ? read_pack(exchange, errand)
               : errand->transfer->condition && *errand->transfer->condition;
}

/* Takes one line of a row over. Returns 0 if its pack is not there yet. A pack that nobody waits
 * for goes at the next cleaning. */
static int bring(tseed_exchange_t *exchange, const place_t *place,
                 const tseed_portion_result_t *result)
{
    tseed_errand_t *errand;

    if (result->outcome == TSEED_PORTION_OK && is_to_appear(exchange, place)) {
        return 0;
    }
    errand = tseed_errands_take(exchange->errands, is_at, place);
    if (errand) {
        return_errand(exchange, errand, errand->transfer && take_result(exchange, errand, result));
    }
    return 1;
}

/* Reads the lines of a row. NULL: one of them can't be read. */
static apr_array_header_t *results_of(tseed_exchange_t *exchange, const tseed_portion_row_t *row)
{
    apr_array_header_t *results =
        apr_array_make(exchange->scratch, TSEED_PORTIONS_IN_ROW, sizeof(tseed_portion_result_t));
    char *last = NULL, *text = apr_pstrdup(exchange->scratch, row->results);

    for (char *line = apr_strtok(text, "\n", &last); line; line = apr_strtok(NULL, "\n", &last)) {
        if (!tseed_portion_result_read(apr_array_push(results), line, exchange->scratch)) {
            return NULL;
        }
    }
    return results;
}

/* Ends all errands of a row whose results are not one line for each. */
static void drop_row(tseed_exchange_t *exchange, const tseed_portion_row_t *row)
{
    const place_t place = {row->number, -1};
    tseed_errand_t *errand;

    tseed_portion_hosts_shun(exchange->hosts, row->epoch, "it writes what can't be read here", 0);
    while ((errand = tseed_errands_take(exchange->errands, is_at, &place))) {
        return_errand(exchange, errand, 0);
    }
}

/* Returns 1 when the row has been taken over wholly. */
static int bring_row(tseed_exchange_t *exchange, const tseed_portion_row_t *row)
{
    const apr_array_header_t *results = results_of(exchange, row);
    tseed_portion_row_t brought = *row;
    int is_done = 1;

    if (!results || results->nelts < tseed_errands_lines(exchange->errands, row->number)) {
        drop_row(exchange, row);
        return 1;
    }
    tseed_errands_each(exchange->errands, renew_after, &brought);
    for (int i = 0; i < results->nelts; i++) {
        is_done &= bring(exchange, &(place_t){row->number, i},
                         &APR_ARRAY_IDX(results, i, tseed_portion_result_t));
    }
    return is_done;
}

static apr_status_t exchange_collect(tseed_exchange_t *exchange)
{
    apr_array_header_t *rows, *ended;
    apr_status_t rv =
        tseed_portion_rows_finished(exchange->state, &rows, exchange->giver, exchange->scratch);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    ended = apr_array_make(exchange->scratch, 4, sizeof(tseed_portion_row_t));
    for (int i = 0; i < rows->nelts; i++) {
        const tseed_portion_row_t *row = &APR_ARRAY_IDX(rows, i, tseed_portion_row_t);

        if (bring_row(exchange, row)) {
            exchange_add_row(ended, exchange, row->epoch, row->number);
        }
    }
    exchange_take_back(exchange, ended);
    withdraw_recalled(exchange, ended);
    return tseed_portion_rows_delete(exchange->state, ended);
}

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
            exchange_add_row(old, &portions->exchange, row->epoch, row->number);
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
    const apr_status_t rv = tseed_state_ready(&portions->exchange.state, settings, portions->pool);

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
        rv = exchange_collect(&portions->exchange);
    }
    if (rv == APR_SUCCESS) {
        rv = exchange_give(&portions->exchange);
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
        exchange_take_back(&portions->exchange, apr_array_make(portions->exchange.scratch, 4,
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
    tseed_thread_begin(run, portions);
}
