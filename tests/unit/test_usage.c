/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The status of the books as a text, and what its reconcile is shown to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "document_fixture.h"
#include "protocol/tseed_usage.h"

static void test_usage__status_survives_its_text(void **state)
{
    tseed_usage_status_t status, back;
    int64_t *numbers = (int64_t *)&status;
    const size_t count = sizeof(status) / sizeof(*numbers);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = INT64_MAX - (int64_t)i;
    }
    assert_true(strlen(tseed_usage_save(&status, pool)) < 1024); /* the seeder keeps it */
    tseed_usage_load(&back, tseed_usage_save(&status, pool));
    assert_memory_equal(&back, &status, sizeof(status));
}

static void test_usage__nonsense_is_an_empty_status(void **state)
{
    static const char *const texts[] = {"", " ", "=", "walked", "walked=", "nothing=5 at=7", "= ="};
    static const tseed_usage_status_t empty;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tseed_usage_status_t status;

        tseed_usage_load(&status, texts[i]);
        assert_memory_equal(&status, &empty, sizeof(status));
    }
}

/* Whether the document of an empty cache has these words. */
static int says(const tseed_reconcile_t *reconcile, apr_time_t requested, const char *words)
{
    tseed_settings_t settings = {.quota_files = INT64_MAX};
    tseed_quota_config_t config;
    tseed_usage_t usage = {.settings = &settings,
                           .config = &config,
                           .rows = apr_array_make(pool, 1, sizeof(tseed_usage_row_t)),
                           .status = {.reconcile = *reconcile},
                           .requested = requested};

    tseed_quota_config_init(&config, 4096, pool);
    return strstr(tseed_usage_document(&usage, pool), words) != NULL;
}

static void test_usage__reconcile_waits_runs_and_ends(void **state)
{
    const tseed_reconcile_t none = {.requested = 0};
    const tseed_reconcile_t runs = {.requested = 5, .started = 6};
    const tseed_reconcile_t ends = {.requested = 5, .started = 6, .finished = 7};

    (void)state;
    assert_true(says(&none, 0, "\"reconcile\":null"));
    assert_true(says(&none, 5, "\"state\":\"waiting\""));
    assert_true(says(&runs, 5, "\"state\":\"running\""));
    assert_true(says(&runs, 9, "\"state\":\"running\""));
    assert_true(says(&ends, 5, "\"state\":\"done\""));
    assert_true(says(&ends, 9, "\"state\":\"waiting\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage__status_survives_its_text),
        cmocka_unit_test(test_usage__nonsense_is_an_empty_status),
        cmocka_unit_test(test_usage__reconcile_waits_runs_and_ends),
    };

    return cmocka_run_group_tests(tests, setup_documents, teardown_group);
}
