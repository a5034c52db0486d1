/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The door of the savings. What belongs to derived metatiles stands here. */
#include "savings/tseed_savings.h"

#include "savings/tseed_prune.h"
#include "savings/tseed_sharing.h"
#include "savings/tseed_sizing.h"
#include "savings/tseed_together.h"
#include "tiling/tseed_range.h"

struct tseed_savings_t {
    tseed_savings_uses_t uses;
    tseed_client_t client;
    tseed_prune_t *prune;
    tseed_sharing_t *sharing;
    tseed_sizing_t *sizing;
};

tseed_savings_t *tseed_savings_create(const tseed_savings_uses_t *uses)
{
    tseed_savings_t *savings = apr_pcalloc(uses->context->pool, sizeof(*savings));

    savings->uses = *uses;
    savings->prune = tseed_prune_saving.create(uses);
    savings->client = (tseed_client_t){
        .module = savings->prune, .feed = tseed_prune_saving.feed, .due = tseed_prune_saving.due};
    savings->sharing = tseed_sharing_create(uses->context, uses->runs, uses->display);
    savings->sizing = tseed_sizing_create(uses->context, uses->session);
    return savings;
}

tseed_client_t *tseed_savings_client(tseed_savings_t *savings)
{
    return &savings->client;
}

/* ---- what comes next ---- */

/* Whether a derived metatile must wait: other levels of its run are under way, and the level below
 * may be among them. */
static int waits_for_below(const tseed_run_t *run, int z)
{
    const tseed_job_t *job = tseed_run_derives(run, z) ? run->jobs : NULL;

    while (job && job->metatile.whole.z == z) {
        job = job->sibling;
    }
    return job != NULL;
}

/* Whether a request for several metatiles leaves a position out. */
static int stands_alone(tseed_savings_t *savings, tseed_run_t *run, int64_t position)
{
    return tseed_together_how(TSEED_JOINED, TSEED_PRUNED) != TSEED_BOTH &&
           tseed_prune_has(savings->prune, run, position);
}

static tseed_choice_t choose(tseed_savings_t *savings, tseed_run_t *run, int64_t position)
{
    const tseed_metatile_t metatile = tseed_run_metatile(run, position);
    tseed_cell_shape_t before = {0, 0};

    if (stands_alone(savings, run, position)) {
        return (tseed_choice_t){{1, 1}, -1, TSEED_SIZE_ALONE}; /* a look */
    }
    if (tseed_sizing_may_join(savings->sizing, run, metatile.whole.z)) {
        before = tseed_sharing_cell(savings->sharing, run, &metatile);
    }
    if (before.columns > 0) {
        return (tseed_choice_t){before, -1, TSEED_SIZE_AS_BEFORE};
    }
    if (tseed_run_leaves_unchanged(run) && run->tileset.layer->most_width > 0) {
        before = tseed_origins_cell(savings->uses.origins, run, &metatile);
    }
    return tseed_sizing_choose(savings->sizing, run, position, before);
}

/* Keeps the positions of a cell that may be fetched together with one of them. */
static void pick(tseed_request_t *request, tseed_savings_t *savings, tseed_run_t *run,
                 int64_t position)
{
    const int found =
        request->cell.columns * request->cell.rows > 1
            ? tseed_cells_at(request->positions, &run->positions, position, request->cell)
            : 0;

    for (int i = 0; i < found; i++) {
        const int64_t other = request->positions[i];

        if (other == position ||
            (tseed_run_is_free(run, other) && !stands_alone(savings, run, other))) {
            request->positions[request->count++] = other;
        }
    }
    if (found == 0) {
        request->positions[request->count++] = position;
    }
}

void tseed_savings_next(tseed_request_t *request, tseed_savings_t *savings, tseed_run_t *run)
{
    const int64_t position = tseed_prune_next(savings->prune, run);
    tseed_choice_t choice;

    request->count = 0;
    if (position < 0 || waits_for_below(run, tseed_run_metatile(run, position).whole.z)) {
        return;
    }
    choice = choose(savings, run, position);
    request->cell = choice.cell;
    request->step = choice.step;
    request->why = choice.why;
    pick(request, savings, run, position);
}

int tseed_savings_wait(tseed_savings_t *savings, tseed_run_t *run, apr_time_t now)
{
    return tseed_sharing_waits(savings->sharing, run, now);
}

void tseed_savings_begin(tseed_savings_t *savings, tseed_job_t *job, const tseed_request_t *request)
{
    job->savings.step = request->step;
    job->savings.why = (uint8_t)request->why;
    tseed_prune_saving.begin(savings->prune, job);
}

const tseed_shade_t *tseed_savings_shade(tseed_savings_t *savings, tseed_run_t *run,
                                         int64_t position)
{
    return tseed_prune_shade(savings->prune, run, position);
}

int tseed_savings_paint(tseed_savings_t *savings, tseed_job_t *job)
{
    job->savings.shade = tseed_savings_shade(savings, job->run, job->position);
    job->savings.is_made_of_shade = job->savings.shade != NULL;
    return job->savings.is_made_of_shade;
}

/* ---- what is asked ---- */

void tseed_savings_renew(tseed_job_t *job)
{
    job->savings.shade = NULL;
}

void tseed_savings_join(tseed_savings_t *savings, tseed_job_t *list, tseed_cell_shape_t cell)
{
    if (list) {
        tseed_join_queue(&list->run->wanted, list, cell,
                         tseed_sizing_overhead(savings->sizing, list->run, list->metatile.whole.z));
    }
}

int tseed_savings_ask(tseed_savings_t *savings, tseed_job_t *leader, int address)
{
    int is_shared;

    leader->savings.follows = 0;
    tseed_origins_ask(savings->uses.origins, leader, leader->request.url);
    is_shared = tseed_sharing_ask(savings->sharing, leader, address);
    tseed_sizing_begin(savings->sizing, leader);
    return is_shared;
}

/* A saving that draws for itself is asked here. */
int tseed_savings_draws(tseed_savings_t *savings, tseed_job_t *job)
{
    (void)savings;
    job->savings.draw = tseed_derived_draw(job);
    return tseed_job_is_drawn(job);
}

void tseed_savings_derive(tseed_savings_t *savings, tseed_job_t *job)
{
    tseed_origins_ask(savings->uses.origins, job, "derived");
}

tseed_shared_request_t *tseed_savings_partner(tseed_savings_t *savings, tseed_job_t *leader,
                                              int *address)
{
    tseed_range_t asked = leader->savings.asked;
    tseed_shared_request_t *request =
        tseed_savings_draws(savings, leader) &&
                tseed_together_how(TSEED_SHARED, TSEED_DERIVED) != TSEED_BOTH
            ? NULL
            : tseed_sharing_find(savings->sharing, leader, &asked, address);

    leader->savings.asked = asked;
    return request;
}

int tseed_savings_follow(tseed_savings_t *savings, tseed_shared_request_t *request,
                         tseed_job_t *leader)
{
    tseed_origins_ask(savings->uses.origins, leader, leader->request.url);
    return tseed_sharing_follow(savings->sharing, request, leader);
}

/* ---- what an answer means ---- */

void tseed_savings_came(tseed_savings_t *savings, const tseed_job_t *leader)
{
    tseed_sharing_arrive(savings->sharing, leader);
}

/* If a tile below is broken, the origins there are forgotten, so that a reseed makes the tiles
 * anew. */
static void take_derived(tseed_savings_t *savings, tseed_job_t *job)
{
    if (job->result.has_broken) {
        const tseed_range_t below =
            tseed_halving_below(job->run->tileset.subset->gridset, &job->metatile.wanted);

        tseed_origins_forget_tiles(savings->uses.origins, job->run, &below);
    }
}

/* Nothing is learnt from an answer of before a truncate or a reseed, or where writes have failed
 * meanwhile. Its tiles may have been written. */
static void learn(tseed_savings_t *savings, tseed_job_t *job)
{
    if (job->accounts.is_stale || job->run->is_doubtful) { /* the task's end advises a reseed */
        tseed_origins_forget(savings->uses.origins, job);
    } else {
        tseed_origins_take(savings->uses.origins, job);
    }
    tseed_prune_saving.took(savings->prune, job);
}

void tseed_savings_took(tseed_savings_t *savings, tseed_job_t *job)
{
    if (job->request.stage == TSEED_STAGE_CUT) {
        learn(savings, job);
    } else if (job->request.stage == TSEED_STAGE_DERIVE) {
        take_derived(savings, job);
    } else if (job->request.stage == TSEED_STAGE_FETCH && !job->savings.follows) {
        tseed_sizing_take(savings->sizing, job);
    }
}

/* A CHECK that finds its tiles is no look. */
void tseed_savings_count(const tseed_job_t *job)
{
    tseed_progress_t *progress = &job->run->progress;

    progress->pruned += job->result.alike;
    if (job->savings.shade && job->request.stage == TSEED_STAGE_CUT) {
        progress->looked++;
        progress->wrong += job->result.is_wrong;
    }
}

void tseed_savings_fail(tseed_savings_t *savings, const tseed_job_t *leader)
{
    tseed_sizing_fail(savings->sizing, leader);
}

/* ---- what ends ---- */

void tseed_savings_drain(tseed_savings_t *savings, const tseed_run_t *run)
{
    tseed_sharing_drain(savings->sharing, run);
}

void tseed_savings_close(tseed_savings_t *savings)
{
    tseed_sharing_forget(savings->sharing);
}

int64_t tseed_savings_truncate(tseed_savings_t *savings, const tseed_tileset_t *tileset)
{
    return tseed_prune_saving.truncate(savings->prune, tileset);
}

void tseed_savings_leave(tseed_savings_t *savings, const tseed_book_tileset_t *booked)
{
    tseed_origins_leave(savings->uses.origins, booked);
    tseed_prune_saving.leave(savings->prune, booked);
}

void tseed_savings_bound(tseed_savings_t *savings, const char *layer, int width, int height)
{
    tseed_sizing_bound(savings->sizing, layer, width, height);
}

void tseed_savings_tick(tseed_savings_t *savings)
{
    tseed_sharing_tick(savings->sharing);
}

/* ---- the database ---- */

int tseed_savings_has_changes(const tseed_savings_t *savings)
{
    return tseed_prune_saving.has_changes(savings->prune);
}

apr_status_t tseed_savings_write(tseed_savings_t *savings, int all)
{
    apr_status_t rv = all ? tseed_origins_write(savings->uses.origins) : APR_SUCCESS;

    if (rv == APR_SUCCESS && all) {
        rv = tseed_prune_saving.write(savings->prune);
    }
    return rv == APR_SUCCESS ? tseed_sizing_write(savings->sizing) : rv;
}

void tseed_savings_saved(tseed_savings_t *savings, int all)
{
    if (all) {
        tseed_origins_saved(savings->uses.origins);
        tseed_prune_saving.saved(savings->prune);
    }
    tseed_sizing_saved(savings->sizing);
}
