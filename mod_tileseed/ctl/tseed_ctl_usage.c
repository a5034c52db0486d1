/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the cache takes: quota usage, by tile set, by layer or by level. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl_terminal.h"
#include "ctl/tseed_ctl_verbs.h"
#include "ctl/tseed_ctl_words.h"

/* Says what one tile set takes; 0: the server does not tell it that way. */
typedef int add_t(tseed_ctl_table_t *table, const tseed_node_t *tileset, apr_pool_t *pool);

static const char *bytes_of(const tseed_node_t *node, apr_pool_t *pool)
{
    return tseed_text_amount(tseed_ctl_number(node, "bytes", 0), pool);
}

static void add_sums(tseed_ctl_table_t *table, const tseed_node_t *node, apr_pool_t *pool)
{
    tseed_ctl_table_add(table, bytes_of(node, pool));
    tseed_ctl_table_add(table, tseed_ctl_count(tseed_ctl_number(node, "files", 0), pool));
    tseed_ctl_table_add(table, tseed_ctl_count(tseed_ctl_number(node, "tiles", 0), pool));
}

/* Whether the server says that nothing configured has these tiles. */
static int is_lapsed(const tseed_node_t *tileset)
{
    return tseed_node_find(tileset, "configured") && !tseed_ctl_is_true(tileset, "configured");
}

static void add_names(tseed_ctl_table_t *table, const tseed_node_t *tileset, apr_pool_t *pool)
{
    tseed_ctl_table_add(table, tseed_ctl_words(tileset, "id", "?", pool));
    tseed_ctl_table_add(table, apr_pstrcat(pool, tseed_ctl_words(tileset, "layer", "?", pool),
                                           is_lapsed(tileset) ? " (not configured)" : "", NULL));
    tseed_ctl_table_add(table, tseed_ctl_words(tileset, "gridSetId", "?", pool));
    tseed_ctl_table_add(table, tseed_ctl_words(tileset, "format", "?", pool));
}

static int add_tileset(tseed_ctl_table_t *table, const tseed_node_t *tileset, apr_pool_t *pool)
{
    add_names(table, tileset, pool);
    add_sums(table, tileset, pool);
    tseed_ctl_table_add(table, tseed_ctl_parameters(tileset, pool));
    return 1;
}

static int add_levels(tseed_ctl_table_t *table, const tseed_node_t *tileset, apr_pool_t *pool)
{
    if (!tseed_node_find(tileset, "levels")) {
        return 0;
    }
    for (const tseed_node_t *level = tseed_ctl_first(tileset, "levels"); level;
         level = tseed_ctl_next(level)) {
        const int64_t possible = tseed_ctl_number(level, "possible", 0);

        add_names(table, tileset, pool);
        tseed_ctl_table_add(table, tseed_ctl_words(level, "z", "?", pool));
        add_sums(table, level, pool);
        tseed_ctl_table_add(
            table,
            possible ? tseed_ctl_share(tseed_ctl_number(level, "tiles", 0), possible, pool) : "-");
    }
    return 1;
}

/* All tile sets into a table; 0: the server does not tell it that way. */
static int add_all(tseed_ctl_table_t *table, const tseed_node_t *document, add_t *add,
                   apr_pool_t *pool)
{
    int is_told = 1;

    for (const tseed_node_t *layer = tseed_ctl_first(document, "layers"); layer;
         layer = tseed_ctl_next(layer)) {
        for (const tseed_node_t *one = tseed_ctl_first(layer, "tilesets"); one;
             one = tseed_ctl_next(one)) {
            is_told = is_told && add(table, one, pool);
        }
    }
    return is_told;
}

static void print_layers(const tseed_node_t *document, apr_pool_t *pool)
{
    tseed_ctl_table_t *table = tseed_ctl_table_create("LAYER SIZE> FILES> TILES> LIMIT>", pool);

    for (const tseed_node_t *layer = tseed_ctl_first(document, "layers"); layer;
         layer = tseed_ctl_next(layer)) {
        const int64_t limit = tseed_ctl_number(layer, "limit", -1);

        tseed_ctl_table_add(table, tseed_ctl_words(layer, "layer", "?", pool));
        add_sums(table, layer, pool);
        tseed_ctl_table_add(table, limit >= 0 ? tseed_text_amount(limit, pool) : "-");
    }
    tseed_ctl_table_print(table, "");
}

/* "used 1.5 GiB of 20.0 GiB" and what goes on in the books. */
static void print_head(const tseed_node_t *document, apr_pool_t *pool)
{
    const int64_t limit = tseed_ctl_number(tseed_ctl_member(document, "limit"), "bytes", -1);
    const tseed_node_t *reconcile = tseed_ctl_member(document, "reconcile");
    const char *grace = tseed_ctl_words(document, "grace", NULL, pool);
    const int64_t disk = tseed_ctl_number(document, "diskFree", -1);

    printf("used %s", bytes_of(document, pool));
    if (limit >= 0 && tseed_ctl_is_true(document, "enabled")) {
        printf(" of %s (%s)", tseed_text_amount(limit, pool),
               tseed_ctl_share(tseed_ctl_number(document, "bytes", 0), limit, pool));
    } else {
        printf(", the disk quota is off");
    }
    puts(tseed_ctl_is_true(document, "complete") ? "" : "; the cache is not known as a whole yet");
    if (disk >= 0) {
        printf("%s free on the disk\n", tseed_text_amount(disk, pool));
    }
    if (grace) {
        printf("the first clean-up begins at %s\n", grace);
    }
    if (reconcile) {
        printf("reconcile: %s\n", tseed_ctl_words(reconcile, "state", "?", pool));
    }
    puts("");
}

static tseed_ctl_exit_t print_usage(const tseed_node_t *document, const char *by, apr_pool_t *pool)
{
    const int by_zoom = by && strcmp(by, "zoom") == 0;
    tseed_ctl_table_t *table =
        tseed_ctl_table_create(by_zoom ? "ID> LAYER GRIDSET FORMAT Z> SIZE> FILES> TILES> PRESENT>"
                                       : "ID> LAYER GRIDSET FORMAT SIZE> FILES> TILES> PARAMETERS",
                               pool);

    if (by && !by_zoom) {
        print_head(document, pool);
        print_layers(document, pool);
        return TSEED_CTL_DONE;
    }
    if (!add_all(table, document, by_zoom ? add_levels : add_tileset, pool)) {
        tseed_ctl_complain("this server does not tell the usage by zoom");
        return TSEED_CTL_NOT_FOUND;
    }
    print_head(document, pool);
    tseed_ctl_table_print(table, "");
    return TSEED_CTL_DONE;
}

tseed_ctl_exit_t tseed_ctl_run_usage(const tseed_ctl_t *ctl)
{
    const tseed_node_t *document;
    const tseed_ctl_exit_t code = tseed_ctl_take(
        &document, ctl, tseed_ctl_http_get(ctl->http, ctl->pool, "diskquota/usage.json"));

    return document ? print_usage(document, ctl->options->by, ctl->pool) : code;
}
