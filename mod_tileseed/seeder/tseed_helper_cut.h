/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The threads of the helper that cut: each takes an answer of an upstream, cuts the tiles that the
 * host that works wants, and writes them into a pack.
 */
#ifndef TSEED_HELPER_CUT_H
#define TSEED_HELPER_CUT_H

#include <pthread.h>

#include "seeder/tseed_pack_file.h"
#include "seeder/tseed_portion_result.h"
#include "work/tseed_portion.h"

/* A portion that the helper carries out. One thread at a time has it. */
typedef struct tseed_helper_request_t {
    tseed_transfer_t transfer;
    tseed_portion_t portion;
    tseed_pack_name_t name;
    tseed_portion_outcome_t outcome; /* when it is finished */
    int has_pack;
    struct tseed_helper_row_t *row;
    struct tseed_helper_request_t *next;
} tseed_helper_request_t;

typedef struct {
    /* Takes a request whose outcome is set. A thread that cuts calls it without any lock. */
    void (*finish)(void *baton, tseed_helper_request_t *request);
    void *baton;

    pthread_mutex_t lock;
    pthread_cond_t has_changed;
    tseed_helper_request_t *first, **end; /* answers that wait, under lock */
    int64_t decoding;                     /* pixels of the answers that are being cut, likewise */
    int is_over;                          /* likewise */
    int has_said_why;                     /* that it can't write, likewise */
} tseed_helper_cut_t;

/* Begins so many threads. Returns how many there are. */
int tseed_helper_cut_begin(tseed_helper_cut_t *cut, int threads);

/* Hands in a request whose transfer is OK. Any thread. */
void tseed_helper_cut_put(tseed_helper_cut_t *cut, tseed_helper_request_t *request);

/* Ends the threads soon. What waits stays where it is. */
void tseed_helper_cut_end(tseed_helper_cut_t *cut);

#endif
