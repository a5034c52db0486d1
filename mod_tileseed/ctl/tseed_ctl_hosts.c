/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The hosts that share a database: hosts, drain and undrain. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "ctl/tseed_ctl_terminal.h"
#include "ctl/tseed_ctl_verbs.h"
#include "ctl/tseed_ctl_words.h"

static void add_host(tseed_ctl_table_t *table, const tseed_node_t *host, apr_pool_t *pool)
{
    const double lease = tseed_ctl_decimal(host, "leaseLeft", -1);

    tseed_ctl_table_add(table, tseed_ctl_words(host, "name", "?", pool));
    tseed_ctl_table_add(table, tseed_ctl_words(host, "state", "?", pool));
    tseed_ctl_table_add(table, tseed_ctl_words(host, "since", "-", pool));
    tseed_ctl_table_add(table, tseed_ctl_words(host, "lastSeen", "-", pool));
    tseed_ctl_table_add(table, lease >= 0 ? apr_psprintf(pool, "%.1f s", lease) : "-");
    tseed_ctl_table_add(table, tseed_ctl_words(host, "fetches", "-", pool));
    tseed_ctl_table_add(table, tseed_ctl_words(host, "machine", "-", pool));
    tseed_ctl_table_add(table, tseed_ctl_words(host, "version", "-", pool));
}

static tseed_ctl_exit_t print_hosts(const tseed_node_t *document, apr_pool_t *pool)
{
    tseed_ctl_table_t *table =
        tseed_ctl_table_create("HOST STATE SINCE SEEN LEASE> FETCHES MACHINE VERSION", pool);

    for (const tseed_node_t *host = tseed_ctl_first(document, "hosts"); host;
         host = tseed_ctl_next(host)) {
        add_host(table, host, pool);
    }
    tseed_ctl_table_print(table, "no host has registered");
    return TSEED_CTL_DONE;
}

tseed_ctl_exit_t tseed_ctl_run_hosts(const tseed_ctl_t *ctl)
{
    const tseed_node_t *document;
    const tseed_ctl_exit_t code =
        tseed_ctl_take(&document, ctl, tseed_ctl_http_get(ctl->http, ctl->pool, "hosts.json"));

    return document ? print_hosts(document, ctl->pool) : code;
}

/* Whether a host beside that one works or can work. */
static int has_other(const tseed_node_t *document, const char *name)
{
    for (const tseed_node_t *host = tseed_ctl_first(document, "hosts"); host;
         host = tseed_ctl_next(host)) {
        const char *state = tseed_ctl_text(host, "state", "");

        if (strcmp(tseed_ctl_text(host, "name", ""), name) != 0 &&
            (strcmp(state, "ACTIVE") == 0 || strcmp(state, "STANDBY") == 0)) {
            return 1;
        }
    }
    return 0;
}

static void print_drained(const tseed_node_t *document, const char *name, apr_pool_t *pool)
{
    const char *host = tseed_ctl_clean(name, pool);
    const char *active = tseed_ctl_words(document, "active", NULL, pool);

    if (active && strcmp(active, host) != 0) {
        printf("host %s takes no work until tileseedctl undrain %s; %s works\n", host, host,
               active);
    } else if (has_other(document, name)) {
        printf("host %s gives its work away; tileseedctl hosts says who takes it\n", host);
    } else {
        printf("host %s gives its work away, and no other host is there to take it: nothing is "
               "seeded until one is, or until tileseedctl undrain %s\n",
               host, host);
    }
}

tseed_ctl_exit_t tseed_ctl_run_drain(const tseed_ctl_t *ctl)
{
    const int drains = ctl->options->verb == TSEED_VERB_DRAIN;
    const char *host = tseed_ctl_argument(ctl->options, 0);
    const tseed_ctl_request_t request = {
        .method = "PUT",
        .path = apr_pstrcat(ctl->pool, "hosts/", tseed_ctl_segment(host, ctl->pool), NULL),
        .type = "application/json",
        .body = drains ? "{\"state\": \"draining\"}" : "{\"state\": \"active\"}"};
    const tseed_node_t *document;
    const tseed_ctl_exit_t code =
        tseed_ctl_take(&document, ctl, tseed_ctl_http_ask(ctl->http, &request, ctl->pool));

    if (!document || ctl->options->is_quiet) {
        return code;
    }
    if (drains) {
        print_drained(document, host, ctl->pool);
    } else {
        printf("host %s takes work again\n", tseed_ctl_clean(host, ctl->pool));
    }
    return code;
}
