/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Sharing: one request for several runs. */
#include "savings/tseed_sharing.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_digest.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "books/tseed_jobs.h"
#include "source/tseed_source.h"

#define KEPT_MOST (26 << 20)            /* bytes of answers that partners have not had, … */
#define KEPT_MANY 1024                  /* … and how many, for they are searched one by one */
#define LAG_MOST  64                    /* metatiles that a run may be ahead of a partner */
#define PATIENCE  apr_time_from_sec(10) /* with a partner that finishes nothing */

struct tseed_shared_request_t {
    tseed_shared_request_t *next;
    uint64_t picture;
    const tseed_book_tileset_t *booked; /* of the run that has asked; compared only */
    tseed_range_t asked;
    int address;
    apr_time_t sent; /* monotonic */
    char condition[TSEED_CONDITION_SIZE];
    const tseed_job_t *leader; /* NULL: it is answered */
    int is_closed;             /* nothing may follow any more */
    int partners;              /* that have not followed */
    tseed_queue_t followers;
    tseed_transfer_t answer;
};

/* What followers of a request that failed get: they ask for themselves. */
static const tseed_transfer_t cancelled = {.result = TSEED_FETCH_CANCELLED};

struct tseed_sharing_t {
    const tseed_context_t *context;
    const tseed_runs_t *runs;
    const tseed_display_t *display;
    tseed_shared_request_t *requests; /* the latest first */
};

tseed_sharing_t *tseed_sharing_create(const tseed_context_t *context, const tseed_runs_t *runs,
                                      const tseed_display_t *display)
{
    tseed_sharing_t *sharing = apr_pcalloc(context->pool, sizeof(*sharing));

    sharing->context = context;
    sharing->runs = runs;
    sharing->display = display;
    return sharing;
}

/* ---- partners ---- */

/* Digest of all that decides which picture is asked for, except the tiles: of the requests for one
 * tile, of the upstreams, whose credentials and headers may differ where addresses do not, and of
 * what becomes of the answers before they are cut. */
static uint64_t picture_of(const tseed_run_t *run, apr_pool_t *pool)
{
    static const tseed_range_t tile = {0, 0, 0, 0, 0};
    const tseed_layer_t *layer = run->tileset.layer;
    const tseed_gridset_t *gridset = run->tileset.subset->gridset;
    const char *text = apr_psprintf(
        pool, "%s\n%dx%d+%d %d %d %s", tseed_gridset_print(gridset, pool), run->task->meta_width,
        run->task->meta_height, run->task->gutter, layer->gutter_beyond, (int)layer->source.mode,
        tseed_source_missing(&layer->source, pool));
    uint64_t picture = tseed_digest(text, strlen(text), 0);

    for (int i = 0; i < layer->source.count; i++) {
        tseed_ask_t ask = {.tileset = &run->tileset, .whole = &tile, .gutter = run->task->gutter};
        const char *url = tseed_source_url(&ask, i, pool);
        const tseed_upstream_t *upstream = layer->source.addresses[i].upstream;

        picture = tseed_digest(url, strlen(url), picture);
        picture = tseed_digest(&upstream, sizeof(upstream), picture);
    }
    return picture ? picture : 1;
}

static uint64_t picture_get(const tseed_sharing_t *sharing, tseed_run_t *run)
{
    if (!run->picture) {
        run->picture = picture_of(run, sharing->context->scratch);
    }
    return run->picture;
}

static int may_share(const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_GOING && run->task->type != TSEED_TRUNCATE;
}

/* Runs of one tile set find each other's tiles. */
static int are_partners(const tseed_sharing_t *sharing, tseed_run_t *run, tseed_run_t *other)
{
    return run->booked != other->booked && may_share(other) &&
           picture_get(sharing, run) == picture_get(sharing, other);
}

/* Others may have none, and need not be compared. */
static int may_have_partners(const tseed_sharing_t *sharing, const tseed_run_t *run)
{
    return sharing->runs->count > 1 && !run->is_background && may_share(run);
}

static int partners_of(const tseed_sharing_t *sharing, tseed_run_t *run)
{
    int partners = 0;

    if (!may_have_partners(sharing, run)) {
        return 0;
    }
    for (tseed_run_t *other = sharing->runs->tasks; other; other = other->next_run) {
        partners += are_partners(sharing, run, other);
    }
    return partners;
}

/* ---- in step ---- */

static int has_same_positions(const tseed_run_t *run, const tseed_run_t *other)
{
    return !run->list && !other->list && run->positions.count == other->positions.count &&
           memcmp(run->positions.range, other->positions.range, sizeof(run->positions.range)) == 0;
}

static int is_lively(const tseed_run_t *run, apr_time_t now)
{
    return now >= run->pause_until && !run->short_of && !run->waits_since &&
           now - run->measured_at < PATIENCE;
}

/* Once they are in step, each request is saved. Until then a run waits for as many as its partner
 * is behind: by the threads of both that must take less time than what is left. */
static int is_to_wait(const tseed_run_t *run, const tseed_run_t *behind, apr_time_t now)
{
    const int64_t lag = run->next - behind->next;
    const int64_t left = tseed_run_count(run) - run->next;

    return lag > LAG_MOST && lag * run->threads < left * behind->threads &&
           has_same_positions(run, behind) && is_lively(behind, now);
}

static void say(const tseed_sharing_t *sharing, tseed_run_t *run, const tseed_run_t *behind)
{
    const tseed_progress_t before = run->progress;

    tseed_progress_say(
        &run->progress, TSEED_REASON_TASK,
        "task %" APR_INT64_T_FMT
        " needs the same pictures and catches up: then each is fetched once for both",
        behind->task->id);
    if (strcmp(before.reason, run->progress.reason) != 0) {
        tseed_display_run(sharing->display, run);
    }
}

int tseed_sharing_waits(tseed_sharing_t *sharing, tseed_run_t *run, apr_time_t now)
{
    if (!may_have_partners(sharing, run)) {
        return 0;
    }
    for (tseed_run_t *other = sharing->runs->tasks; other; other = other->next_run) {
        if (are_partners(sharing, run, other) && is_to_wait(run, other, now)) {
            say(sharing, run, other);
            return 1;
        }
    }
    return 0;
}

/* ---- requests ---- */

/* What was asked for before a run began is no answer for it: the map may have changed since then,
 * and the run may be there for that reason. */
static int may_follow(tseed_sharing_t *sharing, const tseed_shared_request_t *request,
                      tseed_run_t *run)
{
    return request->booked != run->booked && !request->is_closed && request->sent >= run->begun &&
           request->picture == picture_get(sharing, run);
}

static tseed_shared_request_t *find(tseed_sharing_t *sharing, tseed_run_t *run,
                                    const tseed_range_t *tiles)
{
    tseed_shared_request_t *request = sharing->requests;

    while (request &&
           (!may_follow(sharing, request, run) || !tseed_range_has(&request->asked, tiles))) {
        request = request->next;
    }
    return request;
}

tseed_cell_shape_t tseed_sharing_cell(tseed_sharing_t *sharing, tseed_run_t *run,
                                      const tseed_metatile_t *metatile)
{
    const tseed_shared_request_t *request = find(sharing, run, &metatile->whole);

    return request ? tseed_cells_around(&run->positions.shape, &request->asked)
                   : (tseed_cell_shape_t){0, 0};
}

tseed_shared_request_t *tseed_sharing_find(tseed_sharing_t *sharing, const tseed_job_t *leader,
                                           tseed_range_t *asked, int *address)
{
    tseed_shared_request_t *request = find(sharing, leader->run, &leader->savings.asked);

    if (request) {
        *asked = request->asked;
        *address = request->address;
    }
    return request;
}

static void forget(tseed_sharing_t *sharing, tseed_shared_request_t *request)
{
    tseed_shared_request_t **link = &sharing->requests;

    while (*link != request) {
        link = &(*link)->next;
    }
    *link = request->next;
    free(request->answer.body);
    free(request);
}

/* Hands a copy of an answer to a job, which comes back with it. */
static void give(const tseed_sharing_t *sharing, tseed_job_t *job, const tseed_transfer_t *answer)
{
    tseed_jobs_copy_answer(&job->request.transfer, answer);
    tseed_mailbox_put(sharing->context->mailbox, &job->letter);
}

/* An answer in full serves a job with a condition as well. */
int tseed_sharing_follow(tseed_sharing_t *sharing, tseed_shared_request_t *request,
                         tseed_job_t *leader)
{
    const char *condition =
        leader->request.transfer.condition ? leader->request.transfer.condition : "";

    if (*request->condition && strcmp(request->condition, condition) != 0) {
        return 0;
    }
    leader->savings.follows = 1;
    request->partners--;
    if (request->leader) {
        tseed_queue_put(&request->followers, leader);
        return 1;
    }
    give(sharing, leader, &request->answer);
    if (request->partners <= 0) {
        forget(sharing, request);
    }
    return 1;
}

int tseed_sharing_ask(tseed_sharing_t *sharing, tseed_job_t *leader, int address)
{
    const int partners = partners_of(sharing, leader->run);
    tseed_shared_request_t *request;

    if (partners == 0) {
        return 0;
    }
    request = tseed_memory_get(sizeof(*request));
    *request = (tseed_shared_request_t){.next = sharing->requests,
                                        .picture = leader->run->picture,
                                        .booked = leader->run->booked,
                                        .asked = leader->savings.asked,
                                        .address = address,
                                        .sent = tseed_clock_monotonic(),
                                        .leader = leader,
                                        .partners = partners};
    if (leader->request.transfer.condition) {
        apr_cpystrn(request->condition, leader->request.transfer.condition,
                    sizeof(request->condition));
    }
    sharing->requests = request;
    return 1;
}

/* ---- answers ---- */

/* The latest are kept. */
static void trim(tseed_sharing_t *sharing)
{
    size_t kept = 0;
    int many = 0;

    for (tseed_shared_request_t *request = sharing->requests, *next; request; request = next) {
        next = request->next;
        kept += request->leader ? 0 : request->answer.length;
        many += !request->leader;
        if (!request->leader && (kept > KEPT_MOST || many > KEPT_MANY)) {
            forget(sharing, request);
        }
    }
}

void tseed_sharing_arrive(tseed_sharing_t *sharing, const tseed_job_t *leader)
{
    tseed_shared_request_t *request = sharing->requests;
    tseed_job_t *job;

    while (request && request->leader != leader) {
        request = request->next;
    }
    if (!request) {
        return;
    }
    request->leader = NULL;
    while ((job = tseed_queue_take(&request->followers))) {
        give(sharing, job,
             tseed_transfer_is_good(&leader->request.transfer) ? &leader->request.transfer
                                                               : &cancelled);
    }
    if (request->partners > 0 && !request->is_closed &&
        tseed_transfer_is_good(&leader->request.transfer)) {
        tseed_jobs_copy_answer(&request->answer, &leader->request.transfer);
        trim(sharing);
    } else {
        forget(sharing, request);
    }
}

/* ---- the end ---- */

void tseed_sharing_forget(tseed_sharing_t *sharing)
{
    for (tseed_shared_request_t *request = sharing->requests, *next; request; request = next) {
        next = request->next;
        if (request->leader) {
            request->is_closed = 1;
        } else {
            forget(sharing, request);
        }
    }
}

static void send_back(const tseed_sharing_t *sharing, tseed_shared_request_t *request,
                      const tseed_run_t *run)
{
    for (int count = request->followers.count; count > 0; count--) {
        tseed_job_t *job = tseed_queue_take(&request->followers);

        if (job->run == run) {
            give(sharing, job, &cancelled);
        } else {
            tseed_queue_put(&request->followers, job);
        }
    }
}

void tseed_sharing_drain(tseed_sharing_t *sharing, const tseed_run_t *run)
{
    for (tseed_shared_request_t *request = sharing->requests; request; request = request->next) {
        send_back(sharing, request, run);
    }
}

static int is_needed(tseed_sharing_t *sharing, const tseed_shared_request_t *request)
{
    for (tseed_run_t *run = sharing->runs->tasks; run; run = run->next_run) {
        if (may_share(run) && may_follow(sharing, request, run)) {
            return 1;
        }
    }
    return 0;
}

void tseed_sharing_tick(tseed_sharing_t *sharing)
{
    for (tseed_shared_request_t *request = sharing->requests, *next; request; request = next) {
        next = request->next;
        if (!request->leader && !is_needed(sharing, request)) {
            forget(sharing, request);
        }
    }
}
