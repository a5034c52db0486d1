/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How a child asks the seeder for a missing tile, and hears what became of the tile. A child asks
 * for the coverage of a level in the same way.
 *
 *      child                                   seeder
 *        socketpair ──► question + one end ──►   the miss socket, which the parent made:
 *        waits at the other end                  one packet a question
 *        answer (+ the tile, unstored) ◄──────   writes to the end that came with it
 *
 * One end of a socket pair travels with each question, so nothing is named, counted or left over. A
 * child that gives up, because its client has gone for instance, closes its end. When a seeder
 * dies, the kernel closes the other end, and the child asks the next seeder.
 */
#ifndef TSEED_MISS_H
#define TSEED_MISS_H

#include <apr_tables.h>
#include <apr_time.h>

#include "base/tseed_text.h"
#include "tiling/tseed_range.h"

/* How long a child waits for an answer. */
#define TSEED_MISS_TIMEOUT (30 * APR_USEC_PER_SEC)
/* How long the seeder lets it wait: the child is to hear why it was in vain. */
#define TSEED_MISS_SECONDS 27

typedef struct {
    const char *layer, *gridset, *format; /* names; format is the MIME type */
    const apr_table_t *parameters;        /* as submitted: any case, accepted by the filters */
    tseed_tile_t tile;
    const char *client; /* its address; "": nobody's */
    int64_t tileset;    /* 0: the tile is asked for. Else the coverage of tile set number `tileset`
                         * at the tile's level is (tseed_coverages.h); the other names are "", and
                         * the parameters are `query`, what follows the question mark */
    int is_shade_only;  /* the tile is wanted only if it is below a metatile of one colour */
} tseed_question_t;

/* What may end the wait before there is an answer. */
typedef struct {
    int client;                       /* its socket: the wait ends when it is closed; -1: none */
    const char *(*look)(void *baton); /* asked ten times a second: NULL, or why to wait no longer;
                                       * or NULL */
    void *baton;
} tseed_cancel_t;

typedef enum {
    TSEED_MISS_STORED,  /* it is in the store now */
    TSEED_MISS_PASSED,  /* it could not be stored: the descriptor holds it */
    TSEED_MISS_FAILED,  /* the upstream has no such picture; cause says why */
    TSEED_MISS_BUSY,    /* ask again later, for that cause */
    TSEED_MISS_REFUSED, /* it is not made, for that cause */
    TSEED_MISS_SHADE    /* it is never stored, being of the colour above it: the descriptor holds
                         * it */
} tseed_miss_outcome_t;

#define TSEED_MISS_CAUSE_SIZE 240

/* Plain data: it crosses between processes, which may be of different builds for a moment. */
typedef struct {
    uint32_t version;
    int32_t outcome;                   /* tseed_miss_outcome_t */
    int32_t retry_after;               /* seconds; of FAILED and BUSY */
    int32_t upstream;                  /* ms that the upstream took for it; 0: it was not asked */
    char cause[TSEED_MISS_CAUSE_SIZE]; /* likewise */
} tseed_reply_t;

/* Why there is no tile; `seconds`: when it may be asked for again. The cause is cut to size. */
static inline tseed_reply_t tseed_miss_reply(tseed_miss_outcome_t outcome, int seconds,
                                             const char *cause)
{
    tseed_reply_t reply = {.outcome = outcome, .retry_after = seconds};

    tseed_text_fit(reply.cause, sizeof(reply.cause), cause);
    return reply;
}

/* Makes the miss socket: children write to ends[1], the seeder reads from ends[0]. The socket holds
 * about `most` questions while no seeder reads. Parent, before any fork. Fails when there is no
 * descriptor left. */
apr_status_t tseed_miss_open(int ends[2], int most);

/* Asks for a tile and waits, for TSEED_MISS_TIMEOUT at most. If a seeder ends without an answer,
 * the next seeder is asked. *tile is a descriptor with PASSED and SHADE, which the caller closes,
 * and -1 otherwise. Failures on the way become BUSY. Child, any thread. */
void tseed_miss_ask(tseed_reply_t *reply, int *tile, int miss_socket,
                    const tseed_question_t *question, const tseed_cancel_t *cancel);

/* The next question, in `pool`, with the end to answer to (a descriptor that the caller
 * owns). APR_EAGAIN: none is waiting. APR_EINVAL: one that is not understood was dropped.
 * Seeder, main thread. */
apr_status_t tseed_miss_take(tseed_question_t *question, int *end, int miss_socket,
                             apr_pool_t *pool);

/* Likewise, with the question as a text in `pool`, for another host. The statuses are the same.
 * Seeder, any thread. */
apr_status_t tseed_miss_take_text(const char **text, int *end, int miss_socket, apr_pool_t *pool);

/* Asks with the text of a question; `pool` is scratch. *end, which the caller closes, becomes
 * readable with the answer. APR_EINVAL: it is no text of a question. Other failures: ask again
 * later. Seeder, any thread. */
apr_status_t tseed_miss_ask_text(int *end, int miss_socket, const char *text, apr_pool_t *pool);

/* Reads the answer at such an end. *tile as in tseed_miss_ask. APR_EOF: there is none, because the
 * question was not understood. Seeder, any thread. */
apr_status_t tseed_miss_hear(tseed_reply_t *reply, int *tile, int end);

/* Answers and closes `end`; `tile` (-1: none) is sent along and stays open here. Seeder, any
 * thread. */
void tseed_miss_answer(int end, const tseed_reply_t *reply, int tile);

/* The same without a tile. */
static inline void tseed_miss_turn_away(int end, tseed_reply_t reply)
{
    tseed_miss_answer(end, &reply, -1);
}

#endif
