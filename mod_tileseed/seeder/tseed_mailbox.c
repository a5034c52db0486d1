/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The main thread's mailbox: a locked queue and an eventfd. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "seeder/tseed_job.h"

apr_status_t tseed_mailbox_init(tseed_mailbox_t *mailbox)
{
    pthread_mutex_init(&mailbox->lock, NULL);
    mailbox->queue = (tseed_queue_t){0};
    mailbox->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return mailbox->wake < 0 ? APR_FROM_OS_ERROR(errno) : APR_SUCCESS;
}

void tseed_mailbox_put(tseed_mailbox_t *mailbox, tseed_job_t *job)
{
    static const uint64_t one = 1;
    int was_empty;

    pthread_mutex_lock(&mailbox->lock);
    was_empty = mailbox->queue.count == 0;
    tseed_queue_put(&mailbox->queue, job);
    pthread_mutex_unlock(&mailbox->lock);
    if (was_empty && write(mailbox->wake, &one, sizeof(one)) < 0) {
        /* the counter is full, so the main thread is awake already */
    }
}

tseed_queue_t tseed_mailbox_drain(tseed_mailbox_t *mailbox)
{
    tseed_queue_t all;
    uint64_t rings;

    if (read(mailbox->wake, &rings, sizeof(rings)) < 0) {
        /* nobody rang: the drain is a look in passing */
    }
    pthread_mutex_lock(&mailbox->lock);
    all = mailbox->queue;
    mailbox->queue = (tseed_queue_t){0};
    pthread_mutex_unlock(&mailbox->lock);
    return all;
}
