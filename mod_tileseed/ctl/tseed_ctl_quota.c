/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs about what the cache takes: quota, reconcile and coverage.
 *
 * The configuration is read and written as XML, which this server and every GeoWebCache speak. A
 * change has the root element of the document that was read. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"
#include "ctl/tseed_ctl_print.h"
#include "protocol/tseed_document.h"

#define ADDRESS     "diskquota.xml"
#define CELLS_USUAL "64"
#define CELLS_MAX   256

/* What stands before the name of a layer that gets a quota. */
#define OF_LAYER "layer:"

/* ---- the configuration ---- */

static const char *text_of(const tseed_node_t *node, const char *name, const char *absent)
{
    const tseed_node_t *member = node ? tseed_node_find(node, name) : NULL;

    return member ? member->text : absent;
}

static const char *say_amount(const tseed_node_t *amount, apr_pool_t *pool)
{
    return apr_pstrcat(pool, text_of(amount, "value", "?"), " ", text_of(amount, "units", "?"),
                       NULL);
}

/* Prints lines that `quota set` takes. */
static void print_config(const tseed_node_t *root, apr_pool_t *pool)
{
    for (const tseed_node_t *member = root->children; member; member = member->next) {
        const int are_layers = strcmp(member->name, "layerQuotas") == 0;

        for (const tseed_node_t *one = are_layers ? member->children : NULL; one; one = one->next) {
            tseed_ctl_say(OF_LAYER "%s=%s,%s", text_of(one, "layer", "?"),
                          say_amount(tseed_node_find(one, "quota"), pool),
                          text_of(one, "expirationPolicyName", "?"));
        }
        if (!are_layers) {
            tseed_ctl_say("%s=%s", member->name,
                          member->children ? say_amount(member, pool) : member->text);
        }
    }
}

/* The configuration that the server has. */
static tseed_ctl_exit_t read_config(tseed_node_t **root, const tseed_ctl_t *ctl)
{
    static const char *const roots[] = {"cacheQuotaConfiguration", "gwcQuotaConfiguration",
                                        "org.geowebcache.diskquota.DiskQuotaConfig", NULL};
    const tseed_ctl_answer_t *answer = tseed_ctl_get(ctl, ADDRESS);

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refused(ctl, answer);
    }
    if (tseed_document_read(root, TSEED_BODY_XML, answer->body, answer->length, ctl->pool) ||
        tseed_document_check_root(*root, TSEED_BODY_XML, roots, ctl->pool)) {
        tseed_ctl_complain("%s: this is no disk quota", answer->path);
        return TSEED_CTL_NO_ANSWER;
    }
    return TSEED_CTL_DONE;
}

static tseed_ctl_exit_t get_quota(const tseed_ctl_t *ctl)
{
    json_object *unused;
    tseed_node_t *root;
    tseed_ctl_exit_t code;

    if (ctl->options->is_json) {
        return tseed_ctl_take(&unused, ctl, tseed_ctl_get(ctl, "diskquota.json"));
    }
    code = read_config(&root, ctl);
    if (code == TSEED_CTL_DONE) {
        print_config(root, ctl->pool);
    }
    return code;
}

/* ---- a change ---- */

/* "20GiB" as value and units. */
static const char *amount_xml(const char *text, apr_pool_t *pool)
{
    const size_t digits = strspn(text, "0123456789.");
    const char *units = text + digits + strspn(text + digits, " ");

    return apr_pstrcat(pool, "<value>", apr_pstrmemdup(pool, text, digits), "</value><units>",
                       tseed_escape_xml(*units ? units : "B", pool), "</units>", NULL);
}

/* Sets the quota of a layer in a map of XML; a policy of NULL is none. */
static void set_layer(json_object *layers, const char *layer, const char *amount,
                      const char *policy, apr_pool_t *pool)
{
    const char *xml = apr_pstrcat(pool, "<LayerQuota><layer>", tseed_escape_xml(layer, pool),
                                  "</layer>", policy ? "<expirationPolicyName>" : "",
                                  policy ? tseed_escape_xml(policy, pool) : "",
                                  policy ? "</expirationPolicyName>" : "", "<quota>",
                                  amount_xml(amount, pool), "</quota></LayerQuota>", NULL);

    json_object_object_add(layers, layer, json_object_new_string(xml));
}

/* The list of layers is replaced as a whole: what the server has goes into it first. "" when no
 * word is about a layer. A word is "layer:NAME=5GiB", "layer:NAME=5GiB,LRU" or
 * "layer:NAME=none". */
static const char *layers_xml(const tseed_ctl_t *ctl, const tseed_node_t *root)
{
    const tseed_node_t *list = tseed_node_find(root, "layerQuotas");
    json_object *layers = tseed_ctl_keep(json_object_new_object(), ctl->pool);
    apr_array_header_t *xml = apr_array_make(ctl->pool, 8, sizeof(const char *));
    const char *word;
    int is_changed = 0;

    for (const tseed_node_t *one = list ? list->children : NULL; one; one = one->next) {
        set_layer(layers, text_of(one, "layer", ""),
                  say_amount(tseed_node_find(one, "quota"), ctl->pool),
                  text_of(one, "expirationPolicyName", NULL), ctl->pool);
    }
    for (int i = 1; (word = tseed_ctl_argument(ctl->options, i)); i++) {
        const char *value = strrchr(word, '=') + 1, *comma = strchr(value, ',');
        const char *layer = word + strlen(OF_LAYER);

        if (strncmp(word, OF_LAYER, strlen(OF_LAYER)) == 0) {
            is_changed = 1;
            layer = apr_pstrmemdup(ctl->pool, layer, (apr_size_t)(value - layer - 1));
            json_object_object_del(layers, layer);
            if (strcmp(value, "none") != 0) {
                set_layer(layers, layer, apr_pstrmemdup(ctl->pool, value, strcspn(value, ",")),
                          comma ? comma + 1 : NULL, ctl->pool);
            }
        }
    }
    json_object_object_foreach(layers, name, one)
    {
        (void)name;
        APR_ARRAY_PUSH(xml, const char *) = json_object_get_string(one);
    }
    return !is_changed ? ""
                       : apr_pstrcat(ctl->pool, "<layerQuotas>",
                                     xml->nelts ? apr_array_pstrcat(ctl->pool, xml, 0) : "",
                                     "</layerQuotas>", NULL);
}

/* Adds NAME=VALUE to the members in *xml. NULL or a sentence. */
static const char *add_member(const char **xml, const char *word, apr_pool_t *pool)
{
    const char *sign = strrchr(word, '=');
    const char *name = sign ? apr_pstrmemdup(pool, word, (apr_size_t)(sign - word)) : "";

    if (!*name || strspn(name, "<>&/ \t") > 0) {
        return apr_psprintf(pool, "'%s' is not NAME=VALUE, such as globalQuota=20GiB", word);
    }
    if (strncmp(word, OF_LAYER, strlen(OF_LAYER)) == 0) {
        return NULL;
    }
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")]) {
        return apr_psprintf(pool, "'%s' is no member of the disk quota", name);
    }
    *xml = apr_pstrcat(pool, *xml, "<", name, ">",
                       strcmp(name, "globalQuota") == 0 ? amount_xml(sign + 1, pool)
                                                        : tseed_escape_xml(sign + 1, pool),
                       "</", name, ">", NULL);
    return NULL;
}

/* Sends the change, and shows the configuration that the server has then. Limits of a quota that is
 * off limit nothing. */
static tseed_ctl_exit_t set_quota(const tseed_ctl_t *ctl)
{
    const char *members = "", *word, *problem;
    const tseed_ctl_answer_t *answer;
    tseed_node_t *root;
    tseed_ctl_exit_t code;

    if (!tseed_ctl_argument(ctl->options, 1)) {
        return tseed_ctl_misuse("quota set needs NAME=VALUE, such as globalQuota=20GiB");
    }
    code = read_config(&root, ctl);
    if (code != TSEED_CTL_DONE) {
        return code;
    }
    for (int i = 1; (word = tseed_ctl_argument(ctl->options, i)); i++) {
        problem = add_member(&members, word, ctl->pool);
        if (problem) {
            return tseed_ctl_misuse(problem);
        }
    }
    answer = tseed_ctl_send(ctl, "PUT", "text/xml",
                            apr_pstrcat(ctl->pool, "<", root->name, ">", members,
                                        layers_xml(ctl, root), "</", root->name, ">", NULL),
                            ADDRESS);
    if (answer->warning) {
        tseed_ctl_complain("%s", answer->warning);
    }
    code = tseed_ctl_refused(ctl, answer);
    if (code == TSEED_CTL_DONE && !ctl->options->is_quiet) {
        code = get_quota(ctl);
    }
    if (code == TSEED_CTL_DONE && strcmp(text_of(root, "enabled", ""), "false") == 0 &&
        !strstr(members, "<enabled>")) {
        tseed_ctl_complain("the disk quota is off; switch it on: quota set enabled=true");
    }
    return code;
}

tseed_ctl_exit_t tseed_ctl_run_reconcile(const tseed_ctl_t *ctl)
{
    return tseed_ctl_tell(ctl, tseed_ctl_send(ctl, "POST", NULL, NULL, "diskquota/reconcile"),
                          "the reconcile has begun; tileseedctl quota usage says how far it is");
}

/* ---- usage ---- */

static const char *say_bytes(json_object *entry, const tseed_ctl_column_t *column, apr_pool_t *pool)
{
    const int64_t bytes = tseed_ctl_number(entry, column->member, *column->absent ? -1 : 0);

    return bytes >= 0 ? tseed_text_amount(bytes, pool) : column->absent;
}

static const char *say_layer(json_object *entry, const tseed_ctl_column_t *column, apr_pool_t *pool)
{
    return apr_pstrcat(pool, tseed_ctl_text(entry, column->member, column->absent),
                       !tseed_ctl_is(entry, "configured", "false") ? ""
                       : tseed_ctl_is(entry, "removing", "true")   ? " (being removed)"
                                                                   : " (not configured)",
                       NULL);
}

static const char *say_present(json_object *level, const tseed_ctl_column_t *column,
                               apr_pool_t *pool)
{
    const int64_t possible = tseed_ctl_number(level, column->member, 0);

    return possible ? tseed_ctl_share(tseed_ctl_number(level, "tiles", 0), possible, pool)
                    : column->absent;
}

static const char *say_parameters(json_object *tileset, const tseed_ctl_column_t *column,
                                  apr_pool_t *pool)
{
    (void)column;
    return tseed_ctl_parameters(tileset, pool);
}

#define NAMES                                                                                      \
    {"ID>", "id", "?", NULL}, {"LAYER", "layer", "?", say_layer},                                  \
        {"GRIDSET", "gridSetId", "?", NULL},                                                       \
    {                                                                                              \
        "FORMAT", "format", "?", NULL                                                              \
    }
#define SUMS                                                                                       \
    {"SIZE>", "bytes", "", say_bytes}, {"FILES>", "files", "", tseed_ctl_say_count},               \
    {                                                                                              \
        "TILES>", "tiles", "", tseed_ctl_say_count                                                 \
    }

/* All tile sets in one list. In `pool`. */
static json_object *list_tilesets(json_object *document, apr_pool_t *pool)
{
    json_object *list = tseed_ctl_keep(json_object_new_array(), pool), *layer, *one;

    for (size_t i = 0; (layer = tseed_ctl_entry(document, "layers", i)); i++) {
        for (size_t k = 0; (one = tseed_ctl_entry(layer, "tilesets", k)); k++) {
            json_object_array_add(list, json_object_get(one));
        }
    }
    return list;
}

/* All levels of tile sets in one list, with the names of their tile set; NULL: the server does not
 * tell it that way. In `pool`. */
static json_object *list_levels(json_object *tilesets, apr_pool_t *pool)
{
    static const char *const names[] = {"id",     "layer",      "gridSetId",
                                        "format", "configured", "removing"};
    json_object *list = tseed_ctl_keep(json_object_new_array(), pool), *tileset, *level;

    for (size_t i = 0; (tileset = tseed_ctl_entry(tilesets, NULL, i)); i++) {
        if (!json_object_object_get(tileset, "levels")) {
            return NULL;
        }
        for (size_t k = 0; (level = tseed_ctl_entry(tileset, "levels", k)); k++) {
            json_object_array_add(list, json_object_get(level));
            for (size_t n = 0; n < 6 && json_object_is_type(level, json_type_object); n++) {
                json_object_object_add(level, names[n],
                                       json_object_get(json_object_object_get(tileset, names[n])));
            }
        }
    }
    return list;
}

/* "used 1.5 GiB of 20.0 GiB" and what goes on in the books. */
static void print_head(json_object *document, apr_pool_t *pool)
{
    const int64_t limit = tseed_ctl_number(json_object_object_get(document, "limit"), "bytes", -1);
    const int64_t used = tseed_ctl_number(document, "bytes", 0);
    const int64_t disk = tseed_ctl_number(document, "diskFree", -1);
    json_object *reconcile = json_object_object_get(document, "reconcile");
    const char *grace = tseed_ctl_text(document, "grace", NULL);
    const char *share = ", the disk quota is off";

    if (limit >= 0 && tseed_ctl_is(document, "enabled", "true")) {
        share = apr_psprintf(pool, " of %s (%s)", tseed_text_amount(limit, pool),
                             tseed_ctl_share(used, limit, pool));
    }
    tseed_ctl_say("used %s%s%s", tseed_text_amount(used, pool), share,
                  tseed_ctl_is(document, "complete", "true")
                      ? ""
                      : "; the cache is not known as a whole yet");
    if (disk >= 0) {
        tseed_ctl_say("%s free on the disk", tseed_text_amount(disk, pool));
    }
    if (grace) {
        tseed_ctl_say("the first clean-up begins at %s", grace);
    }
    if (reconcile) {
        tseed_ctl_say("reconcile: %s", tseed_ctl_text(reconcile, "state", "?"));
    }
    tseed_ctl_say("%s", "");
}

static tseed_ctl_exit_t get_usage(const tseed_ctl_t *ctl)
{
    static const tseed_ctl_column_t of_layer[] = {
        {"LAYER", "layer", "?", NULL}, SUMS, {"LIMIT>", "limit", "-", say_bytes}, {0}};
    static const tseed_ctl_column_t of_tileset[] = {
        NAMES, SUMS, {"PARAMETERS", "parameters", "", say_parameters}, {0}};
    static const tseed_ctl_column_t of_level[] = {
        NAMES, {"Z>", "z", "?", NULL}, SUMS, {"PRESENT>", "possible", "-", say_present}, {0}};
    const char *by = ctl->options->by ? ctl->options->by : "";
    const tseed_ctl_column_t *columns = of_tileset;
    json_object *document, *list;
    const tseed_ctl_exit_t code =
        tseed_ctl_take(&document, ctl, tseed_ctl_get(ctl, "diskquota/usage.json"));

    if (!document) {
        return code;
    }
    list = list_tilesets(document, ctl->pool);
    if (strcmp(by, "layer") == 0) {
        list = json_object_object_get(document, "layers");
        columns = of_layer;
    } else if (strcmp(by, "zoom") == 0) {
        list = list_levels(list, ctl->pool);
        columns = of_level;
        if (!list) {
            tseed_ctl_complain("this server does not tell the usage by zoom");
            return TSEED_CTL_NOT_FOUND;
        }
    }
    print_head(document, ctl->pool);
    tseed_ctl_print_table(list, columns, "", ctl->pool);
    return code;
}

/* Takes a tile set that is configured no more out of the books, with its tiles or without. */
static tseed_ctl_exit_t forget(const tseed_ctl_t *ctl, int removes)
{
    const char *id = tseed_ctl_argument(ctl->options, 1);
    tseed_ctl_exit_t code = TSEED_CTL_DONE;
    int64_t number;

    if (!id || tseed_text_int64(&number, id, 1, INT64_MAX) != 0) {
        return tseed_ctl_misuse("the ID of a tile set is expected, see quota usage");
    }
    if (removes) {
        code = tseed_ctl_confirm(
            ctl, apr_psprintf(ctl->pool, "Remove all tiles of tile set %s, for good?", id),
            "quota remove", "removed");
    }
    return code != TSEED_CTL_DONE
               ? code
               : tseed_ctl_tell(
                     ctl,
                     tseed_ctl_send(ctl, "DELETE", NULL, NULL,
                                    "diskquota/usage/%" APR_INT64_T_FMT ".json%s", number,
                                    removes ? "?tiles=remove" : ""),
                     "%s",
                     removes ? "the tiles are being removed; tileseedctl quota usage lists the "
                               "tile set until they are gone"
                             : "the tile set is forgotten; its tiles stay on the disk");
}

tseed_ctl_exit_t tseed_ctl_run_quota(const tseed_ctl_t *ctl)
{
    const char *what = tseed_ctl_argument(ctl->options, 0);

    if (what && strcmp(what, "set") == 0) {
        return set_quota(ctl);
    }
    if (what && (strcmp(what, "forget") == 0 || strcmp(what, "remove") == 0) &&
        !tseed_ctl_argument(ctl->options, 2)) {
        return forget(ctl, *what == 'r');
    }
    if (tseed_ctl_argument(ctl->options, 1)) {
        return tseed_ctl_misuse("only quota set takes more words");
    }
    if (what && strcmp(what, "usage") == 0) {
        return get_usage(ctl);
    }
    return !what || strcmp(what, "get") == 0
               ? get_quota(ctl)
               : tseed_ctl_misuse("quota get, set, usage, forget or remove is expected");
}

/* ---- coverage: which tiles of a level are there, drawn with letters, north above ---- */

/* Whether a tile set is the one that the options name; what they leave open is the first. */
static int is_wanted(json_object *tileset, const tseed_ctl_options_t *options)
{
    const apr_array_header_t *entries = apr_table_elts(options->parameters);
    json_object *parameters = json_object_object_get(tileset, "parameters");

    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        if (!tseed_ctl_is(parameters, entry->key, entry->val)) {
            return 0;
        }
    }
    return tseed_ctl_is(tileset, "layer", tseed_ctl_argument(options, 0)) &&
           (!options->gridset || tseed_ctl_is(tileset, "gridSetId", options->gridset)) &&
           (!options->format || tseed_ctl_is(tileset, "format", options->format));
}

/* The shares in thousandths stand in rows from the south. Nothing, something, half, most, all. */
static void draw(json_object *document, int columns, int rows, apr_pool_t *pool)
{
    char *letters = apr_palloc(pool, (size_t)(columns * rows));
    int64_t sum = 0;

    for (int i = 0; i < columns * rows; i++) {
        json_object *one = tseed_ctl_entry(document, "share", (size_t)i);
        const int64_t share = json_object_get_int64(one);

        sum += share > 0 && share <= 1000 ? share : 0;
        letters[i] = share <= 0 || share > 1000 ? '.'
                     : share < 500              ? ':'
                     : share < 1000             ? 'o'
                                                : '#';
    }
    for (int row = rows - 1; row >= 0; row--) {
        tseed_ctl_say("%.*s", columns, letters + row * columns);
    }
    tseed_ctl_say("%s there; . nothing, : less than half, o more, # all",
                  tseed_ctl_share(sum, (int64_t)columns * rows * 1000, pool));
}

static tseed_ctl_exit_t print_coverage(json_object *document, json_object *tileset,
                                       apr_pool_t *pool)
{
    json_object *cell = json_object_object_get(document, "cell");
    const int64_t columns = tseed_ctl_number(cell, "columns", 0);
    const int64_t rows = tseed_ctl_number(cell, "rows", 0);
    const char *parameters = tseed_ctl_parameters(tileset, pool);
    const char *tiles = tseed_ctl_text(cell, "tiles", "?");

    if (columns < 1 || rows < 1 || columns > CELLS_MAX || rows > CELLS_MAX) {
        tseed_ctl_complain("this is no coverage");
        return TSEED_CTL_NO_ANSWER;
    }
    tseed_ctl_say("%s, %s, %s%s%s, level %s, %s x %s tiles a cell",
                  tseed_ctl_text(tileset, "layer", "?"), tseed_ctl_text(tileset, "gridSetId", "?"),
                  tseed_ctl_text(tileset, "format", "?"), *parameters ? ", " : "", parameters,
                  tseed_ctl_text(document, "z", "?"), tiles, tiles);
    draw(document, (int)columns, (int)rows, pool);
    return TSEED_CTL_DONE;
}

/* The books of the disk usage tell the number of the tile set. */
tseed_ctl_exit_t tseed_ctl_run_coverage(const tseed_ctl_t *ctl)
{
    const tseed_ctl_options_t *options = ctl->options;
    json_object *document, *tilesets, *tileset;
    tseed_ctl_exit_t code;
    size_t i = 0;

    if (!options->zoom_start || strcmp(options->zoom_start, options->zoom_stop) != 0) {
        return tseed_ctl_misuse("coverage needs one level: -z N");
    }
    code = tseed_ctl_read(&document, ctl, tseed_ctl_get(ctl, "diskquota/usage.json"));
    if (code != TSEED_CTL_DONE) {
        return code;
    }
    tilesets = list_tilesets(document, ctl->pool);
    while ((tileset = tseed_ctl_entry(tilesets, NULL, i)) && !is_wanted(tileset, options)) {
        i++;
    }
    if (!tileset) {
        tseed_ctl_complain("the books have no such tile set of %s: nothing was ever made of it",
                           tseed_ctl_argument(options, 0));
        return TSEED_CTL_NOT_FOUND;
    }
    code = tseed_ctl_take(&document, ctl,
                          tseed_ctl_get(ctl, "coverage/%" APR_INT64_T_FMT "/%s.json?cells=%s",
                                        tseed_ctl_number(tileset, "id", 0), options->zoom_start,
                                        options->cells ? options->cells : CELLS_USUAL));
    return document ? print_coverage(document, tileset, ctl->pool) : code;
}
