/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fuzzes the router with a path: an action only for a method that the address allows, and the
 * address means the same layer whatever the method. */
#include <string.h>

#include "protocol/tseed_route.h"
#include "target.h"

static void check_method(const char *path, tseed_method_t method, unsigned allowed,
                         apr_pool_t *pool)
{
    tseed_route_t route = tseed_route(path, method, pool);

    assert(route.allowed == allowed);
    assert((route.action != TSEED_ACTION_NONE) == ((allowed & (unsigned)method) != 0));
    if (route.action == TSEED_ACTION_SEED) {
        assert(route.layer && *route.layer);
    }
    if (route.action == TSEED_ACTION_TASK_GET || route.action == TSEED_ACTION_TASK_DELETE ||
        route.action == TSEED_ACTION_FORGET || route.action == TSEED_ACTION_FAILURES ||
        route.action == TSEED_ACTION_RETRY) {
        assert(route.number > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = target_pool();
    const char *path = apr_pstrmemdup(pool, (const char *)data, size);
    unsigned allowed = tseed_route(path, TSEED_METHOD_OTHER, pool).allowed;

    for (int method = TSEED_METHOD_GET; method <= TSEED_METHOD_OTHER; method <<= 1) {
        check_method(path, (tseed_method_t)method, allowed, pool);
    }
    apr_pool_destroy(pool);
    return 0;
}
