/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes forms: a body, or with a leading '?' the query of a termination. */
#include <string.h>

#include "protocol/tseed_answer.h"
#include "target.h"

static void check_code(unsigned mask, const char *code)
{
    if (strcmp(code, "pending") == 0) {
        assert(mask == 1);
    } else if (strcmp(code, "running") == 0) {
        assert(mask == 2);
    } else {
        assert(strcmp(code, "all") == 0);
        assert(mask == 3);
    }
}

static void check_fields(const apr_table_t *form, apr_pool_t *pool)
{
    tseed_seed_document_t document;
    int64_t task = 0;

    if (!tseed_form_seed(&document, form, pool)) {
        assert(!document.coords || document.coords->nelts == 4);
    }
    assert(tseed_form_thread(&task, form, pool) || task > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = target_pool();
    const char *text = apr_pstrmemdup(pool, (const char *)data, size);
    const char *query = *text == '?' ? text + 1 : NULL;
    tseed_kill_t kill;

    if (!tseed_kill_code_read(&kill, query ? NULL : text, query ? 0 : size, query, pool)) {
        check_code(kill.mask, kill.code);
    }
    check_fields(tseed_form_read(text, size, pool), pool);
    apr_pool_destroy(pool);
    return 0;
}
