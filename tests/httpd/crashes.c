/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Preloaded into a test's httpd: a process that crashes, or is asked by CALLS_SIGNAL, writes its
 * calls to the file TILESEED_TRACES/PID. crashes.py reads them. Nothing here allocates memory: a
 * process often crashes because its memory is in disorder. */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS        60
#define CALLS_SIGNAL SIGTRAP /* httpd blocks it nowhere, and does not use it */

static const char *traces; /* NULL: nobody wants them */
static struct sigaction theirs[NSIG];

static void write_calls(int number)
{
    static atomic_flag writes = ATOMIC_FLAG_INIT;
    const int is_asked = number == CALLS_SIGNAL;
    void *calls[CALLS];
    char path[256], title[64];
    int file;

    while (is_asked && atomic_flag_test_and_set(&writes)) { /* several threads may be asked */
        sched_yield();
    }
    snprintf(path, sizeof(path), "%s/%d", traces, (int)getpid());
    file = open(path, O_CREAT | O_WRONLY | O_APPEND, 0644);
    snprintf(title, sizeof(title), "signal %d in thread %ld\n", number, syscall(SYS_gettid));
    syscall(SYS_write, file, title, strlen(title));
    backtrace_symbols_fd(calls, backtrace(calls, CALLS), file);
    close(file);
    if (is_asked) {
        atomic_flag_clear(&writes);
    }
}

/* Then does what httpd or the seeder would have done. */
static void crash(int number, siginfo_t *info, void *context)
{
    write_calls(number);
    if (theirs[number].sa_handler == SIG_DFL || theirs[number].sa_handler == SIG_IGN) {
        signal(number, SIG_DFL);
        raise(number);
    } else {
        theirs[number].sa_sigaction(number, info, context);
    }
}

static int is_crash(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGABRT;
}

int sigaction(int number, const struct sigaction *wanted, struct sigaction *before)
{
    int (*next)(int, const struct sigaction *, struct sigaction *) =
        (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    struct sigaction ours;

    if (!traces || !wanted || !is_crash(number)) {
        return next(number, wanted, before);
    }
    theirs[number] = ours = *wanted;
    ours.sa_sigaction = crash;
    ours.sa_flags |= SA_SIGINFO;
    return next(number, &ours, before);
}

__attribute__((constructor)) static void begin(void)
{
    const struct sigaction none_yet = {.sa_handler = SIG_DFL};
    const struct sigaction asked = {.sa_handler = write_calls, .sa_flags = SA_RESTART};
    void *calls[1];

    traces = getenv("TILESEED_TRACES");
    if (traces) {
        backtrace(calls, 1); /* its library is loaded now, not in a crash */
        sigaction(SIGSEGV, &none_yet, NULL);
        sigaction(SIGBUS, &none_yet, NULL);
        sigaction(SIGABRT, &none_yet, NULL);
        sigaction(CALLS_SIGNAL, &asked, NULL);
    }
}
