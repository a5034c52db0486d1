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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text__what_is_cut_ends_with_an_ellipsis),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
