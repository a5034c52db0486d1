/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Derived metatiles on their way. A picture counts among the answers of its run, which bound the
 * memory. */
#include "pipeline/tseed_derive.h"

#include "books/tseed_jobs.h"
#include "tiling/tseed_range.h"

int tseed_derive_is(const tseed_job_t *job)
{
    return tseed_run_derives(job->run, job->metatile.whole.z);
}

int tseed_derive_waits(const tseed_run_t *run, int z)
{
    if (tseed_run_derives(run, z)) {
        for (const tseed_job_t *job = run->jobs; job; job = job->sibling) {
            if (job->metatile.whole.z != z) {
                return 1;
            }
        }
    }
    return 0;
}

static int64_t pixels_of(const tseed_job_t *job)
{
    const tseed_gridset_t *gridset = job->run->tileset.subset->gridset;

    return tseed_range_count(&job->metatile.wanted) * gridset->tile_width * gridset->tile_height;
}

void tseed_derive_prepare(tseed_job_t *job, tseed_origins_t *origins)
{
    tseed_origins_ask(origins, job, "derived");
    tseed_jobs_forget_answer(&job->transfer);
    job->transfer.upstream = job->run->tileset.layer->source.addresses[0].upstream;
    job->transfer.http_status = 0;
    job->transfer.next_condition[0] = '\0';
    job->run->deriving++;
    job->run->pixels_expected += pixels_of(job);
}

void tseed_derive_arrive(tseed_job_t *job, tseed_origins_t *origins)
{
    job->run->deriving--;
    job->run->pixels_expected -= pixels_of(job);
    if (job->has_broken) {
        const tseed_range_t below =
            tseed_halving_below(job->run->tileset.subset->gridset, &job->metatile.wanted);

        tseed_origins_forget_tiles(origins, job->run, &below);
    }
}
