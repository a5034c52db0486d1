/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs about layers and hosts: layers, ask-again and drop-unlisted; hosts, drain and
 * undrain. */
#include <apr_strings.h>
#include <string.h>

#include "ctl/tseed_ctl.h"
#include "ctl/tseed_ctl_print.h"
#include "protocol/tseed_document.h"

/* ---- layers ---- */

/* A member of each entry of a list as "a, b"; of a grid set with its levels. */
static const char *say_list(json_object *layer, const tseed_ctl_column_t *column, apr_pool_t *pool)
{
    apr_array_header_t *words = apr_array_make(pool, 8, sizeof(const char *));
    json_object *one;

    for (size_t i = 0; (one = tseed_ctl_entry(layer, column->member, i)); i++) {
        APR_ARRAY_PUSH(words, const char *) = i ? ", " : "";
        APR_ARRAY_PUSH(words, const char *) = tseed_ctl_text(one, column->absent, "?");
        if (strcmp(column->absent, "gridSetId") == 0) {
            APR_ARRAY_PUSH(words, const char *) =
                apr_psprintf(pool, " %s-%s", tseed_ctl_text(one, "zoomStart", "?"),
                             tseed_ctl_text(one, "zoomStop", "?"));
        }
    }
    return words->nelts ? apr_array_pstrcat(pool, words, 0) : "";
}

/* GeoWebCache lists the names of its layers as XML. */
static tseed_ctl_exit_t print_names(const tseed_ctl_t *ctl)
{
    static const char *const roots[] = {"layers", NULL};
    const tseed_ctl_answer_t *answer = tseed_ctl_get(ctl, "layers.xml");
    tseed_node_t *root;

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refused(ctl, answer);
    }
    if (ctl->options->is_json) {
        return tseed_ctl_misuse("this server lists its layers as XML only");
    }
    if (tseed_document_read(&root, TSEED_BODY_XML, answer->body, answer->length, ctl->pool) ||
        tseed_document_check_root(root, TSEED_BODY_XML, roots, ctl->pool)) {
        tseed_ctl_complain("layers.xml: this is no REST interface of tiles");
        return TSEED_CTL_NO_ANSWER;
    }
    for (const tseed_node_t *layer = root->children; layer; layer = layer->next) {
        const tseed_node_t *name = tseed_node_find(layer, "name");

        tseed_ctl_say("%s", name ? name->text : "?");
    }
    return TSEED_CTL_DONE;
}

tseed_ctl_exit_t tseed_ctl_run_layers(const tseed_ctl_t *ctl)
{
    /* Of a list, `absent` is the member of its entries. */
    static const tseed_ctl_column_t columns[] = {{"LAYER", "name", "?", NULL},
                                                 {"GRIDSETS", "gridSets", "gridSetId", say_list},
                                                 {"FORMATS", "formats", "format", say_list},
                                                 {"PARAMETERS", "parameters", "name", say_list},
                                                 {0}};
    const tseed_ctl_answer_t *answer = tseed_ctl_get(ctl, "layers.json");
    json_object *document;
    tseed_ctl_exit_t code;

    if (tseed_ctl_judge(answer) == TSEED_CTL_NOT_FOUND) {
        return print_names(ctl);
    }
    code = tseed_ctl_take(&document, ctl, answer);
    if (document) {
        tseed_ctl_print_table(json_object_object_get(document, "layers"), columns, "no layers",
                              ctl->pool);
    }
    return code;
}

tseed_ctl_exit_t tseed_ctl_run_ask_again(const tseed_ctl_t *ctl)
{
    const char *layer = tseed_ctl_argument(ctl->options, 0);

    return tseed_ctl_tell(ctl,
                          tseed_ctl_send(ctl, "POST", NULL, NULL, "upstreams/again/%s",
                                         tseed_ctl_segment(layer, ctl->pool)),
                          "the upstreams of %s are asked", layer);
}

tseed_ctl_exit_t tseed_ctl_run_unlisted(const tseed_ctl_t *ctl)
{
    const char *layer = tseed_ctl_argument(ctl->options, 0);

    return tseed_ctl_tell(ctl,
                          tseed_ctl_send(ctl, "DELETE", NULL, NULL, "layers/%s/tilesets",
                                         tseed_ctl_segment(layer, ctl->pool)),
                          "the tile sets of %s with values that are not listed are removed", layer);
}

/* ---- hosts ---- */

static const char *say_lease(json_object *host, const tseed_ctl_column_t *column, apr_pool_t *pool)
{
    const double lease = tseed_ctl_decimal(host, column->member, -1);

    return lease >= 0 ? apr_psprintf(pool, "%.1f s", lease) : "-";
}

tseed_ctl_exit_t tseed_ctl_run_hosts(const tseed_ctl_t *ctl)
{
    static const tseed_ctl_column_t columns[] = {{"HOST", "name", "?", NULL},
                                                 {"STATE", "state", "?", NULL},
                                                 {"SINCE", "since", "-", NULL},
                                                 {"SEEN", "lastSeen", "-", NULL},
                                                 {"LEASE>", "leaseLeft", "", say_lease},
                                                 {"FETCHES", "fetches", "-", NULL},
                                                 {"MACHINE", "machine", "-", NULL},
                                                 {"VERSION", "version", "-", NULL},
                                                 {0}};
    json_object *document;
    const tseed_ctl_exit_t code = tseed_ctl_take(&document, ctl, tseed_ctl_get(ctl, "hosts.json"));

    if (document) {
        tseed_ctl_print_table(json_object_object_get(document, "hosts"), columns,
                              "no host has registered", ctl->pool);
    }
    return code;
}

/* Whether a host beside that one works or can work. */
static int has_other(json_object *document, const char *name)
{
    json_object *host;

    for (size_t i = 0; (host = tseed_ctl_entry(document, "hosts", i)); i++) {
        if (!tseed_ctl_is(host, "name", name) &&
            (tseed_ctl_is(host, "state", "ACTIVE") || tseed_ctl_is(host, "state", "STANDBY"))) {
            return 1;
        }
    }
    return 0;
}

static void print_drained(json_object *document, const char *host)
{
    const char *active = tseed_ctl_text(document, "active", NULL);

    if (active && strcmp(active, host) != 0) {
        tseed_ctl_say("host %s takes no work until tileseedctl undrain %s; %s works", host, host,
                      active);
    } else if (has_other(document, host)) {
        tseed_ctl_say("host %s gives its work away; tileseedctl hosts says who takes it", host);
    } else {
        tseed_ctl_say("host %s gives its work away, and no other host is there to take it: nothing "
                      "is seeded until one is, or until tileseedctl undrain %s",
                      host, host);
    }
}

tseed_ctl_exit_t tseed_ctl_run_drain(const tseed_ctl_t *ctl)
{
    const int drains = tseed_ctl_verb_is(ctl->options, "drain");
    const char *host = tseed_ctl_argument(ctl->options, 0);
    json_object *document;
    const tseed_ctl_exit_t code = tseed_ctl_take(
        &document, ctl,
        tseed_ctl_send(ctl, "PUT", "application/json",
                       drains ? "{\"state\": \"draining\"}" : "{\"state\": \"active\"}", "hosts/%s",
                       tseed_ctl_segment(host, ctl->pool)));

    if (document && !ctl->options->is_quiet && drains) {
        print_drained(document, host);
    } else if (document && !ctl->options->is_quiet) {
        tseed_ctl_say("host %s takes work again", host);
    }
    return code;
}
