/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The wait for room: its runs have `short_of` set. */
#include "books/tseed_quota_wait.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "board/tseed_counters.h"

struct tseed_quota_wait_t {
    const tseed_context_t *context;
    tseed_runs_t *runs;
    const tseed_free_space_t *space;
    const tseed_display_t *display;
    int is_wanted; /* some run waits for `want` */
    tseed_want_t want;
};

tseed_quota_wait_t *tseed_quota_wait_create(const tseed_context_t *context, tseed_runs_t *runs,
                                            const tseed_free_space_t *space,
                                            const tseed_display_t *display)
{
    tseed_quota_wait_t *wait = apr_pcalloc(context->pool, sizeof(*wait));

    wait->context = context;
    wait->runs = runs;
    wait->space = space;
    wait->display = display;
    return wait;
}

/* Whether an account is of a store root that has not been measured. */
static int is_unmeasured(const tseed_account_t *account)
{
    return tseed_account_limit(account).bytes == TSEED_LIMIT_UNKNOWN;
}

static void wake_all(tseed_run_t *runs)
{
    for (tseed_run_t *run = runs; run; run = run->next_run) {
        if (run->short_of) {
            run->short_of = NULL;
            tseed_run_pause(run, 0);
        }
    }
}

void tseed_quota_wait_wake(tseed_quota_wait_t *wait)
{
    wait->is_wanted = 0;
    wake_all(wait->runs->tasks);
    wake_all(wait->runs->background);
}

void tseed_quota_wait_end(tseed_run_t *run, apr_time_t now)
{
    if (now >= run->pause_until) {
        run->short_of = NULL;
    }
}

int tseed_quota_wait_has_room(const tseed_account_t *account, tseed_amount_t amount,
                              tseed_amount_t leaving)
{
    tseed_amount_t used = tseed_account_used(account);
    tseed_amount_t limit = tseed_account_limit(account);

    return used.bytes - leaving.bytes <= limit.bytes - amount.bytes &&
           used.files - leaving.files <= limit.files - amount.files;
}

const tseed_want_t *tseed_quota_wait_wanted(const tseed_quota_wait_t *wait)
{
    return wait->is_wanted && !is_unmeasured(wait->want.account) ? &wait->want : NULL;
}

void tseed_quota_wait_forget(tseed_quota_wait_t *wait)
{
    wait->is_wanted = 0;
}

/* ---- what tasks say ---- */

static const char *say_limit(tseed_quota_wait_t *wait, const tseed_run_t *run)
{
    const tseed_chain_t *chain = &run->booked->chain;
    const char *size =
        tseed_text_amount(tseed_account_limit(run->short_of).bytes, wait->context->scratch);

    if (run->short_of == chain->root) {
        return apr_psprintf(
            wait->context->scratch,
            "TileSeedMinFree keeps %s free, in the layer's store %s are free",
            tseed_text_amount(wait->context->settings->min_free, wait->context->scratch),
            tseed_text_amount(tseed_free_space_get(wait->space, run->tileset.layer->store.root),
                              wait->context->scratch));
    }
    if (run->short_of == chain->layer) {
        return apr_psprintf(wait->context->scratch, "disk quota of %s for layer %s reached", size,
                            run->task->layer);
    }
    return apr_psprintf(wait->context->scratch, "disk quota of %s reached", size);
}

/* Whether two reasons say the same, whatever numbers are in them. */
static int is_same_reason(const char *a, const char *b)
{
    static const char numbers[] = "0123456789.";

    for (;;) {
        a += strspn(a, numbers);
        b += strspn(b, numbers);
        if (!*a || *a != *b) {
            return *a == *b;
        }
        a++;
        b++;
    }
}

void tseed_quota_wait_say(tseed_quota_wait_t *wait, const tseed_account_t *account, const char *why)
{
    for (tseed_run_t *run = wait->runs->tasks; run; run = run->next_run) {
        const char *reason;

        if (!run->short_of || (account && run->short_of != account) ||
            is_unmeasured(run->short_of)) {
            continue;
        }
        reason =
            apr_psprintf(wait->context->scratch, "paused: %s and %s", say_limit(wait, run), why);
        if (!is_same_reason(reason, run->progress.reason)) {
            tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                      "TS0025: task %" APR_INT64_T_FMT " of layer '%s' is %s", run->task->id,
                      run->task->layer, reason);
        }
        if (strcmp(run->progress.reason, reason) != 0) {
            tseed_progress_tell(&run->progress,
                                run->short_of == run->booked->chain.root ? TSEED_REASON_FREE_SPACE
                                                                         : TSEED_REASON_QUOTA,
                                reason);
            tseed_display_run(wait->display, run);
        }
    }
}

/* ---- what is wanted ---- */

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The room that a job and those joined with it want. Each tile that is still to be written may need
 * as much as the refused tile. The sum is at most the limit. */
static tseed_amount_t amount_of(const tseed_job_t *job)
{
    const tseed_amount_t limit = tseed_account_limit(job->result.refused);
    int64_t tiles = 0;

    for (const tseed_job_t *one = job->savings.leader ? job->savings.leader : job; one;
         one = one->savings.joined) {
        tiles += tseed_range_count(&one->metatile.wanted) - one->result.made - one->result.skipped;
    }
    return (tseed_amount_t){lesser(job->result.needed * tiles, limit.bytes),
                            lesser(tiles, limit.files)};
}

/* Whether not even an empty account takes one tile. */
static int is_too_large(const tseed_job_t *job)
{
    const tseed_amount_t limit = tseed_account_limit(job->result.refused);

    return limit.bytes < job->result.needed || limit.files < 1;
}

static void enlarge(tseed_amount_t *amount, tseed_amount_t other)
{
    amount->bytes = greater(amount->bytes, other.bytes);
    amount->files = greater(amount->files, other.files);
}

/* No line of the log: the measure is seldom under way for longer than a moment. */
static void say_unmeasured(const tseed_quota_wait_t *wait, tseed_run_t *run)
{
    if (!run->is_background) {
        tseed_progress_tell(&run->progress, TSEED_REASON_FREE_SPACE,
                            "paused: the free space of the layer's store is not known yet");
        tseed_display_run(wait->display, run);
    }
}

/* When the root is measured, room for one tile is enough to try again. */
static void put_unmeasured(tseed_quota_wait_t *wait, const tseed_job_t *job)
{
    const tseed_amount_t tile = {job->result.needed, 1};

    say_unmeasured(wait, job->run);
    if (!wait->is_wanted) {
        wait->want = (tseed_want_t){.account = job->result.refused, .amount = tile, .least = tile};
        wait->is_wanted = 1;
    }
}

/* Nothing is removed for a tile that does not fit into an empty account. */
void tseed_quota_wait_put(tseed_quota_wait_t *wait, const tseed_job_t *job)
{
    tseed_want_t *want = &wait->want;

    tseed_counters_add(wait->context->board, TSEED_COUNT_QUOTA_REFUSALS, 1);
    job->run->short_of = job->result.refused;
    tseed_run_pause(job->run, tseed_clock_monotonic() + APR_USEC_PER_SEC);
    if (is_unmeasured(job->result.refused)) {
        put_unmeasured(wait, job);
        return;
    }
    if (is_too_large(job)) {
        tseed_quota_wait_say(wait, job->result.refused, "nothing may be expired");
        return;
    }
    if (!wait->is_wanted || want->account != job->result.refused) {
        *want = (tseed_want_t){.account = job->result.refused};
    }
    enlarge(&want->amount, amount_of(job));
    enlarge(&want->least, (tseed_amount_t){job->result.needed, 1});
    wait->is_wanted = 1;
}

/* A job waits, whatever its tile needs, while the limit is 0 or the floor of free space has refused
 * it: there may be room some day. */
const char *tseed_quota_wait_refuse(const tseed_quota_wait_t *wait, const tseed_job_t *job)
{
    const tseed_chain_t *chain = &job->run->booked->chain;
    const int64_t limit = tseed_account_limit(job->result.refused).bytes;

    if (job->result.refused == chain->root || limit == 0 || limit >= job->result.needed) {
        return NULL;
    }
    return apr_psprintf(wait->context->scratch, "a tile needs %s, and the disk quota%s%s is %s",
                        tseed_text_amount(job->result.needed, wait->context->scratch),
                        job->result.refused == chain->layer ? " of layer " : "",
                        job->result.refused == chain->layer ? job->run->task->layer : "",
                        tseed_text_amount(limit, wait->context->scratch));
}
