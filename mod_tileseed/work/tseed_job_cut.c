/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs that cut: what a worker does with an answer. */
#include "work/tseed_job_cut.h"

#include <apr_strings.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/tseed_digest.h"
#include "base/tseed_text.h"
#include "image/tseed_blank.h"
#include "tiling/tseed_range.h"
#include "work/tseed_job_derive.h"
#include "work/tseed_job_store.h"

static void bad_answer(tseed_job_t *job, const char *cause)
{
    job->result.outcome = TSEED_JOB_BAD_ANSWER;
    tseed_text_fit(job->result.cause, sizeof(job->result.cause), cause);
}

/* How the tiles are found that another host has cut; NULL: none has. */
static const tseed_packed_t *packed_of(tseed_job_t *job)
{
    return tseed_job_is_drawn(job) ? NULL : tseed_job_leader(job)->request.transfer.packed;
}

tseed_region_t tseed_job_region(const tseed_tileset_t *tileset, const tseed_range_t *asked,
                                int gutter, int64_t x, int64_t y)
{
    const tseed_gridset_t *gridset = tileset->subset->gridset;
    const tseed_margin_t margin =
        tseed_margin_of(gridset, asked, gutter, !tileset->layer->gutter_beyond);

    return (tseed_region_t){
        .x = margin.left + (int)(x - asked->minx) * gridset->tile_width,
        .y = margin.top + (int)(asked->maxy - y) * gridset->tile_height,
        .width = gridset->tile_width,
        .height = gridset->tile_height,
    };
}

static tseed_region_t region_of(tseed_job_t *job, const tseed_tile_t *tile)
{
    return tseed_job_is_drawn(job)
               ? tseed_job_derived_region(job, tile)
               : tseed_job_region(&job->run->tileset, &tseed_job_leader(job)->savings.asked,
                                  job->run->task->gutter, tile->x, tile->y);
}

/* Encodes a tile of the answer, or takes it from the pack of the host that has. NULL or a sentence.
 */
static const char *encode(tseed_cutter_t *cutter, tseed_encoded_t *encoded, tseed_job_t *job,
                          const tseed_tile_t *tile, apr_pool_t *scratch)
{
    const tseed_transfer_t *transfer = &tseed_job_leader(job)->request.transfer;

    if (!packed_of(job)) {
        const tseed_region_t region = region_of(job, tile);

        return tseed_cutter_cut(cutter, encoded, &region, scratch);
    }
    return transfer->packed->find(encoded, transfer->body, transfer->length, tile->x, tile->y)
               ? NULL
               : "the other host has not made this tile";
}

/* Notes the colour of one more tile. */
static void note_colour(tseed_plain_t *plain, const tseed_encoded_t *encoded)
{
    if (!encoded->uniform || encoded->length > sizeof(plain->data)) {
        plain->colours = TSEED_COLOURS_SEVERAL;
    } else if (plain->colours == TSEED_COLOURS_UNKNOWN) {
        plain->colours = TSEED_COLOURS_ONE;
        plain->length = encoded->length;
        memcpy(plain->data, encoded->data, encoded->length);
    } else if (plain->length != encoded->length ||
               memcmp(plain->data, encoded->data, encoded->length) != 0) {
        plain->colours = TSEED_COLOURS_SEVERAL;
    }
}

/* Whether a reseed finds that a tile is there as it would be made of another answer than the one it
 * came from: the same data, asked for together with other metatiles or written down otherwise. A
 * tile of which nothing is known is made anew. */
static int is_equal(tseed_store_t *store, const tseed_job_t *job, const tseed_tile_t *tile,
                    const tseed_encoded_t *encoded)
{
    return job->accounts.known && tseed_run_leaves_unchanged(job->run) &&
           tseed_store_has(store, tile, encoded->data, encoded->length);
}

int tseed_unstored_file(const void *tile, size_t length)
{
    int file = memfd_create("tile", MFD_CLOEXEC);

    if (file >= 0 && write(file, tile, length) != (ssize_t)length) {
        close(file);
        file = -1;
    }
    return file;
}

/* Keeps a tile for the requests that wait for it. */
static void keep_for_waiters(tseed_unstored_t *unstored, const tseed_tile_t *tile,
                             const tseed_encoded_t *encoded)
{
    for (int i = 0; unstored && i < unstored->count; i++) {
        if (unstored->tiles[i].x == tile->x && unstored->tiles[i].y == tile->y) {
            unstored->files[i] = tseed_unstored_file(encoded->data, encoded->length);
        }
    }
}

/* Stores the i-th wanted tile. Returns 0 when the metatile can't go on; the outcome is set. */
static int store_tile(tseed_store_t *store, tseed_job_t *job, const tseed_tile_t *tile, int64_t i,
                      const tseed_encoded_t *encoded)
{
    apr_status_t rv = tseed_job_store_tile(store, job, tile, encoded);

    if (rv == APR_SUCCESS) {
        job->result.written[i / 64] |= UINT64_C(1) << (i % 64);
        job->result.made++;
        return 1;
    }
    if (tseed_job_blame(job, store, tile, rv)) {
        keep_for_waiters(job->request.unstored, tile, encoded);
        return 1;
    }
    return 0;
}

/* Cuts and stores the i-th wanted tile. Returns 0 when the metatile can't go on; the outcome is
 * set. */
static int cut_tile(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                    const tseed_tile_t *tile, int64_t i, apr_pool_t *scratch)
{
    tseed_encoded_t encoded;
    const char *error = encode(cutter, &encoded, job, tile, scratch);

    if (error) {
        bad_answer(job, error);
        return 0;
    }
    note_colour(&job->result.plain, &encoded);
    if (is_equal(store, job, tile, &encoded)) {
        job->result.present[i / 64] |= UINT64_C(1) << (i % 64);
        job->result.equal++;
        job->result.skipped++;
        return 1;
    }
    return store_tile(store, job, tile, i, &encoded);
}

static void cut_tiles(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                      apr_pool_t *scratch)
{
    const tseed_range_t *wanted = &job->metatile.wanted;
    int64_t i = 0; /* counts the tiles as tseed_store_present does */

    for (int64_t y = wanted->miny; y <= wanted->maxy; y++) {
        for (int64_t x = wanted->minx; x <= wanted->maxx; x++, i++) {
            tseed_tile_t tile = {wanted->z, x, y};

            if (job->result.present[i / 64] >> (i % 64) & 1) {
                job->result.skipped++;
            } else if (job->result.written[i / 64] >> (i % 64) & 1) {
                job->result.made++;
            } else if (tseed_job_lacks(job, &tile)) {
                continue;
            } else if (!cut_tile(cutter, store, job, &tile, i, scratch)) {
                return;
            }
        }
    }
}

/* The digest of the answer, never 0. For a pack: the digest that the other host noted. */
static uint64_t digest_of(tseed_job_t *job)
{
    const tseed_transfer_t *transfer = &tseed_job_leader(job)->request.transfer;
    uint64_t digest = 0;

    if (tseed_job_is_drawn(job)) {
        digest = job->result.below;
    } else if (transfer->packed) {
        transfer->packed->digest_of(&digest, transfer->body, transfer->length, job->accounts.seed);
    } else {
        digest = tseed_digest(transfer->body, transfer->length, job->accounts.seed);
    }
    return digest ? digest : 1;
}

/* Whether the answer is the one that the tiles came from. A new answer begins anew with what was
 * made of another. */
static int is_known(tseed_job_t *job)
{
    uint64_t digest;

    if (tseed_job_is_unchanged(job)) {
        return 1;
    }
    digest = digest_of(job);
    if (digest != job->result.digest) {
        memset(job->result.written, 0, sizeof(job->result.written));
        job->result.plain.colours = TSEED_COLOURS_UNKNOWN;
        job->result.bytes = 0;
        job->result.digest = digest;
    }
    return digest == job->accounts.known;
}

/* In a reseed, finds the tiles that stay: those that are there, if they came from this very answer.
 */
static void find_unchanged(tseed_store_t *store, tseed_job_t *job)
{
    memset(job->result.present, 0, sizeof(job->result.present));
    job->result.equal = 0;
    if (is_known(job)) {
        tseed_job_check(store, job);
        for (size_t i = 0; i < sizeof(job->result.present) / sizeof(job->result.present[0]); i++) {
            job->result.present[i] &= ~job->result.written[i];
        }
    }
}

const char *tseed_job_open(tseed_cutter_t *cutter, tseed_answer_t answer,
                           const tseed_format_t *format, apr_pool_t *scratch)
{
    const char *error = answer.length == 0 ? tseed_blank_picture(&answer, scratch) : NULL;

    return error ? error : tseed_cutter_open(cutter, &answer, format, scratch);
}

static const char *open_picture(tseed_cutter_t *cutter, const tseed_job_t *leader,
                                apr_pool_t *scratch)
{
    const tseed_answer_t answer = {leader->request.transfer.body, leader->request.transfer.length,
                                   leader->request.width, leader->request.height};

    return tseed_job_open(cutter, answer, leader->run->tileset.format, scratch);
}

/* The other host has noted a digest for each joined job. A pack without the digest of this job was
 * not made for this job. */
static const char *find_job_in_pack(const tseed_job_t *job, const tseed_transfer_t *transfer)
{
    uint64_t digest;

    return transfer->packed->digest_of(&digest, transfer->body, transfer->length,
                                       job->accounts.seed)
               ? NULL
               : "the other host's tiles are of another request";
}

/* Joined jobs are cut one after the other by one worker, and the first of them opens the answer for
 * all. */
static const char *open_answer(tseed_cutter_t *cutter, tseed_job_t *job, apr_pool_t *scratch)
{
    tseed_job_t *leader = tseed_job_leader(job);
    const char *error = NULL;

    if (tseed_job_is_drawn(job)) {
        const tseed_picture_t picture = tseed_job_derived(job);

        tseed_cutter_take(cutter, &picture, job->run->tileset.format);
        return NULL;
    }
    if (!leader->result.is_open) {
        error = packed_of(job) ? packed_of(job)->check(leader->request.transfer.body,
                                                       leader->request.transfer.length)
                               : open_picture(cutter, leader, scratch);
        leader->result.is_open = !error;
    }
    return error || !packed_of(job) ? error : find_job_in_pack(job, &leader->request.transfer);
}

/* Whether all wanted tiles of a picture are of the job's shade; else *error is set, or there is
 * another tile. */
static int is_of_shade(const char **error, tseed_cutter_t *cutter, tseed_job_t *job,
                       apr_pool_t *scratch)
{
    const tseed_range_t *wanted = &job->metatile.wanted;
    tseed_encoded_t encoded;

    for (int64_t y = wanted->miny; y <= wanted->maxy; y++) {
        for (int64_t x = wanted->minx; x <= wanted->maxx; x++) {
            const tseed_tile_t tile = {wanted->z, x, y};

            *error = encode(cutter, &encoded, job, &tile, scratch);
            if (*error || encoded.length != job->savings.shade->length ||
                memcmp(encoded.data, job->savings.shade->data, encoded.length) != 0) {
                return 0;
            }
        }
    }
    return 1;
}

/* Looks at a metatile below a finding. Nothing is stored of what is as it was taken to be. */
static void look(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                 apr_pool_t *scratch)
{
    const char *error = NULL;

    if (!job->result.is_wrong && is_of_shade(&error, cutter, job, scratch)) {
        job->result.skipped = tseed_job_present(job);
        job->result.alike = tseed_range_count(&job->metatile.wanted) - job->result.skipped;
    } else if (error) {
        bad_answer(job, error);
    } else {
        job->result.is_wrong = 1;
        cut_tiles(cutter, store, job, scratch);
    }
}

/* Makes the tiles of a metatile below a finding that requests wait for. */
static void make_of_shade(tseed_store_t *store, tseed_job_t *job)
{
    const tseed_range_t *wanted = &job->metatile.wanted;
    const tseed_encoded_t encoded = {job->savings.shade->data, job->savings.shade->length, 1, {0}};
    int64_t i = 0;

    for (int64_t y = wanted->miny; y <= wanted->maxy; y++) {
        for (int64_t x = wanted->minx; x <= wanted->maxx; x++, i++) {
            const tseed_tile_t tile = {wanted->z, x, y};
            const uint64_t done = job->result.present[i / 64] | job->result.written[i / 64];

            if (!(done >> (i % 64) & 1) && !store_tile(store, job, &tile, i, &encoded)) {
                return;
            }
        }
    }
    job->result.made = tseed_job_written(job);
    job->result.skipped = tseed_job_present(job);
}

static void cut(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job, apr_pool_t *scratch)
{
    const char *error = open_answer(cutter, job, scratch);
    const char *words =
        error ? tseed_transfer_words(&tseed_job_leader(job)->request.transfer, scratch) : "";

    if (error) {
        bad_answer(job, *words ? apr_psprintf(scratch, "%s: %s", error, words) : error);
    } else if (job->savings.shade) {
        look(cutter, store, job, scratch);
    } else {
        cut_tiles(cutter, store, job, scratch);
    }
}

/* Makes what is missing or has changed. Opens a pack before a digest of the pack is believed. */
static void renew(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                  apr_pool_t *scratch)
{
    const int64_t tiles = tseed_range_count(&job->metatile.wanted);
    const char *error = packed_of(job) ? open_answer(cutter, job, scratch) : NULL;

    if (error) {
        bad_answer(job, error);
        return;
    }
    if (tseed_run_leaves_unchanged(job->run)) {
        find_unchanged(store, job);
    } else {
        is_known(job);
    }
    if (job->result.outcome != TSEED_JOB_OK) {
        return;
    }
    if (tseed_job_present(job) == tiles && !tseed_job_is_look(job)) {
        job->result.skipped = tiles;
    } else if (tseed_job_is_unchanged(job)) {
        job->result.outcome = TSEED_JOB_NO_BODY;
    } else {
        cut(cutter, store, job, scratch);
    }
}

/* The same where their colour is known. */
static void pass_shade(tseed_job_t *job)
{
    for (int i = 0; i < job->request.unstored->count; i++) {
        job->request.unstored->files[i] =
            tseed_unstored_file(job->savings.shade->data, job->savings.shade->length);
    }
}

/* Keeps tiles that can't be stored for the requests that wait for them. */
static void pass(tseed_cutter_t *cutter, tseed_job_t *job, apr_pool_t *scratch)
{
    tseed_unstored_t *unstored = job->request.unstored;

    if (job->savings.is_made_of_shade) {
        pass_shade(job);
        return;
    }
    for (int i = 0; i < unstored->count; i++) {
        tseed_encoded_t encoded;

        if (!tseed_job_lacks(job, &unstored->tiles[i]) &&
            !encode(cutter, &encoded, job, &unstored->tiles[i], scratch)) {
            unstored->files[i] = tseed_unstored_file(encoded.data, encoded.length);
        }
    }
}

/* Nothing is stored, whatever the store is like. */
void tseed_job_pass(tseed_cutter_t *cutter, tseed_job_t *job, apr_pool_t *scratch)
{
    const char *error = job->savings.is_made_of_shade ? NULL : open_answer(cutter, job, scratch);

    if (error) {
        bad_answer(job, error);
    } else {
        pass(cutter, job, scratch);
        job->result.outcome = TSEED_JOB_NO_STORE;
    }
}

void tseed_job_cut(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                   apr_pool_t *scratch)
{
    if (!tseed_job_is_drawn(job)) { /* else DERIVE has noted some */
        memset(job->result.lacking, 0, sizeof(job->result.lacking));
        job->result.is_blocked = 0;
    }
    if (job->savings.is_made_of_shade) {
        make_of_shade(store, job);
    } else {
        renew(cutter, store, job, scratch);
    }
    if (job->result.outcome == TSEED_JOB_OK && tseed_job_lacks_any(job)) {
        job->result.outcome = TSEED_JOB_LACKS;
    }
    if (job->request.unstored &&
        (job->result.outcome == TSEED_JOB_NO_STORE || job->result.outcome == TSEED_JOB_NO_ROOM)) {
        pass(cutter, job, scratch);
    }
}
