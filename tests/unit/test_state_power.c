/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The state when the power fails: a scripted life is lived once on a disk that takes notes, and the
 * disk as each moment of it may have left it is opened again. What was answered by then must be
 * there, the step under way wholly or not at all, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <apr_general.h>
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_log.h"
#include "memory_folder.h"
#include "power_disk.h"
#include "protocol/tseed_answer.h"
#include "state/tseed_state.h"
#include "state/tseed_work.h"

#define PAGE       4096
#define STEPS_MOST 64
#define CUTS_MOST  20000

/* Every cut is looked at. With a sanitizer, which sees the same calls at each of them and takes up
 * to twenty times as long, and in a quick run (tests/run.sh) every eighth. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CUTS_APART 8
#else
#define CUTS_APART (getenv("TSEED_QUICK") ? 8 : 1)
#endif

/* Everything that is answered for, as text. The states in which recovery may find a task that is
 * not finished are one here. */
#define TRUTH                                                                                      \
    "SELECT (SELECT COALESCE(GROUP_CONCAT(id || layer || (CASE state WHEN 1 THEN 0 ELSE state "    \
    "END) || reason || '+' || made || '@' || low, ' '), '') FROM task)"                            \
    " || ' / ' || (SELECT COALESCE(GROUP_CONCAT(task || ':' || x || cause, ' '), '') FROM failure" \
    ") || ' / ' || (SELECT COALESCE(MAX(version || config), '') FROM quota)"

#define FAILURE_INDEX                                                                              \
    "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'failure' AND type = 'index'"

#define NOTHING " /  / "

/* Two processes' handles: an httpd child's and the seeder's. */
typedef struct {
    apr_pool_t *pool;
    char dir[64], vault[64];
    const char *session; /* said to each new connection; NULL: nothing */
    tseed_state_t *child, *seeder;
    int64_t last; /* the highest id that was answered */
    int damages;  /* that may be found */
    size_t from;  /* notes that are made before the first cut */
    int steps;
    struct {
        size_t asked, answered; /* notes that the disk had taken */
        const char *truth;      /* after it */
        int64_t last;
    } step[STEPS_MOST];
} life_t;

typedef apr_status_t step_t(life_t *life);

static int damages; /* reported in the log */

static void count_damage(void *baton, tseed_log_level_t level, apr_status_t rv, const char *line)
{
    (void)baton;
    (void)level;
    (void)rv;
    damages += strstr(line, "was damaged") != NULL;
}

/* ---- the steps ---- */

static apr_status_t open_state(life_t *life, tseed_state_t **state)
{
    apr_status_t rv = tseed_state_open(state, life->dir, "sqlite3", NULL, life->pool);
    const char *answer;

    if (rv == APR_SUCCESS && life->session) {
        rv = tseed_database_ask(&(*state)->db, &answer, life->session, life->pool);
    }
    return rv;
}

static apr_status_t open_child(life_t *life)
{
    return open_state(life, &life->child);
}

static apr_status_t start_seeder(life_t *life)
{
    apr_array_header_t *tasks;
    apr_status_t rv = open_state(life, &life->seeder);

    if (rv == APR_SUCCESS) {
        rv = tseed_state_check(life->seeder);
    }
    return rv == APR_SUCCESS ? tseed_state_recover(life->seeder, &tasks, life->pool) : rv;
}

static apr_status_t stop_seeder(life_t *life)
{
    tseed_state_close(life->seeder);
    life->seeder = NULL;
    return APR_SUCCESS;
}

static apr_status_t close_child(life_t *life)
{
    tseed_state_close(life->child);
    life->child = NULL;
    return APR_SUCCESS;
}

static apr_status_t insert_into(life_t *life, tseed_state_t *state, const char *layer)
{
    tseed_task_t task = {.type = TSEED_SEED,
                         .layer = layer,
                         .gridset = "EPSG:4326",
                         .format = "image/png",
                         .parameters = apr_table_make(life->pool, 1),
                         .thread_count = 1,
                         .tiles_total = 100,
                         .gridset_print = "",
                         .store_print = "",
                         .requested_by = "",
                         .ignored = ""};
    apr_status_t rv = tseed_state_task_insert(state, &task, 1000);

    if (rv == APR_SUCCESS) {
        life->last = task.id;
    }
    return rv;
}

static apr_status_t insert_a(life_t *life)
{
    return insert_into(life, life->child, "a");
}

static apr_status_t insert_b(life_t *life)
{
    return insert_into(life, life->child, "b");
}

static apr_status_t quota_first(life_t *life)
{
    return tseed_state_quota_set(life->child, "small", "on", 0);
}

static apr_status_t quota_second(life_t *life)
{
    return tseed_state_quota_set(life->child, "large", "on", 1);
}

static apr_status_t terminate_b(life_t *life)
{
    apr_array_header_t *layers = apr_array_make(life->pool, 1, sizeof(const char *)), *terminated;
    tseed_termination_t what = {.layers = layers, .mask = 3, .reason = "by alice", .now = 77};

    APR_ARRAY_PUSH(layers, const char *) = "b";
    return tseed_state_terminate(life->child, &terminated, &what, life->pool);
}

static apr_status_t claim_first(life_t *life)
{
    int won;

    return tseed_state_task_claim(life->seeder, 1, 5, &won);
}

static apr_status_t confirm_second(life_t *life)
{
    return tseed_state_task_confirm(life->seeder, 2, &(tseed_progress_t){.made = 7, .low = 1});
}

/* A tick of the seeder: one transaction. */
static apr_status_t tick(life_t *life)
{
    tseed_failure_t failure = {.task = 1, .x = 6, .cause = "gone", .attempts = 3};
    apr_status_t rv = tseed_state_begin(life->seeder);
    int won;

    if (rv == APR_SUCCESS) {
        rv = tseed_state_failure_add(life->seeder, &failure);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_state_task_checkpoint(
            life->seeder, 1, &(tseed_progress_t){.made = 40, .failed = 4, .low = 11}, &won);
    }
    return rv == APR_SUCCESS ? tseed_state_commit(life->seeder) : rv;
}

static apr_status_t finish_first(life_t *life)
{
    tseed_progress_t progress = {
        .state = TSEED_DONE, .made = 96, .failed = 4, .low = 25, .finished = 9};
    int won;

    return tseed_state_task_finish(life->seeder, 1, &progress, &won);
}

static apr_status_t forget_finished(life_t *life)
{
    return tseed_state_trim(life->seeder, 2, 0);
}

/* As if so many tasks had come and gone that the next id needs a new mark. */
static apr_status_t use_up_ids(life_t *life)
{
    return tseed_database_execute(&life->child->db,
                                  "UPDATE meta SET value = 1000 WHERE name = 'task_id'");
}

static apr_status_t ask(tseed_state_t *state, const char *sql)
{
    const char *answer;

    return tseed_database_ask(&state->db, &answer, sql, state->pool);
}

/* SQLite does so every 1000 pages: the log's pages go into the file, then it is written from its
 * begin again. */
static apr_status_t write_log_back(life_t *life)
{
    return ask(life->seeder, "PRAGMA wal_checkpoint(PASSIVE)");
}

static apr_status_t empty_log(life_t *life)
{
    return ask(life->seeder, "PRAGMA wal_checkpoint(TRUNCATE)");
}

static step_t *const ordinary_life[] = {
    open_child,   start_seeder, insert_a,     insert_b,     quota_first,    claim_first,
    insert_b,     tick,         terminate_b,  insert_a,     write_log_back, insert_a,
    quota_second, use_up_ids,   insert_a,     finish_first, confirm_second, empty_log,
    insert_b,     stop_seeder,  start_seeder, claim_first,  insert_b,       forget_finished,
    terminate_b,  stop_seeder,  close_child,  open_child,   insert_a,       close_child,
    NULL,
};

/* What is left of it in the end. */
#define ORDINARY_TRUTH                                                                             \
    "2b-1by alice+7@1 3b-1by alice+0@0 4a0+0@0 5a0+0@0 1001a0+0@0 1002b-1by alice+0@0"             \
    " 1003b-1by alice+0@0 1004a0+0@0 /  / 2large"

/* A page rots in the file. */
static apr_status_t rot(const life_t *life, int page)
{
    char bytes[PAGE];
    int file = open(apr_pstrcat(life->pool, life->dir, "/tileseed.db", NULL), O_WRONLY);

    memset(bytes, 0xa5, sizeof(bytes));
    if (pwrite(file, bytes, PAGE, (page - 1) * PAGE) != PAGE || fsync(file) != 0) {
        return errno;
    }
    /* stays open: closing it would drop SQLite's locks in this process */
    return APR_SUCCESS;
}

/* Of the failures, of which there are none. */
static apr_status_t rot_index(life_t *life)
{
    const char *page;
    apr_status_t rv = tseed_database_ask(&life->child->db, &page, FAILURE_INDEX, life->pool);

    return rv == APR_SUCCESS ? rot(life, atoi(page)) : rv;
}

/* The seeder finds the damage while a child is at work and half of the tasks are in the log. */
static step_t *const damaged_life[] = {
    open_child,  insert_a,    quota_first,  start_seeder, write_log_back, insert_b,  rot_index,
    insert_a,    stop_seeder, start_seeder, insert_b,     quota_second,   empty_log, insert_a,
    stop_seeder, close_child, open_child,   insert_a,     close_child,    NULL,
};

#define DAMAGED_TRUTH "1a0+0@0 2b0+0@0 3a0+0@0 1001b0+0@0 1002a0+0@0 1003a0+0@0 /  / 2large"

/* Somebody removes it while httpd is stopped. */
static apr_status_t lose_database(life_t *life)
{
    int directory = open(life->dir, O_RDONLY | O_DIRECTORY);

    unlink(apr_pstrcat(life->pool, life->dir, "/tileseed.db", NULL));
    fsync(directory);
    close(directory);
    return open_child(life);
}

static step_t *const interrupted_life[] = {
    open_child,    insert_a, use_up_ids,  insert_a, close_child,
    lose_database, insert_a, close_child, NULL,
};

/* Nothing can be read any more. */
static apr_status_t ruin_database(life_t *life)
{
    apr_status_t rv = rot(life, 1);

    return rv == APR_SUCCESS ? open_child(life) : rv;
}

/* A commit whose sync fails is refused; nobody may find it done later. */
static apr_status_t insert_unsynced(life_t *life)
{
    apr_status_t rv;

    power_disk_fail_syncs(1);
    rv = insert_b(life);
    return rv != APR_SUCCESS && !APR_STATUS_IS_INCOMPLETE(rv) ? APR_SUCCESS : APR_EGENERAL;
}

/* When nothing can be synced at all, it is said that it may be. */
static apr_status_t insert_uncertain(life_t *life)
{
    apr_status_t rv;

    power_disk_fail_syncs(2);
    rv = insert_b(life);
    return APR_STATUS_IS_INCOMPLETE(rv) ? APR_SUCCESS : APR_EGENERAL;
}

static apr_status_t look_from_here(life_t *life)
{
    life->from = power_disk_notes();
    return APR_SUCCESS;
}

static step_t *const refused_life[] = {
    open_child, insert_a, insert_unsynced, look_from_here, insert_a, close_child, NULL,
};

static step_t *const uncertain_life[] = {
    open_child, insert_a, insert_uncertain, close_child, NULL,
};

static step_t *const ruined_life[] = {
    open_child,    insert_a, use_up_ids,  insert_a, close_child,
    ruin_database, insert_a, close_child, NULL,
};

/* ---- living ---- */

/* Closing changes nothing: what was true before is. */
static const char *truth_of(const life_t *life, const char *before)
{
    tseed_state_t *state = life->seeder ? life->seeder : life->child;
    const char *truth;

    if (!state) {
        return before;
    }
    if (tseed_database_ask(&state->db, &truth, TRUTH, life->pool) != APR_SUCCESS || !truth) {
        return apr_psprintf(life->pool, "can't be read: %s", tseed_state_error(state));
    }
    return apr_pstrdup(life->pool, truth);
}

static void live(life_t *life, step_t *const *steps)
{
    const char *truth = NOTHING;

    power_disk_start(life->dir, life->vault);
    for (int i = 0; steps[i]; i++) {
        life->step[i].asked = power_disk_notes();
        assert_int_equal(steps[i](life), APR_SUCCESS);
        life->step[i].answered = power_disk_notes();
        life->step[i].truth = truth = truth_of(life, truth);
        life->step[i].last = life->last;
        life->steps = i + 1;
    }
    power_disk_record(0);
}

/* ---- looking at what a cut left ---- */

static int answered_before(const life_t *life, size_t at)
{
    int count = 0;

    while (count < life->steps && life->step[count].answered <= at) {
        count++;
    }
    return count;
}

/* Whether this may be true: all that was answered, and the step under way or not. */
static int may_be(const life_t *life, size_t at, const char *truth)
{
    int answered = answered_before(life, at);
    const char *before = answered > 0 ? life->step[answered - 1].truth : NOTHING;

    return strcmp(truth, before) == 0 ||
           (answered < life->steps && life->step[answered].asked < at &&
            strcmp(truth, life->step[answered].truth) == 0);
}

/* What was found where a cut left this. */
typedef struct {
    uint64_t contents;
    const char *truth; /* NULL: the state can't be opened */
    const char *fault; /* of the life that goes on, or NULL */
    int64_t next;      /* the id of its next task */
    int damages;
} finding_t;

/* Goes on living with what is left; NULL, or what is wrong with it. */
static const char *go_on(life_t *after, const char *truth)
{
    apr_array_header_t *tasks;

    if (tseed_state_check(after->child) != APR_SUCCESS ||
        tseed_state_recover(after->child, &tasks, after->pool) != APR_SUCCESS ||
        strcmp(truth_of(after, NULL), truth) != 0) {
        return "is not recovered";
    }
    if (insert_a(after) != APR_SUCCESS) {
        return apr_pstrcat(after->pool, "takes no task: ", tseed_state_error(after->child), NULL);
    }
    return NULL;
}

static void look_into(finding_t *finding, const life_t *life)
{
    life_t *after = calloc(1, sizeof(*after));
    const char *fault;

    apr_pool_create(&after->pool, life->pool);
    strcpy(after->dir, life->dir);
    damages = 0;
    power_disk_restore();
    if (open_child(after) == APR_SUCCESS) {
        finding->truth = apr_pstrdup(life->pool, truth_of(after, NULL));
        fault = go_on(after, finding->truth);
        finding->fault = fault ? apr_pstrdup(life->pool, fault) : NULL;
        finding->next = after->last;
    }
    apr_pool_destroy(after->pool);
    finding->damages = damages;
    free(after);
}

/* NULL, or what of a finding must not be after a cut at that note. */
static const char *fault_of(const life_t *life, size_t at, const finding_t *finding)
{
    int answered = answered_before(life, at);

    if (!finding->truth) {
        return "can't be opened";
    }
    if (!may_be(life, at, finding->truth)) {
        return apr_pstrcat(life->pool, "holds ", finding->truth, NULL);
    }
    if (finding->fault) {
        return finding->fault;
    }
    if (answered > 0 && finding->next <= life->step[answered - 1].last) {
        return "gives an id again";
    }
    return finding->damages > life->damages ? "was taken for damaged" : NULL;
}

/* ---- every cut ---- */

static const struct {
    power_loss_t data, names;
    unsigned one;
} losses[] = {
    {POWER_LOSES_NONE, POWER_LOSES_NONE, 0}, {POWER_LOSES_ALL, POWER_LOSES_ALL, 0},
    {POWER_LOSES_NONE, POWER_LOSES_ALL, 0},  {POWER_LOSES_ALL, POWER_LOSES_NONE, 0},
    {POWER_LOSES_ODD, POWER_LOSES_NONE, 0},  {POWER_LOSES_EVEN, POWER_LOSES_NONE, 0},
    {POWER_TEARS_LAST, POWER_LOSES_NONE, 0}, {POWER_LOSES_BYTES, POWER_LOSES_NONE, 0},
    {POWER_LOSES_NONE, POWER_LOSES_ODD, 0},  {POWER_LOSES_NONE, POWER_LOSES_EVEN, 0},
    {POWER_LOSES_ONE, POWER_LOSES_NONE, 1},  {POWER_LOSES_NONE, POWER_LOSES_ONE, 1},
    {POWER_LOSES_NONE, POWER_LOSES_ONE, 2},  {POWER_LOSES_NONE, POWER_LOSES_ONE, 3},
    {POWER_LOSES_NONE, POWER_LOSES_ONE, 4},  {POWER_LOSES_NONE, POWER_LOSES_ONE, 5},
};

/* The cuts that were looked at, each with the answers of its time, and what was found. Many cuts
 * leave the same, and the same is opened once: what it must hold differs. */
typedef struct {
    uint64_t seen[CUTS_MOST];
    int count;
    finding_t findings[CUTS_MOST];
    int found;
} seen_t;

static int is_new(seen_t *seen, uint64_t signature)
{
    for (int i = 0; i < seen->count; i++) {
        if (seen->seen[i] == signature) {
            return 0;
        }
    }
    assert_true(seen->count < CUTS_MOST);
    seen->seen[seen->count++] = signature;
    return 1;
}

static const finding_t *finding_of(const life_t *life, seen_t *seen, const power_cut_t *cut)
{
    uint64_t contents = power_disk_assemble(cut);
    finding_t *finding = seen->findings;

    while (finding < seen->findings + seen->found && finding->contents != contents) {
        finding++;
    }
    if (finding == seen->findings + seen->found) { /* no more than seen->count */
        seen->found++;
        finding->contents = contents;
        look_into(finding, life);
    }
    return finding;
}

static const char *first_fault_at(life_t *life, seen_t *seen, power_cut_t cut)
{
    const char *fault = NULL;
    int answered = answered_before(life, cut.at);

    for (size_t i = 0; !fault && i < sizeof(losses) / sizeof(losses[0]); i++) {
        cut.data = losses[i].data;
        cut.names = losses[i].names;
        cut.one = losses[i].one;
        if (is_new(seen, power_disk_signature(&cut) ^ (uint64_t)answered)) {
            fault = fault_of(life, cut.at, finding_of(life, seen, &cut));
        }
        if (fault) {
            fault = apr_psprintf(life->pool, "cut %d, losses %d, after %d answers: %s", (int)cut.at,
                                 (int)i, answered, fault);
        }
    }
    return fault;
}

/* What the first cut of this disk that leaves something wrong does, or NULL. `apart`: of how many
 * cuts one is looked at. */
static const char *first_fault(life_t *life, const power_cut_t *disk, size_t apart)
{
    seen_t *seen = calloc(1, sizeof(*seen));
    power_cut_t cut = *disk;
    const char *fault = NULL;

    for (cut.at = life->from; !fault && cut.at <= power_disk_notes(); cut.at += apart) {
        fault = first_fault_at(life, seen, cut);
    }
    free(seen);
    return fault;
}

static const power_cut_t honest;

static void survives_every_cut(life_t *life)
{
    const char *fault = first_fault(life, &honest, CUTS_APART);

    if (fault) {
        fail_msg("%s", fault);
    }
}

static void has_fault(life_t *life, const power_cut_t *disk, const char *words)
{
    const char *fault = first_fault(life, disk, 1);

    assert_non_null(fault);
    if (!strstr(fault, words)) {
        fail_msg("%s, and not: %s", fault, words);
    }
}

/* ---- tests ---- */

/* Memory is as good as a disk here, where syncs are only noted, and faster. */
static int setup(void **data)
{
    life_t *life = calloc(1, sizeof(*life));

    apr_pool_create(&life->pool, NULL);
    snprintf(life->dir, sizeof(life->dir), "%s/tileseed-power-XXXXXX", memory_folder());
    snprintf(life->vault, sizeof(life->vault), "%s/tileseed-vault-XXXXXX", memory_folder());
    *data = life;
    return mkdtemp(life->dir) && mkdtemp(life->vault) ? 0 : -1;
}

static int teardown(void **data)
{
    life_t *life = *data;
    int rv = system(apr_pstrcat(life->pool, "rm -r ", life->dir, " ", life->vault, NULL));

    apr_pool_destroy(life->pool);
    free(life);
    return rv;
}

static const char *last_truth(const life_t *life)
{
    return life->step[life->steps - 1].truth;
}

static void test_state_power__keeps_what_was_answered(void **data)
{
    life_t *life = *data;

    live(life, ordinary_life);
    assert_string_equal(last_truth(life), ORDINARY_TRUTH);
    survives_every_cut(life);
}

static void test_state_power__keeps_it_while_damage_is_healed(void **data)
{
    life_t *life = *data;

    damages = 0;
    live(life, damaged_life);
    assert_string_equal(last_truth(life), DAMAGED_TRUTH);
    assert_int_equal(damages, 1);
    life->damages = 1;
    survives_every_cut(life);
}

static void test_state_power__gives_no_id_twice_when_the_database_goes(void **data)
{
    life_t *life = *data;

    live(life, interrupted_life);
    assert_string_equal(last_truth(life), "2002a0+0@0 /  / ");
    survives_every_cut(life);
}

static void test_state_power__gives_no_id_twice_when_nothing_can_be_read(void **data)
{
    life_t *life = *data;

    live(life, ruined_life);
    assert_string_equal(last_truth(life), "2002a0+0@0 /  / ");
    life->damages = 1;
    survives_every_cut(life);
}

static void test_state_power__a_refused_commit_does_not_come_back(void **data)
{
    life_t *life = *data;

    live(life, refused_life);
    assert_string_equal(last_truth(life), "1a0+0@0 2a0+0@0 /  / ");
    survives_every_cut(life);
}

static void test_state_power__says_when_a_refused_commit_may_come_back(void **data)
{
    live(*data, uncertain_life);
}

/* ---- what would be found ---- */

static void test_state_power__finds_a_refused_commit_that_comes_back(void **data)
{
    life_t *life = *data;

    live(life, refused_life);
    life->from = 0; /* before it was answered it may come back */
    has_fault(life, &honest, "holds 1a0+0@0 2b0+0@0");
}

static void test_state_power__finds_a_commit_without_a_sync(void **data)
{
    life_t *life = *data;

    life->session = "PRAGMA synchronous = NORMAL"; /* syncs when it writes the log back */
    live(life, ordinary_life);
    has_fault(life, &honest, "holds " NOTHING);
}

static void test_state_power__finds_a_database_that_never_syncs(void **data)
{
    life_t *life = *data;

    life->session = "PRAGMA synchronous = OFF";
    live(life, ordinary_life);
    has_fault(life, &honest, "holds " NOTHING);
}

static void test_state_power__finds_a_disk_that_ignores_syncs(void **data)
{
    life_t *life = *data;

    live(life, ordinary_life);
    assert_non_null(first_fault(life, &(power_cut_t){.ignores_syncs = 1}, 1));
    assert_non_null(first_fault(life, &(power_cut_t){.ignores_name_syncs = 1}, 1));
}

static void test_state_power__finds_what_nobody_asked_for(void **data)
{
    life_t *life = *data;

    live(life, interrupted_life);
    life->step[1].truth = NOTHING;
    has_fault(life, &honest, "holds 1a0");
}

static void test_state_power__finds_an_id_given_twice(void **data)
{
    life_t *life = *data;

    live(life, interrupted_life);
    life->step[1].last = 2;
    has_fault(life, &honest, "gives an id again");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_state_power__##name, setup, teardown)

static int group_setup(void **data)
{
    (void)data;
    apr_initialize();
    tseed_log_sink_set(count_damage, NULL);
    return 0;
}

static int group_teardown(void **data)
{
    (void)data;
    apr_terminate();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keeps_what_was_answered),
        TEST(keeps_it_while_damage_is_healed),
        TEST(gives_no_id_twice_when_the_database_goes),
        TEST(gives_no_id_twice_when_nothing_can_be_read),
        TEST(a_refused_commit_does_not_come_back),
        TEST(says_when_a_refused_commit_may_come_back),
        TEST(finds_a_refused_commit_that_comes_back),
        TEST(finds_a_commit_without_a_sync),
        TEST(finds_a_database_that_never_syncs),
        TEST(finds_a_disk_that_ignores_syncs),
        TEST(finds_what_nobody_asked_for),
        TEST(finds_an_id_given_twice),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
