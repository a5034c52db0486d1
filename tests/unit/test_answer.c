/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Answers to the letter: status list, termination and its form, task document, parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "malformed_fixture.h"
#include "protocol/tseed_answer.h"

#include "document_fixture.h" /* its pool is the name of parameters above */
#include "protocol/tseed_parameters.h"

#define STARTED INT64_C(1795253400000000) /* 2026-11-21T09:30:00Z, by date -d */

/* ---- status list ---- */

static void test_answer__status_without_tasks_is_an_empty_list(void **state)
{
    (void)state;
    assert_string_equal(tseed_answer_status(NULL, 0, pool), "{\"long-array-array\":[]}");
}

static void test_answer__status_rows_are_five_integers(void **state)
{
    static const tseed_status_row_t rows[] = {
        {.id = 1, .total = 17888, .processed = 44, .state = TSEED_RUNNING},
        {.id = 2, .total = INT64_MAX, .processed = 1, .state = TSEED_PENDING},
        {.id = INT64_C(5000000000), .total = 5, .processed = 5, .state = TSEED_ABORTED},
    };

    (void)state;
    assert_string_equal(tseed_answer_status(rows, 3, pool),
                        "{\"long-array-array\":[[44,17888,17844,1,1],"
                        "[1,9223372036854775807,9223372036854775806,2,0],"
                        "[5,5,0,5000000000,-1]]}");
}

/* ---- termination ---- */

static void test_answer__a_termination_lists_its_tasks(void **state)
{
    static const tseed_terminated_t tasks[] = {
        {7, "topp:states", TSEED_SEED, TSEED_RUNNING, 1},
        {8, "a&b \xC3\xBC", TSEED_RESEED, TSEED_PENDING, 1},
        {9, "roads", TSEED_TRUNCATE, TSEED_RUNNING, 0},
    };
    const char *page = tseed_answer_kill("all", tasks, 3, pool);
    const char *late = strstr(page, "being terminated");

    (void)state;
    assert_memory_equal(page, "<html>", 6);
    assert_non_null(strstr(page, ": all."));
    assert_non_null(strstr(page, "[7: topp:states, SEED, RUNNING]"));
    assert_non_null(strstr(page, "[8: a&#38;b &#252;, RESEED, PENDING]"));
    assert_non_null(late);
    assert_null(strstr(late, "[7:"));
    assert_null(strstr(late, "[8:"));
    assert_non_null(strstr(late, "[9: roads, TRUNCATE, RUNNING]"));
}

static void test_answer__nothing_to_terminate_is_said(void **state)
{
    const char *page = tseed_answer_kill("pending", NULL, 0, pool);

    (void)state;
    assert_memory_equal(page, "<html>", 6);
    assert_non_null(strstr(page, "pending"));
    assert_null(strstr(page, "being terminated"));
    assert_non_null(strstr(page, "nothing to terminate"));
}

static void test_answer__kill_codes_come_in_body_or_query(void **state)
{
    static const struct {
        const char *body, *query, *code;
        unsigned mask;
    } cases[] = {
        {"kill_all=all", NULL, "all", 3},
        {"kill_all=RUNNING", NULL, "running", 2},
        {"kill_all=Pending", NULL, "pending", 1},
        {"kill_all=1", NULL, "running", 2},
        {"kill_all=all\r\n", NULL, "all", 3},
        {"foo=y&kill_all=%61l%6C&bar", NULL, "all", 3},
        {"kill_all=+all+", NULL, "all", 3},
        {"", "kill_all=all", "all", 3},
        {"foo=1", "a=b&kill_all=pending", "pending", 1},
        {"kill_all=running", "kill_all=RUNNING", "running", 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tseed_kill_t kill = {0};

        assert_null(tseed_kill_code_read(&kill, cases[i].body, strlen(cases[i].body),
                                         cases[i].query, pool));
        assert_string_equal(kill.code, cases[i].code);
        assert_int_equal(kill.mask, cases[i].mask);
    }
}

static const char *read_kill(const malformed_t *request, const tseed_route_t *route)
{
    tseed_kill_t kill;

    (void)route;
    return tseed_kill_code_read(&kill, request->body, strlen(request->body), NULL, pool);
}

static void test_answer__other_kill_codes_are_refused_in_these_words(void **state)
{
    tseed_kill_t kill;

    (void)state;
    assert_true(malformed_each(TSEED_ACTION_KILL, read_kill, pool) >= 9);
    assert_string_equal(tseed_kill_code_read(&kill, "kill_all=", 9, "kill_all=all", pool),
                        "Unknown kill_all code: ''. One of all|running|pending is expected.");
}

static void test_answer__a_seed_form_without_a_box_is_told_so(void **state)
{
    static const char *const forms[] = {"type=truncate&zoomStart=0&zoomStop=3", "threadCount=1",
                                        "GRIDSETID=small", "parameter_STYLES=night"};
    tseed_kill_t kill;

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        assert_string_equal(
            tseed_kill_code_read(&kill, forms[i], strlen(forms[i]), NULL, pool),
            "A seed form to seed/<layer> needs the field minX, which may be empty, or bbox");
        assert_non_null(
            tseed_kill_code_read(&kill, forms[i], strlen(forms[i]), "kill_all=1", pool));
    }
}

/* What would spare some of the tasks, or is another thing than a form. */
static void test_answer__a_termination_never_means_more_than_it_says(void **state)
{
    static const struct {
        const char *body, *query, *message;
    } rows[] = {
        {"kill_all=all&layer=roads", NULL, "Unknown member: 'layer'. Possible here: kill_all"},
        {"kill_all=all&limit=1", NULL, "Unknown member: 'limit'. Possible here: kill_all"},
        {"kill_all=all", "exclude=7", "Unknown member: 'exclude'. Possible here: kill_all"},
        {"kill_all=all", "workspace=topp", "Unknown member: 'workspace'. Possible here: kill_all"},
        {"kill_thread=1&thread_id=2&kill_all=all", NULL,
         "Unknown member: 'kill_thread'. Possible here: kill_all"},
        {"kill_all=all&gridSetId=EPSG:4326", NULL,
         "Unknown member: 'gridSetId'. Possible here: kill_all"},
        {"kill_all=all&kill_all=pending", NULL,
         "kill_all is there twice, with 'all' and 'pending'"},
        {"kill_all=all", "kill_all=pending",
         "kill_all is 'pending' in the query and 'all' in the body"},
        {"{\"layer\":\"roads\"}", "kill_all=all",
         "Beside kill_all in the query no document is read: nothing, or a form, is expected"},
        {"{\"seedRequest\":{\"name\":\"roads\"}}", NULL,
         "A seed request names its layer in its address: POST it to seed/<layer>.json or "
         "seed/<layer>.xml"},
        {"--b\r\nContent-Disposition: form-data; name=\"kill_all\"\r\n\r\nall\r\n--b--", NULL,
         "A form as multipart/form-data is not read: send application/x-www-form-urlencoded, as "
         "curl -d does and curl -F does not"},
    };
    tseed_kill_t kill;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(
            tseed_kill_code_read(&kill, rows[i].body, strlen(rows[i].body), rows[i].query, pool),
            rows[i].message);
    }
    assert_null(tseed_kill_code_read(&kill, "kill_all=all&submit=Go&minX=", 28, "_=1", pool));
    assert_string_equal(kill.ignored, "submit\nminX\n_");
}

static void test_answer__forms_are_decoded(void **state)
{
    static const char body[] = "a=1&b=x+y%26&&c&d=%4&e=%zz%00&=f&a=2&%67=h=i";
    apr_table_t *form = tseed_form_read(body, strlen(body), pool);

    (void)state;
    assert_string_equal(apr_table_get(form, "a"), "1");
    assert_string_equal(apr_table_get(form, "b"), "x y&");
    assert_string_equal(apr_table_get(form, "c"), "");
    assert_string_equal(apr_table_get(form, "d"), "%4");
    assert_string_equal(apr_table_get(form, "e"), "%zz%00");
    assert_string_equal(apr_table_get(form, ""), "f");
    assert_string_equal(apr_table_get(form, "g"), "h=i");
}

/* ---- one task ---- */

static tseed_task_t task_of(void)
{
    apr_table_t *parameters = apr_table_make(pool, 2);

    apr_table_setn(parameters, "STYLES", "K\xC3\xB6ln");
    return (tseed_task_t){
        .id = INT64_C(5000000000),
        .type = TSEED_RESEED,
        .layer = "topp:states",
        .gridset = "EPSG:4326",
        .format = "image/png",
        .parameters = parameters,
        .bounds = {-124, 0.1, 66, 72.5},
        .has_area = 1,
        .zoom_start = 1,
        .zoom_stop = 12,
        .thread_count = 4,
        .tiles_total = 1000,
        .requested_by = "seeder",
        .ignored = "",
        .created = STARTED - APR_USEC_PER_SEC,
    };
}

static void test_answer__a_running_task_has_a_rate_and_a_rest(void **state)
{
    tseed_task_t task = task_of();
    tseed_progress_t progress = {.state = TSEED_RUNNING,
                                 .made = 190,
                                 .skipped = 48,
                                 .unchanged = 40,
                                 .failed = 2,
                                 .pruned = 10,
                                 .spared = 6,
                                 .looked = 5,
                                 .wrong = 4,
                                 .forgotten = 7,
                                 .bytes = INT64_C(12345678901),
                                 .requests = 17,
                                 .shared = 3,
                                 .rate = 2500,
                                 .started = STARTED,
                                 .request_width = 16,
                                 .request_height = 8,
                                 .request_why = TSEED_SIZE_FAILED,
                                 .reason = "the upstream is away",
                                 .reason_code = TSEED_REASON_AWAY};

    (void)state;
    assert_string_equal(
        tseed_answer_task(&task, &progress, pool),
        "{\"id\":5000000000,\"layer\":\"topp:states\",\"gridSetId\":\"EPSG:4326\","
        "\"format\":\"image/png\",\"type\":\"reseed\",\"bounds\":[-124,0.1,66,72.5],"
        "\"zoomStart\":1,\"zoomStop\":12,\"derived\":null,\"threadCount\":4,"
        "\"parameters\":{\"STYLES\":\"K\\u00f6ln\"},\"state\":\"RUNNING\","
        "\"reason\":\"the upstream is away\",\"reasonCode\":\"AWAY\","
        "\"tilesTotal\":1000,\"tilesProcessed\":250,"
        "\"tilesMade\":190,\"tilesSkipped\":48,\"tilesUnchanged\":40,\"tilesRemoved\":0,"
        "\"tilesFailed\":2,\"tilesPruned\":10,\"prunedMetatiles\":6,\"prunedChecked\":5,"
        "\"prunedWrong\":4,\"prunedForgotten\":7,"
        "\"bytes\":12345678901,\"upstreamRequests\":17,\"sharedRequests\":3,"
        "\"requestSize\":{\"width\":16,\"height\":8,"
        "\"reason\":\"larger requests failed\"},\"tilesPerSecond\":2.5,"
        "\"secondsRemaining\":300,\"requestedBy\":\"seeder\",\"ignored\":[],"
        "\"created\":\"2026-11-21T09:29:59.000Z\",\"started\":\"2026-11-21T09:30:00.000Z\","
        "\"finished\":null,\"retryOf\":null}");
}

/* The part of a task's document from `tilesPerSecond` on. */
static const char *rate_of(tseed_progress_t progress)
{
    tseed_task_t task = task_of();
    const char *document = tseed_answer_task(&task, &progress, pool);
    const char *rate = strstr(document, "\"tilesPerSecond\"");

    return apr_pstrmemdup(pool, rate, (apr_size_t)(strstr(rate, ",\"requestedBy\"") - rate));
}

static void test_answer__what_is_not_known_is_null(void **state)
{
    static const char unknown[] = "\"tilesPerSecond\":null,\"secondsRemaining\":null";
    const apr_time_t second = APR_USEC_PER_SEC;

    (void)state;
    assert_string_equal(rate_of((tseed_progress_t){.state = TSEED_PENDING}), unknown);
    /* nothing is made at the moment, whatever was made before */
    assert_string_equal(
        rate_of((tseed_progress_t){.state = TSEED_RUNNING, .made = 10, .started = STARTED}),
        unknown);
    /* a clock that was set back */
    assert_string_equal(rate_of((tseed_progress_t){.state = TSEED_ABORTED,
                                                   .made = 10,
                                                   .started = STARTED,
                                                   .finished = STARTED - 2 * second}),
                        unknown);
    assert_string_equal(rate_of((tseed_progress_t){.state = TSEED_ABORTED,
                                                   .made = 10,
                                                   .started = STARTED,
                                                   .finished = STARTED + 2 * second}),
                        "\"tilesPerSecond\":5.0,\"secondsRemaining\":null");
}

static void test_answer__a_done_task_has_no_rest(void **state)
{
    (void)state;
    assert_string_equal(rate_of((tseed_progress_t){.state = TSEED_DONE,
                                                   .skipped = 1000,
                                                   .rate = 99000,
                                                   .started = STARTED,
                                                   .finished = STARTED + 8 * APR_USEC_PER_SEC}),
                        "\"tilesPerSecond\":125.0,\"secondsRemaining\":0");
    assert_string_equal(
        rate_of((tseed_progress_t){.state = TSEED_DONE, .started = STARTED, .finished = STARTED}),
        "\"tilesPerSecond\":null,\"secondsRemaining\":0");
    /* whole levels that were renamed away at once say nothing of a rate */
    assert_string_equal(rate_of((tseed_progress_t){.state = TSEED_DONE,
                                                   .removed = 1000000,
                                                   .started = STARTED,
                                                   .finished = STARTED + APR_USEC_PER_SEC - 1}),
                        "\"tilesPerSecond\":null,\"secondsRemaining\":0");
}

static void test_answer__empty_members_are_null(void **state)
{
    tseed_task_t task = task_of();
    const char *document;

    (void)state;
    task.has_area = 0;
    task.requested_by = "";
    document = tseed_answer_task(&task, &(tseed_progress_t){.state = TSEED_DONE}, pool);
    assert_non_null(strstr(document, ",\"bounds\":null,"));
    assert_non_null(strstr(document, ",\"reason\":null,"));
    assert_non_null(strstr(document, ",\"requestedBy\":null,"));
    assert_non_null(strstr(document, ",\"started\":null,\"finished\":null,\"retryOf\":null}"));
    task.retry_of = INT64_C(4999999999);
    document = tseed_answer_task(&task, &(tseed_progress_t){.state = TSEED_DONE}, pool);
    assert_non_null(strstr(document, ",\"retryOf\":4999999999}"));
}

static void test_answer__ignored_members_are_a_list(void **state)
{
    tseed_task_t task = task_of();

    (void)state;
    task.ignored = "priority\nbounds.\"x\"\ngr\303\266\303\237e";
    assert_non_null(strstr(
        tseed_answer_task(&task, &(tseed_progress_t){.state = TSEED_DONE}, pool),
        ",\"ignored\":[\"priority\",\"bounds.\\\"x\\\"\",\"gr\\u00f6\\u00dfe\"],\"created\""));
}

static void test_answer__tasks_are_a_list_of_documents(void **state)
{
    apr_array_header_t *records = apr_array_make(pool, 2, sizeof(tseed_task_record_t));
    tseed_task_t task = task_of();
    const char *one = tseed_answer_task(&task, &(tseed_progress_t){.made = 1}, pool);

    (void)state;
    assert_string_equal(tseed_answer_tasks(records, pool), "{\"tasks\":[]}");
    APR_ARRAY_PUSH(records, tseed_task_record_t) =
        (tseed_task_record_t){&task, (tseed_progress_t){.made = 1}};
    APR_ARRAY_PUSH(records, tseed_task_record_t) =
        (tseed_task_record_t){&task, (tseed_progress_t){.made = 1}};
    assert_string_equal(tseed_answer_tasks(records, pool),
                        apr_pstrcat(pool, "{\"tasks\":[", one, ",", one, "]}", NULL));
}

static void test_answer__failures_have_a_cause_and_a_next_page(void **state)
{
    apr_array_header_t *failures = apr_array_make(pool, 2, sizeof(tseed_failure_t));
    tseed_causes_t causes = {apr_array_make(pool, 1, sizeof(tseed_cause_t)), 3};

    (void)state;
    APR_ARRAY_PUSH(causes.list, tseed_cause_t) = (tseed_cause_t){.cause = "no answer",
                                                                 .count = 2,
                                                                 .first = STARTED,
                                                                 .last = STARTED + APR_USEC_PER_SEC,
                                                                 .z = 4,
                                                                 .x = 5,
                                                                 .y = 6};
    assert_string_equal(tseed_answer_failures(failures, NULL, 0, NULL, pool),
                        "{\"failures\":[],\"causes\":null,\"causesOf\":null,\"total\":0,"
                        "\"next\":null}");
    APR_ARRAY_PUSH(failures, tseed_failure_t) = (tseed_failure_t){.task = 7,
                                                                  .z = 21,
                                                                  .x = INT64_C(4000000000),
                                                                  .y = 8,
                                                                  .cause = "HTTP \"500\"",
                                                                  .http_status = 500,
                                                                  .attempts = 3,
                                                                  .time = STARTED};
    APR_ARRAY_PUSH(failures, tseed_failure_t) =
        (tseed_failure_t){.task = 7, .cause = "no answer", .attempts = 1, .time = STARTED};
    assert_string_equal(
        tseed_answer_failures(failures, &causes, 3, "/rest/more", pool),
        "{\"failures\":[{\"z\":21,\"x\":4000000000,\"y\":8,\"cause\":\"HTTP \\\"500\\\"\","
        "\"httpStatus\":500,\"attempts\":3,\"time\":\"2026-11-21T09:30:00.000Z\"},"
        "{\"z\":0,\"x\":0,\"y\":0,\"cause\":\"no answer\",\"httpStatus\":null,\"attempts\":1,"
        "\"time\":\"2026-11-21T09:30:00.000Z\"}],"
        "\"causes\":[{\"cause\":\"no answer\",\"httpStatus\":null,\"count\":2,"
        "\"first\":\"2026-11-21T09:30:00.000Z\",\"last\":\"2026-11-21T09:30:01.000Z\","
        "\"example\":{\"z\":4,\"x\":5,\"y\":6}}],\"causesOf\":3,"
        "\"total\":3,\"next\":\"/rest/more\"}");
}

/* ---- parameters ---- */

static void test_answer__parameters_survive_the_database(void **state)
{
    apr_table_t *parameters = apr_table_make(pool, 4), *loaded;
    json_object *parsed;
    const char *saved;

    (void)state;
    apr_table_setn(parameters, "STYLES", "");
    apr_table_setn(parameters, "CQL_FILTER", " name = 'K\xC3\xB6ln' and \"a\" < \\{1}\n");
    apr_table_setn(parameters, "NONE", "null");
    saved = tseed_parameters_save(parameters, pool);
    parsed = json_tokener_parse(saved);
    assert_int_equal(json_object_object_length(parsed), 3);
    json_object_put(parsed);
    loaded = tseed_parameters_load(saved, pool);
    assert_non_null(loaded);
    assert_int_equal(apr_table_elts(loaded)->nelts, 3);
    assert_string_equal(apr_table_get(loaded, "STYLES"), "");
    assert_string_equal(apr_table_get(loaded, "CQL_FILTER"),
                        " name = 'K\xC3\xB6ln' and \"a\" < \\{1}\n");
    assert_string_equal(apr_table_get(loaded, "NONE"), "null");
}

static void test_answer__what_are_no_parameters_is_not_loaded(void **state)
{
    (void)state;
    assert_string_equal(tseed_parameters_save(apr_table_make(pool, 1), pool), "{}");
    assert_int_equal(apr_table_elts(tseed_parameters_load("{}", pool))->nelts, 0);
    assert_null(tseed_parameters_load("", pool));
    assert_null(tseed_parameters_load("[]", pool));
    assert_null(tseed_parameters_load("{\"STYLES\":\"x\"", pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer__status_without_tasks_is_an_empty_list),
        cmocka_unit_test(test_answer__status_rows_are_five_integers),
        cmocka_unit_test(test_answer__a_termination_lists_its_tasks),
        cmocka_unit_test(test_answer__nothing_to_terminate_is_said),
        cmocka_unit_test(test_answer__kill_codes_come_in_body_or_query),
        cmocka_unit_test(test_answer__other_kill_codes_are_refused_in_these_words),
        cmocka_unit_test(test_answer__a_seed_form_without_a_box_is_told_so),
        cmocka_unit_test(test_answer__a_termination_never_means_more_than_it_says),
        cmocka_unit_test(test_answer__forms_are_decoded),
        cmocka_unit_test(test_answer__a_running_task_has_a_rate_and_a_rest),
        cmocka_unit_test(test_answer__what_is_not_known_is_null),
        cmocka_unit_test(test_answer__a_done_task_has_no_rest),
        cmocka_unit_test(test_answer__empty_members_are_null),
        cmocka_unit_test(test_answer__ignored_members_are_a_list),
        cmocka_unit_test(test_answer__tasks_are_a_list_of_documents),
        cmocka_unit_test(test_answer__failures_have_a_cause_and_a_next_page),
        cmocka_unit_test(test_answer__parameters_survive_the_database),
        cmocka_unit_test(test_answer__what_are_no_parameters_is_not_loaded),
    };

    return cmocka_run_group_tests(tests, setup_documents, teardown_group);
}
