/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The capabilities check: what upstreams say they offer, against what layers want of them. */
#include "seeder/tseed_capabilities_check.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "books/tseed_jobs.h"
#include "protocol/tseed_capabilities.h"
#include "source/tseed_wms.h"

#define ANSWER_BYTES_MAX (16 << 20)

/* One service; in the context's pool. */
typedef struct request_t {
    tseed_letter_t letter;
    tseed_transfer_t transfer;
    const tseed_address_t *address;
    const char *url;
    int waits; /* for the upstream to answer others */
    struct request_t *next;
} request_t;

struct tseed_capabilities_check_t {
    const tseed_context_t *context;
    const tseed_runs_t *runs;
    const tseed_display_t *display;
    tseed_savings_t *savings;
    tseed_client_t client;
    request_t *requests;
    apr_hash_t *warnings; /* layer -> lack_t */
};

/* What the upstream of a layer lacks. In the context's pool. */
typedef struct {
    const char *sentence;
    int is_layer;
} lack_t;

void tseed_capabilities_check_warn(const tseed_capabilities_check_t *check, tseed_run_t *run)
{
    const lack_t *lack = apr_hash_get(check->warnings, run->task->layer, APR_HASH_KEY_STRING);

    run->warning = lack ? lack->sentence : NULL;
    run->lacks_layer = lack && lack->is_layer;
}

static void submit(tseed_capabilities_check_t *check, request_t *request)
{
    tseed_transfer_t *transfer = &request->transfer;

    request->waits = 0;
    transfer->url = request->url;
    transfer->upstream = request->address->upstream;
    transfer->owner = request;
    transfer->most = ANSWER_BYTES_MAX;
    transfer->is_document = 1;
    transfer->may_go_elsewhere = 1; /* it is never worth a probe */
    tseed_fetcher_submit(check->context->fetcher, transfer);
}

static const char *url_of(const tseed_layer_t *layer, int address, apr_pool_t *pool)
{
    return tseed_wms_capabilities_url(layer->source.addresses[address].url,
                                      apr_table_get(layer->source.parameters, "VERSION"), pool);
}

/* ---- answers ---- */

static const char *join(const apr_array_header_t *lacks, apr_pool_t *pool)
{
    const char *text = APR_ARRAY_IDX(lacks, 0, const char *);

    for (int i = 1; i < lacks->nelts; i++) {
        text = apr_pstrcat(pool, text, "; ", APR_ARRAY_IDX(lacks, i, const char *), NULL);
    }
    return text;
}

static void compare(tseed_capabilities_check_t *check, const request_t *request,
                    const tseed_capabilities_t *offered, const tseed_layer_t *layer)
{
    int is_layer;
    apr_array_header_t *lacks =
        tseed_capabilities_lacks(&is_layer, offered, layer, check->context->scratch);
    lack_t *lack;
    int width, height;

    tseed_capabilities_most(offered, &width, &height);
    tseed_savings_bound(check->savings, layer->name, width, height);
    if (lacks->nelts == 0) {
        return;
    }
    lack = apr_pcalloc(check->context->pool, sizeof(*lack));
    lack->is_layer = is_layer;
    lack->sentence =
        apr_psprintf(check->context->pool, "the upstream %s does not offer %s",
                     request->address->upstream->name, join(lacks, check->context->scratch));
    tseed_log(TSEED_LOG_WARNING, APR_SUCCESS, "TS0024: layer '%s': %s", layer->name,
              lack->sentence);
    apr_hash_set(check->warnings, layer->name, APR_HASH_KEY_STRING, lack);
    for (tseed_run_t *run = check->runs->tasks; run; run = run->next_run) {
        if (strcmp(run->task->layer, layer->name) == 0) {
            tseed_capabilities_check_warn(check, run);
        }
    }
}

static void compare_all(tseed_capabilities_check_t *check, const request_t *request,
                        const tseed_capabilities_t *offered)
{
    const apr_array_header_t *layers = check->context->catalog->order;

    for (int i = 0; i < layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, const tseed_layer_t *);

        for (int k = 0; layer->source.kind == TSEED_SOURCE_WMS && k < layer->source.count; k++) {
            if (layer->source.addresses[k].upstream == request->address->upstream &&
                strcmp(url_of(layer, k, check->context->scratch), request->url) == 0) {
                compare(check, request, offered, layer);
            }
        }
    }
}

/* A task that has no other reason shows what its layer lacks. */
static void show_warnings(tseed_capabilities_check_t *check)
{
    for (tseed_run_t *run = check->runs->tasks; run; run = run->next_run) {
        if (run->phase == TSEED_RUN_GOING && !*run->progress.reason) {
            tseed_run_remind(run);
            tseed_display_run(check->display, run);
        }
    }
}

/* An answer that is a document is none of a picture's: the fetcher calls it a failure. */
static void take(void *module, void *about)
{
    tseed_capabilities_check_t *check = module;
    request_t *request = about;
    tseed_transfer_t *transfer = &request->transfer;
    const tseed_capabilities_t *offered = NULL;

    if (transfer->http_status == 200 && transfer->length > 0) {
        offered =
            tseed_capabilities_read(transfer->body, transfer->length, check->context->scratch);
    }
    request->waits = transfer->result == TSEED_FETCH_AWAY;
    if (offered) {
        compare_all(check, request, offered);
        show_warnings(check);
    } else {
        tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS, "the upstream %s does not say what it offers: %s",
                  request->address->upstream->name, transfer->cause);
    }
    tseed_jobs_forget_answer(transfer);
}

/* ---- questions ---- */

static void begin(tseed_capabilities_check_t *check, const tseed_layer_t *layer, int address)
{
    const char *url = url_of(layer, address, check->context->pool);
    request_t *request = check->requests;

    while (request && (strcmp(request->url, url) != 0 ||
                       request->address->upstream != layer->source.addresses[address].upstream)) {
        request = request->next;
    }
    if (request) {
        return;
    }
    request = apr_pcalloc(check->context->pool, sizeof(*request));
    request->letter = (tseed_letter_t){.take = take, .module = check, .about = request};
    request->transfer.baton = &request->letter;
    request->address = &layer->source.addresses[address];
    request->url = url;
    request->next = check->requests;
    check->requests = request;
    submit(check, request);
}

void tseed_capabilities_check_begin(tseed_capabilities_check_t *check)
{
    const apr_array_header_t *layers = check->context->catalog->order;

    for (int i = 0; i < layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, const tseed_layer_t *);

        for (int k = 0; layer->source.kind == TSEED_SOURCE_WMS && k < layer->source.count; k++) {
            begin(check, layer, k);
        }
    }
}

static void tick(void *module, apr_time_t now)
{
    tseed_capabilities_check_t *check = module;

    (void)now;
    for (request_t *request = check->requests; request; request = request->next) {
        tseed_outlook_t outlook;

        if (request->waits) {
            tseed_fetcher_outlook(check->context->fetcher, &outlook, request->address->upstream);
            if (!outlook.since && outlook.heard > request->transfer.ended) {
                submit(check, request);
            }
        }
    }
}

/* ---- the module ---- */

tseed_capabilities_check_t *tseed_capabilities_check_create(const tseed_context_t *context,
                                                            const tseed_runs_t *runs,
                                                            const tseed_display_t *display,
                                                            tseed_savings_t *savings)
{
    tseed_capabilities_check_t *check = apr_pcalloc(context->pool, sizeof(*check));

    check->context = context;
    check->runs = runs;
    check->display = display;
    check->savings = savings;
    check->client = (tseed_client_t){.module = check, .tick = tick};
    check->warnings = apr_hash_make(context->pool);
    return check;
}

tseed_client_t *tseed_capabilities_check_client(tseed_capabilities_check_t *check)
{
    return &check->client;
}
