/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What tileseedctl shows: counts, durations, clean texts, members of documents, the progress. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <malloc.h>
#include <string.h>

#include "ctl/tseed_ctl.h"
#include "output_fixture.h"
#include "pool_fixture.h"

static const struct {
    int64_t number;
    const char *said;
} counts[] = {
    {0, "0"},
    {9999, "9999"},
    {10000, "10.0k"},
    {12345, "12.3k"},
    {99949, "99.9k"},
    {99951, "100k"},
    {999499, "999k"},
    {999500, "1.00M"},
    {1370000, "1.37M"},
    {9994999, "9.99M"},
    {9995001, "10.0M"},
    {44739250, "44.7M"},
    {INT64_MAX, "9.22E"},
    {999999999, "1.00G"},
};

/* What a template of one member "n" makes of a number. */
static const char *filled(const char *template, json_object *number)
{
    json_object *object = tseed_ctl_keep(json_object_new_object());

    json_object_object_add(object, "n", number);
    return tseed_ctl_fill(object, template);
}

static void test_words__counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        assert_string_equal(filled("{n:count}", json_object_new_int64(counts[i].number)),
                            counts[i].said);
    }
}

static void test_words__shares_reach_all_at_the_end_only(void **state)
{
    (void)state;
    assert_string_equal(tseed_ctl_share(0, 7), "0.0 %");
    assert_string_equal(tseed_ctl_share(613, 1000), "61.3 %");
    assert_string_equal(tseed_ctl_share(999999, 1000000), "99.9 %");
    assert_string_equal(tseed_ctl_share(INT64_MAX - 1, INT64_MAX), "99.9 %");
    assert_string_equal(tseed_ctl_share(7, 7), "100.0 %");
    assert_string_equal(tseed_ctl_share(0, 0), "100.0 %");
}

static const struct {
    double seconds;
    const char *said;
} durations[] = {
    {0, "0 s"},
    {0.4, "0 s"},
    {59.4, "59 s"},
    {59.6, "1 min"},
    {2100, "35 min"},
    {3569, "59 min"},
    {3571, "1 h 00 min"},
    {7500, "2 h 05 min"},
    {172799, "48 h 00 min"},
    {172800, "2 d 0 h"},
    {3 * 86400 + 4 * 3600.0, "3 d 4 h"},
    {1e9, "11574 d 2 h"},
};

static void test_words__durations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(durations) / sizeof(*durations); i++) {
        assert_string_equal(filled("{n:time}", json_object_new_double(durations[i].seconds)),
                            durations[i].said);
    }
}

static void test_words__rates(void **state)
{
    (void)state;
    assert_string_equal(filled("{n:rate}", json_object_new_double(0)), "0.0/s");
    assert_string_equal(filled("{n:rate}", json_object_new_double(9.94)), "9.9/s");
    assert_string_equal(filled("{n:rate}", json_object_new_double(9.96)), "10/s");
    assert_string_equal(filled("{n:rate}", json_object_new_double(412.3)), "412/s");
}

/* What is printed of a text: as words in a line, or as the server's document on a terminal. */
static const char *said(const char *text)
{
    begin_output();
    tseed_ctl_say("<%s>", text);
    return end_output();
}

static void test_words__command_no_terminal(void **state)
{
    (void)state;
    assert_string_equal(said("a\x1b[2J\nb\x7f\xC2\x9B"), "<a?[2J?b?"
                                                         "?>\n");
    assert_string_equal(said("\xE2\x80\xAE\xE2\x81\xA6x\xE2\x80\xA8"), "<??x?>\n");
    assert_string_equal(said("\xC3\xA4\xFF\xE2\x82"),
                        "<\xC3\xA4\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD>\n");
}

/* Standard error of a test is no terminal, or one of 80 columns. */
static void test_words__are_cut_between_characters(void **state)
{
    char line[2 * 100 + 1] = "";

    (void)state;
    for (int i = 0; i < 100; i++) {
        strcat(line, "\xC3\xA4");
    }
    begin_errors();
    tseed_ctl_redraw(line);
    line[2 * 79] = '\0';
    assert_string_equal(end_output(), apr_pstrcat(pool, "\r", line, "\x1b[K", NULL));
    begin_errors();
    tseed_ctl_redraw("abc\x1b");
    assert_string_equal(end_output(), "\rabc?\x1b[K");
}

static void test_words__stand_in_columns(void **state)
{
    static const char *const columns[] = {"A", "{a}", "NUMBER>", "{n|-}", "C", "{c|}", NULL};
    json_object *list = tseed_ctl_keep(
        json_tokener_parse("[{\"a\":\"\xC3\xA4z\\n\",\"n\":5,\"c\":\"x\"},{\"n\":null}]"));

    (void)state;
    begin_output();
    tseed_ctl_print_table(list, columns, "nothing");
    assert_string_equal(end_output(), "A    NUMBER  C\n"
                                      "\xC3\xA4z?       5  x\n"
                                      "?         -  \n");
    begin_output();
    tseed_ctl_print_table(NULL, columns, "nothing");
    assert_string_equal(end_output(), "nothing\n");
}

/* ---- documents ---- */

static json_object *document(const char *json)
{
    const char *problem;
    json_object *read = tseed_ctl_json_read(json, strlen(json), &problem);

    assert_non_null(read);
    return read;
}

static void test_members__that_are_missing_have_a_default(void **state)
{
    json_object *object = document("{\"a\":5,\"b\":null,\"c\":[],\"d\":[1,2],\"e\":true,"
                                   "\"f\":1.5,\"g\":\"x\",\"h\":1e400}");

    (void)state;
    assert_int_equal(tseed_ctl_number(object, "a", -1), 5);
    assert_int_equal(tseed_ctl_number(object, "b", -1), -1);
    assert_int_equal(tseed_ctl_number(object, "z", -1), -1);
    assert_int_equal(tseed_ctl_number(object, "g", -1), -1);
    assert_string_equal(tseed_ctl_fill(object, "{f:rate} {h|-:rate}"), "1.5/s -");
    assert_null(tseed_ctl_entry(object, "c", 0));
    assert_null(tseed_ctl_entry(object, "g", 0));
    assert_string_equal(json_object_get_string(tseed_ctl_entry(object, "d", 1)), "2");
    assert_null(tseed_ctl_entry(object, "d", 2));
    assert_true(tseed_ctl_is(object, "e", "true") && !tseed_ctl_is(object, "a", "true"));
    assert_string_equal(tseed_ctl_text(object, "d", "?"), "?");
    assert_null(tseed_ctl_text(NULL, "a", NULL));
}

static void test_members__of_what_is_no_document(void **state)
{
    static const char *const wrong[] = {
        "",           "<html>",
        "[1]",        "{\"a\":",
        "{\"a\":1}x", "{\"a\":{\"b\":1}",
        "5",          "{\"a\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}"};
    const char *problem = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_null(tseed_ctl_json_read(wrong[i], strlen(wrong[i]), &problem));
        assert_non_null(problem);
        problem = NULL;
    }
}

/* A list that repeats a value so often. */
static char *list_of(const char *value, size_t count)
{
    const size_t length = strlen(value);
    char *text = apr_palloc(pool, count * (length + 1) + 16), *end = text;

    end += sprintf(end, "{\"a\":[");
    for (size_t i = 0; i < count; i++) {
        end += sprintf(end, "%s%s", i ? "," : "", value);
    }
    strcpy(end, "]}");
    return text;
}

/* How much memory a list takes that repeats a value so often, when it is read; -1: it is refused.
 * Sanitizers that replace malloc say 0 of everything. */
static int64_t memory_of(const char *value, size_t count)
{
    const char *text = list_of(value, count), *problem;
    struct mallinfo2 before = mallinfo2(), after;
    json_object *read;

    apr_pool_create(&tseed_ctl.pool, pool);
    read = tseed_ctl_json_read(text, strlen(text), &problem);
    after = mallinfo2();
    apr_pool_destroy(tseed_ctl.pool);
    tseed_ctl.pool = pool;
    return read ? (int64_t)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) : -1;
}

/* What is read takes no more than a document may, and what would take more is refused. */
static void test_members__fill_no_memory(void **state)
{
    static const char *const values[] = {"{}", "[]", "0", "1.5", "\"\"", "{\"a\":0}", "[0]"};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        int64_t most = -1;
        size_t count = 1 << 16;

        for (int64_t taken; (taken = memory_of(values[i], count)) >= 0; count *= 2) {
            most = taken;
        }
        assert_true(most > 0 || (most == 0 && mallinfo2().arena == 0));
        assert_true(most < (int64_t)TSEED_CTL_MEMORY_MAX);
        assert_true(count < (size_t)4 << 20);
    }
}

static void test_members__of_the_status_list(void **state)
{
    static const char *const wrong[] = {"{}", "{\"long-array-array\":[[1,2,3,4]]}",
                                        "{\"long-array-array\":[[1,2,3,4,\"x\"]]}",
                                        "{\"long-array-array\":5}"};
    json_object *rows =
        tseed_ctl_rows(document(" { \"long-array-array\" : [[1,2,-1,4,-1] , [5, 6,7,8,1]] }\n"));

    (void)state;
    assert_int_equal(json_object_array_length(rows), 2);
    assert_string_equal(tseed_ctl_text(tseed_ctl_entry(rows, NULL, 0), "state", ""), "ABORTED");
    assert_int_equal(tseed_ctl_number(tseed_ctl_entry(rows, NULL, 1), "id", 0), 8);
    rows = tseed_ctl_rows(document("{\"long-array-array\":[]}"));
    assert_int_equal(json_object_array_length(rows), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_null(tseed_ctl_rows(document(wrong[i])));
    }
    assert_null(tseed_ctl_rows(NULL));
}

/* ---- the progress ---- */

#define RUNNING                                                                                    \
    "\"state\":\"RUNNING\",\"tilesTotal\":2240000,\"tilesProcessed\":1373200,"                     \
    "\"tilesPerSecond\":412.3,\"secondsRemaining\":2100"

static void test_progress__is_one_line(void **state)
{
    (void)state;
    assert_string_equal(
        tseed_ctl_progress(document("{" RUNNING ",\"tilesFailed\":2,\"levels\":["
                                    "{\"z\":13,\"metatiles\":4,\"finished\":4,\"tiles\":16},"
                                    "{\"z\":14,\"metatiles\":9,\"finished\":2,\"tiles\":64},"
                                    "{\"z\":15,\"metatiles\":9,\"finished\":0,\"tiles\":64}]}"),
                           "HTTP 500"),
        "z14  61.3 %  1.37M/2.24M tiles  412/s  ETA 35 min  failed 2 (HTTP 500)");
}

static void test_progress__leaves_out_what_is_not_known(void **state)
{
    (void)state;
    assert_string_equal(tseed_ctl_progress(document("{" RUNNING "}"), NULL),
                        "61.3 %  1.37M/2.24M tiles  412/s  ETA 35 min");
    assert_string_equal(
        tseed_ctl_progress(
            document("{\"tilesTotal\":9,\"tilesProcessed\":0,\"tilesPerSecond\":null,"
                     "\"secondsRemaining\":null}"),
            NULL),
        "0.0 %  0/9 tiles");
}

static void test_progress__says_what_a_task_waits_for(void **state)
{
    json_object *task = document("{\"tilesTotal\":9,\"tilesProcessed\":3,\"tilesPerSecond\":"
                                 "0.5,\"reason\":\"full\\u0007\","
                                 "\"reasonCode\":\"QUOTA\"}");

    (void)state;
    assert_string_equal(said(tseed_ctl_progress(task, NULL)), "<33.3 %  3/9 tiles  full?>\n");
    assert_true(tseed_ctl_is_at_quota(task));
    assert_true(tseed_ctl_is_at_quota(document("{\"reasonCode\":\"FREE_SPACE\"}")));
    assert_false(tseed_ctl_is_at_quota(
        document("{\"reason\":\"disk quota of 2 MiB reached\",\"reasonCode\":\"THREAD\"}")));
    assert_false(tseed_ctl_is_at_quota(document("{\"reason\":\"disk quota of 2 MiB reached\"}")));
}

static void test_progress__ends_with_a_result(void **state)
{
    (void)state;
    assert_string_equal(
        tseed_ctl_result(document("{\"id\":7,\"state\":\"DONE\",\"reason\":null,\"tilesTotal\":341,"
                                  "\"tilesProcessed\":341,\"tilesMade\":329,\"tilesSkipped\":12}")),
        "task 7 done: 341 of 341 tiles, 329 made, 12 skipped");
    assert_string_equal(
        tseed_ctl_result(document("{\"id\":8,\"state\":\"ABORTED\",\"reason\":\"terminated by me\","
                                  "\"tilesTotal\":9,\"tilesProcessed\":4,\"tilesFailed\":4}")),
        "task 8 aborted: 4 of 9 tiles, 4 failed; terminated by me");
}

/* ---- templates ---- */

static const struct {
    const char *template, *said;
} templates[] = {
    {"{a} {z} {z|-} {n|}!", "x ? - !"},
    {"{list} {list|-} {o} {none|-}", "1, 2 1, 2 A=b, C= -"},
    {"{o.A}/{z.A|-}", "b/-"},
    {"{big:count} {big:bytes} {zero:count} {z|0:count} {a|-:count}", "12.3k 12.1 KiB 0 0 -"},
    {"{big:size} {more:size} {half:rate} {big:time} {half:lease}",
     "12.1 KiB 888.2 PiB 0.5/s 3 h 26 min 0.5 s"},
    {"{half|none:of/zero} {five:of/big}", "none 0.0 %"},
    {"[{zero:positive} a][, {five:positive} b][, {zero:number}][ {z}][{e}]{a}", ", 5 bx"},
    {"{rows*{id}-{z|x}}|{empty*{id}}|", "1-x, 2-x||"},
    {"{rows*{id}[ {name}]}", "1 a, 2"},
};

static void test_template__takes_members(void **state)
{
    json_object *object =
        document("{\"a\":\"x\",\"n\":null,\"list\":[1,2],\"o\":{\"A\":\"b\",\"C\":null},\"e\":\"\","
                 "\"big\":12345,\"zero\":0,\"five\":5,\"half\":0.5,\"more\":1e18,\"empty\":[],"
                 "\"rows\":[{\"id\":1,\"name\":\"a\"},{\"id\":2}]}");

    (void)state;
    for (size_t i = 0; i < sizeof(templates) / sizeof(*templates); i++) {
        assert_string_equal(tseed_ctl_fill(object, templates[i].template), templates[i].said);
    }
}

static int setup(void **state)
{
    const int code = setup_group(state);

    tseed_ctl.pool = pool;
    return code;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words__counts),
        cmocka_unit_test(test_words__shares_reach_all_at_the_end_only),
        cmocka_unit_test(test_words__durations),
        cmocka_unit_test(test_words__rates),
        cmocka_unit_test(test_words__command_no_terminal),
        cmocka_unit_test(test_words__are_cut_between_characters),
        cmocka_unit_test(test_words__stand_in_columns),
        cmocka_unit_test(test_members__that_are_missing_have_a_default),
        cmocka_unit_test(test_members__of_what_is_no_document),
        cmocka_unit_test(test_members__fill_no_memory),
        cmocka_unit_test(test_members__of_the_status_list),
        cmocka_unit_test(test_template__takes_members),
        cmocka_unit_test(test_progress__is_one_line),
        cmocka_unit_test(test_progress__leaves_out_what_is_not_known),
        cmocka_unit_test(test_progress__says_what_a_task_waits_for),
        cmocka_unit_test(test_progress__ends_with_a_result),
    };

    return cmocka_run_group_tests(tests, setup, teardown_group);
}
