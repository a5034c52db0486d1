/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The main thread's mailbox: a locked queue and an eventfd. */
#include "work/tseed_mailbox.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/tseed_thread.h"

apr_status_t tseed_mailbox_init(tseed_mailbox_t *mailbox)
{
    pthread_mutex_init(&mailbox->lock, NULL);
    mailbox->first = NULL;
    mailbox->end = &mailbox->first;
    mailbox->wake = tseed_thread_bell();
    return mailbox->wake < 0 ? APR_FROM_OS_ERROR(errno) : APR_SUCCESS;
}

void tseed_mailbox_put(tseed_mailbox_t *mailbox, tseed_letter_t *letter)
{
    int was_empty;

    letter->next = NULL;
    pthread_mutex_lock(&mailbox->lock);
    was_empty = mailbox->first == NULL;
    *mailbox->end = letter;
    mailbox->end = &letter->next;
    pthread_mutex_unlock(&mailbox->lock);
    if (was_empty) {
        tseed_thread_ring(mailbox->wake);
    }
}

/* The box is empty afterwards. */
static tseed_letter_t *drain(tseed_mailbox_t *mailbox)
{
    tseed_letter_t *all;
    uint64_t rings;

    if (read(mailbox->wake, &rings, sizeof(rings)) < 0) {
        /* nobody rang: the drain is a look in passing */
    }
    pthread_mutex_lock(&mailbox->lock);
    all = mailbox->first;
    mailbox->first = NULL;
    mailbox->end = &mailbox->first;
    pthread_mutex_unlock(&mailbox->lock);
    return all;
}

void tseed_mailbox_take(tseed_mailbox_t *mailbox)
{
    for (tseed_letter_t *letter = drain(mailbox), *next; letter; letter = next) {
        next = letter->next; /* who takes the letter may post it again */
        letter->take(letter->module, letter->about);
    }
}
