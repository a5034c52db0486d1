/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A cache whose load has failed points at nothing of that load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "books/tseed_cache.h"
#include "pool_fixture.h"

static void test_cache__a_load_that_failed_leaves_nothing(void **state)
{
    const tseed_settings_t settings = {0};
    const tseed_context_t context = {.settings = &settings, .pool = pool};
    const tseed_session_t session = {0};
    tseed_cache_t *cache = tseed_cache_create(&context, &session);

    (void)state;
    apr_pool_create(&cache->pool, pool);
    cache->book = tseed_book_create(cache->pool);
    cache->cleaner = tseed_cleaner_create(&settings, cache->pool);
    tseed_cache_undo(cache);
    assert_null(cache->book);
    assert_null(cache->cleaner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache__a_load_that_failed_leaves_nothing)};

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
