/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Characters and numbers as the C library has them in the C locale, which this program has. What
 * another locale changes is tried in httpd: tests/httpd/test_process.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"

static void test_ascii__characters_are_those_of_the_c_locale(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        const char c = (char)byte;

        assert_int_equal(tseed_ascii_is_digit(c), isdigit(byte) != 0);
        assert_int_equal(tseed_ascii_is_xdigit(c), isxdigit(byte) != 0);
        assert_int_equal(tseed_ascii_is_alnum(c), isalnum(byte) != 0);
        assert_int_equal(tseed_ascii_is_space(c), isspace(byte) != 0);
        assert_int_equal(tseed_ascii_is_cntrl(c), iscntrl(byte) != 0);
        assert_int_equal(tseed_ascii_is_graph(c), isgraph(byte) != 0);
        assert_int_equal((unsigned char)tseed_ascii_lower(c), tolower(byte));
        assert_int_equal((unsigned char)tseed_ascii_upper(c), toupper(byte));
    }
}

static void test_ascii__finds_whatever_the_case(void **state)
{
    const char *text = "Content of HTML";

    (void)state;
    assert_ptr_equal(tseed_ascii_find(text, "html"), text + 11);
    assert_ptr_equal(tseed_ascii_find(text, "T"), text + 3);
    assert_ptr_equal(tseed_ascii_find(text, ""), text);
    assert_null(tseed_ascii_find(text, "htmls"));
    assert_null(tseed_ascii_find("", "a"));
}

static void test_ascii__numbers_go_there_and_back(void **state)
{
    static const double numbers[] = {0.5, -1234567.25, 1e300, 5e-324, 111319.49079327358};
    char text[400], *end;

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        tseed_ascii_print(text, sizeof(text), "%.17g;", numbers[i]);
        assert_true(tseed_ascii_strtod(text, &end) == numbers[i]);
        assert_string_equal(end, ";");
    }
    assert_int_equal(tseed_ascii_print(text, 4, "%.3f", 2.0625), 5);
    assert_string_equal(text, "2.0");
}

/* One within the other, and the locale of before comes back. */
static void test_ascii__what_is_entered_is_left(void **state)
{
    const locale_t before = uselocale((locale_t)0);
    const locale_t first = tseed_ascii_enter(), second = tseed_ascii_enter();

    (void)state;
    assert_ptr_equal(first, before);
    assert_ptr_not_equal(second, before);
    tseed_ascii_leave(second);
    assert_ptr_equal(uselocale((locale_t)0), second);
    tseed_ascii_leave(first);
    assert_ptr_equal(uselocale((locale_t)0), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ascii__characters_are_those_of_the_c_locale),
        cmocka_unit_test(test_ascii__finds_whatever_the_case),
        cmocka_unit_test(test_ascii__numbers_go_there_and_back),
        cmocka_unit_test(test_ascii__what_is_entered_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
