/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The lease. While this host stands by the main thread renews the lease. Once the role is ours
 * another thread renews the lease, so that nothing that keeps the main thread can end it: a large
 * book, a slow file system, a long transaction.
 *
 * A network that swallows everything keeps whoever waits for the database: the main thread and the
 * thread that renews. So a third thread, the guard, looks at the deadline. When the deadline has
 * passed and the main thread stays, the guard ends the process.
 *
 * The doors of the fleet are at the end: relay and helper are at work while this host stands by,
 * intake and portions while it works. */
#include "fleet/tseed_lease.h"

#include <apr_strings.h>
#include <poll.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "fleet/tseed_deadline.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_thread.h"
#include "board/tseed_board.h"
#include "fleet/tseed_helper.h"
#include "fleet/tseed_host_file.h"
#include "fleet/tseed_hosts.h"
#include "fleet/tseed_portion.h"
#include "fleet/tseed_portions.h"
#include "fleet/tseed_relay.h"
#include "store/tseed_store.h"

#define RENEW_EVERY    APR_USEC_PER_SEC
#define LOOK_MILLIS    200 /* between two looks at what can't wait for the next renewal */
#define GUARD_MILLIS   250
#define GUARD_LOOKS    4  /* at a deadline that has passed, before the guard acts */
#define REMEMBER_EVERY 60 /* ticks */
#define PATIENCE       (2 * APR_USEC_PER_SEC)
#define FORGET_AFTER   (30 * INT64_C(86400) * APR_USEC_PER_SEC)

/* The thread that made the struct has it, but for the parts that say otherwise. */
typedef struct {
    tseed_fleet_t fleet; /* first: the doors lead here */
    const tseed_context_t *context;
    tseed_session_t *session;
    tseed_host_file_t file;
    tseed_host_t host;
    tseed_registration_t registration;
    int is_registered;
    tseed_fence_t fence;
    tseed_renewal_t renewal; /* the last one of the main thread */
    apr_time_t renew_at;     /* the next one, by tseed_clock_boot */
    tseed_silence_t silence; /* of the host that works */
    int64_t held;            /* the end of a lease after which this host held back, in the log */
    const char *said;        /* why this host stands by, in the log; NULL: it did not */
    const char *ousted;      /* the silent host whose role this host took; NULL: there was none */
    apr_time_t begin_at;     /* the work, by tseed_clock_boot */

    /* the threads' */
    apr_pool_t *pool;
    tseed_state_t *state; /* its own connection, of the one that renews */
    int over;             /* readable: the threads end; -1: there are none */
    int has_failed, has_called;
    tseed_letter_t call; /* wakes the main thread */

    /* who renews writes them, the main thread reads them */
    _Atomic int is_draining, others;
    _Atomic int64_t newest; /* task */

    /* what other hosts and this one do for each other */
    tseed_relay_t *relay;
    tseed_helper_t *helper;
    tseed_intake_t *intake; /* NULL: this host does not work, or nobody can ask */
} lease_t;

/* The lease behind a fleet of this file. */
static lease_t *lease_of(tseed_fleet_t *fleet)
{
    return (lease_t *)fleet;
}

static const lease_t *look_at(const tseed_fleet_t *fleet)
{
    return (const lease_t *)fleet;
}

static const char *machine_name(apr_pool_t *pool)
{
    struct utsname names;

    return uname(&names) == 0 ? apr_pstrdup(pool, names.nodename) : "";
}

/* ---- what is remembered ---- */

static void remember(lease_t *lease)
{
    tseed_host_memory_t *memory = &lease->file.memory;
    const int64_t newest = atomic_load(&lease->newest);
    apr_status_t rv;

    memory->epoch = lease->fence.epoch;
    memory->renewals = atomic_load(&lease->fence.renewals);
    memory->id = newest > memory->id ? newest : memory->id;
    rv = tseed_host_file_save(&lease->file, lease->context->settings->state_dir,
                              lease->context->scratch);
    if (rv != APR_SUCCESS) {
        tseed_log(
            TSEED_LOG_WARNING, rv,
            "TS0082: can't write the file tileseed.host in the state directory %s: a database "
            "that is restored from a backup may not be recognised",
            lease->context->settings->state_dir);
    }
}

/* ---- registering ---- */

static void say_restored(const lease_t *lease)
{
    if (lease->registration.is_restored) {
        tseed_log(
            TSEED_LOG_WARNING, APR_SUCCESS,
            "TS0081: the state database is older than what this host remembers of it: a backup "
            "was restored, or another database is in its place. Tasks are those that it has, "
            "what the cache holds is counted again, and ids of new tasks go on above the "
            "last known one");
    }
}

static apr_status_t enlist(lease_t *lease)
{
    apr_status_t rv = tseed_host_file_load(&lease->file, lease->context->settings->state_dir,
                                           lease->context->scratch);

    if (rv != APR_SUCCESS) {
        tseed_log(TSEED_LOG_DEBUG, rv, "the file tileseed.host can't be read or made");
        return rv;
    }
    lease->host.memory = lease->file.memory;
    rv = tseed_hosts_register(lease->session->state, &lease->registration, &lease->host);
    if (rv == APR_SUCCESS) {
        lease->is_registered = 1;
        lease->fence.host = lease->host.name;
        lease->fence.epoch = lease->registration.epoch;
        atomic_store(&lease->fence.renewals, lease->registration.renewals);
        say_restored(lease);
        remember(lease);
    }
    return rv;
}

/* ---- standing by ---- */

/* Why this host stands by, in the context's scratch pool. */
static const char *standby_reason(const lease_t *lease)
{
    const tseed_renewal_t *renewal = &lease->renewal;
    apr_pool_t *pool = lease->context->scratch;

    if (renewal->is_draining) {
        return apr_psprintf(pool, "host '%s' is draining", lease->host.name);
    }
    return *renewal->active
               ? apr_psprintf(pool, "host '%s' works on this cache, and '%s' stands by",
                              renewal->active, lease->host.name)
               : "no host works on this cache just now";
}

/* Says once who works. */
static void say_standby(lease_t *lease)
{
    const char *words = standby_reason(lease);

    if (!lease->said || strcmp(lease->said, words) != 0) {
        lease->said = apr_pstrdup(lease->context->pool, words);
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "TS0086: %s", words);
    }
}

static void show(const lease_t *lease, int64_t tenure, const char *active)
{
    tseed_board_host_t host = {.tenure = tenure};

    apr_cpystrn(host.active, active, sizeof(host.active));
    tseed_board_host_set(lease->context->board, &host);
}

static apr_status_t renew(lease_t *lease, tseed_state_t *state, tseed_renewal_t *renewal)
{
    apr_status_t rv = tseed_hosts_renew(state, renewal, &lease->host, &lease->fence);

    if (rv == TSEED_EFENCED) {
        atomic_store(&lease->fence.is_broken, 1);
    }
    if (rv == APR_SUCCESS) {
        atomic_store(&lease->fence.renewals, renewal->renewals);
        atomic_store(&lease->is_draining, renewal->is_draining);
        atomic_store(&lease->others, renewal->others);
        atomic_store(&lease->newest, renewal->newest);
    }
    return rv;
}

static int has_role(const lease_t *lease, const tseed_renewal_t *renewal)
{
    return strcmp(renewal->active, lease->host.name) == 0;
}

/* Says once for each lease why this host does not take over after its end. */
static void say_held(lease_t *lease, const char *why, apr_interval_time_t left)
{
    const tseed_renewal_t *renewal = &lease->renewal;

    if (lease->held != renewal->until && renewal->ended > lease->host.margin) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "TS0095: host '%s' holds back, although host '%s' has not renewed its lease: %s, "
                  "so that host gets %d s to come back",
                  lease->host.name, renewal->active, why, (int)apr_time_sec(left) + 1);
        lease->held = renewal->until;
    }
}

/* Whether to ask for the role. The role is this host's although it stands by when the takeover was
 * done and its answer lost. */
static int may_take(lease_t *lease)
{
    const tseed_renewal_t *renewal = &lease->renewal;
    const apr_interval_time_t left = tseed_silence_left(&lease->silence, renewal->ended);

    if (has_role(lease, renewal) || renewal->is_draining || !*renewal->active) {
        return has_role(lease, renewal) || !renewal->is_draining;
    }
    if (left > 0) {
        say_held(lease, "the database was away for this host", left);
    }
    return left == 0;
}

/* When the clock of the database was set ahead, the host that was taken for dead is alive, and
 * finds within a second that it is not any more. So this host lets two seconds pass, unless it has
 * itself seen that host silent for long. */
static void note_taken(lease_t *lease, apr_time_t now)
{
    const int has_ousted = lease->registration.has_ousted;
    const int is_seen = tseed_silence_is_seen(&lease->silence, now);

    lease->begin_at = has_ousted && !is_seen ? now + PATIENCE : now;
    if (has_ousted && !has_role(lease, &lease->renewal)) {
        lease->ousted = apr_pstrdup(lease->context->pool, lease->renewal.active);
    }
}

/* Renews the lease, takes the role if that is possible, and notes when the next renewal is due: as
 * soon as the margin is over. */
static apr_status_t renew_standby(lease_t *lease)
{
    const tseed_renewal_t *renewal = &lease->renewal;
    apr_status_t rv = renew(lease, lease->session->state, &lease->renewal);
    const apr_time_t now = tseed_clock_boot();
    apr_interval_time_t left;
    tseed_take_t taken = TSEED_TAKE_NO;

    if (rv != APR_SUCCESS) {
        return rv;
    }
    tseed_silence_hear(&lease->silence, renewal->until, now);
    if (may_take(lease)) {
        rv = tseed_hosts_take(lease->session->state, &taken, &lease->registration, &lease->host);
    }
    if (rv == APR_SUCCESS && taken == TSEED_TAKE_DONE) {
        note_taken(lease, now);
        return APR_SUCCESS;
    }
    if (taken == TSEED_TAKE_LATER) {
        say_held(lease, "the database was started a moment ago",
                 lease->host.lease + lease->host.margin);
    }
    left = tseed_silence_left(&lease->silence, renewal->ended);
    lease->renew_at = now + (left > 0 && left < RENEW_EVERY ? left + 1000 : RENEW_EVERY);
    return rv == APR_SUCCESS ? TSEED_ESTANDBY : rv;
}

/* Whether there is something new since the last renewal. */
static apr_status_t look(lease_t *lease, int *is_news)
{
    const tseed_renewal_t *renewal = &lease->renewal;
    tseed_glance_t glance = {0};
    apr_status_t rv = tseed_hosts_glance(lease->session->state, &glance, lease->host.name);

    *is_news = glance.is_draining != renewal->is_draining ||
               (glance.is_free && *renewal->active && !glance.is_draining);
    return rv;
}

static apr_status_t await_role(lease_t *lease)
{
    int is_news = 1;
    apr_status_t rv = APR_SUCCESS;

    if (tseed_clock_boot() < lease->renew_at) {
        rv = look(lease, &is_news);
    }
    if (rv == APR_SUCCESS) {
        rv = is_news ? renew_standby(lease) : TSEED_ESTANDBY;
    }
    if (rv == TSEED_ESTANDBY && is_news) {
        tseed_board_clear(lease->context->board);
        show(lease, 0, lease->renewal.active);
        say_standby(lease);
    }
    return rv;
}

/* ---- the role is ours ---- */

static void put_off(const lease_t *lease, apr_time_t sent)
{
    tseed_deadline_set(sent + lease->host.lease - lease->host.margin);
}

/* The seeder ends by itself when the deadline passes. */
static void say_failed(lease_t *lease, apr_status_t rv)
{
    if (!lease->has_failed) {
        tseed_log(TSEED_LOG_WARNING, rv,
                  "TS0083: host '%s' can't renew its lease: %s; it is tried again every second, "
                  "and the seeder stops writing %d s after the last renewal",
                  lease->host.name, tseed_state_error(lease->state),
                  (int)apr_time_sec(lease->host.lease - lease->host.margin));
    }
    lease->has_failed = 1;
}

/* Returns whether the lease goes on. */
static int renew_once(lease_t *lease)
{
    const apr_time_t sent = tseed_clock_boot();
    tseed_renewal_t renewal = {0};
    const apr_status_t rv = renew(lease, lease->state, &renewal);

    if (rv == APR_SUCCESS && !has_role(lease, &renewal)) {
        atomic_store(&lease->fence.is_broken, 1);
    }
    if (atomic_load(&lease->fence.is_broken) || tseed_deadline_has_passed()) {
        tseed_deadline_pass();
        return 0;
    }
    if (rv != APR_SUCCESS) {
        say_failed(lease, rv);
        return 1;
    }
    put_off(lease, sent);
    lease->has_failed = 0;
    return 1;
}

static void wake_main(void *module, void *about)
{
    (void)module;
    (void)about;
}

/* The main thread gives the role away once it is awake. What fails here fails at the next renewal
 * as well. */
static void look_once(lease_t *lease)
{
    tseed_glance_t glance = {0};

    if (tseed_hosts_glance(lease->state, &glance, lease->host.name) == APR_SUCCESS &&
        glance.is_draining) {
        atomic_store(&lease->is_draining, 1);
    }
    if (atomic_load(&lease->is_draining) && !lease->has_called) {
        lease->has_called = 1;
        lease->call = (tseed_letter_t){.take = wake_main};
        tseed_mailbox_put(lease->context->mailbox, &lease->call);
    }
}

static void *keep(void *data)
{
    lease_t *lease = data;
    struct pollfd over = {.fd = lease->over, .events = POLLIN};
    apr_time_t renew_at = tseed_clock_boot() + RENEW_EVERY;

    while (poll(&over, 1, LOOK_MILLIS) == 0) {
        const apr_time_t now = tseed_clock_boot();

        if (now < renew_at) {
            look_once(lease);
        } else if (renew_once(lease)) {
            renew_at = now + RENEW_EVERY;
        } else {
            break;
        }
    }
    return NULL;
}

static void say_over(const lease_t *lease)
{
    tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
              "TS0084: host '%s' has lost its lease, %s: the seeder starts anew", lease->host.name,
              atomic_load(&lease->fence.is_broken)
                  ? "because another host took over or the database was restored"
                  : "because the database did not renew it in time");
}

/* The main thread has a second to end by itself. */
static void *guard(void *data)
{
    const lease_t *lease = data;
    struct pollfd over = {.fd = lease->over, .events = POLLIN};
    int looks = 0;

    while (looks < GUARD_LOOKS) {
        if (poll(&over, 1, GUARD_MILLIS) != 0) {
            return NULL;
        }
        looks += tseed_deadline_has_passed();
    }
    say_over(lease);
    _exit(TSEED_EXIT_ANEW);
}

static apr_status_t begin_threads(lease_t *lease)
{
    const apr_status_t rv = tseed_state_ready(&lease->state, lease->context->settings, lease->pool);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (lease->over < 0) {
        lease->over = tseed_thread_bell();
    }
    return lease->over >= 0 && tseed_thread_begin(guard, lease) == APR_SUCCESS &&
                   tseed_thread_begin(keep, lease) == APR_SUCCESS
               ? APR_SUCCESS
               : APR_ENOMEM;
}

static void say_working(const lease_t *lease)
{
    const char *since = lease->said ? " from now on" : "";

    if (lease->ousted) {
        since = apr_psprintf(lease->context->scratch,
                             " from now on, because host '%s' was stopped or has not renewed its "
                             "lease",
                             lease->ousted);
    }
    tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "TS0080: host '%s' works on this cache%s",
              lease->host.name, since);
}

/* The lease is renewed once more: who takes the role may have waited for it. */
static apr_status_t begin_work(lease_t *lease)
{
    const apr_time_t sent = tseed_clock_boot();
    apr_status_t rv = renew(lease, lease->session->state, &lease->renewal);

    if (rv == APR_SUCCESS && !has_role(lease, &lease->renewal)) {
        return TSEED_EFENCED;
    }
    if (rv == APR_SUCCESS && sent < lease->begin_at) {
        return TSEED_ESTANDBY;
    }
    if (rv == APR_SUCCESS) {
        put_off(lease, sent);
        rv = begin_threads(lease);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    tseed_hosts_fence(lease->session->state, &lease->fence);
    tseed_store_guard(tseed_deadline_has_passed);
    tseed_store_tenure_set(lease->registration.tenure, lease->registration.former);
    say_working(lease);
    return APR_SUCCESS;
}

static apr_status_t seek(tseed_fleet_t *fleet)
{
    lease_t *lease = lease_of(fleet);
    apr_status_t rv = APR_SUCCESS;

    if (!lease->is_registered) {
        rv = enlist(lease);
    }
    if (rv == APR_SUCCESS && !lease->registration.has_role) {
        rv = await_role(lease);
    }
    return rv == APR_SUCCESS ? begin_work(lease) : rv;
}

static void mend(tseed_fleet_t *fleet)
{
    lease_t *lease = lease_of(fleet);
    const int64_t tenure = lease->registration.tenure;

    if (tseed_board_host_get(lease->context->board).tenure != tenure) {
        tseed_board_clear(lease->context->board);
    }
    show(lease, tenure, lease->host.name);
}

/* ---- at work ---- */

static int is_over(const tseed_fleet_t *fleet)
{
    const lease_t *lease = look_at(fleet);

    return atomic_load(&lease->fence.is_broken) || tseed_deadline_has_passed();
}

static int drains(const lease_t *lease)
{
    return lease->registration.has_role && atomic_load(&lease->is_draining);
}

static int pause_for(const tseed_fleet_t *fleet)
{
    const apr_interval_time_t left = look_at(fleet)->renew_at - tseed_clock_boot();

    return left > 0 && left < LOOK_MILLIS * 1000 ? (int)(left / 1000) + 1 : LOOK_MILLIS;
}

static void tick(tseed_fleet_t *fleet)
{
    lease_t *lease = lease_of(fleet);

    show(lease, lease->registration.tenure, lease->host.name);
    if (lease->context->ticks % REMEMBER_EVERY == REMEMBER_EVERY / 2) {
        remember(lease);
        tseed_hosts_forget(lease->session->state, FORGET_AFTER);
    }
}

/* ---- the end ---- */

/* Another host may begin before this process has ended: nothing here writes from now on. */
static void give_back(lease_t *lease)
{
    const int is_drained = drains(lease);
    apr_status_t rv;

    tseed_deadline_pass();
    rv = is_drained ? tseed_hosts_resign(lease->session->state, &lease->fence)
                    : tseed_hosts_leave(lease->session->state, &lease->fence);
    if (rv == APR_SUCCESS && is_drained) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "TS0085: host '%s' drains: it has given its work away and stands by",
                  lease->host.name);
    }
}

static void end(tseed_fleet_t *fleet, int is_quiet)
{
    lease_t *lease = lease_of(fleet);
    const int was_over = is_over(fleet);

    if (!lease->is_registered) {
        return;
    }
    if (lease->over >= 0) {
        tseed_thread_ring(lease->over);
    }
    if (was_over) {
        say_over(lease);
    } else if (is_quiet) {
        give_back(lease);
    }
    remember(lease);
}

static int must_leave(const tseed_fleet_t *fleet)
{
    return is_over(fleet) || drains(look_at(fleet));
}

/* ---- who answers for me, and whom this host helps ---- */

static int reads(const tseed_fleet_t *fleet)
{
    return tseed_relay_reads(look_at(fleet)->relay);
}

static int stand_by(tseed_fleet_t *fleet)
{
    lease_t *lease = lease_of(fleet);
    const int64_t epoch = lease->registration.epoch;

    tseed_relay_begin(lease->relay, epoch);
    tseed_relay_note(lease->relay, *lease->renewal.active != '\0');
    tseed_helper_begin(lease->helper, epoch);
    return reads(fleet);
}

static void stand_no_more(tseed_fleet_t *fleet)
{
    tseed_relay_end(lease_of(fleet)->relay);
    tseed_helper_end(lease_of(fleet)->helper);
}

/* ---- who can help, and whom this host answers ---- */

static void work(tseed_fleet_t *fleet, int miss_ask)
{
    lease_t *lease = lease_of(fleet);
    const tseed_context_t *context = lease->context;

    lease->intake = tseed_intake_begin(context->settings, &lease->others, miss_ask, context->pool);
    tseed_portions_begin(context->settings, context->catalog, context->fetcher,
                         lease->registration.epoch, context->pool);
}

static void work_no_more(tseed_fleet_t *fleet)
{
    tseed_intake_end(lease_of(fleet)->intake);
}

static apr_status_t has_others(const tseed_fleet_t *fleet, int *has)
{
    const lease_t *lease = look_at(fleet);
    tseed_host_list_t list;
    const apr_status_t rv = tseed_hosts_list(lease->session->state, &list, lease->context->scratch);

    if (rv == APR_SUCCESS) {
        *has = list.hosts->nelts > 1;
    }
    return rv;
}

static const tseed_fleet_doors_t doors = {
    .seek = seek,
    .pause = pause_for,
    .stand_by = stand_by,
    .reads = reads,
    .stand_no_more = stand_no_more,
    .mend = mend,
    .work = work,
    .work_no_more = work_no_more,
    .is_over = is_over,
    .must_leave = must_leave,
    .has_others = has_others,
    .portion = tseed_portion_write,
    .tick = tick,
    .end = end,
};

tseed_fleet_t *tseed_lease_create(const tseed_context_t *context, tseed_session_t *session,
                                  int miss_socket)
{
    const tseed_settings_t *settings = context->settings;
    lease_t *lease = apr_pcalloc(context->pool, sizeof(*lease));

    lease->fleet.doors = &doors;
    lease->context = context;
    lease->session = session;
    lease->over = -1;
    lease->pool = tseed_memory_pool();
    lease->host = (tseed_host_t){
        .name = settings->host,
        .instance = lease->file.instance,
        .machine = machine_name(context->pool),
        .version = TSEED_VERSION,
        .lease = settings->lease,
        .margin = settings->lease / 3,
    };
    lease->silence = (tseed_silence_t){.lease = lease->host.lease, .margin = lease->host.margin};
    lease->relay = tseed_relay_create(settings, miss_socket, context->pool);
    lease->helper = tseed_helper_create(settings, context->catalog, context->pool);
    return &lease->fleet;
}
