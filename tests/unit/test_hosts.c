/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Hosts that share a PostgreSQL: who has the role of the seeder, and whose writes are done. The
 * database's clock stands still in these tests unless a test moves it on. */
#include "state_fixture.h"

#include <sys/wait.h>

#include "state/tseed_books.h"
#include "fleet/tseed_hosts.h"

enum { MANY = 8 };

#define LEASE  (15 * APR_USEC_PER_SEC)
#define MARGIN (5 * APR_USEC_PER_SEC)

/* A host with its connection. */
typedef struct {
    tseed_state_t *state;
    tseed_host_t host;
    tseed_registration_t registration;
    tseed_fence_t fence;
} member_t;

/* ---- the database's clock ---- */

/* Seconds since the clock began to stand still. The database was started an hour before that. */
static void set_clock(const fixture_t *fixture, double seconds)
{
    execute(fixture, apr_psprintf(fixture->pool, "UPDATE moment SET seconds = %f", seconds));
}

static void set_start(const fixture_t *fixture, double seconds)
{
    execute(fixture, apr_psprintf(fixture->pool, "UPDATE moment SET start = %f", seconds));
}

/* Functions of the test's own schema stand before those of the system. */
static int setup_hosts(void **data)
{
    fixture_t *fixture = calloc(1, sizeof(*fixture));
    const char *schema;

    apr_pool_create(&fixture->pool, NULL);
    strcpy(fixture->dir, "/tmp/tileseed-hosts-XXXXXX");
    if (!mkdtemp(fixture->dir)) {
        return -1;
    }
    fixture->params = database_params(fixture->pool);
    schema = apr_psprintf(fixture->pool, "test%d", postgres.schemas);
    fixture->params = apr_psprintf(
        fixture->pool, "%s options='-c search_path=%s,pg_catalog -c client_min_messages=warning'",
        database_user(fixture->pool, "tileseed", "passfile", "tileseed"), schema);
    if (database_do(apr_psprintf(
            fixture->pool,
            "CREATE TABLE %s.moment AS SELECT 0::float8 AS seconds, -3600::float8 AS start;"
            " CREATE FUNCTION %s.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS"
            " 'SELECT to_timestamp(1000000 + seconds) FROM %s.moment';"
            " CREATE FUNCTION %s.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql AS"
            " 'SELECT to_timestamp(1000000 + start) FROM %s.moment'",
            schema, schema, schema, schema, schema)) != 0) {
        return -1;
    }
    fixture->state = state_open(fixture);
    *data = fixture;
    return 0;
}

/* ---- helpers ---- */

static void enlist(member_t *member)
{
    tseed_hosts_fence(member->state, NULL);
    assert_int_equal(tseed_hosts_register(member->state, &member->registration, &member->host),
                     APR_SUCCESS);
    member->fence.host = member->host.name;
    member->fence.epoch = member->registration.epoch;
    atomic_store(&member->fence.renewals, member->registration.renewals);
    atomic_store(&member->fence.is_broken, 0);
}

static member_t *member_of(const fixture_t *fixture, const char *name)
{
    member_t *member = apr_pcalloc(fixture->pool, sizeof(*member));

    member->state = state_open(fixture);
    member->host = (tseed_host_t){.name = name,
                                  .instance = apr_pstrcat(fixture->pool, "i-", name, NULL),
                                  .machine = "machine",
                                  .version = "1",
                                  .lease = LEASE,
                                  .margin = MARGIN};
    return member;
}

static member_t *host_of(const fixture_t *fixture, const char *name)
{
    member_t *member = member_of(fixture, name);

    enlist(member);
    return member;
}

static int takes(member_t *member)
{
    tseed_take_t taken;

    tseed_hosts_fence(member->state, NULL); /* who takes the role has none yet */
    assert_int_equal(tseed_hosts_take(member->state, &taken, &member->registration, &member->host),
                     APR_SUCCESS);
    if (taken == TSEED_TAKE_DONE) {
        tseed_hosts_fence(member->state, &member->fence);
    }
    return taken == TSEED_TAKE_DONE;
}

static apr_status_t renews(member_t *member, tseed_renewal_t *renewal)
{
    apr_status_t rv = tseed_hosts_renew(member->state, renewal, &member->host, &member->fence);

    if (rv == APR_SUCCESS) {
        atomic_store(&member->fence.renewals, renewal->renewals);
    }
    return rv;
}

static apr_status_t writes(const member_t *member)
{
    return tseed_books_note_set(member->state, "written", member->host.name);
}

static const char *written(const fixture_t *fixture)
{
    const char *value;

    return tseed_books_note_get(fixture->state, &value, "written", fixture->pool) == APR_SUCCESS
               ? value
               : "";
}

/* What is refused, and what the database has afterwards. */
static void assert_fenced(const fixture_t *fixture, member_t *member)
{
    tseed_renewal_t renewal;
    const char *before = written(fixture);

    assert_int_equal(writes(member), TSEED_EFENCED);
    assert_string_equal(written(fixture), before);
    assert_true(atomic_load(&member->fence.is_broken));
    tseed_hosts_fence(member->state, NULL);
    assert_int_equal(renews(member, &renewal), TSEED_EFENCED);
}

/* ---- the role ---- */

static void test_hosts__the_first_takes_the_role(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one");
    tseed_renewal_t renewal;

    assert_false(one->registration.has_role);
    assert_true(takes(one));
    assert_int_equal(writes(one), APR_SUCCESS);
    assert_string_equal(written(fixture), "one");
    assert_int_equal(renews(one, &renewal), APR_SUCCESS);
    assert_string_equal(renewal.active, "one");
    assert_true(renewal.ended < 0);
    assert_int_equal(renewal.others, 0);
}

static void test_hosts__another_stands_by(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");
    tseed_renewal_t renewal;

    assert_true(takes(one));
    assert_false(takes(two));
    set_clock(fixture, 14);
    assert_int_equal(renews(one, &renewal), APR_SUCCESS);
    set_clock(fixture, 34); /* by the first lease the role would be free */
    assert_false(takes(two));
    assert_int_equal(renews(two, &renewal), APR_SUCCESS);
    assert_string_equal(renewal.active, "one");
    assert_true(renewal.ended > 0);
    assert_int_equal(writes(one), APR_SUCCESS);
}

static void test_hosts__a_silent_one_is_succeeded(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");

    assert_true(takes(one));
    assert_int_equal(writes(one), APR_SUCCESS);
    set_clock(fixture, 20);
    assert_false(takes(two));
    set_clock(fixture, 20.001);
    assert_true(takes(two));
    assert_true(two->registration.has_ousted);
    assert_int_equal(two->registration.former, one->registration.tenure);
    assert_int_not_equal(two->registration.tenure, one->registration.tenure);
    assert_fenced(fixture, one);
    assert_int_equal(writes(two), APR_SUCCESS);
    assert_string_equal(written(fixture), "two");
}

/* A host that believed in its takeover would work beside the next one. */
static void test_hosts__a_takeover_that_fails_at_its_commit_is_none(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");
    tseed_take_t taken = TSEED_TAKE_DONE;

    assert_true(takes(one));
    set_clock(fixture, 21);
    execute(fixture, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
                     " 'BEGIN RAISE EXCEPTION ''no''; END'");
    execute(fixture, "CREATE CONSTRAINT TRIGGER refusal AFTER UPDATE ON role DEFERRABLE"
                     " INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()");
    assert_int_not_equal(tseed_hosts_take(two->state, &taken, &two->registration, &two->host),
                         APR_SUCCESS);
    assert_int_equal(taken, TSEED_TAKE_NO);
    assert_false(two->registration.has_role || two->registration.has_ousted);
    assert_int_equal(writes(one), APR_SUCCESS);
    execute(fixture, "DROP TRIGGER refusal ON role");
    assert_true(takes(two));
}

static void test_hosts__a_takeover_whose_answer_is_lost_is_found_out(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");
    tseed_registration_t before;

    assert_true(takes(one));
    set_clock(fixture, 21);
    before = two->registration;
    assert_true(takes(two));
    two->registration = before; /* as far as it knows */
    assert_true(takes(two));
    assert_true(two->registration.has_role && two->registration.has_ousted);
    assert_int_equal(two->registration.former, one->registration.tenure);
    assert_int_equal(writes(two), APR_SUCCESS);
}

static void test_hosts__who_has_not_the_role_is_fenced(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one");

    assert_true(takes(one));
    assert_int_equal(writes(one), APR_SUCCESS);
    execute(fixture, "UPDATE role SET host = 'two'");
    assert_int_equal(writes(one), TSEED_EFENCED);
    assert_true(atomic_load(&one->fence.is_broken));
}

/* Who was taken for dead begins anew and stands by. */
static void test_hosts__a_revenant_stands_by(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");
    tseed_renewal_t renewal;

    assert_true(takes(one));
    set_clock(fixture, 30);
    assert_int_equal(renews(two, &renewal), APR_SUCCESS);
    assert_true(takes(two));
    assert_fenced(fixture, one);
    enlist(one);
    assert_false(one->registration.has_role);
    assert_false(one->registration.is_restored);
    assert_false(takes(one));
    assert_int_equal(renews(one, &renewal), APR_SUCCESS);
    assert_string_equal(renewal.active, "two");
}

static void test_hosts__a_seeder_follows_its_own(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *next = member_of(fixture, "one");

    assert_true(takes(one));
    enlist(next); /* the lease of the first has not ended */
    assert_true(next->registration.has_role);
    assert_true(next->registration.epoch > one->registration.epoch);
    assert_int_equal(next->registration.tenure, one->registration.tenure);
    assert_int_equal(next->registration.former, one->registration.former);
    tseed_hosts_fence(next->state, &next->fence);
    assert_int_equal(writes(next), APR_SUCCESS);
    assert_fenced(fixture, one);
}

static void test_hosts__a_name_is_one_httpds(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *other = member_of(fixture, "one");

    other->host.instance = "another";
    assert_true(takes(one));
    set_clock(fixture, 20);
    assert_int_equal(tseed_hosts_register(other->state, &other->registration, &other->host),
                     APR_EEXIST);
    assert_non_null(strstr(tseed_state_error(other->state), "TileSeedHost"));
    set_clock(fixture, 21);
    enlist(other);
    assert_false(other->registration.has_role); /* what the board says is another one's */
    assert_fenced(fixture, one);
    assert_true(takes(other));
    assert_int_equal(other->registration.former, one->registration.tenure);
}

/* Two httpds with copies of one state directory tell each other apart by what they remember. */
static void test_hosts__a_copied_state_directory_is_noticed(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *copy = member_of(fixture, "one");

    assert_true(takes(one));
    copy->host.memory.epoch = one->host.memory.epoch = one->registration.epoch;
    enlist(copy);                        /* as a seeder of the first httpd would */
    tseed_hosts_fence(one->state, NULL); /* another process */
    one->registration = (tseed_registration_t){0};
    assert_int_equal(tseed_hosts_register(one->state, &one->registration, &one->host), APR_EEXIST);
    assert_non_null(strstr(tseed_state_error(one->state), "copy no state directory"));
    assert_int_equal(writes(copy), APR_SUCCESS);
    set_clock(fixture, 21);
    enlist(one);
    assert_false(one->registration.has_role);
}

/* A copy that was given a name of its own is a host like any other, and no database is older than
 * what it remembers of the first one. */
static void test_hosts__a_copy_with_another_name_is_another_host(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *copy = member_of(fixture, "two");

    assert_true(takes(one));
    copy->host.instance = one->host.instance;
    copy->host.memory = (tseed_host_memory_t){one->registration.epoch, 1000, 3};
    enlist(copy);
    assert_false(copy->registration.is_restored || copy->registration.has_role);
    assert_false(takes(copy));
    assert_int_equal(writes(one), APR_SUCCESS);
}

/* The answer to a registration was lost: the next try finds its epoch. */
static void test_hosts__a_registration_that_was_committed_is_no_copy(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one");

    assert_true(takes(one));
    one->host.memory.epoch = one->registration.epoch;
    enlist(one);
    assert_true(one->registration.epoch > one->host.memory.epoch);
    enlist(one);
    assert_true(one->registration.has_role);
}

/* ---- many at once ---- */

/* Registers, waits for the others, and tries to take the role. */
static int race(const fixture_t *fixture, int number, const int *starts)
{
    member_t *member = host_of(fixture, apr_psprintf(fixture->pool, "racer%d", number));
    char byte;

    if (write(starts[3], "", 1) != 1 || read(starts[0], &byte, 1) != 1) {
        return 2;
    }
    return takes(member) ? 1 : 0;
}

static void test_hosts__one_of_many_succeeds(void **data)
{
    const fixture_t *fixture = *data;
    member_t *dead = host_of(fixture, "dead");
    pid_t racers[MANY];
    int starts[4], winners = 0;
    char byte;

    assert_true(takes(dead));
    assert_int_equal(pipe(starts), 0);
    assert_int_equal(pipe(starts + 2), 0);
    for (int i = 0; i < MANY; i++) {
        racers[i] = fork();
        if (racers[i] == 0) {
            _exit(race(fixture, i, starts));
        }
    }
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(read(starts[2], &byte, 1), 1);
    }
    set_clock(fixture, 21);
    assert_int_equal(write(starts[1], "12345678", MANY), MANY);
    for (int i = 0; i < MANY; i++) {
        int status;

        assert_int_equal(waitpid(racers[i], &status, 0), racers[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        winners += WEXITSTATUS(status);
    }
    for (int i = 0; i < 4; i++) {
        close(starts[i]);
    }
    assert_int_equal(winners, 1);
    assert_fenced(fixture, dead);
}

/* A transaction that has begun inside the fence ends inside it: nobody takes the role meanwhile. */
static void test_hosts__a_transaction_keeps_the_fence(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");
    member_t keeper = *one;
    tseed_renewal_t renewal;
    tseed_take_t taken;

    assert_true(takes(one));
    assert_int_equal(tseed_state_begin(one->state), APR_SUCCESS);
    assert_int_equal(writes(one), APR_SUCCESS);
    keeper.state = state_open(fixture);
    assert_int_equal(renews(&keeper, &renewal), APR_SUCCESS); /* the lease goes on beside it */
    set_clock(fixture, 21);
    assert_int_not_equal(tseed_hosts_take(two->state, &taken, &two->registration, &two->host),
                         APR_SUCCESS);
    assert_int_equal(tseed_state_commit(one->state), APR_SUCCESS);
    assert_string_equal(written(fixture), "one");
    assert_true(takes(two));
    assert_fenced(fixture, one);
}

/* ---- draining and leaving ---- */

static void test_hosts__a_draining_one_is_succeeded_at_once(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");
    tseed_renewal_t renewal;
    tseed_glance_t glance;

    assert_true(takes(one));
    assert_int_equal(tseed_hosts_glance(two->state, &glance, "one"), APR_SUCCESS);
    assert_false(glance.is_free || glance.is_draining);
    assert_int_equal(tseed_hosts_drain(fixture->state, "one", 1), APR_SUCCESS);
    assert_int_equal(tseed_hosts_glance(two->state, &glance, "one"), APR_SUCCESS);
    assert_true(!glance.is_free && glance.is_draining);
    assert_int_equal(renews(one, &renewal), APR_SUCCESS);
    assert_true(renewal.is_draining);
    assert_int_equal(tseed_hosts_resign(one->state, &one->fence), APR_SUCCESS);
    assert_false(takes(one));
    assert_true(takes(two));
    assert_false(two->registration.has_ousted);
    enlist(one);
    assert_false(one->registration.has_role);
    assert_int_equal(tseed_hosts_resign(two->state, &two->fence), APR_SUCCESS);
    assert_false(takes(one)); /* it still drains */
    assert_int_equal(tseed_hosts_drain(fixture->state, "one", 0), APR_SUCCESS);
    assert_true(takes(one));
    assert_int_equal(tseed_hosts_drain(fixture->state, "nobody", 1), APR_NOTFOUND);
}

/* It died before it could resign. */
static void test_hosts__a_draining_one_keeps_no_role(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");

    assert_true(takes(one));
    assert_int_equal(tseed_hosts_drain(fixture->state, "one", 1), APR_SUCCESS);
    enlist(one);
    assert_false(one->registration.has_role);
    assert_true(takes(two));
}

static void test_hosts__who_has_left_is_succeeded_after_the_margin(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");

    assert_true(takes(one));
    assert_int_equal(tseed_hosts_leave(one->state, &one->fence), APR_SUCCESS);
    set_clock(fixture, 5);
    assert_false(takes(two));
    set_clock(fixture, 5.001);
    assert_true(takes(two));
}

/* ---- clocks ---- */

static void test_hosts__a_start_of_the_database_is_a_grace(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");
    tseed_renewal_t renewal;
    tseed_take_t taken;

    assert_true(takes(one));
    set_clock(fixture, 600);
    set_start(fixture, 600); /* all leases have ended while it was away */
    assert_int_equal(tseed_hosts_take(two->state, &taken, &two->registration, &two->host),
                     APR_SUCCESS);
    assert_int_equal(taken, TSEED_TAKE_LATER);
    set_clock(fixture, 620);
    assert_false(takes(two));
    assert_int_equal(renews(one, &renewal), APR_SUCCESS);
    set_clock(fixture, 641);
    assert_true(takes(two));
}

static void test_hosts__a_clock_that_leaps_ahead_harms_nobody(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");

    assert_true(takes(one));
    set_clock(fixture, 3600);
    assert_true(takes(two)); /* too early, and fenced */
    assert_fenced(fixture, one);
}

static void test_hosts__a_clock_that_is_set_back_delays(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");
    tseed_renewal_t renewal;

    assert_true(takes(one));
    set_clock(fixture, -1800);
    assert_int_equal(renews(one, &renewal), APR_SUCCESS);
    assert_int_equal(writes(one), APR_SUCCESS);
    set_clock(fixture, -1780);
    assert_false(takes(two));
    set_clock(fixture, -1779);
    assert_true(takes(two)); /* the last renewal counts, by the clock of today */
}

/* ---- a database of yesterday ---- */

static int64_t new_task(const fixture_t *fixture)
{
    return insert(fixture, fixture->state, "layer");
}

static void make_tileset(const fixture_t *fixture)
{
    tseed_tileset_record_t record = {.print = 7,
                                     .key = "k",
                                     .layer = "layer",
                                     .gridset = "g",
                                     .format = "f",
                                     .parameters = "",
                                     .root = "/",
                                     .place = "",
                                     .complete = 1};

    assert_int_equal(tseed_books_add(fixture->state, &record), APR_SUCCESS);
    assert_int_equal(tseed_books_save(fixture->state, &record), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT complete FROM tileset"), 1);
}

/* A backup of the time when the host had the same registration. */
static void test_hosts__fewer_renewals_are_a_backup(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one");
    tseed_renewal_t renewal;
    const int64_t id = new_task(fixture);

    make_tileset(fixture);
    assert_true(takes(one));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(renews(one, &renewal), APR_SUCCESS);
    }
    execute(fixture, "UPDATE host SET renewals = 3");
    one->host.memory = (tseed_host_memory_t){one->fence.epoch, renewal.renewals, id + 40};
    assert_fenced(fixture, one);
    enlist(one);
    assert_true(one->registration.is_restored);
    assert_true(one->registration.has_role);
    assert_int_equal(number(fixture, "SELECT complete FROM tileset"), 0);
    assert_int_equal(number(fixture, "SELECT doubtful FROM tileset"), -1);
    assert_true(new_task(fixture) > id + 1000);
}

/* A backup of an earlier registration: its tenure is not the one of the board. */
static void test_hosts__an_older_epoch_is_a_backup(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one");
    int64_t tenure;

    assert_true(takes(one));
    tenure = one->registration.tenure;
    one->host.memory = (tseed_host_memory_t){one->fence.epoch + 7, 4, 0};
    enlist(one);
    assert_true(one->registration.is_restored);
    assert_true(one->registration.has_role);
    assert_true(one->registration.epoch > one->host.memory.epoch);
    assert_int_not_equal(one->registration.tenure, tenure);
}

/* A host that knew nothing of yesterday has taken the role by the backup: it begins anew. */
static void test_hosts__who_works_by_a_backup_begins_anew(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one"), *two = host_of(fixture, "two");
    const int64_t tenure = one->registration.epoch;

    assert_true(takes(one));
    two->host.memory = (tseed_host_memory_t){two->fence.epoch, 100, 0};
    enlist(two);
    assert_true(two->registration.is_restored);
    assert_false(two->registration.has_role);
    assert_fenced(fixture, one);
    assert_false(takes(two)); /* the lease of the other one stands */
    enlist(one);
    assert_true(one->registration.has_role);
    assert_int_not_equal(one->registration.tenure, tenure);
}

static void test_hosts__what_is_remembered_is_no_backup(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one");
    tseed_renewal_t renewal;

    assert_int_equal(renews(one, &renewal), APR_SUCCESS);
    one->host.memory = (tseed_host_memory_t){one->fence.epoch, renewal.renewals, 3};
    enlist(one);
    assert_false(one->registration.is_restored);
    one->host.memory = (tseed_host_memory_t){one->fence.epoch - 1, 1000, 3};
    enlist(one);
    assert_false(one->registration.is_restored);
}

/* ---- what operators see ---- */

static void test_hosts__are_listed(void **data)
{
    const fixture_t *fixture = *data;
    member_t *two = host_of(fixture, "two"), *one;
    tseed_renewal_t renewal;
    tseed_host_list_t list;
    const tseed_host_row_t *rows;

    set_clock(fixture, 14);
    one = host_of(fixture, "one");
    assert_true(takes(one));
    set_clock(fixture, 16);
    assert_int_equal(renews(one, &renewal), APR_SUCCESS);
    assert_int_equal(renewal.others, 1); /* its lease is over, but it may be back */
    assert_int_equal(tseed_hosts_drain(fixture->state, "two", 1), APR_SUCCESS);
    assert_int_equal(tseed_hosts_list(fixture->state, &list, fixture->pool), APR_SUCCESS);
    assert_string_equal(list.active, "one");
    assert_int_equal(list.hosts->nelts, 2);
    rows = (const tseed_host_row_t *)list.hosts->elts;
    assert_string_equal(rows[0].name, "one");
    assert_string_equal(rows[0].machine, "machine");
    assert_string_equal(rows[0].version, "1");
    assert_int_equal(rows[0].started, list.now - 2 * APR_USEC_PER_SEC);
    assert_int_equal(rows[0].seen, list.now);
    assert_int_equal(rows[0].until, list.now + LEASE);
    assert_false(rows[0].is_dead || rows[0].is_draining);
    assert_string_equal(rows[1].name, "two");
    assert_true(rows[1].is_dead && rows[1].is_draining);
    assert_int_equal(renews(two, &renewal), APR_SUCCESS);
    assert_int_equal(renewal.others, 1);
    set_clock(fixture, 31 + 24 * 3600);
    assert_int_equal(renews(one, &renewal), APR_SUCCESS);
    assert_int_equal(renewal.others, 0);
}

static void test_hosts__that_are_gone_are_forgotten(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one");

    host_of(fixture, "two");
    assert_true(takes(one));
    set_clock(fixture, 100);
    assert_int_equal(tseed_hosts_forget(fixture->state, 101 * APR_USEC_PER_SEC), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM host"), 2);
    assert_int_equal(tseed_hosts_forget(fixture->state, 99 * APR_USEC_PER_SEC), APR_SUCCESS);
    assert_int_equal(number(fixture, "SELECT COUNT(*) FROM host"), 1); /* who has the role stays */
}

/* ---- a newer module beside this one ---- */

static void test_hosts__a_newer_schema_is_noticed(void **data)
{
    const fixture_t *fixture = *data;
    member_t *one = host_of(fixture, "one");
    const apr_time_t until = apr_time_now() + 300 * APR_USEC_PER_SEC;
    tseed_renewal_t renewal;
    apr_status_t rv;

    assert_true(takes(one));
    execute(fixture, "UPDATE meta SET value = value + 1 WHERE name = 'schema_version'");
    do {
        rv = renews(one, &renewal);
    } while (rv == APR_SUCCESS && apr_time_now() < until);
    assert_int_equal(rv, ENOTSUP);
    assert_non_null(strstr(tseed_state_error(one->state), "newer mod_tileseed"));
    assert_int_equal(writes(one), ENOTSUP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_hosts__##name, setup_hosts, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_takes_the_role),
        TEST(another_stands_by),
        TEST(a_silent_one_is_succeeded),
        TEST(a_takeover_that_fails_at_its_commit_is_none),
        TEST(a_takeover_whose_answer_is_lost_is_found_out),
        TEST(who_has_not_the_role_is_fenced),
        TEST(a_revenant_stands_by),
        TEST(a_seeder_follows_its_own),
        TEST(a_name_is_one_httpds),
        TEST(a_copied_state_directory_is_noticed),
        TEST(a_copy_with_another_name_is_another_host),
        TEST(a_registration_that_was_committed_is_no_copy),
        TEST(one_of_many_succeeds),
        TEST(a_transaction_keeps_the_fence),
        TEST(a_draining_one_is_succeeded_at_once),
        TEST(a_draining_one_keeps_no_role),
        TEST(who_has_left_is_succeeded_after_the_margin),
        TEST(a_start_of_the_database_is_a_grace),
        TEST(a_clock_that_leaps_ahead_harms_nobody),
        TEST(a_clock_that_is_set_back_delays),
        TEST(fewer_renewals_are_a_backup),
        TEST(an_older_epoch_is_a_backup),
        TEST(who_works_by_a_backup_begins_anew),
        TEST(what_is_remembered_is_no_backup),
        TEST(are_listed),
        TEST(that_are_gone_are_forgotten),
        TEST(a_newer_schema_is_noticed),
    };
    const int code = database_begin();

    return code >= 0 ? code
                     : database_end(cmocka_run_group_tests(tests, group_setup, group_teardown));
}
