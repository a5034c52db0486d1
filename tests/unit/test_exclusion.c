/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What goes on at a time in the same tiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "work/tseed_run.h"

static tseed_run_t of_task, of_none = {.is_background = 1};

static tseed_job_t job_of(tseed_run_t *run, tseed_stage_t stage, int at_work)
{
    return (tseed_job_t){.run = run, .request.stage = stage, .accounts.at_work = at_work};
}

/* Either way round. */
static void assert_apart(tseed_job_t *a, tseed_job_t *b)
{
    a->accounts.at_work = 1;
    assert_true(tseed_job_excludes(a, b));
    a->accounts.at_work = 0;
    b->accounts.at_work = 1;
    assert_true(tseed_job_excludes(b, a));
    b->accounts.at_work = 0;
}

static void test_exclusion__one_kind_of_work_at_a_time(void **state)
{
    tseed_job_t cut = job_of(&of_task, TSEED_STAGE_CUT, 0);
    tseed_job_t count = job_of(&of_none, TSEED_STAGE_COUNT, 0);
    tseed_job_t removal = job_of(&of_task, TSEED_STAGE_REMOVE, 0);

    (void)state;
    assert_apart(&cut, &count);
    assert_apart(&cut, &removal);
    assert_apart(&count, &removal);
}

static void test_exclusion__alike_go_on_beside_each_other(void **state)
{
    const tseed_stage_t stages[] = {TSEED_STAGE_CUT, TSEED_STAGE_COUNT, TSEED_STAGE_REMOVE};

    (void)state;
    for (int i = 0; i < 3; i++) {
        tseed_job_t one = job_of(&of_task, stages[i], 1), other = job_of(&of_task, stages[i], 0);

        assert_false(tseed_job_excludes(&one, &other));
    }
}

/* The page of an eviction is empty in the books when it ends: a truncate that has removed some of
 * its tiles and comes back later would take them from the books a second time. */
static void test_exclusion__an_eviction_and_a_truncate_go_one_after_the_other(void **state)
{
    tseed_job_t truncate = job_of(&of_task, TSEED_STAGE_REMOVE, 0);
    tseed_job_t eviction = job_of(&of_none, TSEED_STAGE_REMOVE, 0);

    (void)state;
    assert_apart(&truncate, &eviction);
    assert_false(tseed_job_excludes(&truncate, &eviction)); /* neither waits for one that waits */
    assert_false(tseed_job_excludes(&eviction, &truncate));
}

static void test_exclusion__who_waits_to_remove_goes_before_who_writes(void **state)
{
    tseed_job_t cut = job_of(&of_task, TSEED_STAGE_CUT, 0);
    tseed_job_t eviction = job_of(&of_none, TSEED_STAGE_REMOVE, 0);

    (void)state;
    assert_true(tseed_job_excludes(&eviction, &cut));
    assert_false(tseed_job_excludes(&cut, &eviction));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exclusion__one_kind_of_work_at_a_time),
        cmocka_unit_test(test_exclusion__alike_go_on_beside_each_other),
        cmocka_unit_test(test_exclusion__an_eviction_and_a_truncate_go_one_after_the_other),
        cmocka_unit_test(test_exclusion__who_waits_to_remove_goes_before_who_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
