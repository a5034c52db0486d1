/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Texts that must fit: what was cut says so, and stays UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_write.h"

#define ELLIPSIS "\xE2\x80\xA6"

/* A text and what is left of it in a number of bytes, the NUL among them. */
static const struct {
    const char *text;
    size_t size;
    const char *left;
} texts[] = {
    {"seven", 6, "seven"},
    {"", 4, ""},
    {"seventeen", 9, "seven" ELLIPSIS},
    {"seventeen", 10, "seventeen"},
    {"seventeen", 4, ELLIPSIS},
    {"se\xC3\xA4vent", 8, "se\xC3\xA4" ELLIPSIS}, /* the sequence ends where the cut is */
    {"se\xC3\xA4ven", 7, "se" ELLIPSIS},          /* the cut is within the sequence */
    {"\xF0\x9F\x8C\x8D\xF0\x9F\x8C\x8D", 8, "\xF0\x9F\x8C\x8D" ELLIPSIS},
    {"\xF0\x9F\x8C\x8D\xF0\x9F\x8C\x8D", 7, ELLIPSIS},
};

static void test_text__what_is_cut_ends_with_an_ellipsis(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char fitted[16], said[16], cut[16];

        strcpy(cut, texts[i].text);
        tseed_text_cut(cut, texts[i].size);
        tseed_text_say(said, texts[i].size, "%.1s%s", texts[i].text,
                       *texts[i].text ? texts[i].text + 1 : "");
        assert_ptr_equal(tseed_text_fit(fitted, texts[i].size, texts[i].text), fitted);
        assert_string_equal(cut, texts[i].left);
        assert_string_equal(said, texts[i].left);
        assert_string_equal(fitted, texts[i].left);
    }
}

/* Characters, and bytes that begin none. */
static void test_text__utf8_is_read_and_written(void **state)
{
    static const struct {
        const char *text;
        size_t length;
        uint32_t code;
    } rows[] = {
        {"", 1, 0},
        {"a", 1, 'a'},
        {"\xC2\x80", 2, 0x80},
        {"\xDF\xBF", 2, 0x7FF},
        {"\xE0\xA0\x80", 3, 0x800},
        {"\xED\x9F\xBF", 3, 0xD7FF},
        {"\xEE\x80\x80", 3, 0xE000},
        {"\xF0\x90\x80\x80", 4, 0x10000},
        {"\xF4\x8F\xBF\xBF", 4, 0x10FFFF},
        {"\x80", 0, 0},
        {"\xC0\x80", 0, 0},         /* overlong */
        {"\xC1\xBF", 0, 0},         /* likewise */
        {"\xE0\x9F\xBF", 0, 0},     /* likewise */
        {"\xF0\x8F\xBF\xBF", 0, 0}, /* likewise */
        {"\xED\xA0\x80", 0, 0},     /* a surrogate */
        {"\xF4\x90\x80\x80", 0, 0}, /* beyond the last */
        {"\xF8\x88\x80\x80", 0, 0},
        {"\xFF", 0, 0},
        {"\xE2\x82", 0, 0}, /* cut short */
        {"\xC3(", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t code;
        char written[4];

        assert_int_equal(tseed_text_utf8_read(&code, rows[i].text, SIZE_MAX), rows[i].length);
        assert_int_equal(tseed_text_is_utf8(rows[i].text), rows[i].length > 0);
        if (rows[i].length > 0) {
            tseed_text_utf8_read(&code, rows[i].text, SIZE_MAX);
            assert_int_equal(code, rows[i].code);
            assert_int_equal(tseed_text_utf8_write(written, code), rows[i].length);
            assert_memory_equal(written, rows[i].text, rows[i].length);
        }
        if (rows[i].length > 1) {
            assert_int_equal(tseed_text_utf8_read(&code, rows[i].text, rows[i].length - 1), 0);
        }
    }
    assert_false(tseed_text_is_utf8("a\xE9"));
    assert_true(tseed_text_is_utf8("a\xC3\xA9"));
}

/* Bytes that are no UTF-8 are U+FFFD, one each. */
static void test_text__utf8_is_read_on(void **state)
{
    static const uint32_t expected[] = {'a', 0xE9, 0xFFFD, 0xFFFD, 0x1F30D, 'z', 0, 0};
    const char *at = "a\xC3\xA9\xE9\xFF\xF0\x9F\x8C\x8Dz";

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(tseed_utf8_next(&at), expected[i]);
    }
}

static void test_text__hosts_have_plain_names(void **state)
{
    static const char longest[] = "abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456.7";
    static const char *const bad[] = {"", ".", ".web1", "web 1", "web/1", "web\"1", "w\xc3\xa9"};

    (void)state;
    assert_true(tseed_text_is_host("web1.example.org", 63));
    assert_true(tseed_text_is_host(longest, sizeof(longest) - 1));
    assert_false(tseed_text_is_host(longest, sizeof(longest) - 2));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(tseed_text_is_host(bad[i], 63));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text__what_is_cut_ends_with_an_ellipsis),
        cmocka_unit_test(test_text__utf8_is_read_and_written),
        cmocka_unit_test(test_text__utf8_is_read_on),
        cmocka_unit_test(test_text__hosts_have_plain_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
