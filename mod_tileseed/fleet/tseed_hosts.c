/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Hosts and the role of the seeder. Each decision is made under the lock of the role's row, by a
 * clock that is read after the lock was got. */
#include "fleet/tseed_hosts.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "state/tseed_work.h"

/* The rows by which hosts decide who works: of a host, of the role, and the database's clock. Each
 * function is called within a transaction of the state. Texts live until the state's next call.
 *
 * Statuses as in tseed_state.h. Any process, the thread of the state's handle.
 */

/* Microseconds since 1970. */
typedef struct {
    int64_t now, started; /* started: the database, if that matters */
} moment_t;

/* The row of a host. */
typedef struct {
    int is_there;
    const char *instance;
    int64_t epoch, renewals, until;
    int is_draining;
} host_record_t;

#define SEEDER "seeder"

/* ---- the clock ---- */

static apr_status_t read_moment(tseed_state_t *state, moment_t *moment)
{
    tseed_rows_t rows;
    const apr_status_t rv =
        tseed_database_first(&rows, &state->db, TSEED_SQL_CLOCK, NULL, state->scratch);

    if (rv == APR_SUCCESS) {
        tseed_rows_scan(&rows, &moment->now, &moment->started);
    }
    return rv;
}

/* Reads the role. `sql`: TSEED_SQL_ROLE_HOLD locks its row, TSEED_SQL_ROLE_GET does not. */
static apr_status_t role_read(tseed_state_t *state, tseed_role_t *role, tseed_sql_t sql)
{
    tseed_rows_t rows;
    const apr_status_t rv =
        tseed_database_first(&rows, &state->db, sql, (const void *[]){SEEDER}, state->scratch);

    if (rv == APR_SUCCESS) {
        tseed_rows_scan(&rows, &role->host, &role->epoch, &role->tenure, &role->former);
    }
    return rv == APR_NOTFOUND
               ? tseed_database_fail(&state->db, rv, "the table role has no row '" SEEDER "'")
               : rv;
}

/* Writes the role, whose row is locked. */
static apr_status_t role_write(tseed_state_t *state, const tseed_role_t *role)
{
    const void *args[] = {role->host, &role->epoch, &role->tenure, &role->former, SEEDER};

    return tseed_database_change(&state->db, NULL, TSEED_SQL_ROLE_SET, args);
}

/* Reads the row of a host, if it is there. `sql`: TSEED_SQL_HOST_HOLD locks it, TSEED_SQL_HOST_GET
 * does not. */
static apr_status_t host_record_read(tseed_state_t *state, host_record_t *row, const char *name,
                                     tseed_sql_t sql)
{
    tseed_rows_t rows;
    apr_status_t rv =
        tseed_database_select(&rows, &state->db, sql, (const void *[]){name}, state->scratch);

    *row = (host_record_t){.instance = ""};
    if (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        row->is_there = 1;
        tseed_rows_scan(&rows, &row->instance, &row->epoch, &row->renewals, &row->until,
                        &row->is_draining);
    }
    return rv;
}

#define ID_STEP        1000 /* ids that may have been given out since the host remembered one */
#define RETURNS_WITHIN (24 * 3600 * APR_USEC_PER_SEC) /* a host whose lease is over */

/* From now on nothing that the host writes under its fence is done. */
static apr_status_t oust(tseed_state_t *state, const char *name)
{
    return tseed_database_change(&state->db, NULL, TSEED_SQL_HOST_OUST, (const void *[]){name});
}

/* ---- the fence ---- */

static apr_status_t fenced(tseed_state_t *state, const char *host)
{
    return tseed_database_fail(&state->db, TSEED_EFENCED,
                               "host '%s' has lost its registration: another host took it for "
                               "dead, or the database was restored",
                               host);
}

/* The row stays locked up to the end of the transaction. */
static apr_status_t keep_fence(tseed_state_t *state, void *baton)
{
    tseed_fence_t *fence = baton;
    const int64_t least = atomic_load(&fence->renewals);
    int64_t epoch;
    apr_status_t rv = tseed_work_number(state, &epoch, TSEED_SQL_HOST_FENCE,
                                        (const void *[]){fence->host, &fence->epoch, &least});

    if (rv != APR_NOTFOUND) {
        return rv;
    }
    atomic_store(&fence->is_broken, 1);
    return fenced(state, fence->host);
}

void tseed_hosts_fence(tseed_state_t *state, tseed_fence_t *fence)
{
    tseed_work_fence(state, fence ? keep_fence : NULL, fence);
}

/* ---- registering ---- */

typedef struct {
    tseed_registration_t *registration;
    const tseed_host_t *host;
    /* found */
    tseed_role_t role;
    host_record_t row;
    moment_t moment;
    int is_same;   /* the row is of this very httpd */
    int64_t tried; /* an earlier epoch that may have been committed; 0: none */
} registering_t;

/* Whether the database knows less than the host: `given` is the epoch that it gives out next. */
static int is_older(const registering_t *call, int64_t given)
{
    const tseed_host_memory_t *memory = &call->host->memory;
    const int64_t epoch = call->row.epoch < 0 ? -call->row.epoch : call->row.epoch;

    return given <= memory->epoch ||
           (call->is_same && (epoch < memory->epoch ||
                              (epoch == memory->epoch && call->row.renewals < memory->renewals)));
}

static apr_status_t raise_ids(tseed_state_t *state, const tseed_host_memory_t *memory)
{
    const int64_t least = memory->id + ID_STEP;
    int64_t id = 0;
    apr_status_t rv = tseed_work_number(state, &id, TSEED_SQL_ID_GET, NULL);

    if (rv == APR_SUCCESS && memory->id > 0 && id < least) {
        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_ID_SET, (const void *[]){&least});
    }
    return rv;
}

/* The rows about the cache are of a time that the disk has left. A host that has begun to work by
 * them begins anew. */
static apr_status_t doubt_all(tseed_state_t *state, registering_t *call)
{
    tseed_database_t *db = &state->db;
    apr_status_t rv = raise_ids(state, &call->host->memory);

    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(
            db, NULL, TSEED_SQL_EPOCH_RAISE,
            (const void *[]){&call->host->memory.epoch, &call->host->memory.epoch});
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(db, NULL, TSEED_SQL_ORIGINS_DELETE_ALL, NULL);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(db, NULL, TSEED_SQL_TILESETS_DOUBT, NULL);
    }
    if (rv == APR_SUCCESS) {
        rv = oust(state, call->role.host);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_work_number(state, &call->role.tenure, TSEED_SQL_EPOCH_NEXT, NULL);
    }
    call->registration->is_restored = 1;
    return rv;
}

/* Gives the registration its epoch. */
static apr_status_t get_epoch(tseed_state_t *state, registering_t *call)
{
    tseed_registration_t *registration = call->registration;
    apr_status_t rv = tseed_work_number(state, &registration->epoch, TSEED_SQL_EPOCH_NEXT, NULL);

    if (rv == APR_SUCCESS && is_older(call, registration->epoch)) {
        rv = doubt_all(state, call);
        if (rv == APR_SUCCESS) {
            rv = tseed_work_number(state, &registration->epoch, TSEED_SQL_EPOCH_NEXT, NULL);
        }
    }
    return rv;
}

static apr_status_t write_host(tseed_state_t *state, const registering_t *call)
{
    const tseed_host_t *host = call->host;
    const int64_t until = call->moment.now + host->lease;
    const void *args[] = {
        host->name, host->instance,    host->machine,    host->version, &call->registration->epoch,
        &until,     &call->moment.now, &call->moment.now};

    return tseed_work_number(state, &call->registration->renewals, TSEED_SQL_HOST_PUT, args);
}

/* A seeder that follows another one of its host keeps the role. A host that drains gives it away,
 * and so does one whose name another httpd has had. */
static apr_status_t settle_role(tseed_state_t *state, registering_t *call)
{
    tseed_registration_t *registration = call->registration;
    tseed_role_t role = call->role;

    if (strcmp(role.host, call->host->name) != 0 && !registration->is_restored) {
        return APR_SUCCESS;
    }
    if (strcmp(role.host, call->host->name) == 0) {
        registration->has_role = call->is_same && !call->row.is_draining;
        role.host = registration->has_role ? role.host : "";
        role.epoch = registration->has_role ? registration->epoch : 0;
    }
    registration->tenure = role.tenure;
    registration->former = role.former;
    return role_write(state, &role);
}

static apr_status_t refuse_name(tseed_state_t *state, const tseed_host_t *host)
{
    return tseed_database_fail(&state->db, APR_EEXIST,
                               "another httpd is alive as host '%s'; give each httpd a name of its "
                               "own by TileSeedHost, and copy no state directory",
                               host->name);
}

/* Whether the row is of this state directory, and not of a copy of it: each epoch is remembered,
 * so a later one is somebody else's. One that was committed just before its process died is taken
 * for that too, until its lease ends. */
static int is_same(const registering_t *call)
{
    const int64_t known = call->host->memory.epoch, epoch = call->row.epoch;

    return call->row.is_there && strcmp(call->row.instance, call->host->instance) == 0 &&
           (known == 0 || epoch <= known || epoch == call->tried);
}

/* Whoever still waits for a tile asks the new seeder. */
static apr_status_t forget_questions(tseed_state_t *state, const registering_t *call)
{
    const int64_t epoch = call->row.epoch < 0 ? -call->row.epoch : call->row.epoch;

    return tseed_database_change(&state->db, NULL, TSEED_SQL_MISSES_DELETE,
                                 (const void *[]){&epoch});
}

static apr_status_t do_register(tseed_state_t *state, void *baton)
{
    registering_t *call = baton;
    const tseed_host_t *host = call->host;
    apr_status_t rv = role_read(state, &call->role, TSEED_SQL_ROLE_HOLD);

    call->tried = call->registration->epoch ? call->registration->epoch : call->tried;
    *call->registration = (tseed_registration_t){0};
    if (rv == APR_SUCCESS) {
        rv = host_record_read(state, &call->row, host->name, TSEED_SQL_HOST_HOLD);
    }
    if (rv == APR_SUCCESS) {
        rv = read_moment(state, &call->moment);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    call->is_same = is_same(call);
    if (call->row.is_there && !call->is_same &&
        call->moment.now <= call->row.until + host->margin) {
        return refuse_name(state, host);
    }
    rv = get_epoch(state, call);
    if (rv == APR_SUCCESS && call->row.is_there) {
        rv = forget_questions(state, call);
    }
    if (rv == APR_SUCCESS) {
        rv = write_host(state, call);
    }
    return rv == APR_SUCCESS ? settle_role(state, call) : rv;
}

apr_status_t tseed_hosts_register(tseed_state_t *state, tseed_registration_t *registration,
                                  const tseed_host_t *host)
{
    registering_t call = {.registration = registration, .host = host};

    return tseed_work_write(state, do_register, &call);
}

/* ---- renewing ---- */

typedef struct {
    tseed_renewal_t *renewal;
    const tseed_host_t *host;
    const tseed_fence_t *fence;
} renewing_t;

/* Writes a lease from now on. `renewals`: at least so many has the row. */
static apr_status_t write_renewal(tseed_state_t *state, tseed_renewal_t *renewal,
                                  const tseed_host_t *host, int64_t epoch, int64_t renewals)
{
    moment_t moment;
    int64_t until;
    const void *args[] = {&until, &moment.now, host->name, &epoch, &renewals};
    tseed_rows_t rows;
    apr_status_t rv = read_moment(state, &moment);

    until = moment.now + host->lease;
    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = tseed_database_first(&rows, &state->db, TSEED_SQL_HOST_RENEW, args, state->scratch);
    if (rv == APR_SUCCESS) {
        tseed_rows_scan(&rows, &renewal->renewals, &renewal->is_draining);
    }
    return rv == APR_NOTFOUND ? fenced(state, host->name) : rv;
}

static apr_status_t look_round(tseed_state_t *state, renewing_t *call)
{
    tseed_renewal_t *renewal = call->renewal;
    int64_t others = 0;
    apr_time_t since;
    moment_t moment;
    tseed_role_t role;
    host_record_t row;
    apr_status_t rv = read_moment(state, &moment);

    if (rv == APR_SUCCESS) {
        since = moment.now - RETURNS_WITHIN;
        rv = tseed_work_number(state, &others, TSEED_SQL_HOSTS_OTHERS,
                               (const void *[]){call->host->name, &since});
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_work_number(state, &renewal->newest, TSEED_SQL_ID_GET, NULL);
    }
    if (rv == APR_SUCCESS) {
        rv = role_read(state, &role, TSEED_SQL_ROLE_GET);
    }
    if (rv == APR_SUCCESS) {
        rv = host_record_read(state, &row, role.host, TSEED_SQL_HOST_GET);
    }
    if (rv == APR_SUCCESS) {
        apr_cpystrn(renewal->active, role.host, sizeof(renewal->active));
        renewal->others = (int)others;
        renewal->until = row.until;
        renewal->ended = row.is_there ? moment.now - row.until : APR_INT64_MAX;
    }
    return rv;
}

static apr_status_t do_renew(tseed_state_t *state, void *baton)
{
    renewing_t *call = baton;
    apr_status_t rv = write_renewal(state, call->renewal, call->host, call->fence->epoch,
                                    atomic_load(&call->fence->renewals));

    return rv == APR_SUCCESS ? look_round(state, call) : rv;
}

apr_status_t tseed_hosts_renew(tseed_state_t *state, tseed_renewal_t *renewal,
                               const tseed_host_t *host, const tseed_fence_t *fence)
{
    return tseed_work_write(state, do_renew, &(renewing_t){renewal, host, fence});
}

/* ---- looking ---- */

typedef struct {
    tseed_glance_t *glance;
    const char *name;
} glancing_t;

static apr_status_t do_glance(tseed_state_t *state, void *baton)
{
    glancing_t *call = baton;
    tseed_rows_t rows;
    const apr_status_t rv = tseed_database_first(&rows, &state->db, TSEED_SQL_HOST_GLANCE,
                                                 (const void *[]){call->name}, state->scratch);

    if (rv == APR_SUCCESS) {
        call->glance->is_free = !*tseed_rows_text(&rows);
        call->glance->is_draining = tseed_rows_int(&rows) != 0;
    }
    return rv;
}

apr_status_t tseed_hosts_glance(tseed_state_t *state, tseed_glance_t *glance, const char *name)
{
    return tseed_work_read(state, do_glance, &(glancing_t){glance, name});
}

/* ---- taking ---- */

typedef struct {
    const tseed_host_t *host;
    int64_t epoch; /* of the host's registration */
    /* what the transaction does; nothing of it holds before the commit */
    int taken, has_ousted, is_early;
    tseed_role_t role;
} taking_t;

/* Whether this host may have the role that another host has. Then that host is ousted. */
static apr_status_t succeed(tseed_state_t *state, taking_t *call)
{
    const tseed_host_t *host = call->host;
    moment_t moment;
    host_record_t row;
    apr_status_t rv = host_record_read(state, &row, call->role.host, TSEED_SQL_HOST_HOLD);

    if (rv == APR_SUCCESS) {
        rv = read_moment(state, &moment);
    }
    if (rv != APR_SUCCESS || !row.is_there) {
        call->taken = rv == APR_SUCCESS;
        return rv;
    }
    call->is_early = moment.now <= moment.started + host->lease + host->margin;
    call->taken = moment.now > row.until + host->margin && !call->is_early;
    call->has_ousted = call->taken;
    return call->taken ? oust(state, call->role.host) : APR_SUCCESS;
}

/* The host may have been silent itself since it renewed its lease. */
static apr_status_t take_over(tseed_state_t *state, taking_t *call)
{
    tseed_role_t *role = &call->role;
    apr_status_t rv;

    role->former = role->tenure;
    role->tenure = role->epoch = call->epoch;
    role->host = call->host->name;
    rv = role_write(state, role);
    return rv == APR_SUCCESS
               ? write_renewal(state, &(tseed_renewal_t){0}, call->host, call->epoch, 0)
               : rv;
}

/* The role is ours already when the commit of an earlier try was done and its answer was lost. That
 * try may have ousted somebody. */
static int has_taken(taking_t *call)
{
    call->taken = call->has_ousted =
        strcmp(call->role.host, call->host->name) == 0 && call->role.epoch == call->epoch;
    return call->taken;
}

static apr_status_t do_take(tseed_state_t *state, void *baton)
{
    taking_t *call = baton;
    host_record_t own;
    apr_status_t rv = role_read(state, &call->role, TSEED_SQL_ROLE_HOLD);

    call->taken = call->has_ousted = call->is_early = 0;
    if (rv == APR_SUCCESS) {
        rv = host_record_read(state, &own, call->host->name, TSEED_SQL_HOST_HOLD);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (!own.is_there || own.epoch != call->epoch) {
        return fenced(state, call->host->name);
    }
    if (has_taken(call) || own.is_draining) {
        return APR_SUCCESS;
    }
    call->taken = !*call->role.host || strcmp(call->role.host, call->host->name) == 0;
    if (!call->taken) {
        rv = succeed(state, call);
    }
    return rv == APR_SUCCESS && call->taken ? take_over(state, call) : rv;
}

apr_status_t tseed_hosts_take(tseed_state_t *state, tseed_take_t *taken,
                              tseed_registration_t *registration, const tseed_host_t *host)
{
    taking_t call = {.host = host, .epoch = registration->epoch};
    const apr_status_t rv = tseed_work_write(state, do_take, &call);

    *taken = TSEED_TAKE_NO;
    if (rv == APR_SUCCESS && (call.taken || call.is_early)) {
        *taken = call.taken ? TSEED_TAKE_DONE : TSEED_TAKE_LATER;
    }
    if (*taken == TSEED_TAKE_DONE) {
        registration->has_role = 1;
        registration->has_ousted = call.has_ousted;
        registration->tenure = call.role.tenure;
        registration->former = call.role.former;
    }
    return rv;
}

/* ---- leaving ---- */

static apr_status_t do_leave(tseed_state_t *state, void *baton)
{
    const tseed_fence_t *fence = baton;
    moment_t moment;
    apr_status_t rv = read_moment(state, &moment);

    return rv == APR_SUCCESS
               ? tseed_database_change(&state->db, NULL, TSEED_SQL_HOST_LEAVE,
                                       (const void *[]){&moment.now, fence->host, &fence->epoch})
               : rv;
}

static apr_status_t do_resign(tseed_state_t *state, void *baton)
{
    const tseed_fence_t *fence = baton;
    tseed_role_t role;
    apr_status_t rv = role_read(state, &role, TSEED_SQL_ROLE_HOLD);

    if (rv == APR_SUCCESS && strcmp(role.host, fence->host) == 0 && role.epoch == fence->epoch) {
        role.host = "";
        role.epoch = 0;
        rv = role_write(state, &role);
    }
    return rv;
}

/* The fence would lock the row of the host before that of the role. */
apr_status_t tseed_hosts_resign(tseed_state_t *state, const tseed_fence_t *fence)
{
    tseed_fence_t *kept = state->fence_baton;
    apr_status_t rv;

    tseed_hosts_fence(state, NULL);
    rv = tseed_work_write(state, do_resign, (void *)fence);
    tseed_hosts_fence(state, kept);
    return rv;
}

/* Nobody will want what other hosts fetch for this one. Should its portions stay, the next host
 * that works deletes them. */
apr_status_t tseed_hosts_leave(tseed_state_t *state, const tseed_fence_t *fence)
{
    const apr_status_t rv = tseed_work_write(state, do_leave, (void *)fence);

    if (rv == APR_SUCCESS) {
        tseed_work_change(state, NULL, TSEED_SQL_PORTIONS_LEAVE, (const void *[]){&fence->epoch});
    }
    return rv;
}

/* Hosts as operators see and change them: any process may list and drain them. */

typedef struct {
    tseed_host_list_t *list;
    apr_pool_t *pool;
} listing_t;

static void load_host(void *row, tseed_rows_t *rows)
{
    tseed_host_row_t *host = row;

    tseed_rows_scan(rows, &host->name, &host->machine, &host->version, &host->until,
                    &host->is_draining, &host->started, &host->seen, &host->is_fetching);
}

static apr_status_t do_list(tseed_state_t *state, void *baton)
{
    const listing_t *call = baton;
    moment_t moment = {0, 0};
    tseed_role_t role = {.host = ""};
    apr_status_t rv;

    call->list->hosts = apr_array_make(call->pool, 4, sizeof(tseed_host_row_t));
    rv = tseed_work_add_rows(state, call->list->hosts, load_host, TSEED_SQL_HOSTS, NULL);
    if (rv == APR_SUCCESS) {
        rv = role_read(state, &role, TSEED_SQL_ROLE_GET);
    }
    if (rv == APR_SUCCESS) {
        rv = read_moment(state, &moment);
    }
    call->list->active = apr_pstrdup(call->pool, role.host);
    call->list->now = moment.now;
    for (int i = 0; i < call->list->hosts->nelts; i++) {
        tseed_host_row_t *host = &APR_ARRAY_IDX(call->list->hosts, i, tseed_host_row_t);

        host->is_dead = host->until < moment.now;
        host->is_fetching = host->is_fetching && !host->is_dead;
    }
    return rv;
}

apr_status_t tseed_hosts_list(tseed_state_t *state, tseed_host_list_t *list, apr_pool_t *pool)
{
    return tseed_work_read(state, do_list, &(listing_t){list, pool});
}

static void load_standby(void *row, tseed_rows_t *rows)
{
    tseed_standby_t *host = row;

    tseed_rows_scan(rows, &host->epoch, &host->name);
}

typedef struct {
    const char *name;
    apr_array_header_t *found;
} standing_t;

static apr_status_t do_standby(tseed_state_t *state, void *baton)
{
    const standing_t *call = baton;
    moment_t moment;
    apr_status_t rv = read_moment(state, &moment);

    apr_array_clear(call->found);
    return rv == APR_SUCCESS
               ? tseed_work_add_rows(state, call->found, load_standby, TSEED_SQL_PORTION_HOSTS,
                                     (const void *[]){call->name, &moment.now})
               : rv;
}

apr_status_t tseed_hosts_standby(tseed_state_t *state, apr_array_header_t **hosts, const char *name,
                                 apr_pool_t *pool)
{
    *hosts = apr_array_make(pool, 4, sizeof(tseed_standby_t));
    return tseed_work_read(state, do_standby, &(standing_t){name, *hosts});
}

apr_status_t tseed_hosts_drain(tseed_state_t *state, const char *name, int is_draining)
{
    int rows = 0;
    const apr_status_t rv =
        tseed_work_change(state, &rows, TSEED_SQL_HOST_DRAIN, (const void *[]){&is_draining, name});

    return rv == APR_SUCCESS && rows == 0 ? APR_NOTFOUND : rv;
}

static apr_status_t do_forget(tseed_state_t *state, void *baton)
{
    const apr_interval_time_t *age = baton;
    moment_t moment;
    int64_t before = 0;
    apr_status_t rv = read_moment(state, &moment);

    if (rv == APR_SUCCESS) {
        before = moment.now - *age;
        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_HOSTS_FORGET,
                                   (const void *[]){&before});
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_MISSES_FORGET,
                                   (const void *[]){&moment.now});
    }
    return rv;
}

apr_status_t tseed_hosts_forget(tseed_state_t *state, apr_interval_time_t age)
{
    return tseed_work_write(state, do_forget, &age);
}
