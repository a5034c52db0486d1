/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Cutting in the place of the host that works. */
#include "seeder/tseed_helper_cut.h"

#include <apr_strings.h>

#include "base/tseed_digest.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "image/tseed_cutter.h"
#include "image/tseed_pack.h"
#include "store/tseed_layout.h"
#include "work/tseed_job_cut.h"

/* The host that works chooses the sizes of requests by its own number of workers. Here as many
 * answers are decoded at once as have so many pixels, or one. */
#define PIXELS_MOST (128 << 20)

/* ---- a request ---- */

/* NULL or a sentence. */
static const char *cut_part(tseed_pack_t *pack, tseed_cutter_t *cutter,
                            const tseed_helper_request_t *request, const tseed_portion_part_t *part,
                            apr_pool_t *scratch)
{
    const tseed_transfer_t *transfer = &request->transfer;
    const tseed_portion_t *portion = &request->portion;

    tseed_pack_digest(pack, part->seed, tseed_digest(transfer->body, transfer->length, part->seed));
    for (int64_t y = part->wanted.miny; y <= part->wanted.maxy; y++) {
        for (int64_t x = part->wanted.minx; x <= part->wanted.maxx; x++) {
            const tseed_region_t region =
                tseed_job_region(&portion->tileset, &portion->asked, portion->gutter, x, y);
            tseed_encoded_t encoded;
            const char *error = tseed_cutter_cut(cutter, &encoded, &region, scratch);

            if (error) {
                return error;
            }
            tseed_pack_add(pack, x, y, &encoded);
        }
    }
    return NULL;
}

static const char *cut_all(tseed_pack_t *pack, tseed_cutter_t *cutter,
                           const tseed_helper_request_t *request, apr_pool_t *scratch)
{
    const tseed_portion_t *portion = &request->portion;
    const tseed_transfer_t *transfer = &request->transfer;
    const tseed_answer_t answer = {transfer->body, transfer->length, portion->width,
                                   portion->height};
    const char *error = tseed_job_open(cutter, answer, portion->tileset.format, scratch);

    for (int i = 0; !error && i < portion->parts->nelts; i++) {
        error = cut_part(pack, cutter, request,
                         &APR_ARRAY_IDX(portion->parts, i, tseed_portion_part_t), scratch);
    }
    return error;
}

/* An administrator can do something about it. */
static void say_why(tseed_helper_cut_t *cut, const char *root, apr_status_t rv)
{
    int is_said;

    pthread_mutex_lock(&cut->lock);
    is_said = cut->has_said_why;
    cut->has_said_why = rv != APR_SUCCESS;
    pthread_mutex_unlock(&cut->lock);
    if (rv != APR_SUCCESS && !is_said) {
        tseed_log(TSEED_LOG_WARNING, rv,
                  "TS0090: this host can't fetch for the host that works: it can't write into "
                  "%s/" TSEED_PACKS,
                  root);
    }
}

/* Writes the pack of a request. */
static void write_pack(tseed_helper_cut_t *cut, tseed_helper_request_t *request,
                       const tseed_pack_t *pack, apr_pool_t *scratch)
{
    const tseed_store_config_t *store = &request->portion.tileset.layer->store;
    size_t length;
    const unsigned char *bytes = tseed_pack_bytes(pack, &length);
    const apr_status_t rv = tseed_pack_file_write(store, &request->name, bytes, length, scratch);

    say_why(cut, store->root, rv);
    if (rv != APR_SUCCESS) {
        tseed_text_fit(
            request->transfer.cause, sizeof(request->transfer.cause),
            apr_psprintf(scratch, "can't write into %s/" TSEED_PACKS " (%pm)", store->root, &rv));
    }
    request->has_pack = rv == APR_SUCCESS;
    request->outcome = request->has_pack ? TSEED_PORTION_OK : TSEED_PORTION_REFUSED;
}

static void carry_out(tseed_helper_cut_t *cut, tseed_cutter_t *cutter,
                      tseed_helper_request_t *request, apr_pool_t *scratch)
{
    tseed_transfer_t *transfer = &request->transfer;
    tseed_pack_t *pack = tseed_pack_begin();
    const char *error = cut_all(pack, cutter, request, scratch);
    const char *words = error ? tseed_transfer_words(transfer, scratch) : "";

    if (error) {
        tseed_text_fit(transfer->cause, sizeof(transfer->cause),
                       *words ? apr_psprintf(scratch, "%s: %s", error, words) : error);
        request->outcome = TSEED_PORTION_FAILED;
    } else {
        write_pack(cut, request, pack, scratch);
    }
    tseed_pack_end(pack);
    free(transfer->body); /* the row may wait long for its others */
    transfer->body = NULL;
    transfer->length = transfer->capacity = 0;
}

/* ---- the threads ---- */

static int64_t pixels_of(const tseed_helper_request_t *request)
{
    return (int64_t)request->portion.width * request->portion.height;
}

/* Under lock. */
static int may_begin(const tseed_helper_cut_t *cut)
{
    return cut->first &&
           (cut->decoding == 0 || cut->decoding + pixels_of(cut->first) <= PIXELS_MOST);
}

/* NULL: it is over. */
static tseed_helper_request_t *next_request(tseed_helper_cut_t *cut)
{
    tseed_helper_request_t *request = NULL;

    pthread_mutex_lock(&cut->lock);
    while (!cut->is_over && !may_begin(cut)) {
        pthread_cond_wait(&cut->has_changed, &cut->lock);
    }
    if (!cut->is_over) {
        request = cut->first;
        cut->first = request->next;
        cut->end = cut->first ? cut->end : &cut->first;
        cut->decoding += pixels_of(request);
    }
    pthread_mutex_unlock(&cut->lock);
    return request;
}

static void note_end(tseed_helper_cut_t *cut, int64_t pixels)
{
    pthread_mutex_lock(&cut->lock);
    cut->decoding -= pixels;
    pthread_cond_broadcast(&cut->has_changed);
    pthread_mutex_unlock(&cut->lock);
}

static void *run(void *data)
{
    tseed_helper_cut_t *cut = data;
    apr_pool_t *scratch = tseed_memory_pool();
    tseed_cutter_t *cutter;
    tseed_helper_request_t *request;

    if (tseed_cutter_create(&cutter) != APR_SUCCESS) {
        abort();
    }
    while ((request = next_request(cut))) {
        const int64_t pixels = pixels_of(request);

        carry_out(cut, cutter, request, scratch);
        cut->finish(cut->baton, request);
        note_end(cut, pixels);
        apr_pool_clear(scratch);
    }
    tseed_cutter_destroy(cutter);
    apr_pool_destroy(scratch);
    return NULL;
}

int tseed_helper_cut_begin(tseed_helper_cut_t *cut, int threads)
{
    int count = 0;

    cut->end = &cut->first;
    pthread_mutex_init(&cut->lock, NULL);
    pthread_cond_init(&cut->has_changed, NULL);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, run, cut) == 0) {
            pthread_detach(thread);
            count++;
        }
    }
    return count;
}

void tseed_helper_cut_put(tseed_helper_cut_t *cut, tseed_helper_request_t *request)
{
    request->next = NULL;
    pthread_mutex_lock(&cut->lock);
    *cut->end = request;
    cut->end = &request->next;
    pthread_cond_broadcast(&cut->has_changed);
    pthread_mutex_unlock(&cut->lock);
}

void tseed_helper_cut_end(tseed_helper_cut_t *cut)
{
    pthread_mutex_lock(&cut->lock);
    cut->is_over = 1;
    pthread_cond_broadcast(&cut->has_changed);
    pthread_mutex_unlock(&cut->lock);
}
