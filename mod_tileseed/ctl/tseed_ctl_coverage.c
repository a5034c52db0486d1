/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verb coverage: which tiles of a level are there, drawn with letters, north above. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl_verbs.h"
#include "ctl/tseed_ctl_words.h"

#define CELLS_USUAL "64"
#define CELLS_MAX   256

/* Whether a tile set is the one that the options name; what they leave open is the first. */
static int is_wanted(const tseed_node_t *tileset, const tseed_ctl_options_t *options)
{
    const apr_array_header_t *entries = apr_table_elts(options->parameters);
    const tseed_node_t *parameters = tseed_ctl_member(tileset, "parameters");

    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        if (strcmp(tseed_ctl_text(parameters, entry->key, ""), entry->val) != 0) {
            return 0;
        }
    }
    return strcmp(tseed_ctl_text(tileset, "layer", ""), tseed_ctl_argument(options, 0)) == 0 &&
           (!options->gridset ||
            strcmp(tseed_ctl_text(tileset, "gridSetId", ""), options->gridset) == 0) &&
           (!options->format ||
            strcmp(tseed_ctl_text(tileset, "format", ""), options->format) == 0);
}

static const tseed_node_t *find_tileset(const tseed_node_t *usage,
                                        const tseed_ctl_options_t *options)
{
    for (const tseed_node_t *layer = tseed_ctl_first(usage, "layers"); layer;
         layer = tseed_ctl_next(layer)) {
        for (const tseed_node_t *one = tseed_ctl_first(layer, "tilesets"); one;
             one = tseed_ctl_next(one)) {
            if (is_wanted(one, options)) {
                return one;
            }
        }
    }
    return NULL;
}

/* A share in thousandths as a letter: nothing, something, half, most, all. */
static char letter_of(int64_t share)
{
    return share <= 0 ? '.' : share < 500 ? ':' : share < 1000 ? 'o' : '#';
}

/* The shares stand in rows from the south. */
static void draw(const tseed_node_t *document, int columns, int rows, apr_pool_t *pool)
{
    const size_t size = (size_t)columns * (size_t)rows;
    char *letters = apr_palloc(pool, size + 1);
    const tseed_node_t *share = tseed_ctl_first(document, "share");
    int64_t sum = 0;

    for (size_t i = 0; i < size; i++) {
        int64_t thousandths = 0;

        if (share) {
            tseed_text_int64(&thousandths, share->text, 0, 1000);
            share = tseed_ctl_next(share);
        }
        sum += thousandths;
        letters[i] = letter_of(thousandths);
    }
    for (int row = rows - 1; row >= 0; row--) {
        printf("%.*s\n", columns, letters + (size_t)row * (size_t)columns);
    }
    printf("%s there; . nothing, : less than half, o more, # all\n",
           tseed_ctl_share(sum, (int64_t)size * 1000, pool));
}

static tseed_ctl_exit_t print_coverage(const tseed_node_t *document, const tseed_node_t *tileset,
                                       apr_pool_t *pool)
{
    const tseed_node_t *cell = tseed_ctl_member(document, "cell");
    const int64_t columns = tseed_ctl_number(cell, "columns", 0);
    const int64_t rows = tseed_ctl_number(cell, "rows", 0);
    const char *parameters = tseed_ctl_parameters(tileset, pool);

    if (columns < 1 || rows < 1 || columns > CELLS_MAX || rows > CELLS_MAX) {
        tseed_ctl_complain("this is no coverage");
        return TSEED_CTL_NO_ANSWER;
    }
    printf("%s, %s, %s%s%s, level %s, %s x %s tiles a cell\n",
           tseed_ctl_words(tileset, "layer", "?", pool),
           tseed_ctl_words(tileset, "gridSetId", "?", pool),
           tseed_ctl_words(tileset, "format", "?", pool), *parameters ? ", " : "", parameters,
           tseed_ctl_words(document, "z", "?", pool), tseed_ctl_words(cell, "tiles", "?", pool),
           tseed_ctl_words(cell, "tiles", "?", pool));
    draw(document, (int)columns, (int)rows, pool);
    return TSEED_CTL_DONE;
}

/* The tile set of the options, by the books of the disk usage. */
static tseed_ctl_exit_t ask_tileset(const tseed_node_t **tileset, const tseed_ctl_t *ctl)
{
    tseed_ctl_options_t plain = *ctl->options;
    tseed_ctl_t reader = *ctl;
    const tseed_node_t *usage;
    tseed_ctl_exit_t code;

    plain.is_json = 0;
    reader.options = &plain;
    code = tseed_ctl_take(&usage, &reader,
                          tseed_ctl_http_get(ctl->http, ctl->pool, "diskquota/usage.json"));
    *tileset = usage ? find_tileset(usage, &plain) : NULL;
    if (code == TSEED_CTL_DONE && !*tileset) {
        tseed_ctl_complain("the books have no such tile set of %s: nothing was ever made of it",
                           tseed_ctl_clean(tseed_ctl_argument(&plain, 0), ctl->pool));
        return TSEED_CTL_NOT_FOUND;
    }
    return code;
}

tseed_ctl_exit_t tseed_ctl_run_coverage(const tseed_ctl_t *ctl)
{
    const tseed_ctl_options_t *options = ctl->options;
    const tseed_node_t *tileset, *document;
    const tseed_ctl_answer_t *answer;
    tseed_ctl_exit_t code;

    if (!options->zoom.is_given || options->zoom.start != options->zoom.stop) {
        return tseed_ctl_misuse("coverage needs one level: -z N");
    }
    code = ask_tileset(&tileset, ctl);
    if (code != TSEED_CTL_DONE) {
        return code;
    }
    answer =
        tseed_ctl_http_get(ctl->http, ctl->pool, "coverage/%" APR_INT64_T_FMT "/%d.json?cells=%s",
                           tseed_ctl_number(tileset, "id", 0), options->zoom.start,
                           options->cells ? options->cells : CELLS_USUAL);
    code = tseed_ctl_take(&document, ctl, answer);
    return document ? print_coverage(document, tileset, ctl->pool) : code;
}
