/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* One host, and the choice between one and several. */
#include "fleet/tseed_fleet.h"

#include <string.h>

#ifdef TSEED_FLEET
#include "fleet/tseed_lease.h"
#endif

/* ---- one host ---- */

static apr_status_t seek(tseed_fleet_t *fleet)
{
    (void)fleet;
    return APR_SUCCESS;
}

static int no(const tseed_fleet_t *fleet)
{
    (void)fleet;
    return 0;
}

static int stand_by(tseed_fleet_t *fleet)
{
    (void)fleet;
    return 0;
}

static void do_nothing(tseed_fleet_t *fleet)
{
    (void)fleet;
}

static void do_nothing_with(tseed_fleet_t *fleet, int what)
{
    (void)fleet;
    (void)what;
}

static apr_status_t has_others(const tseed_fleet_t *fleet, int *has)
{
    (void)fleet;
    *has = 0;
    return APR_SUCCESS;
}

static const char *portion(const tseed_job_t *leader, int address, apr_pool_t *pool)
{
    (void)leader;
    (void)address;
    (void)pool;
    return NULL;
}

static const tseed_fleet_doors_t one_host = {
    .seek = seek,
    .pause = no,
    .stand_by = stand_by,
    .reads = no,
    .stand_no_more = do_nothing,
    .mend = do_nothing,
    .work = do_nothing_with,
    .work_no_more = do_nothing,
    .is_over = no,
    .must_leave = no,
    .has_others = has_others,
    .portion = portion,
    .tick = do_nothing,
    .end = do_nothing_with,
};

/* ---- one or several ---- */

int tseed_fleet_is_built(void)
{
#ifdef TSEED_FLEET
    return 1;
#else
    return 0;
#endif
}

int tseed_fleet_can_share(const char *driver)
{
    return tseed_fleet_is_built() && driver && strcmp(driver, "pgsql") == 0;
}

tseed_fleet_t *tseed_fleet_create(const tseed_context_t *context, tseed_session_t *session,
                                  int miss_socket)
{
    static tseed_fleet_t alone = {&one_host};

#ifdef TSEED_FLEET
    if (tseed_fleet_can_share(context->settings->db_driver)) {
        return tseed_lease_create(context, session, miss_socket);
    }
#else
    (void)context;
    (void)session;
    (void)miss_socket;
#endif
    return &alone;
}
