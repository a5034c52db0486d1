/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The load that many hosts lay on a PostgreSQL: hosts_load PARAMS HOSTS SECONDS
 *
 * The hosts are threads that make the calls of the state room which the seeders of real hosts make,
 * as often as they do, each over a connection of its own. No tile is made: a request takes LATENCY,
 * and each host has CONNECTIONS under way. The first host works on a task of 10^9 metatiles of 4x4
 * tiles. Once a second it saves the task and the pages on which it would have written. Prints how
 * many rows were changed and requests sent, each a second.
 */
#include <apr_dbd.h>
#include <apr_general.h>
#include <apr_strings.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_memory.h"
#include "state/tseed_books.h"
#include "fleet/tseed_hosts.h"
#include "fleet/tseed_fleet_rows.h"

#define HOSTS_MOST   256
#define CONNECTIONS  4                 /* of each host to the upstream */
#define LATENCY      (200 * 1000)      /* of the upstream, microseconds */
#define IN_HAND      (3 * CONNECTIONS) /* requests of a host, as tseed_lane.c has it */
#define ROWS_IN_HAND (IN_HAND / TSEED_PORTIONS_IN_ROW)
#define TURN         (50 * 1000)  /* microseconds between two looks at the table */
#define IDLE         (250 * 1000) /* likewise, of a host that has enough to do */
#define LEASE        (15 * APR_USEC_PER_SEC)
#define METATILES    INT64_C(1000000000)
#define TILES        16 /* of a metatile */
#define LINE         "4 123456 654321 123459 654324 0123456789abcdef0123456789abcdef /tiles/world"

static const char *params;
static int hosts_count;
static atomic_int is_over, ready;
static atomic_llong rows_changed, requests_sent;

typedef struct {
    apr_pool_t *pool, *scratch;
    tseed_state_t *state;
    tseed_host_t host;
    tseed_registration_t registration;
    tseed_fence_t fence;
    apr_time_t renew_at;

    /* of a host that stands by */
    tseed_portion_row_t given[ROWS_IN_HAND]; /* not finished; its texts are not used */
    int left, had;                           /* of them; what the last look found */
    apr_time_t begun, looked;                /* the first of them; monotonic */

    /* of the host that works */
    int64_t last, task, done;
    int in_hand[HOSTS_MOST];
    int64_t epochs[HOSTS_MOST];
} member_t;

static void require(const member_t *member, apr_status_t rv, const char *what)
{
    if (rv != APR_SUCCESS) {
        fprintf(stderr, "%s: %s: %s\n", member->host.name, what,
                member->state ? tseed_state_error(member->state) : "no database");
        exit(1);
    }
}

static member_t *join(int number)
{
    apr_pool_t *pool = tseed_memory_pool();
    member_t *member = apr_pcalloc(pool, sizeof(*member));

    member->pool = pool;
    apr_pool_create(&member->scratch, pool);
    member->host = (tseed_host_t){.name = apr_psprintf(pool, "web%d", number),
                                  .instance = apr_psprintf(pool, "instance%d", number),
                                  .machine = "simulated",
                                  .version = "bench",
                                  .lease = LEASE,
                                  .margin = LEASE / 3};
    require(member, tseed_state_open(&member->state, ".", "pgsql", params, pool), "open");
    require(member, tseed_hosts_register(member->state, &member->registration, &member->host),
            "register");
    member->fence.host = member->host.name;
    member->fence.epoch = member->registration.epoch;
    atomic_store(&member->fence.renewals, member->registration.renewals);
    return member;
}

static void renew(member_t *member, apr_time_t now)
{
    tseed_renewal_t renewal;

    if (now >= member->renew_at) {
        require(member, tseed_hosts_renew(member->state, &renewal, &member->host, &member->fence),
                "renew");
        atomic_store(&member->fence.renewals, renewal.renewals);
        atomic_fetch_add(&rows_changed, 1);
        member->renew_at = now + APR_USEC_PER_SEC;
    }
}

/* ---- a host that stands by ---- */

/* Writes down what is finished. Requests go out in the order of their rows, CONNECTIONS at once:
 * the row of the first ones is finished when they are. */
static void finish(member_t *member, apr_time_t now)
{
    apr_array_header_t *finished = apr_array_make(member->scratch, 1, sizeof(tseed_portion_row_t));

    for (; finished->nelts < member->left && now - member->begun >= LATENCY;
         member->begun += LATENCY) {
        tseed_portion_row_t *row = apr_array_push(finished);

        *row = member->given[finished->nelts - 1];
        row->results = "ok 16 65536 " LINE "\nok 16 65536 " LINE "\nok 16 65536 " LINE
                       "\nok 16 65536 " LINE "\n";
    }
    require(member, tseed_portion_rows_finish(member->state, finished), "finish portions");
    member->left -= finished->nelts;
    memmove(member->given, member->given + finished->nelts,
            (size_t)member->left * sizeof(member->given[0]));
    atomic_fetch_add(&rows_changed, finished->nelts);
}

static void look(member_t *member, apr_time_t now)
{
    apr_array_header_t *given;

    require(member,
            tseed_portion_rows_given(member->state, &given, member->fence.epoch, member->scratch),
            "look for portions");
    member->begun = member->left > 0 ? member->begun : now;
    member->left = given->nelts < ROWS_IN_HAND ? given->nelts : ROWS_IN_HAND;
    for (int i = 0; i < member->left; i++) {
        member->given[i] = APR_ARRAY_IDX(given, i, tseed_portion_row_t);
    }
    member->had = member->left;
    member->looked = now;
}

/* As tseed_helper.c does it. */
static void fetch(member_t *member, apr_time_t now)
{
    finish(member, now);
    if (now - member->looked >=
        (member->had > 0 && 2 * member->left <= member->had ? TURN : IDLE)) {
        look(member, now);
    }
}

static void *stand_by(void *data)
{
    member_t *member = join(*(int *)data);

    atomic_fetch_add(&ready, 1);
    while (!atomic_load(&is_over)) {
        const apr_time_t now = tseed_clock_monotonic();

        renew(member, now);
        fetch(member, now);
        apr_pool_clear(member->scratch);
        usleep(TURN);
    }
    tseed_state_close(member->state);
    return NULL;
}

/* ---- the host that works ---- */

static void begin_task(member_t *member)
{
    tseed_task_t task = {.type = TSEED_SEED,
                         .layer = "world",
                         .gridset = "EPSG:900913",
                         .format = "image/png",
                         .parameters = apr_table_make(member->pool, 1),
                         .thread_count = 1,
                         .tiles_total = METATILES * TILES,
                         .gridset_print = "",
                         .store_print = "",
                         .requested_by = "",
                         .ignored = ""};
    int won;

    require(member, tseed_state_task_insert(member->state, &task, 1000), "insert a task");
    member->task = task.id;
    require(member, tseed_state_task_claim(member->state, task.id, apr_time_now(), &won), "claim");
}

/* Which host has that epoch. */
static int *in_hand_of(member_t *member, int64_t epoch)
{
    for (int i = 0; i < hosts_count; i++) {
        if (member->epochs[i] == epoch) {
            return &member->in_hand[i];
        }
    }
    exit(1);
}

static void collect(member_t *member)
{
    apr_array_header_t *rows;

    require(member,
            tseed_portion_rows_finished(member->state, &rows, member->fence.epoch, member->scratch),
            "look for results");
    for (int i = 0; i < rows->nelts; i++) {
        *in_hand_of(member, APR_ARRAY_IDX(rows, i, tseed_portion_row_t).epoch) -=
            TSEED_PORTIONS_IN_ROW;
        member->done += TSEED_PORTIONS_IN_ROW;
    }
    require(member, tseed_portion_rows_delete(member->state, rows), "delete portions");
    atomic_fetch_add(&rows_changed, rows->nelts);
    atomic_fetch_add(&requests_sent, (long long)rows->nelts * TSEED_PORTIONS_IN_ROW);
}

static void give(member_t *member)
{
    apr_array_header_t *hosts,
        *rows = apr_array_make(member->scratch, 64, sizeof(tseed_portion_row_t));

    require(member,
            tseed_portion_rows_hosts(member->state, &hosts, member->host.name, member->scratch),
            "look for hosts");
    for (int i = 0; i < hosts->nelts; i++) {
        member->epochs[i] = APR_ARRAY_IDX(hosts, i, tseed_portion_host_t).epoch;
        for (; member->in_hand[i] + TSEED_PORTIONS_IN_ROW <= IN_HAND;
             member->in_hand[i] += TSEED_PORTIONS_IN_ROW) {
            *(tseed_portion_row_t *)apr_array_push(rows) =
                (tseed_portion_row_t){.giver = member->fence.epoch,
                                      .number = ++member->last,
                                      .epoch = member->epochs[i],
                                      .requests = LINE "\n" LINE "\n" LINE "\n" LINE "\n"};
        }
    }
    require(member, tseed_portion_rows_give(member->state, rows), "give portions");
    atomic_fetch_add(&rows_changed, rows->nelts);
}

/* The task and the pages of a second, in one transaction, as a checkpoint is. */
static void save(member_t *member, int64_t *saved)
{
    tseed_progress_t progress = {
        .state = TSEED_RUNNING, .made = member->done * TILES, .low = member->done};
    int won, pages = 0;

    require(member, tseed_state_begin(member->state), "begin");
    require(member, tseed_state_task_checkpoint(member->state, member->task, &progress, &won),
            "save the task");
    for (; *saved < member->done * TILES / TSEED_PAGE_TILES; ++*saved, pages++) {
        tseed_page_record_t page = {
            .tileset = 1,
            .page = {16, *saved % 2048, *saved / 2048},
            .usage = {TSEED_PAGE_TILES, TSEED_PAGE_TILES, 4 << 20, 4 << 20}};

        require(member, tseed_books_page_save(member->state, &page), "save a page");
    }
    require(member, tseed_state_commit(member->state), "commit");
    atomic_fetch_add(&rows_changed, 1 + pages);
}

static void *work(void *data)
{
    member_t *member = join(*(int *)data);
    tseed_tileset_record_t tileset = {.print = 1,
                                      .key = "world",
                                      .layer = "world",
                                      .gridset = "EPSG:900913",
                                      .format = "image/png",
                                      .parameters = "",
                                      .root = "/tiles",
                                      .place = "",
                                      .complete = 1};
    apr_time_t save_at = 0;
    int64_t saved = 0;
    tseed_take_t taken;

    require(member, tseed_hosts_take(member->state, &taken, &member->registration, &member->host),
            "take");
    tseed_hosts_fence(member->state, &member->fence);
    require(member, tseed_books_add(member->state, &tileset), "add a tile set");
    begin_task(member);
    atomic_fetch_add(&ready, 1);
    while (!atomic_load(&is_over)) {
        const apr_time_t now = tseed_clock_monotonic();

        renew(member, now);
        if (atomic_load(&ready) == hosts_count) {
            collect(member);
            give(member);
        }
        if (now >= save_at) {
            save(member, &saved);
            save_at = now + APR_USEC_PER_SEC;
        }
        apr_pool_clear(member->scratch);
        usleep(TURN);
    }
    tseed_state_close(member->state);
    return NULL;
}

/* ---- all of them ---- */

static int run(int seconds)
{
    static int numbers[HOSTS_MOST];
    pthread_t threads[HOSTS_MOST];
    long long rows, requests;

    for (int i = 0; i < hosts_count; i++) {
        numbers[i] = i + 1;
        if (pthread_create(&threads[i], NULL, i == 0 ? work : stand_by, &numbers[i]) != 0) {
            return 1;
        }
        while (atomic_load(&ready) <= i) { /* the first one makes the schema */
            usleep(1000);
        }
    }
    puts("ready");
    fflush(stdout);
    rows = atomic_load(&rows_changed);
    requests = atomic_load(&requests_sent);
    sleep((unsigned)seconds);
    printf("%lld rows/s %lld requests/s\n", (atomic_load(&rows_changed) - rows) / seconds,
           (atomic_load(&requests_sent) - requests) / seconds);
    fflush(stdout);
    atomic_store(&is_over, 1);
    for (int i = 0; i < hosts_count; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    apr_pool_t *pool;

    apr_initialize();
    apr_pool_create(&pool, NULL);
    apr_dbd_init(pool);
    if (argc != 4 || (hosts_count = atoi(argv[2])) < 2 || hosts_count > HOSTS_MOST ||
        atoi(argv[3]) < 1) {
        fprintf(stderr, "hosts_load PARAMS HOSTS SECONDS: 2 to %d hosts\n", HOSTS_MOST);
        return 2;
    }
    params = argv[1];
    return run(atoi(argv[3]));
}
