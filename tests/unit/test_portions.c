/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions go from the fetcher of one host to the helper of another, through a PostgreSQL, and the
 * tiles come back. Both hosts are in this process; the WMS is that of the seeder's tests. */
#include "seeder_fixture.h"

#include "database_fixture.h"
#include "fleet/tseed_pack.h"
#include "fleet/tseed_helper.h"
#include "fleet/tseed_errands.h"
#include "fleet/tseed_portions.h"
#include "source/tseed_source.h"
#include "work/tseed_job_cut.h"
#include "fleet/tseed_portion.h"
#include "work/tseed_run.h"

#define EPOCH   "7"
#define GIVER   3
#define SEED    UINT64_C(0x1234567890abcdef)
#define COLUMNS 4
#define PLENTY  32

/* A request of a job, as the pipeline makes one. */
typedef struct {
    tseed_run_t run;
    tseed_task_t task;
    tseed_job_t job;
    _Atomic int is_done;
} request_t;

/* What threads may still use when a test is over. */
static struct {
    apr_pool_t *pool;
    tseed_settings_t *working, *helping;
    tseed_fetcher_t *fetcher;
    tseed_helper_t *helper;
} hosts;

/* The threads of the hosts, and what they have, go with the process. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

static void done(void *baton, tseed_transfer_t *transfer)
{
    (void)baton;
    atomic_store(&((request_t *)transfer->baton)->is_done, 1);
}

static tseed_settings_t *settings_of(const fixture_t *fixture, const char *host)
{
    tseed_settings_t *settings = apr_pcalloc(hosts.pool, sizeof(*settings));

    settings->state_dir = apr_pstrdup(hosts.pool, fixture->dir);
    settings->db_driver = DATABASE_DRIVER;
    settings->db_params = fixture->settings.db_params;
    settings->host = host;
    settings->workers = 2;
    return settings;
}

static void execute(const fixture_t *fixture, const char *sql)
{
    int rows;

    (void)fixture;
    assert_int_equal(apr_dbd_query(postgres.driver, postgres.admin, &rows,
                                   apr_psprintf(hosts.pool, "SET search_path = test%d; %s",
                                                postgres.schemas, sql)),
                     0);
}

static int setup(void **data)
{
    fixture_t *fixture = calloc(1, sizeof(*fixture));

    if (!hosts.pool) {
        apr_pool_create(&hosts.pool, NULL);
    }
    fixture->pool = hosts.pool;
    snprintf(fixture->dir, sizeof(fixture->dir), "%s/tileseed-portions-XXXXXX", memory_folder());
    assert_non_null(mkdtemp(fixture->dir));
    assert_int_equal(mkdir(apr_pstrcat(hosts.pool, fixture->dir, "/cache", NULL), 0755), 0);
    upstream->mood = FINE;
    upstream_answer_all();
    fixture->catalog = tseed_catalog_create(hosts.pool);
    fixture->layer = layer_make(fixture, "topp:states, \xc3\xbc");
    ((tseed_upstream_t *)fixture->layer->source.addresses[0].upstream)->connections = 1;
    fixture->settings.db_params = database_params(hosts.pool);
    assert_int_equal(tseed_state_open(&fixture->state, fixture->dir, DATABASE_DRIVER,
                                      fixture->settings.db_params, hosts.pool),
                     APR_SUCCESS);
    hosts.working = settings_of(fixture, "web1");
    hosts.helping = settings_of(fixture, "web2");
    hosts.helper = NULL;
    assert_int_equal(tseed_fetcher_create(&hosts.fetcher, done, NULL, hosts.pool), APR_SUCCESS);
    *data = fixture;
    return 0;
}

/* The threads of the hosts go with the process. */
static int teardown(void **data)
{
    fixture_t *fixture = *data;

    if (hosts.helper) {
        tseed_helper_end(hosts.helper);
    }
    nftw(fixture->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(fixture);
    return 0;
}

static void add_host(const fixture_t *fixture)
{
    execute(fixture, "UPDATE role SET host = 'web1', epoch = 3");
    execute(fixture, "INSERT INTO host (name, instance, machine, version, epoch, until, started,"
                     " seen) VALUES ('web2', '', '', '', " EPOCH ", 9000000000000000, 0, 0)");
}

static void begin_helper(const fixture_t *fixture)
{
    hosts.helper = tseed_helper_create(hosts.helping, fixture->catalog, hosts.pool);
    tseed_helper_begin(hosts.helper, atoi(EPOCH));
}

/* ---- requests ---- */

static void set_tileset(request_t *request, const fixture_t *fixture)
{
    const tseed_subset_t *subset = &APR_ARRAY_IDX(fixture->layer->subsets, 0, tseed_subset_t);
    const tseed_format_t *format = &APR_ARRAY_IDX(fixture->layer->formats, 0, tseed_format_t);

    request->run.task = &request->task;
    assert_null(tseed_tileset_init(&request->run.tileset, fixture->layer, subset, format, NULL,
                                   fixture->pool));
}

/* The metatile of 4 x 4 tiles of level 4 in that column. */
static request_t *request_of(const fixture_t *fixture, int column)
{
    request_t *request = apr_pcalloc(fixture->pool, sizeof(*request));
    tseed_job_t *job = &request->job;
    tseed_ask_t ask = {.tileset = &request->run.tileset, .whole = &job->savings.asked};

    set_tileset(request, fixture);
    job->run = &request->run;
    job->savings.asked = job->metatile.wanted =
        (tseed_range_t){4, 4 * column, 0, 4 * column + 3, 3};
    job->accounts.seed = SEED;
    job->request.url = (char *)tseed_source_url(&ask, 0, fixture->pool);
    job->request.width = ask.width;
    job->request.height = ask.height;
    job->request.transfer.url = job->request.url;
    job->request.transfer.upstream = fixture->layer->source.addresses[0].upstream;
    job->request.transfer.owner = request;
    job->request.transfer.baton = request;
    job->request.transfer.most = 1 << 24;
    return request;
}

static void submit(request_t *request, int has_portion, const fixture_t *fixture)
{
    request->job.request.transfer.portion =
        has_portion ? tseed_portion_write(&request->job, 0, fixture->pool) : NULL;
    tseed_fetcher_submit(hosts.fetcher, &request->job.request.transfer);
}

static tseed_transfer_t *await(request_t *request)
{
    AWAIT(atomic_load(&request->is_done));
    return &request->job.request.transfer;
}

/* ---- tests ---- */

/* Submits that many requests, of which this host can send one at a time, when another host is there
 * to help. */
static void submit_plenty(request_t **requests, const fixture_t *fixture)
{
    tseed_portions_begin(hosts.working, fixture->catalog, hosts.fetcher, GIVER, hosts.pool);
    AWAIT(tseed_fetcher_has_help(hosts.fetcher));
    for (int i = 0; i < PLENTY; i++) {
        requests[i] = request_of(fixture, i % COLUMNS);
        submit(requests[i], 1, fixture);
    }
}

/* A pack has what this host would have made of the same answer. */
static void assert_pack(const tseed_transfer_t *pack, request_t *own, const fixture_t *fixture)
{
    const tseed_job_t *job = &own->job;
    const tseed_range_t *wanted = &job->metatile.wanted;
    const tseed_tileset_t *tileset = &own->run.tileset;
    const tseed_answer_t answer = {job->request.transfer.body, job->request.transfer.length,
                                   job->request.width, job->request.height};
    tseed_cutter_t *cutter;
    uint64_t digest = 0;

    assert_null(tseed_pack_check(pack->body, pack->length));
    assert_true(tseed_pack_reader.digest_of(&digest, pack->body, pack->length, SEED));
    assert_true(digest ==
                tseed_digest(job->request.transfer.body, job->request.transfer.length, SEED));
    assert_int_equal(tseed_cutter_create(&cutter), APR_SUCCESS);
    assert_null(tseed_job_open(cutter, answer, tileset->format, fixture->pool));
    for (int64_t y = wanted->miny; y <= wanted->maxy; y++) {
        for (int64_t x = wanted->minx; x <= wanted->maxx; x++) {
            const tseed_region_t region = tseed_job_region(tileset, &job->savings.asked, 0, x, y);
            tseed_encoded_t found, made;

            assert_true(tseed_pack_reader.find(&found, pack->body, pack->length, x, y));
            assert_null(tseed_cutter_cut(cutter, &made, &region, fixture->pool));
            assert_int_equal(found.length, made.length);
            assert_memory_equal(found.data, made.data, made.length);
        }
    }
    tseed_cutter_destroy(cutter);
}

static void tiles_come_back_as_they_would_be_cut_here(void **data)
{
    const fixture_t *fixture = *data;
    request_t *requests[PLENTY], *own[COLUMNS];
    int packs = 0;

    add_host(fixture);
    begin_helper(fixture);
    submit_plenty(requests, fixture);
    for (int i = 0; i < COLUMNS; i++) {
        own[i] = request_of(fixture, i);
        submit(own[i], 0, fixture);
        await(own[i]);
    }
    for (int i = 0; i < PLENTY; i++) {
        const tseed_transfer_t *transfer = await(requests[i]);

        assert_int_equal(transfer->result, TSEED_FETCH_OK);
        assert_int_equal(transfer->http_status, 200);
        assert_int_equal(transfer->sent, 1);
        assert_int_equal(transfer->received, own[i % COLUMNS]->job.request.transfer.length);
        if (transfer->packed) {
            packs++;
            assert_pack(transfer, own[i % COLUMNS], fixture);
        }
    }
    assert_true(packs > 0);
}

/* The failures that count are those of the host that works. */
static void what_fails_elsewhere_is_asked_here(void **data)
{
    const fixture_t *fixture = *data;
    request_t *requests[PLENTY];
    int in_vain = 0;

    upstream->mood = EXCEPTION;
    add_host(fixture);
    begin_helper(fixture);
    submit_plenty(requests, fixture);
    for (int i = 0; i < PLENTY; i++) {
        const tseed_transfer_t *transfer = await(requests[i]);

        assert_int_equal(transfer->result, TSEED_FETCH_FAILED);
        assert_int_equal(transfer->sent, 1);
        assert_null(transfer->packed);
        in_vain += transfer->sent_in_vain;
    }
    assert_true(in_vain > 0);
}

/* Another program has written into the table. */
static void results_that_cant_be_read_are_asked_here(void **data)
{
    const fixture_t *fixture = *data;
    request_t *requests[PLENTY];
    int are_done = 0;

    add_host(fixture);
    submit_plenty(requests, fixture);
    while (!are_done) {
        execute(fixture, "UPDATE portion SET results = 'ok 200 1 -1' WHERE results = ''");
        are_done = 1;
        for (int i = 0; i < PLENTY; i++) {
            are_done &= atomic_load(&requests[i]->is_done);
        }
    }
    for (int i = 0; i < PLENTY; i++) {
        assert_int_equal(requests[i]->job.request.transfer.result, TSEED_FETCH_OK);
        assert_null(requests[i]->job.request.transfer.packed);
    }
}

static void without_a_helper_all_is_done_here(void **data)
{
    const fixture_t *fixture = *data;
    request_t *requests[PLENTY];

    add_host(fixture);
    submit_plenty(requests, fixture);
    await(requests[0]);
    execute(fixture, "UPDATE host SET until = 0");
    for (int i = 0; i < PLENTY; i++) {
        assert_int_equal(await(requests[i])->result, TSEED_FETCH_OK);
        assert_null(requests[i]->job.request.transfer.packed);
    }
}

static void what_is_cancelled_comes_back_once(void **data)
{
    const fixture_t *fixture = *data;
    request_t *requests[PLENTY];

    upstream->mood = HANGS;
    add_host(fixture);
    submit_plenty(requests, fixture);
    for (int i = 0; i < PLENTY; i++) {
        tseed_fetcher_cancel(hosts.fetcher, requests[i]);
        assert_int_equal(await(requests[i])->result, TSEED_FETCH_CANCELLED);
    }
    upstream->mood = FINE;
    requests[0] = request_of(fixture, 0);
    submit(requests[0], 0, fixture);
    await(requests[0]);
    for (int i = 1; i < PLENTY; i++) {
        assert_int_equal(atomic_load(&requests[i]->is_done), 1);
    }
}

static void a_result_is_read_as_it_was_written(void **data)
{
    const fixture_t *fixture = *data;
    tseed_transfer_t transfer = {.http_status = 203,
                                 .sent = 1,
                                 .took = 42,
                                 .ended = 100,
                                 .retry_after = 7,
                                 .received = 4711,
                                 .next_condition = "If-None-Match: \"a b\"",
                                 .cause = "503: a\nb"};
    tseed_transfer_t back = {0};
    tseed_portion_result_t result;
    char *line = apr_pstrdup(
        fixture->pool, tseed_portion_result_write(TSEED_PORTION_OK, &transfer, 142, fixture->pool));

    assert_null(strchr(line, '\n'));
    assert_true(tseed_portion_result_read(&result, line, fixture->pool));
    assert_int_equal(result.outcome, TSEED_PORTION_OK);
    assert_int_equal(result.age, 42);
    assert_int_equal(result.retry_after, 7);
    assert_string_equal(result.cause, "503: a?b");
    tseed_portion_result_put(&back, &result);
    assert_int_equal(back.result, TSEED_FETCH_OK);
    assert_int_equal(back.http_status, 203);
    assert_int_equal(back.took, 42);
    assert_int_equal(back.received, 4711);
    assert_string_equal(back.next_condition, transfer.next_condition);
}

static void a_condition_is_no_other_header(void **data)
{
    static const char *const lines[] = {"ok 200 1 0 0 0 0 X-Evil:%201 -",
                                        "ok 200 1 0 0 0 0 If-None-Match:%20a%0d%0aX-Evil:%201 -",
                                        "ok 200 1 0 0 0 0 %zz -"};
    const fixture_t *fixture = *data;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        tseed_portion_result_t result;

        assert_true(tseed_portion_result_read(&result, apr_pstrdup(fixture->pool, lines[i]),
                                              fixture->pool));
        assert_string_equal(result.next_condition, "");
    }
}

static void portions_without_an_end_have_results(void **data)
{
    const fixture_t *fixture = *data;
    const tseed_transfer_t transfer = {.sent = 1};
    tseed_portion_result_t result;
    const tseed_transfer_t refused = {.cause = "layer 'a' is not here"};
    const char *line =
        tseed_portion_result_write(TSEED_PORTION_REFUSED, &refused, 42, fixture->pool);

    assert_true(
        tseed_portion_result_read(&result, apr_pstrdup(fixture->pool, line), fixture->pool));
    assert_int_equal(result.outcome, TSEED_PORTION_REFUSED);
    assert_string_equal(result.cause, "layer 'a' is not here");
    line = tseed_portion_result_write(TSEED_PORTION_UNDONE, &transfer, 42, fixture->pool);
    assert_true(
        tseed_portion_result_read(&result, apr_pstrdup(fixture->pool, line), fixture->pool));
    assert_int_equal(result.outcome, TSEED_PORTION_UNDONE);
    assert_int_equal(result.sent, 1);
    assert_int_equal(result.age, 0);
}

static void other_lines_are_no_results(void **data)
{
    static const char *const lines[] = {
        "",
        "nonsense",
        "ok",
        "refused",
        "refused 1 2",
        "undone",
        "ok 200 1 0 0 0 0 -",
        "ok 200 1 0 0 0 0 - - -",
        "ok 200 2 0 0 0 0 - -",
        "ok 200 -1 0 0 0 0 - -",
        "ok 200 1 -1 0 0 0 - -",
        "ok 200 1 86400000001 0 0 0 - -",
        "ok 200 1 0 9223372036854775807 0 0 - -",
        "ok 200 1 0 0 99999999999999999999 0 - -",
        "ok 200 1 0 0 0 4294967296 - -",
        "ok 200 1 0x1 0 0 0 - -",
        "failed 200 1 0 0 0 0 - %zz",
    };
    const fixture_t *fixture = *data;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        tseed_portion_result_t result;

        if (tseed_portion_result_read(&result, apr_pstrdup(fixture->pool, lines[i]),
                                      fixture->pool)) {
            fail_msg("taken for a result: %s", lines[i]);
        }
    }
}

static int group_setup(void **data)
{
    apr_initialize();
    return upstream_setup(data);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tiles_come_back_as_they_would_be_cut_here),
        TEST(what_fails_elsewhere_is_asked_here),
        TEST(results_that_cant_be_read_are_asked_here),
        TEST(without_a_helper_all_is_done_here),
        TEST(what_is_cancelled_comes_back_once),
        TEST(a_result_is_read_as_it_was_written),
        TEST(a_condition_is_no_other_header),
        TEST(portions_without_an_end_have_results),
        TEST(other_lines_are_no_results),
    };
    const int code = database_begin();

    return code >= 0 ? code
                     : database_end(cmocka_run_group_tests(tests, group_setup, upstream_teardown));
}
