/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Inquiries: after the start each WMS is asked once what it offers, and compared with what its
 * layers want of it. What is missing is said in the log and on the layers' tasks; it stops nobody,
 * for the description may be wrong. A service that is away is asked again when it has answered
 * others.
 */
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "protocol/tseed_capabilities.h"
#include "seeder/tseed_house.h"
#include "source/tseed_wms.h"

#define ANSWER_BYTES_MAX (16 << 20)

/* One service; in the seeder's pool. */
struct tseed_inquiry_t {
    tseed_letter_t letter;
    tseed_transfer_t transfer;
    const tseed_address_t *address;
    const char *url;
    int waits; /* for the upstream to answer others */
    tseed_inquiry_t *next;
};

static void submit(tseed_seeder_t *seeder, tseed_inquiry_t *inquiry)
{
    tseed_transfer_t *transfer = &inquiry->transfer;

    inquiry->waits = 0;
    transfer->url = inquiry->url;
    transfer->upstream = inquiry->address->upstream;
    transfer->owner = inquiry;
    transfer->most = ANSWER_BYTES_MAX;
    transfer->may_go_elsewhere = 1; /* it is never worth a probe */
    tseed_fetcher_submit(seeder->context->fetcher, transfer);
}

static const char *url_of(const tseed_layer_t *layer, int address, apr_pool_t *pool)
{
    return tseed_wms_capabilities_url(layer->source.addresses[address].url,
                                      apr_table_get(layer->source.parameters, "VERSION"), pool);
}

/* ---- answers ---- */

static void compare(tseed_seeder_t *seeder, const tseed_inquiry_t *inquiry,
                    const tseed_capabilities_t *offered, const tseed_layer_t *layer)
{
    apr_array_header_t *lacks = tseed_capabilities_lacks(offered, layer, seeder->context->scratch);
    const char *sentence;

    if (lacks->nelts == 0) {
        return;
    }
    sentence = apr_psprintf(seeder->context->pool, "the upstream %s does not offer %s",
                            inquiry->address->upstream->name,
                            apr_array_pstrcat(seeder->context->scratch, lacks, ';'));
    tseed_log(TSEED_LOG_WARNING, APR_SUCCESS, "layer '%s': %s", layer->name, sentence);
    apr_hash_set(seeder->warnings, layer->name, APR_HASH_KEY_STRING, sentence);
    for (tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        if (strcmp(run->task->layer, layer->name) == 0) {
            run->warning = sentence;
        }
    }
}

static void compare_all(tseed_seeder_t *seeder, const tseed_inquiry_t *inquiry,
                        const tseed_capabilities_t *offered)
{
    const apr_array_header_t *layers = seeder->context->catalog->order;

    for (int i = 0; i < layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, const tseed_layer_t *);

        for (int k = 0; layer->source.kind == TSEED_SOURCE_WMS && k < layer->source.count; k++) {
            if (layer->source.addresses[k].upstream == inquiry->address->upstream &&
                strcmp(url_of(layer, k, seeder->context->scratch), inquiry->url) == 0) {
                compare(seeder, inquiry, offered, layer);
            }
        }
    }
}

/* A task that has no other reason shows what its layer lacks. */
static void show_warnings(tseed_seeder_t *seeder)
{
    for (tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        if (run->phase == TSEED_RUN_GOING && !*run->progress.reason) {
            tseed_run_remind(run);
            tseed_display_run(seeder->display, run);
        }
    }
}

/* An answer that is a document is none of a picture's: the fetcher calls it a failure. */
static void take(void *module, void *about)
{
    tseed_seeder_t *seeder = module;
    tseed_inquiry_t *inquiry = about;
    tseed_transfer_t *transfer = &inquiry->transfer;
    const tseed_capabilities_t *offered = NULL;

    if (transfer->http_status == 200 && transfer->length > 0) {
        offered =
            tseed_capabilities_read(transfer->body, transfer->length, seeder->context->scratch);
    }
    inquiry->waits = transfer->result == TSEED_FETCH_AWAY;
    if (offered) {
        compare_all(seeder, inquiry, offered);
        show_warnings(seeder);
    } else {
        tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS, "the upstream %s does not say what it offers: %s",
                  inquiry->address->upstream->name, transfer->cause);
    }
    tseed_jobs_forget_answer(transfer);
}

/* ---- questions ---- */

static void begin(tseed_seeder_t *seeder, const tseed_layer_t *layer, int address)
{
    const char *url = url_of(layer, address, seeder->context->pool);
    tseed_inquiry_t *inquiry = seeder->inquiries;

    while (inquiry && (strcmp(inquiry->url, url) != 0 ||
                       inquiry->address->upstream != layer->source.addresses[address].upstream)) {
        inquiry = inquiry->next;
    }
    if (inquiry) {
        return;
    }
    inquiry = apr_pcalloc(seeder->context->pool, sizeof(*inquiry));
    inquiry->letter = (tseed_letter_t){.take = take, .module = seeder, .about = inquiry};
    inquiry->transfer.baton = &inquiry->letter;
    inquiry->address = &layer->source.addresses[address];
    inquiry->url = url;
    inquiry->next = seeder->inquiries;
    seeder->inquiries = inquiry;
    submit(seeder, inquiry);
}

void tseed_inquiry_begin(tseed_seeder_t *seeder)
{
    const apr_array_header_t *layers = seeder->context->catalog->order;

    seeder->warnings = apr_hash_make(seeder->context->pool);
    for (int i = 0; i < layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, const tseed_layer_t *);

        for (int k = 0; layer->source.kind == TSEED_SOURCE_WMS && k < layer->source.count; k++) {
            begin(seeder, layer, k);
        }
    }
}

static void tick(void *module, apr_time_t now)
{
    tseed_seeder_t *seeder = module;
    (void)now;
    for (tseed_inquiry_t *inquiry = seeder->inquiries; inquiry; inquiry = inquiry->next) {
        tseed_outlook_t outlook;

        if (inquiry->waits) {
            tseed_fetcher_outlook(seeder->context->fetcher, &outlook, inquiry->address->upstream);
            if (!outlook.since && outlook.heard > inquiry->transfer.ended) {
                submit(seeder, inquiry);
            }
        }
    }
}

tseed_client_t tseed_inquiry_client = {.tick = tick};
