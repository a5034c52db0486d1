/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The parent's part: board, doorbell, and the supervision of the seeder.
 *
 * Board and doorbell belong to the process pool and are found again through retained data, so that
 * the children of two generations see one table. Everything that has to do with the seeder's
 * process belongs to a sub-pool of pconf, because its callback lives in a shared object that is
 * unloaded with pconf.
 */
#include "mod_tileseed_supervise.h"

#include <ap_listen.h>
#include <ap_mpm.h>
#include <apr_shm.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <http_log.h>
#include <mpm_common.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <unixd.h>

#include "base/tseed_clock.h"
#include "mod_tileseed.h"
#include "mod_tileseed_dirs.h"
#include "seeder/tseed_miss.h"
#include "seeder/tseed_seeder.h"

#define RETAINED_KEY    "mod_tileseed-board"
#define HATCH_KEY       "mod_tileseed-hatch"
#define FAST_DEATH      (60 * APR_USEC_PER_SEC)
#define BACK_OFF_SHIFTS 5                       /* at most 32 s */
#define LOOK_EVERY      (10 * APR_USEC_PER_SEC) /* httpd's monitor hook, at most */

APLOG_USE_MODULE(tileseed);

/* Lives in the process pool across generations: plain data only, nothing of this shared object. */
typedef struct {
    void *segment;
    apr_size_t size;
    int doorbell;
} retained_t;

/* Likewise, apart from the above: builds that are older than the hatch know that one only. */
typedef struct {
    int ends[2];
} retained_hatch_t;

/* This generation's supervision; in pconf. */
typedef struct {
    tseed_seeder_setup_t setup;
    server_rec *server;
    apr_pool_t *pconf;
    apr_pool_t *pool; /* of the present incarnation, below pconf */
    pid_t pid;        /* -1: none */
    apr_time_t started;
    int hatch;         /* the children's end */
    apr_time_t looked; /* by tseed_supervise_watch; 0: not yet */
} supervisor_t;

static supervisor_t *current; /* of this generation; reset when the shared object is loaded again */

/* ---- board and doorbell ---- */

static tseed_board_t *board_make(retained_t *retained, const tseed_settings_t *settings,
                                 server_rec *server)
{
    apr_pool_t *pool = server->process->pool;
    unsigned slots = (unsigned)settings->max_tasks + TSEED_SPARE_SLOTS;
    apr_size_t size = tseed_board_size(slots, TSEED_WORKERS_MAX);
    apr_shm_t *shm;
    apr_status_t rv = apr_shm_create(&shm, size + 64, NULL, pool);

    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, server,
                     "tileseed: no shared memory of %" APR_SIZE_T_FMT " bytes for the task table; "
                     "lower TileSeedMaxTasks",
                     size);
        return NULL;
    }
    /* the segment begins 8 bytes behind a cache line */
    retained->segment = (void *)(((uintptr_t)apr_shm_baseaddr_get(shm) + 63) & ~(uintptr_t)63);
    retained->size = size;
    return tseed_board_init(retained->segment, slots, TSEED_WORKERS_MAX);
}

static retained_t *retained_get(server_rec *server)
{
    retained_t *retained = ap_retained_data_get(RETAINED_KEY);

    if (!retained) {
        retained = ap_retained_data_create(RETAINED_KEY, sizeof(*retained));
        retained->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (retained->doorbell < 0) {
            ap_log_error(APLOG_MARK, APLOG_CRIT, errno, server, "tileseed: no doorbell");
        }
    }
    return retained;
}

/* One end of the hatch: 0 is the seeder's, 1 the children's. -1: there is none. */
static int hatch_get(int end, int most, server_rec *server)
{
    retained_hatch_t *retained = ap_retained_data_get(HATCH_KEY);

    if (!retained) {
        apr_status_t rv;

        retained = ap_retained_data_create(HATCH_KEY, sizeof(*retained));
        rv = tseed_miss_open(retained->ends, most);
        if (rv != APR_SUCCESS) {
            retained->ends[0] = retained->ends[1] = -1;
            ap_log_error(APLOG_MARK, APLOG_ERR, rv, server,
                         "tileseed: missing tiles can't be asked for; they are answered 503");
        }
    }
    return retained->ends[end];
}

/* The board of an earlier generation, or a new one: on the first start, and when another build laid
 * it out. */
static tseed_board_t *board_get(retained_t *retained, const tseed_settings_t *settings,
                                server_rec *server)
{
    tseed_board_t *board = retained->segment ? tseed_board_attach(retained->segment) : NULL;

    if (!board) {
        return board_make(retained, settings, server);
    }
    if (tseed_board_slots(board) != (unsigned)settings->max_tasks + TSEED_SPARE_SLOTS) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                     "tileseed: a changed TileSeedMaxTasks takes effect when httpd is stopped and "
                     "started");
    }
    return board;
}

/* ---- the seeder's process ---- */

static tseed_board_t *crash_board; /* for the handler; set in the seeder alone */

/* Leaves a note for the next seeder and dies of the signal after all: the handler is reset by now.
 */
static void crash(int number)
{
    tseed_board_crash(crash_board, gettid());
    raise(number);
}

static void note_crashes(tseed_board_t *board)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_handler = crash,
                               .sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK};

    crash_board = board;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaction(numbers[i], &action, NULL);
    }
}

/* Children of a graceful restart inherit the MPM's handlers: all are reset, then read through a
 * descriptor. */
static int take_signals(void)
{
    static const int ignored[] = {SIGHUP, SIGUSR1, SIGWINCH, SIGPIPE, SIGXFSZ};
    sigset_t all, stops;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        signal(ignored[i], SIG_IGN);
    }
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGABRT);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    return signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The first fast death is restarted at once. */
static apr_interval_time_t back_off_time(const tseed_board_t *board)
{
    unsigned deaths = tseed_board_fast_deaths(board);

    if (deaths < 2) {
        return 0;
    }
    return APR_USEC_PER_SEC << (deaths - 2 < BACK_OFF_SHIFTS ? deaths - 2 : BACK_OFF_SHIFTS);
}

/* After deaths in quick succession the new incarnation waits before it touches anything. */
static void back_off(const supervisor_t *supervisor)
{
    struct timespec wait = {.tv_sec = apr_time_sec(back_off_time(supervisor->setup.board))};
    sigset_t stops;

    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    if (sigtimedwait(&stops, NULL, &wait) > 0) {
        _exit(TSEED_EXIT_STOPPED);
    }
}

static void seeder_main(supervisor_t *supervisor, pid_t parent)
{
    const tseed_settings_t *settings = supervisor->setup.settings;
    apr_pool_t *pool;

    supervisor->setup.stop = take_signals();
    note_crashes(supervisor->setup.board);
    prctl(PR_SET_NAME, "tileseed", 0, 0, 0);
    ap_close_listeners();
    setpriority(PRIO_PROCESS, 0, settings->nice);
    apr_pool_create(&pool, supervisor->server->process->pool);
    if (ap_run_drop_privileges(pool, supervisor->server) != OK) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, supervisor->server,
                     "tileseed: the seeder can't become the configured User");
        _exit(TSEED_EXIT_SETUP);
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* the change of user would have cleared it */
    if (getppid() != parent) {
        _exit(TSEED_EXIT_STOPPED);
    }
    tseed_dirs_check(supervisor->setup.catalog, supervisor->server, pool);
    back_off(supervisor);
    supervisor->setup.parent = parent;
    tseed_log_sink_set(tseed_httpd_log, supervisor->server);
    _exit((int)tseed_seeder_run(&supervisor->setup, pool));
}

static void maintain(int reason, void *data, int status);

static void seeder_start(supervisor_t *supervisor)
{
    apr_pool_t *last = supervisor->pool;
    pid_t parent = getpid();
    apr_proc_t *process;
    apr_status_t rv;

    /* the process lives in its pool: destroying the last one must not reach for the new seeder */
    apr_pool_create(&supervisor->pool, supervisor->pconf);
    process = apr_pcalloc(supervisor->pool, sizeof(*process));
    rv = apr_proc_fork(process, supervisor->pool);
    if (rv == APR_INCHILD) {
        seeder_main(supervisor, parent);
    }
    if (rv != APR_INPARENT) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, supervisor->server,
                     "tileseed: can't start the seeder");
        supervisor->pid = -1; /* tseed_supervise_watch tries again */
        apr_pool_destroy(supervisor->pool);
        supervisor->pool = last;
        return;
    }
    supervisor->pid = process->pid;
    supervisor->started = tseed_clock_monotonic();
    apr_pool_note_subprocess(supervisor->pool, process, APR_KILL_AFTER_TIMEOUT);
    apr_proc_other_child_register(process, maintain, supervisor, NULL, supervisor->pool);
    if (last) {
        apr_pool_destroy(last);
    }
}

/* Only a server that is running and not about to stop starts another seeder. */
static int may_start(void)
{
    int state;

    return ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_RUN_MPM &&
           ap_mpm_query(AP_MPMQ_MPM_STATE, &state) == APR_SUCCESS && state != AP_MPMQ_STOPPING;
}

static void seeder_died(supervisor_t *supervisor)
{
    tseed_board_t *board = supervisor->setup.board;
    int fast = tseed_clock_monotonic() - supervisor->started < FAST_DEATH;

    supervisor->pid = -1;
    apr_proc_other_child_unregister(supervisor);
    if (!may_start()) {
        return;
    }
    tseed_board_seeder_state_set(board, TSEED_SEEDER_NONE); /* a dead writer does not say so */
    tseed_board_fast_deaths_set(board, fast ? tseed_board_fast_deaths(board) + 1 : 0);
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, supervisor->server,
                 "tileseed: the seeder ended unexpectedly and is started again; its tasks go on");
    seeder_start(supervisor);
}

/* `status` is not looked at: one caller passes it decoded, another raw. */
static void maintain(int reason, void *data, int status)
{
    supervisor_t *supervisor = data;

    (void)status;
    switch (reason) {
    case APR_OC_REASON_DEATH:
    case APR_OC_REASON_LOST:
        seeder_died(supervisor);
        break;
    case APR_OC_REASON_RESTART:
        if (supervisor->pid > 0) {
            kill(supervisor->pid, SIGTERM);
        }
        apr_proc_other_child_unregister(supervisor);
        break;
    case APR_OC_REASON_UNREGISTER:
        if (supervisor->pid > 0) {
            kill(supervisor->pid, SIGTERM);
        }
        break;
    default:
        break;
    }
}

/* ---- public ---- */

void tseed_supervise_start(const tseed_settings_t *settings, const tseed_catalog_t *catalog,
                           apr_pool_t *pconf, server_rec *server)
{
    retained_t *retained = retained_get(server);
    tseed_board_t *board = board_get(retained, settings, server);

    current = apr_pcalloc(pconf, sizeof(*current));
    current->server = server;
    current->pconf = pconf;
    current->pid = -1;
    current->setup.settings = settings;
    current->setup.catalog = catalog;
    current->setup.board = board;
    current->setup.generation = board ? tseed_board_generation_begin(board) : 0;
    current->setup.doorbell = retained->doorbell;
    current->setup.hatch = hatch_get(0, settings->miss_waiters, server);
    current->hatch = hatch_get(1, settings->miss_waiters, server);
    tseed_dirs_make(settings, catalog, server, pconf);
    if (board && retained->doorbell >= 0) {
        tseed_board_fast_deaths_set(board, 0);
        seeder_start(current);
    }
}

/* When the seeder was last heard of. One that has not begun was heard of when it was started, and
 * may wait first. */
static apr_time_t last_sign(const supervisor_t *supervisor, int *has_begun)
{
    const tseed_board_t *board = supervisor->setup.board;
    apr_time_t beat;
    int64_t pid;

    tseed_board_seeder(board, &pid, NULL, &beat);
    *has_begun = pid == supervisor->pid && beat >= supervisor->started;
    return *has_begun ? beat : supervisor->started + back_off_time(board);
}

/* How long it may be silent at a look, so that it is replaced within the timeout: the next look is
 * counted in, but a short timeout is not made shorter than half. */
static apr_interval_time_t patience_of(const supervisor_t *supervisor)
{
    apr_interval_time_t timeout = supervisor->setup.settings->hang_timeout;

    return timeout - LOOK_EVERY > timeout / 2 ? timeout - LOOK_EVERY : timeout / 2;
}

static void judge(const supervisor_t *supervisor, apr_time_t now)
{
    int has_begun;
    apr_interval_time_t silence = now - last_sign(supervisor, &has_begun);

    if (silence <= patience_of(supervisor)) {
        return;
    }
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, supervisor->server,
                 "tileseed: the seeder gave no sign of life for %d s and is killed",
                 (int)apr_time_sec(silence));
    if (has_begun) {
        tseed_board_crash(supervisor->setup.board, 0);
    }
    kill(supervisor->pid, SIGKILL);
}

/* When httpd itself stood still, so may have the seeder, for the same reason: it gets the time
 * until the next look. */
void tseed_supervise_watch(void)
{
    apr_time_t now = tseed_clock_monotonic();
    int was_still;

    if (!current || !current->setup.board || current->setup.doorbell < 0) {
        return;
    }
    was_still = current->looked && now - current->looked > 2 * LOOK_EVERY;
    current->looked = now;
    if (current->pid > 0 && !was_still) {
        judge(current, now);
    } else if (current->pid <= 0 && may_start()) {
        seeder_start(current);
    }
}

tseed_board_t *tseed_supervise_board(void)
{
    return current ? current->setup.board : NULL;
}

int tseed_supervise_is_newest(void)
{
    return current && current->setup.board &&
           current->setup.generation == tseed_board_generation(current->setup.board);
}

void tseed_supervise_ring(void)
{
    static const uint64_t one = 1;

    if (current && write(current->setup.doorbell, &one, sizeof(one)) < 0) {
        /* the counter is full: the seeder has been rung for already */
    }
}

int tseed_supervise_hatch(void)
{
    return current ? current->hatch : -1;
}
