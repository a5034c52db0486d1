/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Properties, as the documentation of java.util.Properties.store has them written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "protocol/tseed_parameters.h"

#include "pool_fixture.h"

static const char *value_of(const char *text, const char *key)
{
    const apr_table_t *table = tseed_properties_load(text, pool);

    assert_non_null(table);
    return apr_table_get(table, key);
}

static void test_properties__lines_behind_comments(void **state)
{
    static const char text[] = "#Parameters values for identifier: f0023dc7\r\n"
                               "#Sat Nov 21 09:30:00 UTC 2026\r\n"
                               "STYLES=polygon\r\n"
                               "TIME=\r\n"
                               "last=1";

    (void)state;
    assert_string_equal(value_of(text, "STYLES"), "polygon");
    assert_string_equal(value_of(text, "TIME"), "");
    assert_string_equal(value_of(text, "last"), "1");
    assert_int_equal(apr_table_elts(tseed_properties_load(text, pool))->nelts, 3);
    assert_true(apr_is_empty_table(tseed_properties_load("", pool)));
    assert_true(apr_is_empty_table(tseed_properties_load("\n#\n\n", pool)));
}

static void test_properties__escapes(void **state)
{
    (void)state;
    assert_string_equal(value_of("CQL_FILTER=TOTPOP > 10000 AND NAME\\=\"a\\\\b\"\n", "CQL_FILTER"),
                        "TOTPOP > 10000 AND NAME=\"a\\b\"");
    assert_string_equal(value_of("TIME=\\ 09\\:30\\!\\#\\tend", "TIME"), " 09:30!#\tend");
    assert_string_equal(value_of("a\\ key\\:\\=x=y", "a key:=x"), "y");
    assert_string_equal(value_of("S=\\u00E4\\u20AC\\uD83D\\uDDFA", "S"), "\u00e4\u20ac\U0001F5FA");
}

static void test_properties__nonsense(void **state)
{
    static const char *const texts[] = {"a=\\", "a=\\u12", "a=\\uD83D", "a=\\x", "a=\\\nb"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_null(tseed_properties_load(texts[i], pool));
    }
    assert_string_equal(value_of("STYLES", "STYLES"), "");
    assert_string_equal(value_of("==", ""), "=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_properties__lines_behind_comments),
        cmocka_unit_test(test_properties__escapes),
        cmocka_unit_test(test_properties__nonsense),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
