/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The command line of tileseedctl, and what is sent of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <string.h>

#include "ctl/tseed_ctl.h"
#include "output_fixture.h"
#include "pool_fixture.h"

#define WORDS_MAX 24

static const tseed_ctl_verb_t *const verbs[] = {tseed_ctl_task_verbs, tseed_ctl_seed_verbs,
                                                tseed_ctl_quota_verbs, tseed_ctl_server_verbs,
                                                NULL};

/* Reads a line whose words are separated by blanks. NULL or a sentence. */
static const char *read_line(const char *line)
{
    const char *words[WORDS_MAX];
    char *last, *copy = apr_pstrdup(pool, line);
    int count = 0;

    for (char *word = apr_strtok(copy, " ", &last); word; word = apr_strtok(NULL, " ", &last)) {
        words[count++] = word;
    }
    tseed_ctl.pool = pool;
    tseed_ctl.verbs = verbs;
    return tseed_ctl_options_read(count, words);
}

static void test_options__stand_before_and_behind_the_verb(void **state)
{
    (void)state;
    assert_null(read_line("--json -s http://a/rest seed world -qw -z2-5 --threads=4 -t 3"));
    assert_true(tseed_ctl_verb_is("seed"));
    assert_string_equal(tseed_ctl.server, "http://a/rest");
    assert_string_equal(tseed_ctl_argument(0), "world");
    assert_string_equal(tseed_ctl.threads, "3");
    assert_true(tseed_ctl.is_json && tseed_ctl.is_quiet && tseed_ctl.is_waiting);
    assert_string_equal(tseed_ctl.zoom_start, "2");
    assert_string_equal(tseed_ctl.zoom_stop, "5");
}

static void test_options__mean_what_the_verb_says(void **state)
{
    (void)state;
    assert_null(read_line("seed world -n"));
    assert_true(tseed_ctl.is_dry_run);
    assert_null(read_line("tasks -n 5"));
    assert_string_equal(tseed_ctl.limit, "5");
    assert_null(read_line("seed world --wait --detach"));
    assert_false(tseed_ctl.is_waiting);
}

static void test_options__take_boxes_and_durations(void **state)
{
    (void)state;
    assert_null(read_line("reseed world -b -10.5,45,11,1e3 --timeout 4h -p A=b=c -p B="));
    assert_true(tseed_ctl.bounds.is_given && !tseed_ctl.lonlat.is_given);
    assert_true(tseed_ctl.bounds.box.minx == -10.5 && tseed_ctl.bounds.box.maxy == 1000);
    assert_int_equal(tseed_ctl.timeout, 4 * 3600 * APR_USEC_PER_SEC);
    assert_string_equal(apr_table_get(tseed_ctl.parameters, "A"), "b=c");
    assert_string_equal(apr_table_get(tseed_ctl.parameters, "B"), "");
}

static void test_options__behind_two_dashes_are_arguments(void **state)
{
    (void)state;
    assert_null(read_line("seed -w -- -q"));
    assert_string_equal(tseed_ctl_argument(0), "-q");
    assert_null(tseed_ctl_argument(1));
}

/* A line, and a part of the sentence about it. */
static const struct {
    const char *line, *said;
} refusals[] = {
    {"", "a verb is missing"},
    {"--json", "a verb is missing"},
    {"--nonsense", "--nonsense is no option, or must stand behind its verb"},
    {"sed world", "'sed' is no verb"},
    {"seed", "seed needs LAYER"},
    {"seed a b", "'b' is one"},
    {"-z 5 seed a", "-z is no option, or must stand behind its verb"},
    {"-z5 seed a", "-z is no option, or must stand behind its verb"},
    {"-\xC3\xA4 seed a", "-\xC3 is no option, or must stand behind its verb"},
    {"drain a -tx", "drain has no option -t"},
    {"seed a --csv", "seed has no option --csv"},
    {"seed a --zooms=5", "seed has no option --zooms"},
    {"seed a -z5 -qxw", "seed has no option -x"},
    {"seed a -q -wx", "seed has no option -x"},
    {"seed a -qz", "--zoom needs a value: A-B"},
    {"show x", "'x' is no id of a task"},
    {"seed a --wait=yes", "--wait takes no value"},
    {"seed a -z", "--zoom needs a value: A-B"},
    {"seed a -z 5-4", "'5-4' is no level"},
    {"seed a -z -4", "'-4' is no level"},
    {"seed a -z 1-2-3", "'1-2-3' is no level"},
    {"seed a -z 99", "'99' is no level"},
    {"seed a -b 1,2,3", "'1,2,3' is no box"},
    {"seed a -b 1,2,3,4,5", "is no box"},
    {"seed a -b 3,2,1,4", "is no box"},
    {"seed a -b 1,2,3,nan", "is no box"},
    {"seed a -t -1", "'-1' is no number"},
    {"seed a -t 4x", "'4x' is no number"},
    {"seed a -p STYLES", "'STYLES' is no parameter"},
    {"seed a -p =x", "'=x' is no parameter"},
    {"seed a --timeout 0", "must be more than 0"},
    {"seed a --timeout soon", "--timeout: "},
    {"seed a --key=", "--key: has no value"},
    {"estimate a --type sed", "'sed' is none of"},
    {"quota usage --by day", "'day' is neither"},
};

static void test_options__that_are_wrong_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        const char *problem = read_line(refusals[i].line);

        assert_non_null(problem);
        assert_non_null(strstr(problem, refusals[i].said));
    }
}

static void test_options__need_no_argument_for_help(void **state)
{
    (void)state;
    assert_null(read_line("seed --help"));
    assert_true(tseed_ctl.wants_help && tseed_ctl_verb_is("seed"));
    assert_null(read_line("-V"));
    assert_true(tseed_ctl.wants_version);
}

/* Two options that one verb takes may share neither letter nor name: its help names each once. */
static void check_help(const tseed_ctl_verb_t *verb)
{
    const char *said, *line;
    int count = 0;

    begin_output();
    tseed_ctl_help(verb);
    said = end_output();
    for (line = strstr(said, "\n  "); line; line = strstr(line + 1, "\n  ")) {
        const char *name = strstr(line, "--");
        const char *option = apr_pstrmemdup(pool, name, strcspn(name, " \n") + 1);
        const char *letter = apr_pstrmemdup(pool, line, 5);

        assert_true(strstr(said, letter) == line || line[3] != '-');
        assert_true(strstr(said, option) == name);
        count++;
        line = strchr(name, '\n') ? strchr(name, '\n') - 1 : name;
    }
    assert_true(count >= 9);
}

static void test_options__of_a_verb_differ(void **state)
{
    (void)state;
    for (const tseed_ctl_verb_t *const *file = verbs; *file; file++) {
        for (const tseed_ctl_verb_t *verb = *file; verb->name; verb++) {
            check_help(verb);
        }
    }
}

static void test_request__has_what_was_given_and_no_more(void **state)
{
    (void)state;
    assert_null(read_line("truncate a<b"));
    assert_string_equal(tseed_ctl_seed_xml(),
                        "<seedRequest><name>a&#60;b</name><type>truncate</type>"
                        "<threadCount>1</threadCount></seedRequest>");
    assert_string_equal(tseed_ctl_seed_query(), "type=truncate");
    assert_null(read_line("seed w -g EPSG:4326 -z 3 -b 0.1,0,1,2 -f image/png -p A=&"));
    assert_string_equal(
        tseed_ctl_seed_xml(),
        "<seedRequest><name>w</name><gridSetId>EPSG:4326</gridSetId>"
        "<zoomStart>3</zoomStart><zoomStop>3</zoomStop><format>image/png</format>"
        "<type>seed</type><threadCount>1</threadCount><bounds><coords>"
        "<double>0.1</double><double>0</double><double>1</double><double>2</double></coords>"
        "</bounds><parameters><entry><string>A</string>"
        "<string>&#38;</string></entry></parameters></seedRequest>");
    assert_string_equal(tseed_ctl_seed_query(),
                        "type=seed&gridSetId=EPSG:4326&zoomStart=3&zoomStop=3&format=image%2Fpng"
                        "&bbox=0.1,0,1,2&parameter_A=%26");
}

/* Values of EPSG:3857 by pyproj 3.4. */
static void test_request__projects_degrees(void **state)
{
    const tseed_bounds_t degrees = {5.9, 45.8, 10.5, 47.8};
    const tseed_bounds_t earth = {-180, -90, 180, 90};
    tseed_bounds_t box, back;

    (void)state;
    assert_int_equal(tseed_ctl_project(&box, 900913, &degrees, 0), 0);
    assert_float_equal(box.minx, 656784.9956, 0.001);
    assert_float_equal(box.maxx, 1168854.6531, 0.001);
    assert_int_equal(tseed_ctl_project(&back, 3857, &box, 1), 0);
    assert_float_equal(back.miny, 45.8, 1e-9);
    assert_float_equal(back.maxy, 47.8, 1e-9);
    assert_int_equal(tseed_ctl_project(&box, 3857, &earth, 0), 0);
    assert_float_equal(box.maxy, 20037508.3428, 0.001);
    assert_int_equal(tseed_ctl_project(&box, 4326, &degrees, 0), 0);
    assert_float_equal(box.maxy, 47.8, 0);
    assert_int_equal(tseed_ctl_project(&box, 2056, &degrees, 0), -1);
    assert_int_equal(tseed_ctl_project(&back, 2056, &box, 1), -1);
}

/* Reads a file of that text. NULL or a sentence. */
static const char *read_profile(const char *text, const char *name)
{
    FILE *file = fmemopen(apr_pstrdup(pool, text), strlen(text), "r");
    const char *problem = tseed_ctl_profile_read(file, name);

    fclose(file);
    return problem;
}

static void test_profile__keeps_what_is_set(void **state)
{
    (void)state;
    assert_null(read_line("status -u me"));
    assert_null(read_profile("# a\n\tserver \t http://a/rest  \r\nuser you\n\ncacert /a b", "x"));
    assert_string_equal(tseed_ctl.server, "http://a/rest");
    assert_string_equal(tseed_ctl.user, "me");
    assert_string_equal(tseed_ctl.cacert, "/a b");
    assert_non_null(strstr(read_profile("password x", "f"), "f: 'pass"));
    assert_non_null(read_profile("server", "f"));
}

static void test_profile__refuses_addresses(void **state)
{
    static const char *const wrong[] = {"localhost/rest",
                                        "ftp://a/rest",
                                        "http://a:b@c/rest",
                                        "http://a@c",
                                        "http://a/rest?x=",
                                        "http://a/b c",
                                        ""};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_non_null(tseed_ctl_server_check(wrong[i]));
    }
    assert_null(tseed_ctl_server_check("https://a:81/b@c/rest"));
}

/* What the last word of a line may name besides. */
static const char *kind_of(const char *line, const char *last)
{
    const char *kind;

    read_line(line);
    begin_output();
    kind = tseed_ctl_complete(last);
    end_output();
    return kind;
}

static void test_completion__knows_verb_and_argument(void **state)
{
    (void)state;
    assert_string_equal(kind_of("-s", ""), "");
    assert_string_equal(kind_of("-s status", ""), "");
    assert_null(tseed_ctl.verb);
    assert_string_equal(kind_of("-s status seed -g", ""), "");
    assert_string_equal(kind_of("-s status seed -g x", ""), "LAYER");
    assert_true(tseed_ctl_verb_is("seed"));
    assert_string_equal(kind_of("seed", "-"), "");
    assert_string_equal(kind_of("show", ""), "ID");
    assert_string_equal(kind_of("status", ""), "LAYER]");
    assert_string_equal(kind_of("tasks --layer", ""), "LAYER");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options__stand_before_and_behind_the_verb),
        cmocka_unit_test(test_options__mean_what_the_verb_says),
        cmocka_unit_test(test_options__take_boxes_and_durations),
        cmocka_unit_test(test_options__behind_two_dashes_are_arguments),
        cmocka_unit_test(test_options__that_are_wrong_are_named),
        cmocka_unit_test(test_options__need_no_argument_for_help),
        cmocka_unit_test(test_options__of_a_verb_differ),
        cmocka_unit_test(test_request__has_what_was_given_and_no_more),
        cmocka_unit_test(test_request__projects_degrees),
        cmocka_unit_test(test_profile__keeps_what_is_set),
        cmocka_unit_test(test_profile__refuses_addresses),
        cmocka_unit_test(test_completion__knows_verb_and_argument),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
