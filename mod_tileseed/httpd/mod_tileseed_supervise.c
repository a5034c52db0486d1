/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The parent's part: the supervision of the seeder, and what outlives a restart.
 *
 * Everything about the seeder's process belongs to a sub-pool of pconf, because its callback is
 * code of a shared object that is unloaded with pconf. The parent is root, and every process that
 * has the board may write to it: so the parent acts only upon its own memory.
 */
#include "mod_tileseed_supervise.h"

#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <httpd.h>
#include <unixd.h>

#include <ap_listen.h>
#include <ap_mpm.h>
#include <apr_shm.h>
#include <apr_signal.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <http_log.h>
#include <mpm_common.h>

#include "base/tseed_clock.h"
#include "base/tseed_thread.h"
#include "board/tseed_board.h"
#include "board/tseed_counters.h"
#include "mod_tileseed.h"
#include "mod_tileseed_config.h"
#include "mod_tileseed_dirs.h"
#include "protocol/tseed_settings.h"
#include "work/tseed_miss.h"
#include "seeder/tseed_seeder.h"

APLOG_USE_MODULE(tileseed);

/* ---- what outlives a generation ----
 *
 * The board's segment, the doorbell and the miss socket belong to the process pool and are found
 * again through retained data, so that the children of two generations see one table.
 *
 * Retained data is plain data that points to nothing in this shared object, because httpd loads the
 * shared object anew between two generations. Earlier and later builds find the data too. So a
 * record never changes, and new data gets a record of its own. */

typedef struct {
    void *segment;
    apr_size_t size;
    int doorbell;
} retained_t;

/* What the parent has noted about the segment in its own memory. */
typedef struct {
    void *segment; /* of which it is said; another: an earlier build has made that one */
    uint64_t layout, generation;
    unsigned slots, workers;
} retained_shape_t;

typedef struct {
    int ends[2];
} retained_miss_socket_t;

/* A record of that size, zeroed when it is made. */
static void *record_get(const char *key, apr_size_t size)
{
    void *record = ap_retained_data_get(key);

    return record ? record : ap_retained_data_create(key, size);
}

static retained_t *retained_get(server_rec *server)
{
    const int is_first = ap_retained_data_get("mod_tileseed-board") == NULL;
    retained_t *retained = record_get("mod_tileseed-board", sizeof(*retained));

    if (is_first) {
        retained->doorbell = tseed_thread_bell();
        if (retained->doorbell < 0) {
            ap_log_error(APLOG_MARK, APLOG_CRIT, errno, server, "TS0008: no doorbell");
        }
    }
    return retained;
}

/* The eventfd that children ring; -1: there is none. */
static int retained_doorbell(server_rec *server)
{
    return retained_get(server)->doorbell;
}

/* The name that earlier builds gave the socket: a graceful restart into this build finds theirs. */
#define MISS_SOCKET_KEY "mod_tileseed-hatch"

/* One end of the miss socket (work/tseed_miss.h): 0 is the seeder's, 1 the children's. -1: there
 * is none. */
static int retained_miss_socket(int end, int most, server_rec *server)
{
    const int is_first = ap_retained_data_get(MISS_SOCKET_KEY) == NULL;
    retained_miss_socket_t *retained = record_get(MISS_SOCKET_KEY, sizeof(*retained));

    if (is_first) {
        apr_status_t rv = tseed_miss_open(retained->ends, most);

        if (rv != APR_SUCCESS) {
            retained->ends[0] = retained->ends[1] = -1;
            ap_log_error(APLOG_MARK, APLOG_ERR, rv, server,
                         "TS0009: missing tiles can't be asked for; they are answered 503");
        }
    }
    return retained->ends[end];
}

/* ---- board ---- */

static tseed_board_t *board_make(retained_t *retained, retained_shape_t *shape, server_rec *server,
                                 apr_pool_t *pconf)
{
    apr_size_t size = tseed_board_size(shape->slots, shape->workers);
    apr_shm_t *shm;
    apr_status_t rv = apr_shm_create(&shm, size + 64, NULL, server->process->pool);

    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, server,
                     "TS0006: no shared memory of %" APR_SIZE_T_FMT " bytes for the task table; "
                     "lower TileSeedMaxTasks",
                     size);
        return NULL;
    }
    /* the segment begins 8 bytes behind a cache line */
    shape->segment = retained->segment =
        (void *)(((uintptr_t)apr_shm_baseaddr_get(shm) + 63) & ~(uintptr_t)63);
    retained->size = size;
    shape->layout = tseed_board_layout();
    return tseed_board_init(shape->segment, shape->slots, shape->workers, pconf);
}

static tseed_board_t *board_get(retained_t *retained, retained_shape_t *shape, unsigned slots,
                                server_rec *server, apr_pool_t *pconf)
{
    const int is_known = shape->segment == retained->segment;
    tseed_board_t *board = retained->segment
                               ? tseed_board_attach(retained->segment, is_known ? shape->layout : 0,
                                                    shape->slots, shape->workers, pconf)
                               : NULL;

    if (!board) {
        shape->slots = slots;
        shape->workers = TSEED_WORKERS_MAX;
        return board_make(retained, shape, server, pconf);
    }
    if (shape->slots != slots) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                     "TS0007: a changed TileSeedMaxTasks takes effect when httpd is stopped and "
                     "started");
    }
    return board;
}

/* Finds the board of an earlier generation, or makes a new one: at the first start, and when
 * another build laid the board out. The new generation of the configuration is noted on the board.
 * NULL when there is no memory, which is logged. */
static tseed_board_t *retained_board(uint64_t *generation, const tseed_settings_t *settings,
                                     server_rec *server, apr_pool_t *pconf)
{
    retained_shape_t *shape = record_get("mod_tileseed-shape", sizeof(*shape));
    tseed_board_t *board =
        board_get(retained_get(server), shape, (unsigned)settings->max_tasks + TSEED_SPARE_SLOTS,
                  server, pconf);

    *generation = ++shape->generation;
    if (board) {
        tseed_board_generation_set(board, *generation);
    }
    return board;
}

#define STOP_GRACE      (3 * APR_USEC_PER_SEC)  /* beyond TileSeedStopTimeout, to record */
#define SIGN_OF_LIFE    (10 * APR_USEC_PER_SEC) /* a seeder gives one each second */
#define FAST_DEATH      (60 * APR_USEC_PER_SEC)
#define BACK_OFF_SHIFTS 5                       /* at most 32 s */
#define LOOK_EVERY      (10 * APR_USEC_PER_SEC) /* httpd's monitor hook, at most */

/* This generation's supervision; in pconf. */
typedef struct {
    tseed_seeder_setup_t setup;
    server_rec *server;
    apr_pool_t *pconf;
    apr_pool_t *pool; /* of the present seeder, below pconf */
    pid_t pid;        /* -1: none */
    pid_t parent;     /* which supervises */
    apr_time_t started;
    unsigned fast_deaths; /* less than a minute after the start, in a row */
    int has_hung;         /* the last one was killed for it: the next one says who is to blame */
    apr_time_t looked;    /* by watch; 0: not yet */
} supervisor_t;

static supervisor_t *current; /* of this generation; reset when the shared object is loaded again */

/* ---- descriptors that the seeder inherits ---- */

/* FD_CLOEXEC has no effect on a fork without exec. Without this module the seeder would hold
 * descriptors of httpd: a piped log's program would live on, a removed log would keep its space,
 * and a port would stay bound. */

/* Whether it is the error log of a virtual host or of the main server. */
static int is_error_log(int descriptor, const server_rec *servers)
{
    for (const server_rec *server = servers; server; server = server->next) {
        apr_os_file_t log;

        if (server->error_log && apr_os_file_get(&log, server->error_log) == APR_SUCCESS &&
            log == descriptor) {
            return 1;
        }
    }
    return 0;
}

static int listens(int descriptor)
{
    int is_listener = 0;
    socklen_t size = sizeof(is_listener);

    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &is_listener, &size) == 0 &&
           is_listener;
}

static int is_written_to(int descriptor)
{
    const int flags = fcntl(descriptor, F_GETFL);

    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

static int is_of_no_use(int descriptor)
{
    struct stat info;

    if (fstat(descriptor, &info) != 0) {
        return 0;
    }
    return S_ISFIFO(info.st_mode) || (S_ISSOCK(info.st_mode) && listens(descriptor)) ||
           (S_ISREG(info.st_mode) && is_written_to(descriptor));
}

/* Closes the MPM's pipes, sockets that listen, and files that httpd writes to, access logs among
 * them. /dev/null gets their numbers, so that no number comes to mean something else. Error logs
 * stay open, and so do other sockets, because a logging module may use one. Does nothing without
 * /proc. */
static void leave_descriptors(const server_rec *servers)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    DIR *all = opendir("/proc/self/fd");
    const struct dirent *entry;

    while (nothing >= 0 && all && (entry = readdir(all)) != NULL) {
        const int descriptor = atoi(entry->d_name);

        if (descriptor > STDERR_FILENO && !is_error_log(descriptor, servers) &&
            is_of_no_use(descriptor)) {
            dup3(nothing, descriptor, O_CLOEXEC);
        }
    }
    if (all) {
        closedir(all);
    }
    if (nothing >= 0) {
        close(nothing);
    }
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
static apr_interval_time_t back_off_time(const supervisor_t *supervisor)
{
    const unsigned deaths = supervisor->fast_deaths;

    if (deaths < 2) {
        return 0;
    }
    return APR_USEC_PER_SEC << (deaths - 2 < BACK_OFF_SHIFTS ? deaths - 2 : BACK_OFF_SHIFTS);
}

/* After deaths in quick succession the new seeder waits before it touches anything. */
static void back_off(const supervisor_t *supervisor)
{
    struct timespec wait = {.tv_sec = apr_time_sec(back_off_time(supervisor))};
    sigset_t stops;

    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    if (sigtimedwait(&stops, NULL, &wait) > 0) {
        _exit(TSEED_EXIT_STOPPED);
    }
}

static void seeder_main(supervisor_t *supervisor)
{
    const tseed_settings_t *settings = supervisor->setup.settings;
    apr_pool_t *pool;

    setlocale(LC_ALL, "C"); /* for libraries: a neighbour may have set another one in the parent */
    supervisor->setup.stop = take_signals();
    note_crashes(supervisor->setup.board);
    if (supervisor->has_hung) {
        tseed_board_crash(supervisor->setup.board, 0);
    }
    prctl(PR_SET_NAME, "tileseed", 0, 0, 0);
    ap_close_listeners();
    leave_descriptors(supervisor->server);
    setpriority(PRIO_PROCESS, 0, settings->nice);
    apr_pool_create(&pool, supervisor->server->process->pool);
    if (ap_run_drop_privileges(pool, supervisor->server) != OK) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, supervisor->server,
                     "TS0012: the seeder can't become the configured User");
        _exit(TSEED_EXIT_SETUP);
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* the change of user would have cleared it */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!ap_coredumpdir_configured) { /* its memory has the credentials of upstreams */
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    if (getppid() != supervisor->parent) {
        _exit(TSEED_EXIT_STOPPED);
    }
    tseed_dirs_check(supervisor->setup.catalog, supervisor->server, pool);
    back_off(supervisor);
    supervisor->setup.parent = supervisor->parent;
    tseed_log_sink_set(tseed_httpd_log, supervisor->server);
    _exit((int)tseed_seeder_run(&supervisor->setup, pool));
}

static void maintain(int reason, void *data, int status);

/* Waits until a process of ours has ended, at most that long; returns nonzero when it has. */
static int wait_for_end(pid_t pid, apr_interval_time_t most)
{
    const apr_time_t deadline = tseed_clock_monotonic() + most;
    apr_interval_time_t pause = 1000;
    int is_over = 0;

    for (;;) {
        pid_t ended = waitpid(pid, NULL, WNOHANG);

        if (ended == pid || (ended < 0 && errno == ECHILD) || is_over) {
            return !is_over;
        }
        apr_sleep(pause);
        pause = pause < 32000 ? pause * 2 : pause;
        is_over = tseed_clock_monotonic() >= deadline;
    }
}

/* A restart, or the end of httpd: SIGTERM has been sent. APR itself would give a noted subprocess
 * three seconds. The seeder gets as long as TileSeedStopTimeout says. The supervisor's pid is of
 * the present seeder. */
static apr_status_t seeder_end(void *data)
{
    supervisor_t *supervisor = data;
    const apr_interval_time_t most = supervisor->setup.settings->stop_timeout + STOP_GRACE;
    const pid_t pid = supervisor->pid;

    if (pid <= 0 || getpid() != supervisor->parent) {
        return APR_SUCCESS;
    }
    supervisor->pid = -1;
    kill(pid, SIGTERM);
    if (!wait_for_end(pid, most)) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    return APR_SUCCESS;
}

static void seeder_start(supervisor_t *supervisor)
{
    apr_pool_t *last = supervisor->pool;
    apr_proc_t *process;
    apr_status_t rv;

    /* the process lives in its pool: destroying the last one must not reach for the new seeder */
    apr_pool_create(&supervisor->pool, supervisor->pconf);
    process = apr_pcalloc(supervisor->pool, sizeof(*process));
    rv = apr_proc_fork(process, supervisor->pool);
    if (rv == APR_INCHILD) {
        seeder_main(supervisor);
    }
    if (rv != APR_INPARENT) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, supervisor->server,
                     "TS0011: can't start the seeder");
        supervisor->pid = -1; /* watch tries again */
        apr_pool_destroy(supervisor->pool);
        supervisor->pool = last;
        return;
    }
    supervisor->pid = process->pid;
    supervisor->has_hung = 0;
    supervisor->started = tseed_clock_monotonic();
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

/* Why the seeder ended. The MPM passes the number of a signal or an exit status, and does not say
 * which. So the seeder exits with a number of tseed_exit_t: these are signals that it blocks. APR
 * passes the status of wait, which has the exit status in the second byte. */
static const char *end_of(int status, apr_pool_t *pool)
{
    if (status < 0) {
        return "in a way that nobody saw";
    }
    if (status > TSEED_EXIT_ANEW && status < NSIG) {
        return apr_psprintf(pool, "by the signal %s (%d)", apr_signal_description_get(status),
                            status);
    }
    return apr_psprintf(pool, "with exit status %d", status > 255 ? status >> 8 : status);
}

/* The seeder has said why; another status with that number is no end of it. */
static int wants_anew(int status)
{
    return status == TSEED_EXIT_ANEW || (status > 255 && status >> 8 == TSEED_EXIT_ANEW);
}

static void note_death(supervisor_t *supervisor, int status)
{
    const int fast = tseed_clock_monotonic() - supervisor->started < FAST_DEATH;

    supervisor->fast_deaths = fast ? supervisor->fast_deaths + 1 : 0;
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, supervisor->server,
                 "TS0048: the seeder ended unexpectedly, %s, and is started again; its tasks go on",
                 end_of(status, supervisor->pool));
}

static void seeder_died(supervisor_t *supervisor, int status)
{
    supervisor->pid = -1;
    apr_proc_other_child_unregister(supervisor);
    if (!may_start()) {
        return;
    }
    /* a dead writer does not say so */
    tseed_board_seeder_state_set(supervisor->setup.board, TSEED_SEEDER_NONE,
                                 tseed_clock_monotonic());
    if (!wants_anew(status)) {
        note_death(supervisor, status);
    }
    seeder_start(supervisor);
}

static void maintain(int reason, void *data, int status)
{
    supervisor_t *supervisor = data;

    switch (reason) {
    case APR_OC_REASON_DEATH:
    case APR_OC_REASON_LOST:
        seeder_died(supervisor, reason == APR_OC_REASON_LOST ? -1 : status);
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

/* Finds the board and the doorbell of this server, or makes them, and starts the seeder.
 * The supervision lives in `pconf`, board and doorbell in the
 * pool of the process. Never fails: errors are logged, and the REST interface answers 503. */
static void start(server_rec *server, apr_pool_t *pconf, apr_pool_t *ptemp)
{
    const tseed_settings_t *settings = &tseed_conf_get(server)->settings;
    const tseed_catalog_t *catalog = tseed_conf_get(server)->catalog;
    uint64_t generation;
    tseed_board_t *board = retained_board(&generation, settings, server, pconf);

    (void)ptemp;
    if (board) {
        tseed_counters_enter(board, catalog);
    }
    current = apr_pcalloc(pconf, sizeof(*current));
    current->server = server;
    current->pconf = pconf;
    current->pid = -1;
    current->parent = getpid();
    apr_pool_cleanup_register(pconf, current, seeder_end, apr_pool_cleanup_null);
    current->setup.settings = settings;
    current->setup.catalog = catalog;
    current->setup.board = board;
    current->setup.generation = generation;
    current->setup.doorbell = retained_doorbell(server);
    current->setup.miss_socket = retained_miss_socket(0, settings->miss_waiters, server);
    current->setup.miss_ask = retained_miss_socket(1, settings->miss_waiters, server);
    if (board && current->setup.doorbell >= 0) {
        seeder_start(current);
    }
}

/* When the seeder was last heard of. A seeder that has not begun was heard of when it was started,
 * and may wait first. Any child can write the heartbeat on the board. So a heartbeat in the future
 * does not count, and a heartbeat decides only whether the seeder is killed. */
static apr_time_t last_sign(const supervisor_t *supervisor, apr_time_t now, int *has_begun)
{
    const tseed_board_t *board = supervisor->setup.board;
    apr_time_t beat;
    int64_t pid;

    tseed_board_seeder(board, &pid, NULL, &beat);
    *has_begun = pid == supervisor->pid && beat >= supervisor->started && beat <= now + LOOK_EVERY;
    return *has_begun ? beat : supervisor->started + back_off_time(supervisor);
}

/* The longest silence at a look that does not end a seeder, so that a hung seeder is replaced
 * within the timeout. The time to the next look is subtracted, but at most half of the timeout. */
static apr_interval_time_t longest_silence(const supervisor_t *supervisor)
{
    apr_interval_time_t timeout = supervisor->setup.settings->hang_timeout;

    return timeout - LOOK_EVERY > timeout / 2 ? timeout - LOOK_EVERY : timeout / 2;
}

static void judge(supervisor_t *supervisor, apr_time_t now)
{
    int has_begun;
    apr_interval_time_t silence = now - last_sign(supervisor, now, &has_begun);

    if (silence <= longest_silence(supervisor)) {
        return;
    }
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, supervisor->server,
                 "TS0049: the seeder gave no sign of life for %d s and is killed",
                 (int)apr_time_sec(silence));
    supervisor->has_hung = has_begun;
    kill(supervisor->pid, SIGKILL);
}

/* Watches the seeder. If httpd itself stood still, the seeder may have stood still for the same
 * reason: then the seeder gets the time until the next look. */
static int watch(apr_pool_t *pool, server_rec *server)
{
    apr_time_t now = tseed_clock_monotonic();
    int was_still;

    (void)pool, (void)server;
    if (!current || !current->setup.board || current->setup.doorbell < 0) {
        return DECLINED;
    }
    was_still = current->looked && now - current->looked > 2 * LOOK_EVERY;
    current->looked = now;
    tseed_board_generation_set(current->setup.board, current->setup.generation);
    if (current->pid > 0 && !was_still) {
        judge(current, now);
    } else if (current->pid <= 0 && may_start()) {
        seeder_start(current);
    }
    return DECLINED;
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

/* A beat that is to come is nonsense, and no sign of life. */
int tseed_supervise_responds(void)
{
    const tseed_board_t *board = tseed_supervise_board();
    const apr_time_t now = tseed_clock_monotonic();
    apr_time_t beat = 0;

    if (board) {
        tseed_board_seeder(board, NULL, NULL, &beat);
    }
    return beat > 0 && beat <= now && beat > now - SIGN_OF_LIFE;
}

void tseed_supervise_ring(void)
{
    if (current) {
        tseed_thread_ring(current->setup.doorbell);
    }
}

int tseed_supervise_miss_socket(void)
{
    return current ? current->setup.miss_ask : -1;
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_monitor(watch, NULL, NULL, APR_HOOK_MIDDLE);
}

const tseed_module_part_t tseed_supervise_part = {.hook = register_hooks, .start = start};
