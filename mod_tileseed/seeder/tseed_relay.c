/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Questions for missing tiles on their way to the host that works. */
#include "seeder/tseed_relay.h"

#include <apr_base64.h>
#include <apr_strings.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_memory.h"
#include "base/tseed_thread.h"
#include "seeder/tseed_miss.h"
#include "state/tseed_miss_rows.h"
#include "work/tseed_job.h"

#define LOOK_MILLIS 50 /* for answers, while somebody waits */
#define RETRY_AFTER 5  /* seconds */
#define LOOKS       5  /* one a second; a host that drains gives its work away within them */

/* ms after which questions are deleted that nobody waits for, when the database works again */
#define MEND_MILLIS 1000

#define NO_LEADER "no host works on this cache just now"

/* A child that waits; malloc'd. */
typedef struct child_t {
    int64_t number; /* of its question */
    int end;        /* where its answer goes */
    apr_time_t until;
    struct child_t *next;
} child_t;

struct tseed_relay_t {
    const tseed_settings_t *settings;
    int socket;
    int is_begun;
    int looks;                 /* in a row that no host worked at */
    int over;                  /* readable: the thread ends */
    _Atomic int is_over;       /* likewise, and it reads nothing more */
    _Atomic int has_no_leader; /* for a while */

    /* the thread's */
    apr_pool_t *pool, *scratch;
    tseed_state_t *state; /* NULL: not open yet */
    int64_t epoch, last;  /* the last number that was given out */
    child_t *waiting;     /* by number */
    child_t **end;        /* of the list */
    int count;
    int is_uncertain; /* the database may have questions of children that wait no longer */
};

/* ---- answers ---- */

/* A file without a name, of what an answer brought; -1: it brought nothing, or there is no room. */
static int file_of(const char *tile, apr_pool_t *pool)
{
    unsigned char *data = apr_palloc(pool, (size_t)apr_base64_decode_len(tile));
    const int length = apr_base64_decode_binary(data, tile);

    return length > 0 ? tseed_unstored_file(data, (size_t)length) : -1;
}

static void tell(const tseed_relay_t *relay, child_t *child, const tseed_miss_row_t *row)
{
    const int tile = *row->tile ? file_of(row->tile, relay->scratch) : -1;
    tseed_reply_t reply = {
        .outcome = row->outcome, .retry_after = row->retry_after, .upstream = row->upstream};

    apr_cpystrn(reply.cause, row->cause, sizeof(reply.cause));
    tseed_miss_answer(child->end, &reply, tile);
    if (tile >= 0) {
        close(tile);
    }
}

static void tell_busy(int end, const char *cause)
{
    tseed_miss_turn_away(end, tseed_miss_reply(TSEED_MISS_BUSY, RETRY_AFTER, cause));
}

/* Takes a child out of the list. */
static void forget(tseed_relay_t *relay, child_t **link)
{
    child_t *child = *link;

    *link = child->next;
    relay->end = *link ? relay->end : link;
    relay->count--;
    free(child);
}

/* The children, by number, and the answers, by number, side by side. */
static void tell_all(tseed_relay_t *relay, const apr_array_header_t *rows)
{
    child_t **link = &relay->waiting;

    for (int i = 0; i < rows->nelts; i++) {
        tseed_miss_row_t *row = &APR_ARRAY_IDX(rows, i, tseed_miss_row_t);

        while (*link && (*link)->number < row->number) {
            link = &(*link)->next;
        }
        if (*link && (*link)->number == row->number) {
            tell(relay, *link, row);
            forget(relay, link);
        }
    }
}

static apr_status_t collect(tseed_relay_t *relay)
{
    apr_array_header_t *rows;
    apr_status_t rv = tseed_miss_rows_answers(relay->state, &rows, relay->epoch, relay->scratch);

    if (rv == APR_SUCCESS) {
        tell_all(relay, rows);
        rv = tseed_miss_rows_delete(relay->state, rows);
    }
    return rv;
}

/* ---- questions ---- */

static void add(tseed_relay_t *relay, apr_array_header_t *rows, const char *question, int end)
{
    child_t *child = tseed_memory_get(sizeof(*child));

    *child = (child_t){.number = ++relay->last,
                       .end = end,
                       .until = tseed_clock_monotonic() + apr_time_from_sec(TSEED_MISS_SECONDS)};
    *relay->end = child;
    relay->end = &child->next;
    relay->count++;
    *(tseed_miss_row_t *)apr_array_push(rows) =
        (tseed_miss_row_t){.epoch = relay->epoch, .number = child->number, .question = question};
}

static apr_status_t take(tseed_relay_t *relay)
{
    apr_array_header_t *rows = apr_array_make(relay->scratch, 16, sizeof(tseed_miss_row_t));
    const char *question;
    apr_status_t rv;
    int end;

    do {
        rv = tseed_miss_take_text(&question, &end, relay->socket, relay->scratch);
        if (rv == APR_SUCCESS && relay->has_no_leader) {
            tell_busy(end, NO_LEADER);
        } else if (rv == APR_SUCCESS && relay->count < relay->settings->miss_waiters) {
            add(relay, rows, question, end);
        } else if (rv == APR_SUCCESS) {
            tell_busy(end, "too many requests wait for missing tiles");
        }
    } while ((rv == APR_SUCCESS || rv == APR_EINVAL) && !relay->is_over);
    return relay->state ? tseed_miss_rows_ask(relay->state, rows) : APR_SUCCESS;
}

/* ---- children that wait no longer ---- */

static int is_closed(int end)
{
    struct pollfd fd = {.fd = end};

    return poll(&fd, 1, 0) > 0;
}

/* Why a child is to wait no longer; NULL: no such reason. */
static const char *why_no_longer(const tseed_relay_t *relay, const child_t *child, apr_time_t now)
{
    if (relay->has_no_leader) {
        return NO_LEADER;
    }
    return now >= child->until ? "it takes too long" : NULL;
}

static apr_status_t part(tseed_relay_t *relay)
{
    apr_array_header_t *rows = apr_array_make(relay->scratch, 4, sizeof(tseed_miss_row_t));
    const apr_time_t now = tseed_clock_monotonic();
    child_t **link = &relay->waiting;

    while (*link) {
        child_t *child = *link;
        const char *why = why_no_longer(relay, child, now);

        if (!why && !is_closed(child->end)) {
            link = &child->next;
            continue;
        }
        *(tseed_miss_row_t *)apr_array_push(rows) =
            (tseed_miss_row_t){.epoch = relay->epoch, .number = child->number};
        if (why) {
            tell_busy(child->end, why);
        } else {
            close(child->end);
        }
        forget(relay, link);
    }
    return tseed_miss_rows_delete(relay->state, rows);
}

static void send_away(tseed_relay_t *relay)
{
    while (relay->waiting) {
        tell_busy(relay->waiting->end, "the state database can't be used");
        forget(relay, &relay->waiting);
    }
}

/* ---- the thread ---- */

static apr_status_t prepare(tseed_relay_t *relay)
{
    apr_status_t rv = tseed_state_ready(&relay->state, relay->settings, relay->pool);

    if (rv == APR_SUCCESS && relay->is_uncertain) {
        rv = tseed_miss_rows_delete_all(relay->state, relay->epoch);
        relay->is_uncertain = rv != APR_SUCCESS;
    }
    return rv;
}

static void turn(tseed_relay_t *relay)
{
    apr_status_t rv = prepare(relay);

    if (relay->is_over) { /* what comes now is for others */
        return;
    }
    if (rv == APR_SUCCESS) {
        rv = take(relay);
    } else {
        take(relay);
    }
    if (rv == APR_SUCCESS) {
        rv = collect(relay);
    }
    if (rv == APR_SUCCESS) {
        rv = part(relay);
    }
    if (rv != APR_SUCCESS) {
        relay->is_uncertain = 1;
        send_away(relay);
    }
}

/* Returns whether to go on. */
static int wait_for_questions(const tseed_relay_t *relay)
{
    struct pollfd fds[2] = {
        {.fd = relay->over, .events = POLLIN},
        {.fd = relay->socket, .events = POLLIN},
    };

    poll(fds, 2, relay->waiting ? LOOK_MILLIS : relay->is_uncertain ? MEND_MILLIS : -1);
    return !fds[0].revents;
}

static void *run(void *data)
{
    tseed_relay_t *relay = data;

    while (wait_for_questions(relay)) {
        turn(relay);
        apr_pool_clear(relay->scratch);
    }
    while (relay->waiting) {
        close(relay->waiting->end);
        forget(relay, &relay->waiting);
    }
    if (relay->state) {
        tseed_miss_rows_delete_all(relay->state, relay->epoch);
    }
    apr_pool_destroy(relay->pool); /* and the connection */
    return NULL;
}

/* ---- the module ---- */

tseed_relay_t *tseed_relay_create(const tseed_settings_t *settings, int socket, apr_pool_t *pool)
{
    tseed_relay_t *relay = apr_pcalloc(pool, sizeof(*relay));

    relay->settings = settings;
    relay->socket = socket;
    relay->end = &relay->waiting;
    return relay;
}

void tseed_relay_begin(tseed_relay_t *relay, int64_t epoch)
{
    if (relay->is_begun || relay->socket < 0) {
        return;
    }
    relay->over = tseed_thread_bell();
    if (relay->over < 0) {
        return;
    }
    relay->epoch = epoch;
    relay->pool = tseed_memory_pool();
    apr_pool_create(&relay->scratch, relay->pool);
    if (tseed_thread_begin(run, relay) != APR_SUCCESS) {
        close(relay->over);
        apr_pool_destroy(relay->pool);
        return;
    }
    relay->is_begun = 1;
}

int tseed_relay_reads(const tseed_relay_t *relay)
{
    return relay->is_begun && !relay->is_over;
}

void tseed_relay_note(tseed_relay_t *relay, int has_leader)
{
    relay->looks = has_leader ? 0 : relay->looks + 1;
    relay->has_no_leader = relay->looks > LOOKS;
}

void tseed_relay_end(tseed_relay_t *relay)
{
    relay->is_over = 1;
    if (relay->is_begun) {
        tseed_thread_ring(relay->over);
    }
}
