/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Threads that nobody joins, and the bells by which they are woken or ended. */
#ifndef TSEED_THREAD_H
#define TSEED_THREAD_H

#include <apr_errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Begins a thread, which cleans up itself when it ends. */
static inline apr_status_t tseed_thread_begin(void *(*run)(void *data), void *data)
{
    pthread_t thread;
    const int failed = pthread_create(&thread, NULL, run, data);

    if (!failed) {
        pthread_detach(thread);
    }
    return APR_FROM_OS_ERROR(failed);
}

/* A descriptor that is readable from when it is rung until it is read; -1: there is none left. */
static inline int tseed_thread_bell(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* Any thread. */
static inline void tseed_thread_ring(int bell)
{
    static const uint64_t one = 1;

    if (write(bell, &one, sizeof(one)) < 0) {
        /* it is readable already */
    }
}

#endif
