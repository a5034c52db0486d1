/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* XXH64: the numbers that all its implementations are known by. Databases hold digests: they must
 * be the same with every version of the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "base/tseed_digest.h"

static void test_digest__is_xxh64(void **state)
{
    static const struct {
        const char *text;
        uint64_t seed, digest;
    } known[] = {
        {"", 0, UINT64_C(0xEF46DB3751D8E999)},
        {"", UINT64_C(2654435761), UINT64_C(0xAC75FDA2929B17EF)},
        {"a", 0, UINT64_C(0xD24EC4F1A98C6E5B)},
        {"abc", 0, UINT64_C(0x44BC2CF5AD770999)},
        {"Nobody inspects the spammish repetition", 0, UINT64_C(0xFBCEA83C8A378BF1)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_true(tseed_digest(known[i].text, strlen(known[i].text), known[i].seed) ==
                    known[i].digest);
    }
}

/* Wherever it stands: in a stripe, in the words behind, in the last bytes. */
static void test_digest__every_bit_and_the_length_count(void **state)
{
    unsigned char data[77] = {0};
    const uint64_t digest = tseed_digest(data, sizeof(data), 1);

    (void)state;
    for (size_t bit = 0; bit < 8 * sizeof(data); bit++) {
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_true(tseed_digest(data, sizeof(data), 1) != digest);
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    for (size_t length = 0; length < sizeof(data); length++) {
        assert_true(tseed_digest(data, length, 1) != digest);
    }
    assert_true(tseed_digest(data, sizeof(data), 2) != digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest__is_xxh64),
        cmocka_unit_test(test_digest__every_bit_and_the_length_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
