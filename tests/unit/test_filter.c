/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Parameter filters: what passes, what it becomes, and what a refusal says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <string.h>

#include "layer/tseed_filter.h"

#include "pool_fixture.h"

static tseed_filter_t filter_of(const char *name, const char *default_value)
{
    return (tseed_filter_t){
        .name = name,
        .default_value = default_value,
        .values = apr_array_make(pool, 4, sizeof(const char *)),
    };
}

static void add_value(tseed_filter_t *filter, const char *value)
{
    APR_ARRAY_PUSH(filter->values, const char *) = value;
}

static tseed_filter_t styles(void)
{
    tseed_filter_t filter = filter_of("STYLES", "polygon");

    add_value(&filter, "polygon");
    add_value(&filter, "pophatch");
    add_value(&filter, "Größe: 1.5 km");
    return filter;
}

static tseed_filter_t matching(const char *regex)
{
    tseed_filter_t filter = filter_of("CQL_FILTER", "INCLUDE");

    filter.regex = regex;
    assert_null(tseed_filter_compile(&filter, pool));
    return filter;
}

static void assert_takes(const tseed_filter_t *filter, const char *submitted, const char *expected)
{
    const char *value = NULL;

    assert_null(tseed_filter_accept(&value, filter, submitted, pool));
    assert_string_equal(value, expected);
}

static const char *assert_refuses(const tseed_filter_t *filter, const char *submitted)
{
    const char *value;
    const char *problem = tseed_filter_accept(&value, filter, submitted, pool);

    assert_non_null(problem);
    return problem;
}

static void test_filter__nothing_submitted_is_the_default(void **state)
{
    tseed_filter_t filter = styles();
    tseed_filter_t plain = filter_of("TIME", "");

    (void)state;
    assert_takes(&filter, NULL, "polygon");
    assert_takes(&filter, "", "polygon");
    assert_takes(&plain, NULL, "");
    assert_takes(&plain, "", "");
}

static void test_filter__takes_the_values_it_lists(void **state)
{
    tseed_filter_t filter = styles();

    (void)state;
    assert_takes(&filter, "polygon", "polygon");
    assert_takes(&filter, "pophatch", "pophatch");
    assert_takes(&filter, "Größe: 1.5 km", "Größe: 1.5 km");
    assert_refuses(&filter, "Polygon");
    assert_refuses(&filter, "pop");
    assert_refuses(&filter, " pophatch");
}

static void test_filter__the_default_passes_though_not_listed(void **state)
{
    tseed_filter_t filter = filter_of("STYLES", "default");

    (void)state;
    add_value(&filter, "night");
    assert_takes(&filter, "default", "default");
    assert_takes(&filter, "night", "night");
}

static void test_filter__open_values_have_a_bound(void **state)
{
    tseed_filter_t filter = filter_of("TIME", "");
    char value[1026];

    (void)state;
    memset(value, 'x', sizeof(value));
    value[1024] = '\0';
    assert_takes(&filter, value, value);
    value[1024] = 'x';
    value[1025] = '\0';
    assert_refuses(&filter, value);
}

static void test_filter__the_bound_can_be_raised(void **state)
{
    tseed_filter_t filter = filter_of("CQL_FILTER", "");
    char value[2002];
    const char *used;

    (void)state;
    memset(value, 'x', sizeof(value));
    value[2001] = '\0';
    assert_string_equal(tseed_filter_accept(&used, &filter, value, pool),
                        "a value of CQL_FILTER has at most 1024 bytes: max= of TileSeedParameter "
                        "allows more");
    filter.most = 2000;
    assert_non_null(tseed_filter_accept(&used, &filter, value, pool));
    assert_null(tseed_filter_accept(&used, &filter, value + 1, pool));
}

static void test_filter__no_regex_refers_back(void **state)
{
    static const char *const wrong[] = {"(a*)\\1", "(.)(.)\\2*", "\\\\(a)\\1", "[]a\\1](b)\\1",
                                        "[^]a[:alpha:]\\1](b)\\1"};
    static const char *const right[] = {"[0-9]{4}",       "a\\.b",  "[\\1]",     "[]\\1]*",
                                        "[[:digit:]\\1]", "a\\\\1", "[[.].]\\1]"};
    tseed_filter_t filter = filter_of("TIME", "");

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        filter.regex = wrong[i];
        if (!tseed_filter_compile(&filter, pool)) {
            fail_msg("taken: %s", wrong[i]);
        }
    }
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        filter.regex = right[i];
        if (tseed_filter_compile(&filter, pool)) {
            fail_msg("refused: %s", right[i]);
        }
    }
    filter.regex = "(a*)\\1";
    assert_string_equal(tseed_filter_compile(&filter, pool),
                        "the regex '(a*)\\1' of parameter TIME refers back by \\1, which can take "
                        "for ever: write it without");
}

static void test_filter__without_values_and_regex_all_pass(void **state)
{
    tseed_filter_t filter = filter_of("TIME", "");

    (void)state;
    assert_takes(&filter, "2026-11-21T09:30:00Z", "2026-11-21T09:30:00Z");
    assert_takes(&filter, "a b&c=d\n", "a b&c=d\n");
}

static void test_filter__regex_matches_the_whole_value(void **state)
{
    tseed_filter_t filter = matching("TOTPOP > [0-9]+|PERSONS");

    (void)state;
    assert_takes(&filter, "TOTPOP > 10000", "TOTPOP > 10000");
    assert_takes(&filter, "PERSONS", "PERSONS");
    assert_takes(&filter, "INCLUDE", "INCLUDE");
    assert_refuses(&filter, "TOTPOP > 10000 OR 1=1");
    assert_refuses(&filter, "X PERSONS");
    assert_refuses(&filter, "TOTPOP > ");
    assert_refuses(&filter, "PERSONS\n");
}

static void test_filter__values_and_regex_add_up(void **state)
{
    tseed_filter_t filter = matching("[0-9]{4}");

    (void)state;
    add_value(&filter, "now");
    assert_takes(&filter, "now", "now");
    assert_takes(&filter, "2026", "2026");
    assert_refuses(&filter, "02026");
}

static void test_filter__folds_before_it_compares(void **state)
{
    tseed_filter_t lower = styles();
    tseed_filter_t upper = matching("[A-Z]+");

    (void)state;
    lower.letter_case = TSEED_CASE_LOWER;
    assert_takes(&lower, "PopHatch", "pophatch");
    /* Only ASCII has cases here; a value is compared folded with the configured one folded. */
    assert_takes(&lower, "GRößE: 1.5 KM", "größe: 1.5 km");
    assert_refuses(&lower, "GRÖSSE: 1.5 KM");
    upper.letter_case = TSEED_CASE_UPPER;
    assert_takes(&upper, "exclude", "EXCLUDE");
    upper.letter_case = TSEED_CASE_KEEP;
    assert_refuses(&upper, "exclude");
}

static void test_filter__a_folded_default_is_the_default(void **state)
{
    tseed_filter_t filter = styles();

    (void)state;
    filter.letter_case = TSEED_CASE_UPPER;
    assert_takes(&filter, "polygon", "polygon");
    assert_takes(&filter, "POLYGON", "polygon");
    assert_takes(&filter, "pophatch", "POPHATCH");
}

static void test_filter__refusal_names_the_value_and_those_there_are(void **state)
{
    tseed_filter_t filter = styles();
    tseed_filter_t both = matching("[a-z]+ > [0-9]+");

    (void)state;
    assert_string_equal(assert_refuses(&filter, "lines\r\n"),
                        "parameter STYLES: 'lines' is not allowed, one of 'polygon', 'pophatch', "
                        "'Größe: 1.5 km' is expected");
    assert_string_equal(assert_refuses(&both, "x"),
                        "parameter CQL_FILTER: 'x' is not allowed, one of 'INCLUDE' or what "
                        "matches [a-z]+ > [0-9]+ is expected");
}

static void test_filter__refusal_stays_short(void **state)
{
    tseed_filter_t filter = styles();
    char *longish = apr_palloc(pool, 5001);
    const char *problem;

    (void)state;
    memset(longish, 'x', 5000);
    longish[5000] = '\0';
    for (int i = 0; i < 1000; i++) {
        add_value(&filter, apr_psprintf(pool, "value %d", i));
    }
    problem = assert_refuses(&filter, longish);
    assert_true(strlen(problem) < 600);
    assert_non_null(strstr(problem, "'value 16' and 983 more is expected"));
}

static void test_filter__a_broken_regex_is_explained(void **state)
{
    tseed_filter_t filter = filter_of("TIME", "");
    const char *problem;

    (void)state;
    assert_null(tseed_filter_compile(&filter, pool));
    filter.regex = "[0-9";
    problem = tseed_filter_compile(&filter, pool);
    assert_non_null(problem);
    assert_non_null(strstr(problem, "regex '[0-9' of parameter TIME"));
    assert_null(filter.compiled);
}

/* Whatever the case if the filter folds it; a value that its regex takes is not listed. */
static void test_filter__lists_its_values_and_its_default(void **state)
{
    tseed_filter_t filter = styles();

    (void)state;
    filter.default_value = "line";
    assert_true(tseed_filter_lists(&filter, "polygon", pool));
    assert_true(tseed_filter_lists(&filter, "pophatch", pool));
    assert_true(tseed_filter_lists(&filter, "line", pool));
    assert_false(tseed_filter_lists(&filter, "Line", pool));
    assert_false(tseed_filter_lists(&filter, "poly", pool));
    assert_false(tseed_filter_lists(&filter, "", pool));
    filter.letter_case = TSEED_CASE_UPPER;
    assert_true(tseed_filter_lists(&filter, "Line", pool));
    assert_true(tseed_filter_lists(&filter, "POPhatch", pool));
}

/* "default" is the name of the default, unless the filter has it as a value of its own. */
static void test_filter__default_may_be_a_value(void **state)
{
    tseed_filter_t filter = styles();

    (void)state;
    assert_true(tseed_filter_means_default(&filter, "default"));
    assert_false(tseed_filter_means_default(&filter, "Default"));
    assert_false(tseed_filter_means_default(&filter, "polygon"));
    filter.default_value = "DEFAULT";
    assert_false(tseed_filter_means_default(&filter, "default"));
    filter.default_value = "polygon";
    add_value(&filter, "Default");
    assert_false(tseed_filter_means_default(&filter, "default"));
    filter = filter_of("STYLES", "polygon");
    add_value(&filter, "default");
    assert_false(tseed_filter_means_default(&filter, "default"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter__nothing_submitted_is_the_default),
        cmocka_unit_test(test_filter__takes_the_values_it_lists),
        cmocka_unit_test(test_filter__the_default_passes_though_not_listed),
        cmocka_unit_test(test_filter__open_values_have_a_bound),
        cmocka_unit_test(test_filter__the_bound_can_be_raised),
        cmocka_unit_test(test_filter__no_regex_refers_back),
        cmocka_unit_test(test_filter__without_values_and_regex_all_pass),
        cmocka_unit_test(test_filter__regex_matches_the_whole_value),
        cmocka_unit_test(test_filter__values_and_regex_add_up),
        cmocka_unit_test(test_filter__folds_before_it_compares),
        cmocka_unit_test(test_filter__a_folded_default_is_the_default),
        cmocka_unit_test(test_filter__refusal_names_the_value_and_those_there_are),
        cmocka_unit_test(test_filter__refusal_stays_short),
        cmocka_unit_test(test_filter__a_broken_regex_is_explained),
        cmocka_unit_test(test_filter__lists_its_values_and_its_default),
        cmocka_unit_test(test_filter__default_may_be_a_value),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
