/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Places as texts. A row may hold anything: what is read is bounded and judged. */
#include "layer/tseed_place.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"

#define HASH_LENGTH 40

const char *tseed_place_text(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    const tseed_store_config_t *store = &tileset->layer->store;
    const tseed_gridset_t *gridset = tileset->subset->gridset;
    const char *layout = store->layout == TSEED_LAYOUT_TEMPLATE ? store->path_template
                                                                : tseed_layout_words[store->layout];
    apr_array_header_t *levels = apr_array_make(pool, gridset->levels, sizeof(const char *));

    for (int z = 0; z < gridset->levels; z++) {
        APR_ARRAY_PUSH(levels, const char *) = apr_psprintf(
            pool, "%" APR_INT64_T_FMT "x%" APR_INT64_T_FMT, gridset->columns[z], gridset->rows[z]);
    }
    return apr_pstrcat(pool, layout, "\n", apr_array_pstrcat(pool, levels, ' '), NULL);
}

/* Whether the text is "WxH WxH ...". */
static int read_levels(tseed_gridset_t *gridset, char *text)
{
    char *word, *rest;

    for (word = apr_strtok(text, " ", &rest); word; word = apr_strtok(NULL, " ", &rest)) {
        char *across = strchr(word, 'x');
        const int z = gridset->levels;

        if (!across || z >= TSEED_LEVELS_MAX) {
            return 0;
        }
        *across = '\0';
        if (tseed_text_int64(&gridset->columns[z], word, 1, INT64_MAX) != 0 ||
            tseed_text_int64(&gridset->rows[z], across + 1, 1, INT64_MAX) != 0) {
            return 0;
        }
        gridset->levels++;
    }
    return gridset->levels > 0;
}

static int read_layout(tseed_store_config_t *store, const char *word)
{
    int layout = 0;

    if (strchr(word, '{')) {
        store->layout = TSEED_LAYOUT_TEMPLATE;
        store->path_template = word;
        return 1;
    }
    while (layout < TSEED_LAYOUT_TEMPLATE && strcmp(tseed_layout_words[layout], word) != 0) {
        layout++;
    }
    store->layout = (tseed_layout_t)layout;
    return layout < TSEED_LAYOUT_TEMPLATE;
}

/* The last part of the key; NULL: all parameters have their defaults. */
static int read_hash(const char **hash, const tseed_tileset_record_t *record)
{
    const char *last = strrchr(record->key, '/');

    *hash = last && strcmp(last, "/default") != 0 ? last + 1 : NULL;
    return last && (!*hash || (strlen(*hash) == HASH_LENGTH &&
                               strspn(*hash, "0123456789abcdef") == HASH_LENGTH));
}

static int read_place(tseed_layer_t *layer, tseed_gridset_t *gridset, const char *place,
                      apr_pool_t *pool)
{
    char *text = apr_pstrdup(pool, place);
    char *end = strchr(text, '\n');

    if (!end) {
        return 0;
    }
    *end = '\0';
    return read_layout(&layer->store, text) && read_levels(gridset, end + 1);
}

const char *tseed_place_restore(tseed_tileset_t *tileset, const tseed_tileset_record_t *record,
                                apr_pool_t *pool)
{
    tseed_layer_t *layer = apr_pcalloc(pool, sizeof(*layer));
    tseed_gridset_t *gridset = apr_pcalloc(pool, sizeof(*gridset));
    tseed_subset_t *subset = apr_pcalloc(pool, sizeof(*subset));
    tseed_format_t *format = apr_pcalloc(pool, sizeof(*format));

    layer->name = record->layer;
    layer->store.root = record->root;
    layer->store.mode = 0644;
    layer->store.dirmode = 0755;
    gridset->name = record->gridset;
    subset->gridset = gridset;
    *tileset =
        (tseed_tileset_t){.layer = layer, .subset = subset, .format = format, .key = record->key};
    if (!*record->place) {
        return "the books do not know its layout: an earlier version of mod_tileseed has counted "
               "it";
    }
    if (tseed_format_init(format, record->format, pool) || !read_hash(&tileset->hash, record) ||
        !read_place(layer, gridset, record->place, pool)) {
        return "what the books say of its layout can't be read";
    }
    return NULL;
}
