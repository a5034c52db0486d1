/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs layers and estimate: what a request may name, and what it would take. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl_request.h"
#include "ctl/tseed_ctl_terminal.h"
#include "ctl/tseed_ctl_verbs.h"
#include "ctl/tseed_ctl_words.h"

/* ---- layers ---- */

/* The entries of a list as "a, b". */
static const char *join(const tseed_node_t *object, const char *list,
                        const char *(*say)(const tseed_node_t *entry, apr_pool_t *pool),
                        apr_pool_t *pool)
{
    const char *words = "";

    for (const tseed_node_t *one = tseed_ctl_first(object, list); one; one = tseed_ctl_next(one)) {
        words = apr_pstrcat(pool, words, *words ? ", " : "", say(one, pool), NULL);
    }
    return words;
}

static const char *say_gridset(const tseed_node_t *entry, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%s %s-%s", tseed_ctl_words(entry, "gridSetId", "?", pool),
                        tseed_ctl_words(entry, "zoomStart", "?", pool),
                        tseed_ctl_words(entry, "zoomStop", "?", pool));
}

static const char *say_format(const tseed_node_t *entry, apr_pool_t *pool)
{
    return tseed_ctl_words(entry, "format", "?", pool);
}

static const char *say_parameter(const tseed_node_t *entry, apr_pool_t *pool)
{
    return tseed_ctl_words(entry, "name", "?", pool);
}

static void print_layers(const tseed_node_t *document, apr_pool_t *pool)
{
    tseed_ctl_table_t *table = tseed_ctl_table_create("LAYER GRIDSETS FORMATS PARAMETERS", pool);

    for (const tseed_node_t *layer = tseed_ctl_first(document, "layers"); layer;
         layer = tseed_ctl_next(layer)) {
        tseed_ctl_table_add(table, tseed_ctl_words(layer, "name", "?", pool));
        tseed_ctl_table_add(table, join(layer, "gridSets", say_gridset, pool));
        tseed_ctl_table_add(table, join(layer, "formats", say_format, pool));
        tseed_ctl_table_add(table, join(layer, "parameters", say_parameter, pool));
    }
    tseed_ctl_table_print(table, "no layers");
}

/* GeoWebCache lists the names of its layers as XML. */
static tseed_ctl_exit_t print_names(const tseed_ctl_t *ctl)
{
    static const char *const roots[] = {"layers", NULL};
    tseed_ctl_answer_t *answer = tseed_ctl_http_get(ctl->http, ctl->pool, "layers.xml");
    const char *problem;
    tseed_node_t *root;

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(ctl, answer);
    }
    if (ctl->options->is_json) {
        return tseed_ctl_misuse("this server lists its layers as XML only");
    }
    problem = tseed_document_read(&root, TSEED_BODY_XML, answer->body, answer->length, ctl->pool);
    if (problem || tseed_document_check_root(root, TSEED_BODY_XML, roots, ctl->pool)) {
        tseed_ctl_complain("layers.xml: this is no REST interface of tiles");
        return TSEED_CTL_NO_ANSWER;
    }
    for (const tseed_node_t *layer = tseed_ctl_first(root, "layer"); layer;
         layer = tseed_ctl_next(layer)) {
        puts(tseed_ctl_words(layer, "name", "?", ctl->pool));
    }
    return TSEED_CTL_DONE;
}

tseed_ctl_exit_t tseed_ctl_run_layers(const tseed_ctl_t *ctl)
{
    tseed_ctl_answer_t *answer = tseed_ctl_http_get(ctl->http, ctl->pool, "layers.json");
    const tseed_node_t *document;
    tseed_ctl_exit_t code;

    if (tseed_ctl_judge(answer) == TSEED_CTL_NOT_FOUND) {
        return print_names(ctl);
    }
    code = tseed_ctl_take(&document, ctl, answer);
    if (document) {
        print_layers(document, ctl->pool);
    }
    return code;
}

/* ---- the box ---- */

static const tseed_node_t *find_entry(const tseed_node_t *object, const char *list,
                                      const char *member, const char *name)
{
    const tseed_node_t *entry = tseed_ctl_first(object, list);

    while (entry && name && strcmp(tseed_ctl_text(entry, member, ""), name) != 0) {
        entry = tseed_ctl_next(entry);
    }
    return entry;
}

const tseed_node_t *tseed_ctl_find_gridset(const tseed_node_t *layers, const char *layer,
                                           const char *gridset)
{
    const tseed_node_t *found = find_entry(layers, "layers", "name", layer);

    return found ? find_entry(found, "gridSets", "gridSetId", gridset) : NULL;
}

/* The system of the request's grid set; 0: nobody knows, which has been said, with the code. */
static tseed_ctl_exit_t find_srs(int64_t *srs, const tseed_ctl_options_t *options,
                                 const tseed_ctl_t *ctl)
{
    const tseed_gridset_t *known =
        options->gridset ? tseed_gridset_builtin(options->gridset) : NULL;
    const char *layer = tseed_ctl_argument(options, 0);
    const tseed_ctl_answer_t *answer;
    const tseed_node_t *document;

    *srs = known ? known->srs : 0;
    if (known) {
        return TSEED_CTL_DONE;
    }
    answer = tseed_ctl_http_get(ctl->http, ctl->pool, "layers.json");
    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(ctl, answer);
    }
    if (!tseed_ctl_document_read(&document, answer->body, answer->length, ctl->pool)) {
        *srs =
            tseed_ctl_number(tseed_ctl_find_gridset(document, layer, options->gridset), "srs", 0);
    }
    if (*srs == 0) {
        tseed_ctl_complain("the server has no layer %s with such a grid set",
                           tseed_ctl_clean(layer, ctl->pool));
        return TSEED_CTL_NOT_FOUND;
    }
    return TSEED_CTL_DONE;
}

tseed_ctl_exit_t tseed_ctl_find_box(tseed_ctl_options_t *options, const tseed_ctl_t *ctl)
{
    const char *problem;
    tseed_ctl_exit_t code;
    int64_t srs;

    if (!options->lonlat.is_given) {
        return TSEED_CTL_DONE;
    }
    if (options->bounds.is_given) {
        return tseed_ctl_misuse("give the box once: -b or --lonlat");
    }
    code = find_srs(&srs, options, ctl);
    if (code != TSEED_CTL_DONE) {
        return code;
    }
    problem = tseed_ctl_project(&options->bounds.box, srs, &options->lonlat.box, ctl->pool);
    options->bounds.is_given = !problem;
    return problem ? tseed_ctl_misuse(problem) : TSEED_CTL_DONE;
}

/* ---- estimate ---- */

static const char *say_bytes(double number, apr_pool_t *pool)
{
    return number < 0x1p50 ? tseed_text_amount((int64_t)number, pool)
                           : apr_psprintf(pool, "%.1f PiB", number / 0x1p50);
}

/* "about 260 KiB (150 KiB to 890 KiB)" */
static void print_range(const char *what, const tseed_node_t *range,
                        const char *(*say)(double number, apr_pool_t *pool), apr_pool_t *pool)
{
    if (!range) {
        printf("%-8s not known: nothing was measured yet\n", what);
        return;
    }
    printf("%-8s about %s (%s to %s)\n", what, say(tseed_ctl_decimal(range, "expected", 0), pool),
           say(tseed_ctl_decimal(range, "low", 0), pool),
           say(tseed_ctl_decimal(range, "high", 0), pool));
}

static void print_free(const tseed_node_t *estimate, apr_pool_t *pool)
{
    const char *in = tseed_ctl_words(estimate, "freeIn", "", pool);

    if (*in) {
        printf("%-8s %s in the %s\n", "free",
               say_bytes(tseed_ctl_decimal(estimate, "free", 0), pool),
               strcmp(in, "quota") == 0 ? "quota" : "file system");
    }
}

static void print_estimate(const tseed_node_t *document, apr_pool_t *pool)
{
    const tseed_node_t *estimate = tseed_ctl_member(document, "estimate");
    const int64_t pruned = tseed_ctl_number(estimate, "tilesPruned", 0);

    printf("tiles    %s of %s in %s metatiles, %s there already%s\n",
           tseed_ctl_words(estimate, "tilesToMake", "?", pool),
           tseed_ctl_words(estimate, "tiles", "?", pool),
           tseed_ctl_words(estimate, "metatiles", "?", pool),
           tseed_ctl_words(estimate, "tilesPresent", "?", pool),
           pruned > 0 ? apr_psprintf(pool, ", %" APR_INT64_T_FMT " pruned", pruned) : "");
    print_range("space", tseed_ctl_member(estimate, "bytes"), say_bytes, pool);
    print_free(estimate, pool);
    print_range("time", tseed_ctl_member(estimate, "seconds"), tseed_ctl_seconds, pool);
}

tseed_ctl_exit_t tseed_ctl_run_estimate(const tseed_ctl_t *ctl)
{
    tseed_ctl_options_t options = *ctl->options;
    const tseed_ctl_answer_t *answer;
    const tseed_node_t *document;
    tseed_ctl_exit_t code = tseed_ctl_find_box(&options, ctl);

    if (code != TSEED_CTL_DONE) {
        return code;
    }
    answer = tseed_ctl_http_get(ctl->http, ctl->pool, "estimate/%s.json?%s",
                                tseed_ctl_segment(tseed_ctl_argument(&options, 0), ctl->pool),
                                tseed_ctl_seed_query(&options, ctl->pool));
    code = tseed_ctl_take(&document, ctl, answer);
    if (answer->warning) {
        tseed_ctl_complain("%s", tseed_ctl_clean(answer->warning, ctl->pool));
    }
    if (document) {
        print_estimate(document, ctl->pool);
    }
    return code;
}

tseed_ctl_exit_t tseed_ctl_run_ask_again(const tseed_ctl_t *ctl)
{
    const char *layer = tseed_ctl_argument(ctl->options, 0);
    const tseed_ctl_request_t request = {
        .method = "POST",
        .path = apr_pstrcat(ctl->pool, "upstreams/again/", tseed_ctl_segment(layer, ctl->pool),
                            NULL),
    };
    const tseed_ctl_answer_t *answer = tseed_ctl_http_ask(ctl->http, &request, ctl->pool);

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(ctl, answer);
    }
    if (!ctl->options->is_quiet && !ctl->options->is_json) {
        printf("the upstreams of %s are asked\n", tseed_ctl_clean(layer, ctl->pool));
    }
    return TSEED_CTL_DONE;
}
