/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The main thread's mailbox.
 *
 * A thread that has finished work for the main thread posts a letter. The letter names the function
 * that takes the letter, so the mailbox knows none of its users. A letter is embedded in the struct
 * that it is about: to post a letter allocates nothing.
 */
#ifndef TSEED_MAILBOX_H
#define TSEED_MAILBOX_H

#include <apr_errno.h>
#include <pthread.h>

typedef struct tseed_letter_t {
    void (*take)(void *module, void *about); /* on the main thread */
    void *module, *about;
    struct tseed_letter_t *next; /* the mailbox's */
} tseed_letter_t;

/* Lock 1 of the internals README. */
typedef struct {
    pthread_mutex_t lock;
    tseed_letter_t *first, **end;
    int wake; /* eventfd that the main thread polls */
} tseed_mailbox_t;

/* Makes an empty mailbox, which lives as long as the process. Main thread, before any other thread
 * has it. Fails when there is no descriptor left. */
apr_status_t tseed_mailbox_init(tseed_mailbox_t *mailbox);

/* Any thread. Wakes the main thread when the box was empty. The letter, and what it is about,
 * belong to the main thread from now on. */
void tseed_mailbox_put(tseed_mailbox_t *mailbox, tseed_letter_t *letter);

/* Main thread: takes all letters that have come, in order. */
void tseed_mailbox_take(tseed_mailbox_t *mailbox);

#endif
