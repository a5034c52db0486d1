/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Room: who waits for it because an account of the disk quota has refused a write, what is wanted,
 * and what those who wait say. The janitor makes it. */
#include <apr_strings.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "seeder/tseed_house.h"

/* What a root that is still to be made will have is told by its nearest parent. */
int64_t tseed_room_free(const char *root, apr_pool_t *scratch)
{
    char *path = apr_pstrdup(scratch, root);
    struct statvfs info;

    while (statvfs(path, &info) != 0) {
        char *slash = strrchr(path, '/');

        if (!slash || slash == path) {
            return INT64_MAX;
        }
        *slash = '\0';
    }
    return (int64_t)info.f_bavail * (int64_t)info.f_frsize;
}

static void wake(tseed_run_t *runs)
{
    for (tseed_run_t *run = runs; run; run = run->next_run) {
        if (run->short_of) {
            run->short_of = NULL;
            run->pause_until = 0;
        }
    }
}

/* There may be room: whoever waits tries again. */
void tseed_room_wake(tseed_seeder_t *seeder)
{
    seeder->janitor.wanted = 0;
    wake(seeder->runs->tasks);
    wake(seeder->runs->background);
}

/* Whether there is room once `leaving` has gone. */
int tseed_room_has(const tseed_account_t *account, tseed_amount_t amount, tseed_amount_t leaving)
{
    tseed_amount_t used = tseed_account_used(account);
    tseed_amount_t limit = tseed_account_limit(account);

    return used.bytes - leaving.bytes <= limit.bytes - amount.bytes &&
           used.files - leaving.files <= limit.files - amount.files;
}

static const char *say_limit(tseed_seeder_t *seeder, const tseed_run_t *run)
{
    const tseed_chain_t *chain = &run->booked->chain;
    const char *size =
        tseed_text_amount(tseed_account_limit(run->short_of).bytes, seeder->context->scratch);

    if (run->short_of == chain->root) {
        return apr_psprintf(
            seeder->context->scratch,
            "TileSeedMinFree keeps %s free, in the layer's store %s are free",
            tseed_text_amount(seeder->context->settings->min_free, seeder->context->scratch),
            tseed_text_amount(
                tseed_room_free(run->tileset.layer->store.root, seeder->context->scratch),
                seeder->context->scratch));
    }
    if (run->short_of == chain->layer) {
        return apr_psprintf(seeder->context->scratch, "disk quota of %s for layer %s reached", size,
                            run->task->layer);
    }
    return apr_psprintf(seeder->context->scratch, "disk quota of %s reached", size);
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

/* Nothing may go: whoever waits for room in an account (NULL: any) says so, and goes on by itself
 * when that changes. */
void tseed_room_say(tseed_seeder_t *seeder, const tseed_account_t *account, const char *why)
{
    for (tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        const char *reason;

        if (!run->short_of || (account && run->short_of != account)) {
            continue;
        }
        reason = apr_psprintf(seeder->context->scratch, "paused: %s and %s", say_limit(seeder, run),
                              why);
        if (!is_same_reason(reason, run->progress.reason)) {
            tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                      "task %" APR_INT64_T_FMT " of layer '%s' is %s", run->task->id,
                      run->task->layer, reason);
        }
        if (strcmp(run->progress.reason, reason) != 0) {
            tseed_text_fit(run->progress.reason, sizeof(run->progress.reason), reason);
            tseed_display_run(seeder->display, run);
        }
    }
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Tiles of the metatile that are still to be written may each want as much as the refused one; but
 * no more than there may ever be. */
static tseed_amount_t amount_of(const tseed_job_t *job)
{
    const tseed_amount_t limit = tseed_account_limit(job->refused);
    int64_t tiles = tseed_range_count(&job->metatile.wanted) - job->made - job->skipped;

    return (tseed_amount_t){lesser(job->needed * tiles, limit.bytes), lesser(tiles, limit.files)};
}

/* Whether not even an empty account takes one tile. */
static int is_too_large(const tseed_job_t *job)
{
    const tseed_amount_t limit = tseed_account_limit(job->refused);

    return limit.bytes < job->needed || limit.files < 1;
}

static void enlarge(tseed_amount_t *amount, tseed_amount_t other)
{
    amount->bytes = greater(amount->bytes, other.bytes);
    amount->files = greater(amount->files, other.files);
}

/* Nothing goes for what can't be stored even then. */
void tseed_room_want(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_want_t *want = &seeder->janitor.want;

    job->run->short_of = job->refused;
    job->run->pause_until = tseed_clock_monotonic() + APR_USEC_PER_SEC;
    if (is_too_large(job)) {
        tseed_room_say(seeder, job->refused, "nothing may be expired");
        return;
    }
    if (!seeder->janitor.wanted || want->account != job->refused) {
        *want = (tseed_want_t){.account = job->refused};
    }
    enlarge(&want->amount, amount_of(job));
    enlarge(&want->least, (tseed_amount_t){job->needed, 1});
    seeder->janitor.wanted = 1;
}

/* With a limit of nothing, or none but the floor of free space, there may be room some day: the
 * tile is not what is wrong. */
const char *tseed_room_refuse(const tseed_seeder_t *seeder, const tseed_job_t *job)
{
    const tseed_chain_t *chain = &job->run->booked->chain;
    const int64_t limit = tseed_account_limit(job->refused).bytes;

    if (job->refused == chain->root || limit == 0 || limit >= job->needed) {
        return NULL;
    }
    return apr_psprintf(seeder->context->scratch, "a tile needs %s, and the disk quota%s%s is %s",
                        tseed_text_amount(job->needed, seeder->context->scratch),
                        job->refused == chain->layer ? " of layer " : "",
                        job->refused == chain->layer ? job->run->task->layer : "",
                        tseed_text_amount(limit, seeder->context->scratch));
}
