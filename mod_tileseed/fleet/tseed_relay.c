/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Questions for missing tiles on their way from a host that stands by to the host that works: the
 * relay at the one end, the intake at the other. */
#include "fleet/tseed_relay.h"

#include <apr_base64.h>
#include <apr_strings.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_memory.h"
#include "base/tseed_thread.h"
#include "fleet/tseed_fleet_rows.h"
#include "state/tseed_work.h"
#include "work/tseed_job.h"
#include "work/tseed_miss.h"

/* ---- rows of the table miss ---- */

/* A question, and its answer when there is one. */
typedef struct {
    int64_t epoch, number;
    const char *question;
    int outcome; /* 0 or more: the answer; see work/tseed_miss.h for it and the next ones */
    int retry_after, upstream;
    const char *cause, *tile;
} row_t;

static apr_status_t ask_row(tseed_database_t *db, void *data)
{
    const row_t *row = data;

    return tseed_database_change(db, NULL, TSEED_SQL_MISS_ADD,
                                 (const void *[]){&row->epoch, &row->number, row->question});
}

/* Writes questions down (an array of row_t), all or none. Questions that are there
 * already stay as they are. */
static apr_status_t rows_ask(tseed_state_t *state, const apr_array_header_t *rows)
{
    return tseed_work_write_each(state, ask_row, rows);
}

static apr_status_t answer_row(tseed_database_t *db, void *data)
{
    const row_t *row = data;

    return tseed_database_change(db, NULL, TSEED_SQL_MISS_ANSWER,
                                 (const void *[]){&row->outcome, &row->retry_after, &row->upstream,
                                                  row->cause, row->tile, &row->epoch,
                                                  &row->number});
}

/* Writes answers down (an array of row_t), all or none. A question that somebody is just
 * deleting is left out: it is open or not there afterwards. */
static apr_status_t rows_answer(tseed_state_t *state, const apr_array_header_t *rows)
{
    return tseed_work_write_each(state, answer_row, rows);
}

static apr_status_t delete_row(tseed_database_t *db, void *data)
{
    const row_t *row = data;

    return tseed_database_change(db, NULL, TSEED_SQL_MISS_DELETE,
                                 (const void *[]){&row->epoch, &row->number});
}

static apr_status_t rows_delete(tseed_state_t *state, const apr_array_header_t *rows)
{
    return tseed_work_write_each(state, delete_row, rows);
}

static apr_status_t rows_delete_all(tseed_state_t *state, int64_t epoch)
{
    return tseed_work_change(state, NULL, TSEED_SQL_MISSES_DELETE, (const void *[]){&epoch});
}

static void load_question(void *data, tseed_rows_t *rows)
{
    row_t *row = data;

    *row = (row_t){.outcome = -1, .cause = "", .tile = ""};
    tseed_rows_scan(rows, &row->epoch, &row->number, &row->question);
}

static void load_answer(void *data, tseed_rows_t *rows)
{
    row_t *row = data;

    *row = (row_t){.question = ""};
    tseed_rows_scan(rows, &row->epoch, &row->number, &row->outcome, &row->retry_after,
                    &row->upstream, &row->cause, &row->tile);
}

/* The questions of all hosts that have no answer yet, by epoch and number. */
static apr_status_t rows_open(tseed_state_t *state, apr_array_header_t **rows, apr_pool_t *pool)
{
    *rows = apr_array_make(pool, 16, sizeof(row_t));
    return tseed_work_list(state, *rows, load_question, TSEED_SQL_MISSES_OPEN, NULL);
}

/* The answers to the questions of one epoch, by number, without the questions. */
static apr_status_t rows_answers(tseed_state_t *state, apr_array_header_t **rows, int64_t epoch,
                                 apr_pool_t *pool)
{
    *rows = apr_array_make(pool, 16, sizeof(row_t));
    return tseed_work_list(state, *rows, load_answer, TSEED_SQL_MISSES_ANSWERED,
                           (const void *[]){&epoch});
}

/* ---- the relay ---- */

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

static void tell(const tseed_relay_t *relay, child_t *child, const row_t *row)
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
        row_t *row = &APR_ARRAY_IDX(rows, i, row_t);

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
    apr_status_t rv = rows_answers(relay->state, &rows, relay->epoch, relay->scratch);

    if (rv == APR_SUCCESS) {
        tell_all(relay, rows);
        rv = rows_delete(relay->state, rows);
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
    *(row_t *)apr_array_push(rows) =
        (row_t){.epoch = relay->epoch, .number = child->number, .question = question};
}

static apr_status_t take(tseed_relay_t *relay)
{
    apr_array_header_t *rows = apr_array_make(relay->scratch, 16, sizeof(row_t));
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
    return relay->state ? rows_ask(relay->state, rows) : APR_SUCCESS;
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
    apr_array_header_t *rows = apr_array_make(relay->scratch, 4, sizeof(row_t));
    const apr_time_t now = tseed_clock_monotonic();
    child_t **link = &relay->waiting;

    while (*link) {
        child_t *child = *link;
        const char *why = why_no_longer(relay, child, now);

        if (!why && !is_closed(child->end)) {
            link = &child->next;
            continue;
        }
        *(row_t *)apr_array_push(rows) = (row_t){.epoch = relay->epoch, .number = child->number};
        if (why) {
            tell_busy(child->end, why);
        } else {
            close(child->end);
        }
        forget(relay, link);
    }
    return rows_delete(relay->state, rows);
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
        rv = rows_delete_all(relay->state, relay->epoch);
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
        rows_delete_all(relay->state, relay->epoch);
    }
    apr_pool_destroy(relay->pool); /* and the connection */
    return NULL;
}

/* ---- the relay ---- */

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

/* ---- the other end: the intake ---- */

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
    const _Atomic int *others; /* hosts that are alive, beside this one */
    int socket;
    int over; /* readable: the thread ends */

    /* the thread's */
    apr_pool_t *pool, *scratch;
    tseed_state_t *state; /* NULL: not open yet */
    question_t *waiting;  /* by epoch and number */
    int count;            /* of them */
    apr_time_t asked_at;  /* the last question, monotonic */
};

static void forget_question(tseed_intake_t *intake, question_t **link)
{
    question_t *question = *link;

    *link = question->next;
    intake->count--;
    close(question->end);
    free(question);
}

/* ---- its answers ---- */

static row_t row_of(int64_t epoch, int64_t number, const tseed_reply_t *reply, apr_pool_t *pool)
{
    return (row_t){.epoch = epoch,
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

static row_t answer_to(const question_t *question, apr_pool_t *pool)
{
    tseed_reply_t reply;
    row_t row;
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
    apr_array_header_t *rows = apr_array_make(intake->scratch, 4, sizeof(row_t));
    question_t **link = &intake->waiting;

    while (*link) {
        if (is_readable((*link)->end)) {
            *(row_t *)apr_array_push(rows) = answer_to(*link, intake->scratch);
            forget_question(intake, link);
        } else {
            link = &(*link)->next;
        }
    }
    return rows_answer(intake->state, rows);
}

/* ---- its questions ---- */

static int is_before(const question_t *question, const row_t *row)
{
    return question->epoch < row->epoch ||
           (question->epoch == row->epoch && question->number < row->number);
}

static int is_same(const question_t *question, const row_t *row)
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
static void ask(tseed_intake_t *intake, question_t **link, const row_t *row,
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

        *(row_t *)apr_array_push(refused) =
            row_of(row->epoch, row->number, &reply, intake->scratch);
    }
}

/* The questions that are known, and those of the table, side by side. Who is not in the table any
 * more has left. */
static apr_status_t compare(tseed_intake_t *intake, const apr_array_header_t *rows)
{
    apr_array_header_t *refused = apr_array_make(intake->scratch, 1, sizeof(row_t));
    question_t **link = &intake->waiting;

    for (int i = 0; i < rows->nelts; i++) {
        const row_t *row = &APR_ARRAY_IDX(rows, i, row_t);

        while (*link && is_before(*link, row)) {
            forget_question(intake, link);
        }
        if (!is_same(*link, row) && may_ask(intake)) {
            ask(intake, link, row, refused);
        }
        if (is_same(*link, row)) {
            link = &(*link)->next;
        }
    }
    while (*link) {
        forget_question(intake, link);
    }
    return rows_answer(intake->state, refused);
}

static apr_status_t look(tseed_intake_t *intake)
{
    apr_array_header_t *rows;
    apr_status_t rv = rows_open(intake->state, &rows, intake->scratch);

    return rv == APR_SUCCESS ? compare(intake, rows) : rv;
}

/* ---- its thread ---- */

/* A database that fails is looked after by others, who also say so. */
static void take_turn(tseed_intake_t *intake)
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

static void *run_intake(void *data)
{
    tseed_intake_t *intake = data;

    while (wait_for_turn(intake)) {
        if (intake->waiting || atomic_load(intake->others) > 0) {
            take_turn(intake);
            apr_pool_clear(intake->scratch);
        }
    }
    apr_pool_destroy(intake->pool); /* and the connection */
    return NULL;
}

/* ---- the intake ---- */

tseed_intake_t *tseed_intake_begin(const tseed_settings_t *settings, const _Atomic int *others,
                                   int socket, apr_pool_t *pool)
{
    tseed_intake_t *intake = apr_pcalloc(pool, sizeof(*intake));

    intake->settings = settings;
    intake->others = others;
    intake->socket = socket;
    intake->over = socket >= 0 ? tseed_thread_bell() : -1;
    if (intake->over < 0) {
        return NULL;
    }
    intake->pool = tseed_memory_pool();
    apr_pool_create(&intake->scratch, intake->pool);
    if (tseed_thread_begin(run_intake, intake) != APR_SUCCESS) {
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
