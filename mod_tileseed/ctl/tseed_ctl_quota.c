/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs about what the cache takes: quota, reconcile and coverage.
 *
 * The configuration is read and written as XML, which this server and every GeoWebCache speak. A
 * change has the root element of the document that was read. */
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"
#include "protocol/tseed_document.h"

#define ADDRESS   "diskquota.xml"
#define CELLS_MAX 256

/* What stands before the name of a layer that gets a quota. */
#define OF_LAYER "layer:"

/* ---- the configuration ---- */

static const char *text_of(const tseed_node_t *node, const char *name, const char *absent)
{
    const tseed_node_t *member = node ? tseed_node_find(node, name) : NULL;

    return member ? member->text : absent;
}

static const char *say_amount(const tseed_node_t *amount)
{
    return tseed_ctl_format("%s %s", text_of(amount, "value", "?"), text_of(amount, "units", "?"));
}

/* The configuration that the server has. */
static const tseed_node_t *read_config(void)
{
    static const char *const roots[] = {"cacheQuotaConfiguration", "gwcQuotaConfiguration",
                                        "org.geowebcache.diskquota.DiskQuotaConfig", NULL};

    return tseed_ctl_read_xml(tseed_ctl_get(ADDRESS), roots, "no disk quota");
}

/* Prints lines that `quota set` takes. */
static void get_quota(void)
{
    const tseed_node_t *root;

    if (tseed_ctl.is_json) {
        tseed_ctl_take(tseed_ctl_get("diskquota.json"));
    }
    root = read_config();
    for (const tseed_node_t *member = root->children; member; member = member->next) {
        const int are_layers = strcmp(member->name, "layerQuotas") == 0;

        for (const tseed_node_t *one = are_layers ? member->children : NULL; one; one = one->next) {
            tseed_ctl_say(OF_LAYER "%s=%s,%s", text_of(one, "layer", "?"),
                          say_amount(tseed_node_find(one, "quota")),
                          text_of(one, "expirationPolicyName", "?"));
        }
        if (!are_layers) {
            tseed_ctl_say("%s=%s", member->name,
                          member->children ? say_amount(member) : member->text);
        }
    }
}

/* ---- a change ---- */

/* "20GiB" as value and units. */
static const char *amount_xml(const char *text)
{
    const size_t digits = strspn(text, "0123456789.");
    const char *units = text + digits + strspn(text + digits, " ");

    return tseed_ctl_format("<value>%.*s</value>%s", (int)digits, text,
                            tseed_ctl_element("units", *units ? units : "B"));
}

/* Sets the quota of a layer in a map of XML; a policy of NULL is none. */
static void set_layer(json_object *layers, const char *layer, const char *amount,
                      const char *policy)
{
    const char *xml = tseed_ctl_format(
        "<LayerQuota>%s%s<quota>%s</quota></LayerQuota>", tseed_ctl_element("layer", layer),
        policy ? tseed_ctl_element("expirationPolicyName", policy) : "", amount_xml(amount));

    json_object_object_add(layers, layer, json_object_new_string(xml));
}

/* The list of layers is replaced as a whole: what the server has goes into it first. "" when no
 * word is about a layer. A word is "layer:NAME=5GiB", "layer:NAME=5GiB,LRU" or
 * "layer:NAME=none". */
static const char *layers_xml(const tseed_node_t *root)
{
    const tseed_node_t *list = tseed_node_find(root, "layerQuotas");
    json_object *layers = tseed_ctl_keep(json_object_new_object());
    apr_array_header_t *xml = apr_array_make(tseed_ctl.pool, 8, sizeof(const char *));
    const char *word;
    int is_changed = 0;

    for (const tseed_node_t *one = list ? list->children : NULL; one; one = one->next) {
        set_layer(layers, text_of(one, "layer", ""), say_amount(tseed_node_find(one, "quota")),
                  text_of(one, "expirationPolicyName", NULL));
    }
    for (int i = 1; (word = tseed_ctl_argument(i)); i++) {
        const char *value = strrchr(word, '=') + 1, *comma = strchr(value, ',');
        const char *layer = word + strlen(OF_LAYER);

        if (strncmp(word, OF_LAYER, strlen(OF_LAYER)) == 0) {
            is_changed = 1;
            layer = tseed_ctl_format("%.*s", (int)(value - layer - 1), layer);
            json_object_object_del(layers, layer);
            if (strcmp(value, "none") != 0) {
                set_layer(layers, layer, tseed_ctl_format("%.*s", (int)strcspn(value, ","), value),
                          comma ? comma + 1 : NULL);
            }
        }
    }
    json_object_object_foreach(layers, name, one)
    {
        (void)name;
        APR_ARRAY_PUSH(xml, const char *) = json_object_get_string(one);
    }
    return is_changed ? tseed_ctl_format("<layerQuotas>%s</layerQuotas>",
                                         apr_array_pstrcat(tseed_ctl.pool, xml, 0))
                      : "";
}

/* NAME=VALUE as a member; "" for a layer. */
static const char *member_xml(const char *word)
{
    const char *sign = strrchr(word, '=');
    const char *name = sign ? tseed_ctl_format("%.*s", (int)(sign - word), word) : "";

    if (!*name || strspn(name, "<>&/ \t") > 0) {
        tseed_ctl_misuse("'%s' is not NAME=VALUE, such as globalQuota=20GiB", word);
    }
    if (strncmp(word, OF_LAYER, strlen(OF_LAYER)) == 0) {
        return "";
    }
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")]) {
        tseed_ctl_misuse("'%s' is no member of the disk quota", name);
    }
    return strcmp(name, "globalQuota") == 0
               ? tseed_ctl_format("<globalQuota>%s</globalQuota>", amount_xml(sign + 1))
               : tseed_ctl_element(name, sign + 1);
}

/* Sends the change, and shows the configuration that the server has then. Limits of a quota that is
 * off limit nothing. */
static void set_quota(void)
{
    const char *members = "", *word;
    const tseed_ctl_answer_t *answer;
    const tseed_node_t *root;

    if (!tseed_ctl_argument(1)) {
        tseed_ctl_misuse("quota set needs NAME=VALUE, such as globalQuota=20GiB");
    }
    root = read_config();
    for (int i = 1; (word = tseed_ctl_argument(i)); i++) {
        members = tseed_ctl_format("%s%s", members, member_xml(word));
    }
    answer = tseed_ctl_send(
        "PUT", "text/xml",
        tseed_ctl_format("<%s>%s%s</%s>", root->name, members, layers_xml(root), root->name),
        ADDRESS);
    if (answer->warning) {
        tseed_ctl_complain("%s", answer->warning);
    }
    tseed_ctl_expect(answer);
    if (!tseed_ctl.is_quiet) {
        get_quota();
    }
    if (strcmp(text_of(root, "enabled", ""), "false") == 0 && !strstr(members, "<enabled>")) {
        tseed_ctl_complain("the disk quota is off; switch it on: quota set enabled=true");
    }
}

static void run_reconcile(void)
{
    tseed_ctl_tell(tseed_ctl_send("POST", NULL, NULL, "diskquota/reconcile"),
                   "the reconcile has begun; tileseedctl quota usage says how far it is");
}

/* ---- usage ---- */

#define TILESET                                                                                    \
    "ID>", "{id}", "LAYER", "{layer}{note|}", "GRIDSET", "{gridSetId}", "FORMAT", "{format}"
#define SUMS                                                                                       \
    "SIZE>", "{bytes|0 bytes:bytes}", "FILES>", "{files|0:count}", "TILES>", "{tiles|0:count}"

/* All tile sets in one list. Those that are not configured have a note of that. */
static json_object *list_tilesets(json_object *document)
{
    json_object *list = tseed_ctl_keep(json_object_new_array()), *layer, *one;

    for (size_t i = 0; (layer = tseed_ctl_entry(document, "layers", i)); i++) {
        for (size_t k = 0; (one = tseed_ctl_entry(layer, "tilesets", k)); k++) {
            json_object_array_add(list, json_object_get(one));
            if (tseed_ctl_is(one, "configured", "false")) {
                json_object_object_add(one, "note",
                                       json_object_new_string(tseed_ctl_is(one, "removing", "true")
                                                                  ? " (being removed)"
                                                                  : " (not configured)"));
            }
        }
    }
    return list;
}

/* All levels of tile sets in one list, with the names of their tile set. */
static json_object *list_levels(json_object *tilesets)
{
    static const char *const names[] = {"id", "layer", "note", "gridSetId", "format"};
    json_object *list = tseed_ctl_keep(json_object_new_array()), *tileset, *level;

    for (size_t i = 0; (tileset = tseed_ctl_entry(tilesets, NULL, i)); i++) {
        if (!tseed_ctl_part(tileset, "levels")) {
            tseed_ctl_fail(TSEED_CTL_NOT_FOUND, "this server does not tell the usage by zoom");
        }
        for (size_t k = 0; (level = tseed_ctl_entry(tileset, "levels", k)); k++) {
            json_object_array_add(list, json_object_get(level));
            for (size_t n = 0; n < 5 && json_object_is_type(level, json_type_object); n++) {
                json_object_object_add(level, names[n],
                                       json_object_get(tseed_ctl_part(tileset, names[n])));
            }
        }
    }
    return list;
}

/* "used 1.5 GiB of 20.0 GiB (7.5 %)" and what goes on in the books. */
static void print_head(json_object *document)
{
    static const char *const lines[] = {"[{diskFree:bytes} free on the disk]",
                                        "[the first clean-up begins at {grace}]",
                                        "[reconcile: {reconcile.state}]"};
    json_object *limit = tseed_ctl_part(document, "limit");
    const char *share = ", the disk quota is off";

    if (tseed_ctl_number(limit, "bytes", -1) >= 0 && tseed_ctl_is(document, "enabled", "true")) {
        share = tseed_ctl_format(" of %s (%s)", tseed_ctl_fill(limit, "{bytes:bytes}"),
                                 tseed_ctl_share(tseed_ctl_number(document, "bytes", 0),
                                                 tseed_ctl_number(limit, "bytes", 0)));
    }
    tseed_ctl_say("used %s%s%s", tseed_ctl_fill(document, "{bytes|0 bytes:bytes}"), share,
                  tseed_ctl_is(document, "complete", "true")
                      ? ""
                      : "; the cache is not known as a whole yet");
    for (size_t i = 0; i < 3; i++) {
        const char *line = tseed_ctl_fill(document, lines[i]);

        if (*line) {
            tseed_ctl_say("%s", line);
        }
    }
    tseed_ctl_say("%s", "");
}

static void get_usage(void)
{
    static const char *const of_layer[] = {"LAYER",  "{layer}",         SUMS,
                                           "LIMIT>", "{limit|-:bytes}", NULL};
    static const char *const of_tileset[] = {TILESET, SUMS, "PARAMETERS", "{parameters|}", NULL};
    static const char *const of_level[] = {
        TILESET, "Z>", "{z}", SUMS, "PRESENT>", "{tiles|-:of/possible}", NULL};
    const char by = tseed_ctl.by ? *tseed_ctl.by : '\0'; /* layer, zoom */
    json_object *document = tseed_ctl_take(tseed_ctl_get("diskquota/usage.json"));
    json_object *list = by == 'l' ? tseed_ctl_part(document, "layers") : list_tilesets(document);

    list = by == 'z' ? list_levels(list) : list;
    print_head(document);
    tseed_ctl_print_table(list, by == 'l' ? of_layer : by == 'z' ? of_level : of_tileset, "");
}

/* Takes a tile set that is configured no more out of the books, with its tiles or without. */
static void forget(int removes)
{
    const char *id = tseed_ctl_argument(1);
    int64_t number;

    if (!id || tseed_text_int64(&number, id, 1, INT64_MAX) != 0) {
        tseed_ctl_misuse("the ID of a tile set is expected, see quota usage");
    }
    if (removes) {
        tseed_ctl_confirm(tseed_ctl_format("Remove all tiles of tile set %s, for good?", id),
                          "quota remove", "removed");
    }
    tseed_ctl_tell(tseed_ctl_send("DELETE", NULL, NULL,
                                  "diskquota/usage/%" APR_INT64_T_FMT ".json%s", number,
                                  removes ? "?tiles=remove" : ""),
                   "%s",
                   removes ? "the tiles are being removed; tileseedctl quota usage lists the tile "
                             "set until they are gone"
                           : "the tile set is forgotten; its tiles stay on the disk");
}

static void run_quota(void)
{
    const char *what = tseed_ctl_argument(0) ? tseed_ctl_argument(0) : "get";
    const int removes = strcmp(what, "remove") == 0;

    if (strcmp(what, "set") == 0) {
        set_quota();
    } else if ((removes || strcmp(what, "forget") == 0) && !tseed_ctl_argument(2)) {
        forget(removes);
    } else if (tseed_ctl_argument(1)) {
        tseed_ctl_misuse("only quota set takes more words");
    } else if (strcmp(what, "usage") == 0) {
        get_usage();
    } else if (strcmp(what, "get") == 0) {
        get_quota();
    } else {
        tseed_ctl_misuse("quota get, set, usage, forget or remove is expected");
    }
}

/* ---- coverage: which tiles of a level are there, drawn with letters, north above ---- */

/* Whether a tile set is the one that the user names; what is left open is the first. */
static int is_wanted(json_object *tileset)
{
    json_object *parameters = tseed_ctl_part(tileset, "parameters");
    const apr_table_entry_t *entry;

    for (int i = 0; (entry = tseed_ctl_parameter(i)); i++) {
        if (!tseed_ctl_is(parameters, entry->key, entry->val)) {
            return 0;
        }
    }
    return tseed_ctl_is(tileset, "layer", tseed_ctl_argument(0)) &&
           (!tseed_ctl.gridset || tseed_ctl_is(tileset, "gridSetId", tseed_ctl.gridset)) &&
           (!tseed_ctl.format || tseed_ctl_is(tileset, "format", tseed_ctl.format));
}

/* The shares in thousandths stand in rows from the south. Nothing, something, half, most, all. */
static void draw(json_object *document, int columns, int rows)
{
    char line[CELLS_MAX];
    int64_t sum = 0;

    for (int row = rows - 1; row >= 0; row--) {
        for (int i = 0; i < columns; i++) {
            const int64_t share = json_object_get_int64(
                tseed_ctl_entry(document, "share", (size_t)(row * columns + i)));

            sum += share > 0 && share <= 1000 ? share : 0;
            line[i] = share <= 0 || share > 1000 ? '.'
                      : share < 500              ? ':'
                      : share < 1000             ? 'o'
                                                 : '#';
        }
        tseed_ctl_say("%.*s", columns, line);
    }
    tseed_ctl_say("%s there; . nothing, : less than half, o more, # all",
                  tseed_ctl_share(sum, (int64_t)columns * rows * 1000));
}

/* The books of the disk usage tell the number of the tile set. */
static void run_coverage(void)
{
    json_object *document, *tilesets, *tileset, *cell;
    int64_t columns, rows;
    size_t i = 0;

    if (!tseed_ctl.zoom_start || strcmp(tseed_ctl.zoom_start, tseed_ctl.zoom_stop) != 0) {
        tseed_ctl_misuse("coverage needs one level: -z N");
    }
    tilesets = list_tilesets(tseed_ctl_read(tseed_ctl_get("diskquota/usage.json")));
    while ((tileset = tseed_ctl_entry(tilesets, NULL, i)) && !is_wanted(tileset)) {
        i++;
    }
    if (!tileset) {
        tseed_ctl_fail(TSEED_CTL_NOT_FOUND,
                       "the books have no such tile set of %s: nothing was ever made of it",
                       tseed_ctl_argument(0));
    }
    document = tseed_ctl_take(tseed_ctl_get(
        "coverage/%" APR_INT64_T_FMT "/%s.json?cells=%s", tseed_ctl_number(tileset, "id", 0),
        tseed_ctl.zoom_start, tseed_ctl.cells ? tseed_ctl.cells : "64"));
    cell = tseed_ctl_part(document, "cell");
    columns = tseed_ctl_number(cell, "columns", 0);
    rows = tseed_ctl_number(cell, "rows", 0);
    if (columns < 1 || rows < 1 || columns > CELLS_MAX || rows > CELLS_MAX) {
        tseed_ctl_fail(TSEED_CTL_NO_ANSWER, "this is no coverage");
    }
    tseed_ctl_say("%s, level %s",
                  tseed_ctl_fill(tileset, "{layer}, {gridSetId}, {format}[, {parameters}]"),
                  tseed_ctl_fill(document, "{z}, {cell.tiles} x {cell.tiles} tiles a cell"));
    draw(document, (int)columns, (int)rows);
}

const tseed_ctl_verb_t tseed_ctl_quota_verbs[] = {
    {13, "quota", "[get|set NAME=VALUE...|usage|forget ID|remove ID]",
     "show or change the disk quota, show what the cache takes", run_quota},
    {14, "reconcile", "", "compare the books with the disk", run_reconcile},
    {17, "coverage", "LAYER", "draw which tiles of a level are there", run_coverage},
    {0}};
