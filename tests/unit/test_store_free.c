/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The free space below a store root: of the root, or of its nearest parent that exists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_general.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/tseed_store.h"

static apr_pool_t *pool;

static int setup(void **state)
{
    (void)state;
    apr_initialize();
    return (int)apr_pool_create(&pool, NULL);
}

static int teardown(void **state)
{
    (void)state;
    apr_pool_destroy(pool);
    return 0;
}

/* Others write to the file system meanwhile: its free space can be compared with its size alone. */
static void assert_is_of_file_system(int64_t bytes, const char *path)
{
    struct statvfs info;

    assert_int_equal(statvfs(path, &info), 0);
    assert_true(bytes >= 0);
    assert_true(bytes <= (int64_t)info.f_blocks * (int64_t)info.f_frsize);
}

static void test_store_free__is_that_of_the_file_system(void **state)
{
    (void)state;
    assert_is_of_file_system(tseed_store_free("/tmp", pool), "/tmp");
}

/* /proc has no free space, whatever other processes do. */
static void test_store_free__of_a_root_to_be_made_is_that_of_its_parent(void **state)
{
    (void)state;
    assert_int_equal(tseed_store_free("/proc", pool), 0);
    assert_int_equal(tseed_store_free("/proc/no/such/root", pool), 0);
    assert_is_of_file_system(tseed_store_free("/tmp/no-such-root/below", pool), "/tmp");
}

static void test_store_free__is_not_known_without_a_parent(void **state)
{
    (void)state;
    assert_true(tseed_store_free("/no-such-directory-tseed/root", pool) == INT64_MAX);
    assert_true(tseed_store_free("no-such-directory-tseed", pool) == INT64_MAX);
}

/* A link to itself can't be followed: it is there, and it tells nothing. */
static void test_store_free__of_a_root_that_fails_is_not_its_parent_s(void **state)
{
    char dir[] = "/tmp/tileseed-free-XXXXXX";
    const char *loop;

    (void)state;
    assert_non_null(mkdtemp(dir));
    loop = apr_pstrcat(pool, dir, "/loop", NULL);
    assert_int_equal(symlink("loop", loop), 0);
    assert_true(tseed_store_free(loop, pool) == INT64_MAX);
    assert_true(tseed_store_free(apr_pstrcat(pool, loop, "/root", NULL), pool) == INT64_MAX);
    unlink(loop);
    rmdir(dir);
}

static void test_store_free__leaves_the_path_as_it_is(void **state)
{
    char path[] = "/proc/no/such/root";

    (void)state;
    tseed_store_free(path, pool);
    assert_string_equal(path, "/proc/no/such/root");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_store_free__is_that_of_the_file_system, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_store_free__of_a_root_to_be_made_is_that_of_its_parent,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_store_free__is_not_known_without_a_parent, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_store_free__of_a_root_that_fails_is_not_its_parent_s,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_store_free__leaves_the_path_as_it_is, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
