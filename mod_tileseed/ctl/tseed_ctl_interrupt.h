/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Ctrl-C. The program holds Ctrl-C: the kernel keeps the signal, no handler runs, and the program
 * fetches the signal where it can act on it. The main thread holds Ctrl-C before other threads
 * begin. */
#ifndef TSEED_CTL_INTERRUPT_H
#define TSEED_CTL_INTERRUPT_H

#include <apr_time.h>
#include <signal.h>

/* From now on Ctrl-C does not end the process. */
static inline void tseed_ctl_interrupt_hold(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Waits so long for a Ctrl-C that was held. Whether one came. */
static inline int tseed_ctl_interrupted(apr_interval_time_t time)
{
    const struct timespec rest = {time / APR_USEC_PER_SEC, time % APR_USEC_PER_SEC * 1000};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    return sigtimedwait(&set, NULL, &rest) == SIGINT;
}

#endif
