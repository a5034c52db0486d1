/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests that other hosts send. */
#include "seeder/tseed_portions.h"

#include <apr_strings.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "seeder/tseed_pack_file.h"
#include "seeder/tseed_portion_result.h"
#include "state/tseed_hosts.h"
#include "state/tseed_portion_rows.h"

#define TURN        (50 * 1000)             /* microseconds */
#define IDLE        (250 * 1000)            /* likewise, while nobody helps */
#define HOSTS_EVERY APR_USEC_PER_SEC        /* how often the hosts are looked at */
#define LINES       4                       /* most portions of a row: it comes back as a whole */
#define SHUNNED     (60 * APR_USEC_PER_SEC) /* a host that has failed gets nothing for so long */
#define PATIENCE    (60 * APR_USEC_PER_SEC) /* beyond the upstream's timeout */

/* A transfer at another host, or on its way there; malloc'd. */
typedef struct errand_t {
    tseed_transfer_t *transfer; /* NULL: it was recalled, and its row has other errands */
    int64_t epoch, number;      /* of the host and of the row; epoch 0: none yet */
    int index;                  /* in the row */
    apr_time_t until;           /* monotonic: then it is taken back */
    struct errand_t *next;
} errand_t;

typedef struct {
    int64_t epoch;
    const char *name;
    apr_time_t shunned_until; /* monotonic; 0: it is not */
} host_t;

struct tseed_portions_t {
    const tseed_settings_t *settings;
    const tseed_catalog_t *catalog;
    tseed_fetcher_t *fetcher;
    tseed_fetch_remote_t remote;
    int64_t giver; /* this host's epoch */

    pthread_mutex_t lock;
    errand_t *errands, **end; /* under lock, in the order in which they came */

    /* the thread's */
    apr_pool_t *pool, *scratch;
    apr_pool_t *host_pool;     /* of the list of hosts */
    tseed_state_t *state;      /* NULL: not open yet */
    int is_clean;              /* nothing of an earlier tenure is in the table */
    int64_t last;              /* number of a row */
    apr_array_header_t *hosts; /* of host_t */
    int count;                 /* of them, that get portions */
    apr_time_t looked;         /* at the hosts, monotonic; 0: look now */
    apr_time_t clean_at;
};

/* ---- the fetcher's thread ---- */

static void hand_over(void *baton, tseed_transfer_t *transfer)
{
    tseed_portions_t *portions = baton;
    errand_t *errand = tseed_memory_get(sizeof(*errand));

    *errand = (errand_t){.transfer = transfer,
                         .until = tseed_clock_monotonic() + transfer->upstream->timeout + PATIENCE};
    pthread_mutex_lock(&portions->lock);
    *portions->end = errand;
    portions->end = &errand->next;
    pthread_mutex_unlock(&portions->lock);
}

/* Takes an errand out of the list; under lock. */
static errand_t *take_out(tseed_portions_t *portions, errand_t **link)
{
    errand_t *errand = *link;

    *link = errand->next;
    portions->end = *link ? portions->end : link;
    return errand;
}

static int recall(void *baton, tseed_transfer_t *transfer)
{
    tseed_portions_t *portions = baton;
    errand_t **link, *found;

    pthread_mutex_lock(&portions->lock);
    link = &portions->errands;
    while (*link && (*link)->transfer != transfer) {
        link = &(*link)->next;
    }
    found = *link;
    if (found && found->epoch) {
        found->transfer = NULL;
    } else if (found) {
        free(take_out(portions, link));
    }
    pthread_mutex_unlock(&portions->lock);
    return found != NULL;
}

/* ---- hosts ---- */

static host_t *host_of(const tseed_portions_t *portions, int64_t epoch)
{
    for (int i = 0; i < portions->hosts->nelts; i++) {
        host_t *host = &APR_ARRAY_IDX(portions->hosts, i, host_t);

        if (host->epoch == epoch) {
            return host;
        }
    }
    return NULL;
}

static int is_open(const host_t *host)
{
    return host && !host->shunned_until;
}

static void count_hosts(tseed_portions_t *portions)
{
    portions->count = 0;
    for (int i = 0; i < portions->hosts->nelts; i++) {
        portions->count += is_open(&APR_ARRAY_IDX(portions->hosts, i, host_t));
    }
    tseed_fetcher_remote_room(portions->fetcher, portions->count);
}

/* What a host has in hand comes back at the next look for what is lost. */
static void shun(tseed_portions_t *portions, int64_t epoch, const char *reason)
{
    host_t *host = host_of(portions, epoch);

    if (is_open(host)) {
        host->shunned_until = tseed_clock_monotonic() + SHUNNED;
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0089: host '%s' fetches nothing for this host for %d s: %s", host->name,
                  (int)apr_time_sec(SHUNNED), reason);
        count_hosts(portions);
    }
}

/* Replaces the list. A host that is shunned stays so. */
static void take_hosts(tseed_portions_t *portions, const apr_array_header_t *found)
{
    const apr_time_t now = tseed_clock_monotonic();
    apr_pool_t *pool;
    apr_array_header_t *hosts;

    apr_pool_create(&pool, portions->pool);
    hosts = apr_array_make(pool, found->nelts + 1, sizeof(host_t));
    for (int i = 0; i < found->nelts; i++) {
        const tseed_portion_host_t *one = &APR_ARRAY_IDX(found, i, tseed_portion_host_t);
        const host_t *before = host_of(portions, one->epoch);
        host_t *host = apr_array_push(hosts);

        *host = (host_t){one->epoch, apr_pstrdup(pool, one->name), 0};
        if (before && before->shunned_until > now) {
            host->shunned_until = before->shunned_until;
        }
    }
    apr_pool_destroy(portions->host_pool);
    portions->host_pool = pool;
    portions->hosts = hosts;
    count_hosts(portions);
}

static apr_status_t look_at_hosts(tseed_portions_t *portions)
{
    const apr_time_t now = tseed_clock_monotonic();
    apr_array_header_t *found;
    apr_status_t rv;

    if (portions->looked && now < portions->looked + HOSTS_EVERY) {
        return APR_SUCCESS;
    }
    rv = tseed_portion_rows_hosts(portions->state, &found, portions->settings->host,
                                  portions->scratch);
    if (rv == APR_SUCCESS) {
        portions->looked = now;
        take_hosts(portions, found);
    }
    return rv;
}

/* ---- giving ---- */

static int in_hand(const tseed_portions_t *portions, const host_t *host)
{
    int count = 0;

    for (const errand_t *errand = portions->errands; errand; errand = errand->next) {
        count += errand->epoch == host->epoch;
    }
    return count;
}

/* The host that has the fewest errands; one is open. Under lock. */
static int64_t idlest(const tseed_portions_t *portions)
{
    int64_t found = 0;
    int fewest = INT_MAX;

    for (int i = 0; i < portions->hosts->nelts; i++) {
        const host_t *host = &APR_ARRAY_IDX(portions->hosts, i, host_t);
        const int count = in_hand(portions, host);

        if (is_open(host) && count < fewest) {
            found = host->epoch;
            fewest = count;
        }
    }
    return found;
}

static int lines_of(const char *text)
{
    int count = 0;

    for (; *text; text++) {
        count += *text == '\n';
    }
    return count;
}

static tseed_portion_row_t *row_of(tseed_portions_t *portions, apr_array_header_t *rows,
                                   int64_t epoch)
{
    tseed_portion_row_t *row;

    for (int i = 0; i < rows->nelts; i++) {
        row = &APR_ARRAY_IDX(rows, i, tseed_portion_row_t);
        if (row->epoch == epoch && lines_of(row->requests) < LINES) {
            return row;
        }
    }
    row = apr_array_push(rows);
    *row = (tseed_portion_row_t){
        .giver = portions->giver, .number = ++portions->last, .epoch = epoch, .requests = ""};
    return row;
}

/* Gives what has come since to hosts. */
static void assign(tseed_portions_t *portions, apr_array_header_t *rows)
{
    pthread_mutex_lock(&portions->lock);
    for (errand_t *errand = portions->errands; errand && portions->count > 0;
         errand = errand->next) {
        if (!errand->epoch) {
            tseed_portion_row_t *row = row_of(portions, rows, idlest(portions));

            errand->epoch = row->epoch;
            errand->number = row->number;
            errand->index = lines_of(row->requests);
            row->requests =
                apr_pstrcat(rows->pool, row->requests, errand->transfer->portion, "\n", NULL);
        }
    }
    pthread_mutex_unlock(&portions->lock);
}

static apr_status_t give(tseed_portions_t *portions)
{
    apr_array_header_t *rows = apr_array_make(portions->scratch, 4, sizeof(tseed_portion_row_t));

    assign(portions, rows);
    return tseed_portion_rows_give(portions->state, rows);
}

/* ---- taking back ---- */

typedef int choice_t(const tseed_portions_t *portions, const errand_t *errand, const void *data);

/* Takes the first errand that a function chooses out of the list; NULL: there is none. */
static errand_t *take_first(tseed_portions_t *portions, choice_t *choice, const void *data)
{
    errand_t **link, *found;

    pthread_mutex_lock(&portions->lock);
    link = &portions->errands;
    while (*link && !choice(portions, *link, data)) {
        link = &(*link)->next;
    }
    found = *link ? take_out(portions, link) : NULL;
    pthread_mutex_unlock(&portions->lock);
    return found;
}

/* What one host could not do is done here. */
static void return_errand(const tseed_portions_t *portions, errand_t *errand, int is_done)
{
    if (!is_done) {
        errand->transfer->portion = NULL;
    }
    tseed_fetcher_return(portions->fetcher, errand->transfer, is_done);
    free(errand);
}

static void add_row(apr_array_header_t *rows, const tseed_portions_t *portions, int64_t number)
{
    *(tseed_portion_row_t *)apr_array_push(rows) =
        (tseed_portion_row_t){.giver = portions->giver, .number = number};
}

/* Whether an errand's host has gone or is shunned, or has not brought it in time. An errand that no
 * host has got waits for none. */
static int is_lost(const tseed_portions_t *portions, const errand_t *errand, const void *now)
{
    return errand->epoch ? !is_open(host_of(portions, errand->epoch)) ||
                               *(const apr_time_t *)now > errand->until
                         : portions->count == 0;
}

static void give_back_lost(tseed_portions_t *portions, apr_array_header_t *rows)
{
    const apr_time_t now = tseed_clock_monotonic();
    errand_t *errand;

    while ((errand = take_first(portions, is_lost, &now))) {
        if (errand->epoch) {
            add_row(rows, portions, errand->number);
        }
        if (now > errand->until) {
            shun(portions, errand->epoch, "it does not bring the tiles that it was asked for");
        }
        if (errand->transfer) {
            return_errand(portions, errand, 0);
        } else {
            free(errand);
        }
    }
}

/* Whether all errands of a row were recalled. Under lock. */
static int is_recalled(const tseed_portions_t *portions, int64_t number)
{
    for (const errand_t *errand = portions->errands; errand; errand = errand->next) {
        if (errand->number == number && errand->transfer) {
            return 0;
        }
    }
    return 1;
}

static int is_of_recalled_row(const tseed_portions_t *portions, const errand_t *errand,
                              const void *data)
{
    (void)data;
    return !errand->transfer && is_recalled(portions, errand->number);
}

/* The host that has such a row ends its requests when the row has gone. */
static void withdraw_recalled(tseed_portions_t *portions, apr_array_header_t *rows)
{
    errand_t *errand;

    while ((errand = take_first(portions, is_of_recalled_row, NULL))) {
        add_row(rows, portions, errand->number);
        free(errand);
    }
}

/* ---- results ---- */

typedef struct {
    int64_t number;
    int index;
} place_t;

static int is_at(const tseed_portions_t *portions, const errand_t *errand, const void *data)
{
    const place_t *place = data;

    (void)portions;
    return errand->number == place->number && errand->index == place->index;
}

/* Takes a result over. Returns whether it is one. */
static int take_result(tseed_portions_t *portions, errand_t *errand,
                       const tseed_portion_result_t *result)
{
    if (result->is_refused) {
        shun(portions, errand->epoch, "it can't, its error log says why");
        return 0;
    }
    tseed_portion_result_put(errand->transfer, result);
    errand->transfer->is_pack = *result->path != '\0';
    if (*result->path && !tseed_pack_file_read(errand->transfer, result->path, portions->catalog)) {
        shun(portions, errand->epoch,
             apr_psprintf(portions->scratch,
                          "this host can't read the file %s, which that host has written; have "
                          "all hosts mount the store at the same path",
                          result->path));
        return 0;
    }
    return 1;
}

static void bring(tseed_portions_t *portions, const place_t *place, char *line)
{
    tseed_portion_result_t result;
    errand_t *errand;

    if (!tseed_portion_result_read(&result, line, portions->scratch)) {
        return;
    }
    errand = take_first(portions, is_at, place);
    if (errand && errand->transfer) {
        return_errand(portions, errand, take_result(portions, errand, &result));
        return;
    }
    if (*result.path) {
        tseed_pack_file_remove(result.path, portions->catalog);
    }
    free(errand);
}

static void bring_all(tseed_portions_t *portions, const tseed_portion_row_t *row)
{
    place_t place = {row->number, 0};
    char *last = NULL, *text = apr_pstrdup(portions->scratch, row->results);

    for (char *line = apr_strtok(text, "\n", &last); line; line = apr_strtok(NULL, "\n", &last)) {
        bring(portions, &place, line);
        place.index++;
    }
}

static apr_status_t collect(tseed_portions_t *portions)
{
    apr_array_header_t *rows;
    apr_status_t rv =
        tseed_portion_rows_finished(portions->state, &rows, portions->giver, portions->scratch);

    for (int i = 0; rv == APR_SUCCESS && i < rows->nelts; i++) {
        bring_all(portions, &APR_ARRAY_IDX(rows, i, tseed_portion_row_t));
    }
    if (rv == APR_SUCCESS) {
        give_back_lost(portions, rows);
        withdraw_recalled(portions, rows);
        rv = tseed_portion_rows_delete(portions->state, rows);
    }
    return rv;
}

/* ---- the thread ---- */

static apr_status_t prepare(tseed_portions_t *portions)
{
    const tseed_settings_t *settings = portions->settings;
    apr_status_t rv = APR_SUCCESS;

    if (!portions->state) {
        rv = tseed_state_open(&portions->state, settings->state_dir, settings->db_driver,
                              settings->db_params, portions->pool);
    }
    if (rv == APR_SUCCESS && !portions->is_clean) {
        rv = tseed_portion_rows_forget(portions->state, portions->giver);
        portions->is_clean = rv == APR_SUCCESS;
    }
    return rv;
}

/* A database that fails is looked after by others, who also say so. Meanwhile nobody helps. */
static void turn(tseed_portions_t *portions)
{
    apr_array_header_t *rows = apr_array_make(portions->scratch, 4, sizeof(tseed_portion_row_t));
    apr_status_t rv = prepare(portions);

    if (rv == APR_SUCCESS) {
        rv = look_at_hosts(portions);
    }
    if (rv == APR_SUCCESS && (portions->count > 0 || portions->errands)) {
        rv = collect(portions);
    }
    if (rv == APR_SUCCESS && portions->count > 0) {
        rv = give(portions);
    }
    if (rv != APR_SUCCESS) {
        portions->looked = 0;
        portions->is_clean = 0;
        apr_array_clear(portions->hosts);
        count_hosts(portions);
        give_back_lost(portions, rows);
    }
}

static void *run(void *data)
{
    tseed_portions_t *portions = data;

    for (;;) {
        turn(portions);
        tseed_pack_files_clean(&portions->clean_at, portions->giver, portions->catalog,
                               portions->scratch);
        apr_pool_clear(portions->scratch);
        usleep(portions->count > 0 ? TURN : IDLE);
    }
    return NULL;
}

tseed_portions_t *tseed_portions_begin(const tseed_settings_t *settings,
                                       const tseed_catalog_t *catalog, tseed_fetcher_t *fetcher,
                                       int64_t epoch, apr_pool_t *pool)
{
    tseed_portions_t *portions = apr_pcalloc(pool, sizeof(*portions));
    pthread_t thread;

    if (!tseed_hosts_can_share(settings->db_driver)) {
        return NULL;
    }
    portions->settings = settings;
    portions->catalog = catalog;
    portions->fetcher = fetcher;
    portions->giver = epoch;
    portions->remote = (tseed_fetch_remote_t){portions, hand_over, recall};
    portions->end = &portions->errands;
    pthread_mutex_init(&portions->lock, NULL);
    portions->pool = tseed_memory_pool();
    apr_pool_create(&portions->scratch, portions->pool);
    apr_pool_create(&portions->host_pool, portions->pool);
    portions->hosts = apr_array_make(portions->host_pool, 1, sizeof(host_t));
    tseed_fetcher_remote(fetcher, &portions->remote);
    if (pthread_create(&thread, NULL, run, portions) != 0) {
        return NULL;
    }
    pthread_detach(thread);
    return portions;
}
