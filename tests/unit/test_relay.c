/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Questions for missing tiles go from the relay of one host to the intake of another, through a
 * PostgreSQL, and the answers go back. The test is the child that asks, and the seeder that makes
 * tiles. */
#include "state_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "fleet/tseed_relay.h"
#include "work/tseed_miss.h"
#include "fleet/tseed_hosts.h"

#define WAITERS  8
#define PATIENCE (100 * 1000) /* ms that a test waits for an event */
#define EPOCH    7
#define BUSY     "3" /* TSEED_MISS_BUSY */

/* Two hosts; whoever asks at one of them is a child of the host that stands by. */
static struct {
    apr_pool_t *pool; /* of what threads may still use when a test is over */
    tseed_settings_t *settings;
    tseed_relay_t *relay;
    tseed_intake_t *intake;
    int standby[2], working[2]; /* miss sockets */
} hosts;

static const _Atomic int others = 1;

static int setup_hosts(void **data)
{
    fixture_t *fixture;

    if (setup(data) != 0) {
        return -1;
    }
    fixture = *data;
    if (!hosts.pool) {
        apr_pool_create(&hosts.pool, NULL);
    }
    hosts.settings = apr_pcalloc(hosts.pool, sizeof(*hosts.settings));
    hosts.settings->state_dir = apr_pstrdup(hosts.pool, fixture->dir);
    hosts.settings->db_driver = DATABASE_DRIVER;
    hosts.settings->db_params = apr_pstrdup(hosts.pool, fixture->params);
    hosts.settings->miss_waiters = WAITERS;
    hosts.intake = NULL;
    execute(fixture, "INSERT INTO host (name, instance, machine, version, epoch, until, started,"
                     " seen) VALUES ('web2', '', '', '', 7, 0, 0, 0)");
    tseed_miss_open(hosts.standby, 64);
    tseed_miss_open(hosts.working, 64);
    hosts.relay = tseed_relay_create(hosts.settings, hosts.standby[0], hosts.pool);
    assert_false(tseed_relay_reads(hosts.relay));
    tseed_relay_begin(hosts.relay, EPOCH);
    tseed_relay_begin(hosts.relay, EPOCH);
    return !tseed_relay_reads(hosts.relay);
}

static void begin_intake(void)
{
    hosts.intake = tseed_intake_begin(hosts.settings, &others, hosts.working[1], hosts.pool);
    assert_non_null(hosts.intake);
}

/* ---- a child that asks ---- */

typedef struct {
    tseed_tile_t tile;
    int leaves; /* when this descriptor is closed at its other end; 0: it stays */
    tseed_reply_t reply;
    int file;
    pthread_t thread;
} child_t;

static void *ask(void *data)
{
    child_t *child = data;
    const tseed_cancel_t cancel = {.client = child->leaves ? child->leaves : -1};
    apr_pool_t *pool;
    tseed_question_t question = {.layer = "topp:states",
                                 .gridset = "EPSG:4326",
                                 .format = "image/png",
                                 .client = "192.0.2.1",
                                 .tile = child->tile};

    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    question.parameters = apr_table_make(pool, 1);
    apr_table_setn((apr_table_t *)question.parameters, "STYLES", "d\xc3\xbcnn\n'");
    tseed_miss_ask(&child->reply, &child->file, hosts.standby[1], &question, &cancel);
    apr_pool_destroy(pool);
    return NULL;
}

static void child_ask(child_t *child, int64_t x, int leaves)
{
    *child = (child_t){.tile = {3, x, 1}, .leaves = leaves};
    assert_int_equal(pthread_create(&child->thread, NULL, ask, child), 0);
}

static int child_hear(child_t *child)
{
    assert_int_equal(pthread_join(child->thread, NULL), 0);
    return child->reply.outcome;
}

/* ---- the seeder of the host that works ---- */

/* Waits for the next question; returns where its answer goes. */
static int take(const fixture_t *fixture, tseed_question_t *question)
{
    struct pollfd fd = {.fd = hosts.working[0], .events = POLLIN};
    int end;

    assert_int_equal(poll(&fd, 1, PATIENCE), 1);
    assert_int_equal(tseed_miss_take(question, &end, hosts.working[0], fixture->pool), APR_SUCCESS);
    return end;
}

static void answer(int end, int outcome, const char *cause, int tile)
{
    tseed_reply_t reply = {.outcome = outcome, .retry_after = 9, .upstream = 40};

    strcpy(reply.cause, cause);
    tseed_miss_answer(end, &reply, tile);
}

static int64_t rows_of(const fixture_t *fixture)
{
    const char *count;

    assert_int_equal(
        tseed_database_ask(&fixture->state->db, &count, "SELECT COUNT(*) FROM miss", fixture->pool),
        APR_SUCCESS);
    return apr_atoi64(count);
}

static void await_rows(const fixture_t *fixture, int64_t count)
{
    for (int i = 0; rows_of(fixture) != count; i++) {
        assert_true(i < PATIENCE / 10);
        apr_sleep(10000);
    }
}

/* ---- tests ---- */

static void a_question_and_its_answer_arrive_whole(void **data)
{
    const fixture_t *fixture = *data;
    tseed_question_t question;
    child_t child;
    int end;

    begin_intake();
    child_ask(&child, 5, 0);
    end = take(fixture, &question);
    assert_string_equal(question.layer, "topp:states");
    assert_string_equal(question.client, "192.0.2.1");
    assert_string_equal(apr_table_get(question.parameters, "STYLES"), "d\xc3\xbcnn\n'");
    assert_int_equal(question.tile.x, 5);
    answer(end, TSEED_MISS_FAILED, "404 from \"it's\" upstream", -1);
    assert_int_equal(child_hear(&child), TSEED_MISS_FAILED);
    assert_string_equal(child.reply.cause, "404 from \"it's\" upstream");
    assert_int_equal(child.reply.retry_after, 9);
    assert_int_equal(child.reply.upstream, 40);
    assert_int_equal(child.file, -1);
    await_rows(fixture, 0);
}

static int file_with(const void *bytes, size_t length)
{
    int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);

    assert_int_equal(write(file, bytes, length), length);
    return file;
}

static void a_tile_that_is_not_stored_arrives_whole(void **data)
{
    static const char bytes[] = "\x89PNG\0\xff\0";
    const fixture_t *fixture = *data;
    const int file = file_with(bytes, sizeof(bytes));
    tseed_question_t question;
    char found[2 * sizeof(bytes)];
    child_t child;

    begin_intake();
    child_ask(&child, 0, 0);
    answer(take(fixture, &question), TSEED_MISS_PASSED, "", file);
    assert_int_equal(child_hear(&child), TSEED_MISS_PASSED);
    assert_int_equal(pread(child.file, found, sizeof(found), 0), sizeof(bytes));
    assert_memory_equal(found, bytes, sizeof(bytes));
    close(child.file);
    close(file);
}

static void a_tile_that_is_too_large_is_not_passed_on(void **data)
{
    const fixture_t *fixture = *data;
    const int file = file_with("", 1);
    tseed_question_t question;
    child_t child;

    assert_int_equal(ftruncate(file, (2 << 20) + 1), 0);
    begin_intake();
    child_ask(&child, 0, 0);
    answer(take(fixture, &question), TSEED_MISS_PASSED, "", file);
    assert_int_equal(child_hear(&child), TSEED_MISS_BUSY);
    assert_non_null(strstr(child.reply.cause, "too large"));
    assert_int_equal(child.file, -1);
    close(file);
}

/* The answers come in another order than the questions. */
static void each_hears_its_own_answer(void **data)
{
    const fixture_t *fixture = *data;
    child_t children[WAITERS];
    tseed_question_t question;
    int ends[WAITERS];

    for (int i = 0; i < WAITERS; i++) {
        child_ask(&children[i], i, 0);
    }
    await_rows(fixture, WAITERS);
    hosts.settings->miss_waiters = 2 * WAITERS; /* the intake takes half of them */
    begin_intake();
    for (int i = 0; i < WAITERS; i++) {
        int end = take(fixture, &question);

        ends[question.tile.x] = end;
    }
    for (int i = WAITERS - 1; i >= 0; i--) {
        answer(ends[i], TSEED_MISS_FAILED, apr_itoa(fixture->pool, i), -1);
        assert_int_equal(child_hear(&children[i]), TSEED_MISS_FAILED);
        assert_string_equal(children[i].reply.cause, apr_itoa(fixture->pool, i));
    }
    await_rows(fixture, 0);
}

static void without_a_host_that_works_nobody_waits(void **data)
{
    const fixture_t *fixture = *data;
    tseed_question_t question;
    child_t child;

    for (int i = 0; i < 6; i++) {
        tseed_relay_note(hosts.relay, 0);
    }
    child_ask(&child, 0, 0);
    assert_int_equal(child_hear(&child), TSEED_MISS_BUSY);
    assert_non_null(strstr(child.reply.cause, "no host works"));
    tseed_relay_note(hosts.relay, 1);
    begin_intake();
    child_ask(&child, 0, 0);
    answer(take(fixture, &question), TSEED_MISS_STORED, "", -1);
    assert_int_equal(child_hear(&child), TSEED_MISS_STORED);
}

static void who_waits_is_let_go_when_no_host_works(void **data)
{
    const fixture_t *fixture = *data;
    child_t child;

    child_ask(&child, 0, 0);
    await_rows(fixture, 1);
    for (int i = 0; i < 6; i++) {
        tseed_relay_note(hosts.relay, 0);
    }
    assert_int_equal(child_hear(&child), TSEED_MISS_BUSY);
    assert_non_null(strstr(child.reply.cause, "no host works"));
    await_rows(fixture, 0);
}

static void no_more_wait_than_may(void **data)
{
    const fixture_t *fixture = *data;
    child_t children[WAITERS], another;
    tseed_question_t question;

    for (int i = 0; i < WAITERS; i++) {
        child_ask(&children[i], i, 0);
    }
    await_rows(fixture, WAITERS);
    child_ask(&another, WAITERS, 0);
    assert_int_equal(child_hear(&another), TSEED_MISS_BUSY);
    assert_non_null(strstr(another.reply.cause, "too many"));
    begin_intake();
    for (int i = 0; i < WAITERS; i++) {
        answer(take(fixture, &question), TSEED_MISS_STORED, "", -1);
    }
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(child_hear(&children[i]), TSEED_MISS_STORED);
    }
}

/* The seeder sees the end of a question closed. */
static void who_leaves_is_forgotten(void **data)
{
    const fixture_t *fixture = *data;
    tseed_question_t question;
    struct pollfd fd = {.events = POLLIN};
    child_t child;
    int client[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, client), 0);
    begin_intake();
    child_ask(&child, 0, client[1]);
    fd.fd = take(fixture, &question);
    close(client[0]);
    child_hear(&child);
    assert_int_equal(poll(&fd, 1, PATIENCE), 1);
    assert_true(fd.revents & POLLHUP);
    close(fd.fd);
    close(client[1]);
    await_rows(fixture, 0);
}

/* Who waits asks the next seeder of its own host. */
static void who_waits_at_the_end_asks_anew(void **data)
{
    const fixture_t *fixture = *data;
    struct pollfd fd = {.fd = hosts.standby[0], .events = POLLIN};
    tseed_question_t question;
    child_t child;
    int end;

    child_ask(&child, 0, 0);
    await_rows(fixture, 1);
    tseed_relay_end(hosts.relay);
    await_rows(fixture, 0);
    assert_int_equal(poll(&fd, 1, PATIENCE), 1);
    assert_int_equal(tseed_miss_take(&question, &end, hosts.standby[0], fixture->pool),
                     APR_SUCCESS);
    answer(end, TSEED_MISS_STORED, "", -1);
    assert_int_equal(child_hear(&child), TSEED_MISS_STORED);
}

/* A host that starts anew has another epoch, and one that is gone has none that counts. */
static void questions_of_nobody_are_forgotten(void **data)
{
    const fixture_t *fixture = *data;
    tseed_question_t question;

    execute(fixture, "UPDATE host SET until = 9000000000000000");
    execute(fixture, "INSERT INTO host (name, instance, machine, version, epoch, until, started,"
                     " seen) VALUES ('web3', '', '', '', 8, 0, 0, 0)");
    execute(fixture, "INSERT INTO miss (epoch, number, question) VALUES (6, 1, ''), (7, 1, ''),"
                     " (8, 1, '')");
    assert_int_equal(tseed_hosts_forget(fixture->state, INT64_MAX / 2), APR_SUCCESS);
    assert_int_equal(rows_of(fixture), 1);
    execute(fixture, "DELETE FROM miss WHERE epoch = 7");
    begin_intake();
    assert_int_equal(tseed_miss_take(&question, &(int){0}, hosts.working[0], fixture->pool),
                     APR_EAGAIN);
}

static void nonsense_has_an_answer(void **data)
{
    const fixture_t *fixture = *data;
    tseed_question_t question;
    int end;

    tseed_relay_end(hosts.relay);
    execute(fixture,
            "INSERT INTO miss (epoch, number, question) VALUES (7, 1, ''), (7, 2, 'eHg=')");
    begin_intake();
    for (int i = 0, found = 0; found < 2; i++) {
        assert_true(i < PATIENCE / 10);
        tseed_miss_take(&question, &end, hosts.working[0], fixture->pool); /* and drops it */
        found = (int)number(fixture, "SELECT COUNT(*) FROM miss WHERE epoch = 7 AND outcome >= 0");
        apr_sleep(10000);
    }
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM miss WHERE outcome = " BUSY
                                     " AND cause LIKE '%the host that works did not%'"),
                     2);
}

static int teardown_hosts(void **data)
{
    tseed_relay_end(hosts.relay);
    tseed_intake_end(hosts.intake);
    return teardown(data);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup_hosts, teardown_hosts)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_question_and_its_answer_arrive_whole),
        TEST(a_tile_that_is_not_stored_arrives_whole),
        TEST(a_tile_that_is_too_large_is_not_passed_on),
        TEST(each_hears_its_own_answer),
        TEST(without_a_host_that_works_nobody_waits),
        TEST(who_waits_is_let_go_when_no_host_works),
        TEST(no_more_wait_than_may),
        TEST(who_leaves_is_forgotten),
        TEST(who_waits_at_the_end_asks_anew),
        TEST(questions_of_nobody_are_forgotten),
        TEST(nonsense_has_an_answer),
    };
    const int code = database_begin();

    return code >= 0 ? code
                     : database_end(cmocka_run_group_tests(tests, group_setup, group_teardown));
}
