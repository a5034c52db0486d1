/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Questions for missing tiles that come from other hosts. */
#include "seeder/tseed_intake.h"

#include <apr_base64.h>
#include <apr_strings.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_memory.h"
#include "base/tseed_thread.h"
#include "seeder/tseed_miss.h"
#include "state/tseed_hosts.h"
#include "state/tseed_miss_rows.h"

#define IDLE_MILLIS  250                    /* between two looks at the table, … */
#define BUSY_MILLIS  50                     /* … and as long as questions come, … */
#define BUSY_FOR     (5 * APR_USEC_PER_SEC) /* … that long after the last one */
#define TILE_LONGEST (2 << 20)              /* bytes that an answer may bring */

/* A question that waits for its answer; malloc'd. */
typedef struct question_t {
    int64_t epoch, number;
    int end; /* where the answer comes from */
    struct question_t *next;
} question_t;

struct tseed_intake_t {
    const tseed_settings_t *settings;
    const tseed_lease_t *lease;
    int socket;
    int over; /* readable: the thread ends */

    /* the thread's */
    apr_pool_t *pool, *scratch;
    tseed_state_t *state; /* NULL: not open yet */
    question_t *waiting;  /* by epoch and number */
    int count;            /* of them */
    apr_time_t asked_at;  /* the last question, monotonic */
};

static void forget(tseed_intake_t *intake, question_t **link)
{
    question_t *question = *link;

    *link = question->next;
    intake->count--;
    close(question->end);
    free(question);
}

/* ---- answers ---- */

static tseed_miss_row_t row_of(int64_t epoch, int64_t number, const tseed_reply_t *reply,
                               apr_pool_t *pool)
{
    return (tseed_miss_row_t){.epoch = epoch,
                              .number = number,
                              .outcome = reply->outcome,
                              .retry_after = reply->retry_after,
                              .upstream = reply->upstream,
                              .cause = apr_pstrdup(pool, reply->cause),
                              .tile = ""};
}

/* What a file without a name holds, as text; NULL: it is too long, or can't be read. */
static const char *text_of(int tile, apr_pool_t *pool)
{
    struct stat found;
    unsigned char *data;
    char *text;

    if (fstat(tile, &found) != 0 || found.st_size > TILE_LONGEST) {
        return NULL;
    }
    data = apr_palloc(pool, (size_t)found.st_size + 1);
    if (pread(tile, data, (size_t)found.st_size, 0) != found.st_size) {
        return NULL;
    }
    text = apr_palloc(pool, (size_t)apr_base64_encode_len((int)found.st_size));
    apr_base64_encode_binary(text, data, (int)found.st_size);
    return text;
}

static tseed_miss_row_t answer_to(const question_t *question, apr_pool_t *pool)
{
    tseed_reply_t reply;
    tseed_miss_row_t row;
    const char *text = "";
    int tile;

    if (tseed_miss_hear(&reply, &tile, question->end) != APR_SUCCESS) {
        reply =
            tseed_miss_reply(TSEED_MISS_BUSY, 1, "the host that works did not take the request");
    } else if (tile >= 0) {
        text = text_of(tile, pool);
        close(tile);
        reply = text ? reply
                     : tseed_miss_reply(TSEED_MISS_BUSY, 1,
                                        "it is too large to be passed on to this host");
    }
    row = row_of(question->epoch, question->number, &reply, pool);
    row.tile = text ? text : "";
    return row;
}

static int is_readable(int end)
{
    struct pollfd fd = {.fd = end, .events = POLLIN};

    return poll(&fd, 1, 0) > 0;
}

/* When that fails, the questions are still without an answer, and are asked again. */
static apr_status_t answer(tseed_intake_t *intake)
{
    apr_array_header_t *rows = apr_array_make(intake->scratch, 4, sizeof(tseed_miss_row_t));
    question_t **link = &intake->waiting;

    while (*link) {
        if (is_readable((*link)->end)) {
            *(tseed_miss_row_t *)apr_array_push(rows) = answer_to(*link, intake->scratch);
            forget(intake, link);
        } else {
            link = &(*link)->next;
        }
    }
    return tseed_miss_rows_answer(intake->state, rows);
}

/* ---- questions ---- */

static int is_before(const question_t *question, const tseed_miss_row_t *row)
{
    return question->epoch < row->epoch ||
           (question->epoch == row->epoch && question->number < row->number);
}

static int is_same(const question_t *question, const tseed_miss_row_t *row)
{
    return question && question->epoch == row->epoch && question->number == row->number;
}

/* Half of the places are for this host's own children. */
static int may_ask(const tseed_intake_t *intake)
{
    return intake->count <= intake->settings->miss_waiters / 2;
}

/* A question that can't be asked now is found again at the next look. `refused` takes the answer to
 * one that nobody understands. */
static void ask(tseed_intake_t *intake, question_t **link, const tseed_miss_row_t *row,
                apr_array_header_t *refused)
{
    int end;
    apr_status_t rv = tseed_miss_ask_text(&end, intake->socket, row->question, intake->scratch);

    if (rv == APR_SUCCESS) {
        question_t *question = tseed_memory_get(sizeof(*question));

        *question = (question_t){row->epoch, row->number, end, *link};
        *link = question;
        intake->count++;
        intake->asked_at = tseed_clock_monotonic();
    } else if (rv == APR_EINVAL) {
        const tseed_reply_t reply = tseed_miss_reply(
            TSEED_MISS_BUSY, 1, "the host that works did not understand the request");

        *(tseed_miss_row_t *)apr_array_push(refused) =
            row_of(row->epoch, row->number, &reply, intake->scratch);
    }
}

/* The questions that are known, and those of the table, side by side. Who is not in the table any
 * more has left. */
static apr_status_t compare(tseed_intake_t *intake, const apr_array_header_t *rows)
{
    apr_array_header_t *refused = apr_array_make(intake->scratch, 1, sizeof(tseed_miss_row_t));
    question_t **link = &intake->waiting;

    for (int i = 0; i < rows->nelts; i++) {
        const tseed_miss_row_t *row = &APR_ARRAY_IDX(rows, i, tseed_miss_row_t);

        while (*link && is_before(*link, row)) {
            forget(intake, link);
        }
        if (!is_same(*link, row) && may_ask(intake)) {
            ask(intake, link, row, refused);
        }
        if (is_same(*link, row)) {
            link = &(*link)->next;
        }
    }
    while (*link) {
        forget(intake, link);
    }
    return tseed_miss_rows_answer(intake->state, refused);
}

static apr_status_t look(tseed_intake_t *intake)
{
    apr_array_header_t *rows;
    apr_status_t rv = tseed_miss_rows_open(intake->state, &rows, intake->scratch);

    return rv == APR_SUCCESS ? compare(intake, rows) : rv;
}

/* ---- the thread ---- */

/* A database that fails is looked after by others, who also say so. */
static void turn(tseed_intake_t *intake)
{
    apr_status_t rv = tseed_state_ready(&intake->state, intake->settings, intake->pool);

    if (rv == APR_SUCCESS) {
        answer(intake);
        look(intake);
    }
}

/* Returns whether to go on. */
static int wait_for_turn(const tseed_intake_t *intake)
{
    struct pollfd over = {.fd = intake->over, .events = POLLIN};
    const int is_busy = intake->waiting || tseed_clock_monotonic() < intake->asked_at + BUSY_FOR;

    return poll(&over, 1, is_busy ? BUSY_MILLIS : IDLE_MILLIS) == 0;
}

static void *run(void *data)
{
    tseed_intake_t *intake = data;

    while (wait_for_turn(intake)) {
        if (intake->waiting || tseed_lease_others(intake->lease) > 0) {
            turn(intake);
            apr_pool_clear(intake->scratch);
        }
    }
    apr_pool_destroy(intake->pool); /* and the connection */
    return NULL;
}

/* ---- the module ---- */

tseed_intake_t *tseed_intake_begin(const tseed_settings_t *settings, const tseed_lease_t *lease,
                                   int socket, apr_pool_t *pool)
{
    tseed_intake_t *intake = apr_pcalloc(pool, sizeof(*intake));

    intake->settings = settings;
    intake->lease = lease;
    intake->socket = socket;
    intake->over =
        tseed_hosts_can_share(settings->db_driver) && socket >= 0 ? tseed_thread_bell() : -1;
    if (intake->over < 0) {
        return NULL;
    }
    intake->pool = tseed_memory_pool();
    apr_pool_create(&intake->scratch, intake->pool);
    if (tseed_thread_begin(run, intake) != APR_SUCCESS) {
        close(intake->over);
        apr_pool_destroy(intake->pool);
        return NULL;
    }
    return intake;
}

void tseed_intake_end(tseed_intake_t *intake)
{
    if (intake) {
        tseed_thread_ring(intake->over);
    }
}
