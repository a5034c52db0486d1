/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The file of the host: an instance of its own for each state directory, and what is remembered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <apr_strings.h>

#include "fleet/tseed_host_file.h"

#include "pool_fixture.h"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/tileseed-host-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return system(apr_pstrcat(pool, "rm -rf ", dir, NULL));
}

static tseed_host_file_t load(void)
{
    tseed_host_file_t file;

    assert_int_equal(tseed_host_file_load(&file, dir, pool), APR_SUCCESS);
    assert_int_equal(strlen(file.instance), 16);
    return file;
}

static void write_text(const char *text)
{
    FILE *file = fopen(apr_pstrcat(pool, dir, "/tileseed.host", NULL), "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_host_file__draws_its_instance_once(void **state)
{
    const tseed_host_file_t first = load(), second = load();
    tseed_host_file_t other;

    (void)state;
    assert_string_equal(first.instance, second.instance);
    assert_int_equal(first.memory.epoch, 0);
    teardown(NULL);
    setup(NULL);
    other = load();
    assert_string_not_equal(other.instance, first.instance);
}

static void test_host_file__remembers(void **state)
{
    tseed_host_file_t file = load(), again;

    (void)state;
    file.memory = (tseed_host_memory_t){7, INT64_MAX, 12345678901};
    assert_int_equal(tseed_host_file_save(&file, dir, pool), APR_SUCCESS);
    again = load();
    assert_memory_equal(&again.memory, &file.memory, sizeof(file.memory));
    assert_string_equal(again.instance, file.instance);
}

/* A power failure may leave anything: then it is another httpd, and remembers nothing. */
static void test_host_file__that_makes_no_sense_is_made_anew(void **state)
{
    static const char *const texts[] = {
        "", "\n", "0123456789abcdef 1 2", "0123 1 2 3", "0123456789ABCDEF 1 2 3", "x 1 2 3"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tseed_host_file_t file;

        write_text(texts[i]);
        file = load();
        assert_int_equal(file.memory.epoch, 0);
        assert_string_not_equal(file.instance, "0123456789abcdef");
    }
}

static void test_host_file__needs_its_directory(void **state)
{
    tseed_host_file_t file;

    (void)state;
    assert_int_not_equal(tseed_host_file_load(&file, apr_pstrcat(pool, dir, "/none", NULL), pool),
                         APR_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_host_file__draws_its_instance_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_host_file__remembers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_host_file__that_makes_no_sense_is_made_anew, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_host_file__needs_its_directory, setup, teardown),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
