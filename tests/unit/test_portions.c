/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions go from the fetcher of one host to the helper of another, through a PostgreSQL, and the
 * tiles come back. Both hosts are in this process; the WMS is that of the seeder's tests. */
#include "seeder_fixture.h"

#include "database_fixture.h"
#include "image/tseed_pack.h"
#include "seeder/tseed_helper.h"
#include "seeder/tseed_portion_result.h"
#include "seeder/tseed_portions.h"
#include "source/tseed_source.h"
#include "work/tseed_portion.h"
#include "work/tseed_run.h"

#define EPOCH  "7"
#define GIVER  3
#define SEED   UINT64_C(0x1234567890abcdef)
#define TILES  16
#define PLENTY 32

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
    tseed_ask_t ask = {.tileset = &request->run.tileset, .whole = &job->asked};

    set_tileset(request, fixture);
    job->run = &request->run;
    job->asked = job->metatile.wanted = (tseed_range_t){4, 4 * column, 0, 4 * column + 3, 3};
    job->seed = SEED;
    job->url = (char *)tseed_source_url(&ask, 0, fixture->pool);
    job->width = ask.width;
    job->height = ask.height;
    job->transfer.url = job->url;
    job->transfer.upstream = fixture->layer->source.addresses[0].upstream;
    job->transfer.owner = request;
    job->transfer.baton = request;
    job->transfer.most = 1 << 24;
    return request;
}

static void submit(request_t *request, int has_portion, const fixture_t *fixture)
{
    request->job.transfer.portion =
        has_portion ? tseed_portion_write(&request->job, 0, fixture->pool) : NULL;
    tseed_fetcher_submit(hosts.fetcher, &request->job.transfer);
}

static tseed_transfer_t *await(request_t *request)
{
    AWAIT(atomic_load(&request->is_done));
    return &request->job.transfer;
}

/* ---- tests ---- */

static void tiles_come_back_as_they_would_be_cut_here(void **data)
{
    const fixture_t *fixture = *data;
    request_t *requests[PLENTY];
    int packs = 0;

    ((tseed_upstream_t *)fixture->layer->source.addresses[0].upstream)->connections = 1;
    add_host(fixture);
    begin_helper(fixture);
    tseed_portions_begin(hosts.working, fixture->catalog, hosts.fetcher, GIVER, hosts.pool);
    for (int i = 0; i < PLENTY; i++) {
        requests[i] = request_of(fixture, i % 4);
        submit(requests[i], 1, fixture);
    }
    for (int i = 0; i < PLENTY; i++) {
        const tseed_transfer_t *transfer = await(requests[i]);
        uint64_t digest = 0;

        assert_int_equal(transfer->result, TSEED_FETCH_OK);
        assert_int_equal(transfer->http_status, 200);
        assert_int_equal(transfer->sent, 1);
        if (!transfer->is_pack) {
            continue;
        }
        packs++;
        assert_null(tseed_pack_check(transfer->body, transfer->length, fixture->pool));
        assert_true(tseed_pack_digest_of(&digest, transfer->body, transfer->length, SEED));
        for (int tile = 0; tile < TILES; tile++) {
            tseed_encoded_t encoded;

            assert_true(tseed_pack_find(&encoded, transfer->body, transfer->length,
                                        4 * (i % 4) + tile % 4, tile / 4));
            assert_memory_equal(encoded.data + 1, "PNG", 3);
        }
    }
    assert_true(packs > 0);
}

static void without_a_helper_all_is_done_here(void **data)
{
    const fixture_t *fixture = *data;
    request_t *requests[PLENTY];

    ((tseed_upstream_t *)fixture->layer->source.addresses[0].upstream)->connections = 1;
    add_host(fixture);
    tseed_portions_begin(hosts.working, fixture->catalog, hosts.fetcher, GIVER, hosts.pool);
    for (int i = 0; i < PLENTY; i++) {
        requests[i] = request_of(fixture, i % 4);
        submit(requests[i], 1, fixture);
    }
    await(requests[0]);
    execute(fixture, "UPDATE host SET until = 0");
    for (int i = 0; i < PLENTY; i++) {
        assert_int_equal(await(requests[i])->result, TSEED_FETCH_OK);
        assert_false(requests[i]->job.transfer.is_pack);
    }
}

static void what_is_cancelled_comes_back_once(void **data)
{
    const fixture_t *fixture = *data;
    request_t *requests[PLENTY];

    ((tseed_upstream_t *)fixture->layer->source.addresses[0].upstream)->connections = 1;
    upstream->mood = HANGS;
    add_host(fixture);
    tseed_portions_begin(hosts.working, fixture->catalog, hosts.fetcher, GIVER, hosts.pool);
    for (int i = 0; i < PLENTY; i++) {
        requests[i] = request_of(fixture, i % 4);
        submit(requests[i], 1, fixture);
    }
    for (int i = 0; i < PLENTY; i++) {
        tseed_fetcher_cancel(hosts.fetcher, requests[i]);
        assert_int_equal(await(requests[i])->result, TSEED_FETCH_CANCELLED);
    }
}

static void a_portion_is_read_as_it_was_written(void **data)
{
    const fixture_t *fixture = *data;
    request_t *request = request_of(fixture, 2);
    tseed_portion_t portion;
    const char *text;

    request->job.transfer.condition = "If-None-Match: \"a b\"";
    request->job.transfer.weight = 1.5;
    text = tseed_portion_write(&request->job, 0, fixture->pool);
    assert_null(strchr(text, '\n'));
    assert_null(tseed_portion_read(&portion, text, fixture->catalog, fixture->pool));
    assert_string_equal(portion.url, request->job.url);
    assert_string_equal(portion.condition, "If-None-Match: \"a b\"");
    assert_true(portion.weight == 1.5);
    assert_int_equal(portion.parts->nelts, 1);
    assert_memory_equal(&APR_ARRAY_IDX(portion.parts, 0, tseed_portion_part_t).wanted,
                        &request->job.metatile.wanted, sizeof(tseed_range_t));
    assert_true(APR_ARRAY_IDX(portion.parts, 0, tseed_portion_part_t).seed == SEED);
}

static void another_configuration_refuses_a_portion(void **data)
{
    fixture_t *fixture = *data;
    const char *text = tseed_portion_write(&request_of(fixture, 0)->job, 0, fixture->pool);
    tseed_portion_t portion;

    assert_non_null(tseed_portion_read(&portion, "2 nonsense", fixture->catalog, fixture->pool));
    assert_non_null(
        tseed_portion_read(&portion, text, tseed_catalog_create(fixture->pool), fixture->pool));
    fixture->layer->source.missing_is_empty = 1;
    assert_non_null(tseed_portion_read(&portion, text, fixture->catalog, fixture->pool));
}

static void a_result_is_read_as_it_was_written(void **data)
{
    const fixture_t *fixture = *data;
    tseed_transfer_t transfer = {.result = TSEED_FETCH_AWAY,
                                 .http_status = 503,
                                 .sent = 1,
                                 .took = 42,
                                 .retry_after = 7,
                                 .cause = "503: a\nb"};
    tseed_transfer_t back = {0};
    tseed_portion_result_t result;
    char *line =
        apr_pstrdup(fixture->pool, tseed_portion_result_write(&transfer, "", fixture->pool));

    assert_null(strchr(line, '\n'));
    assert_true(tseed_portion_result_read(&result, line, fixture->pool));
    tseed_portion_result_put(&back, &result);
    assert_int_equal(back.result, TSEED_FETCH_AWAY);
    assert_int_equal(back.http_status, 503);
    assert_int_equal(back.took, 42);
    assert_int_equal(back.retry_after, 7);
    assert_string_equal(back.cause, "503: a\nb");
    assert_string_equal(result.path, "");
    assert_false(
        tseed_portion_result_read(&result, apr_pstrdup(fixture->pool, "0 1"), fixture->pool));
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
        TEST(tiles_come_back_as_they_would_be_cut_here), TEST(without_a_helper_all_is_done_here),
        TEST(what_is_cancelled_comes_back_once),         TEST(a_portion_is_read_as_it_was_written),
        TEST(another_configuration_refuses_a_portion),   TEST(a_result_is_read_as_it_was_written),
    };
    const int code = database_begin();

    return code >= 0 ? code
                     : database_end(cmocka_run_group_tests(tests, group_setup, upstream_teardown));
}
