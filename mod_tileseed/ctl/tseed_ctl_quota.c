/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs quota and reconcile. The configuration is read and written as XML, which this server
 * and every GeoWebCache speak. A change has the root element of the document that was read. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "ctl/tseed_ctl_verbs.h"
#include "ctl/tseed_ctl_words.h"
#include "protocol/tseed_escape.h"

#define ADDRESS "diskquota.xml"

/* What stands before the name of a layer that gets a quota. */
#define OF_LAYER "layer:"

/* The configuration in the making. */
typedef struct {
    const tseed_ctl_t *ctl;
    const tseed_node_t *root; /* as the server has it */
    const char *members;      /* what is sent */
    apr_table_t *layers;      /* layer -> the XML of its quota; NULL: they stay as they are */
} change_t;

/* ---- show it ---- */

static const char *say_amount(const tseed_node_t *amount, apr_pool_t *pool)
{
    return apr_pstrcat(pool, tseed_ctl_words(amount, "value", "?", pool), " ",
                       tseed_ctl_words(amount, "units", "?", pool), NULL);
}

static void print_layers(const tseed_node_t *list, apr_pool_t *pool)
{
    for (const tseed_node_t *one = tseed_ctl_first(list, "LayerQuota"); one;
         one = tseed_ctl_next(one)) {
        printf("%s%s=%s,%s\n", OF_LAYER, tseed_ctl_words(one, "layer", "?", pool),
               say_amount(tseed_ctl_member(one, "quota"), pool),
               tseed_ctl_words(one, "expirationPolicyName", "?", pool));
    }
}

/* The lines are those that `quota set` takes. */
static void print_config(const tseed_node_t *root, apr_pool_t *pool)
{
    for (const tseed_node_t *member = root->children; member; member = member->next) {
        if (strcmp(member->name, "layerQuotas") == 0) {
            print_layers(member, pool);
        } else {
            printf("%s=%s\n", tseed_ctl_clean(member->name, pool),
                   member->children ? say_amount(member, pool)
                                    : tseed_ctl_clean(member->text, pool));
        }
    }
}

/* The configuration that the server answers with. */
static tseed_ctl_exit_t read_config(tseed_node_t **root, const tseed_ctl_t *ctl,
                                    const tseed_ctl_answer_t *answer)
{
    static const char *const roots[] = {"cacheQuotaConfiguration", "gwcQuotaConfiguration",
                                        "org.geowebcache.diskquota.DiskQuotaConfig", NULL};
    const char *problem;

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(ctl, answer);
    }
    problem = tseed_document_read(root, TSEED_BODY_XML, answer->body, answer->length, ctl->pool);
    if (problem || tseed_document_check_root(*root, TSEED_BODY_XML, roots, ctl->pool)) {
        tseed_ctl_complain("%s: this is no disk quota", answer->path);
        return TSEED_CTL_NO_ANSWER;
    }
    return TSEED_CTL_DONE;
}

static tseed_ctl_exit_t get_quota(const tseed_ctl_t *ctl)
{
    tseed_node_t *root;
    const tseed_node_t *unused;
    tseed_ctl_exit_t code;

    if (ctl->options->is_json) {
        return tseed_ctl_take(&unused, ctl,
                              tseed_ctl_http_get(ctl->http, ctl->pool, "diskquota.json"));
    }
    code = read_config(&root, ctl, tseed_ctl_http_get(ctl->http, ctl->pool, ADDRESS));
    if (code == TSEED_CTL_DONE) {
        print_config(root, ctl->pool);
    }
    return code;
}

/* ---- change it ---- */

/* "20GiB" as value and units. */
static const char *amount_xml(const char *text, apr_pool_t *pool)
{
    const size_t digits = strspn(text, "0123456789.");
    const char *units = text + digits + strspn(text + digits, " ");

    return apr_pstrcat(pool, "<value>", apr_pstrmemdup(pool, text, digits), "</value><units>",
                       tseed_escape_xml(*units ? units : "B", pool), "</units>", NULL);
}

static const char *layer_xml(const char *layer, const char *policy, const char *amount,
                             apr_pool_t *pool)
{
    return apr_pstrcat(pool, "<LayerQuota><layer>", tseed_escape_xml(layer, pool), "</layer>",
                       policy ? "<expirationPolicyName>" : "",
                       policy ? tseed_escape_xml(policy, pool) : "",
                       policy ? "</expirationPolicyName>" : "", "<quota>", amount_xml(amount, pool),
                       "</quota></LayerQuota>", NULL);
}

/* The list is replaced as a whole: what the server has goes into it first. */
static void load_layers(change_t *change)
{
    apr_pool_t *pool = change->ctl->pool;
    const tseed_node_t *list = tseed_ctl_member(change->root, "layerQuotas");

    change->layers = apr_table_make(pool, 8);
    for (const tseed_node_t *one = tseed_ctl_first(list, "LayerQuota"); one;
         one = tseed_ctl_next(one)) {
        const char *layer = tseed_ctl_text(one, "layer", "");

        apr_table_addn(change->layers, layer,
                       layer_xml(layer, tseed_ctl_text(one, "expirationPolicyName", NULL),
                                 say_amount(tseed_ctl_member(one, "quota"), pool), pool));
    }
}

/* "world", "5GiB,LRU" or "none". Tables ignore case, names of layers do not: so the name is looked
 * for in hand. */
static void set_layer(change_t *change, const char *layer, const char *value)
{
    apr_pool_t *pool = change->ctl->pool;
    const char *comma = strchr(value, ',');
    const char *amount = comma ? apr_pstrmemdup(pool, value, (apr_size_t)(comma - value)) : value;
    apr_table_t *others;

    if (!change->layers) {
        load_layers(change);
    }
    others = apr_table_make(pool, 8);
    for (int i = 0; i < apr_table_elts(change->layers)->nelts; i++) {
        const apr_table_entry_t *one =
            &APR_ARRAY_IDX(apr_table_elts(change->layers), i, apr_table_entry_t);

        if (strcmp(one->key, layer) != 0) {
            apr_table_addn(others, one->key, one->val);
        }
    }
    change->layers = others;
    if (strcmp(value, "none") != 0) {
        apr_table_addn(others, layer, layer_xml(layer, comma ? comma + 1 : NULL, amount, pool));
    }
}

/* NAME=VALUE */
static const char *set_member(change_t *change, const char *word)
{
    apr_pool_t *pool = change->ctl->pool;
    const char *sign = strrchr(word, '=');
    const char *name = sign ? apr_pstrmemdup(pool, word, (apr_size_t)(sign - word)) : "";

    if (!*name || strspn(name, "<>&/ \t") > 0) {
        return apr_psprintf(pool, "'%s' is not NAME=VALUE, such as globalQuota=20GiB", word);
    }
    if (strncmp(name, OF_LAYER, strlen(OF_LAYER)) == 0) {
        set_layer(change, name + strlen(OF_LAYER), sign + 1);
        return NULL;
    }
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")]) {
        return apr_psprintf(pool, "'%s' is no member of the disk quota", name);
    }
    change->members =
        apr_pstrcat(pool, change->members, "<", name, ">",
                    strcmp(name, "globalQuota") == 0 ? amount_xml(sign + 1, pool)
                                                     : tseed_escape_xml(sign + 1, pool),
                    "</", name, ">", NULL);
    return NULL;
}

static const char *document_of(const change_t *change)
{
    apr_pool_t *pool = change->ctl->pool;
    const char *layers = "";

    for (int i = 0; change->layers && i < apr_table_elts(change->layers)->nelts; i++) {
        layers = apr_pstrcat(
            pool, layers, APR_ARRAY_IDX(apr_table_elts(change->layers), i, apr_table_entry_t).val,
            NULL);
    }
    return apr_pstrcat(pool, "<", change->root->name, ">", change->members,
                       change->layers ? "<layerQuotas>" : "", layers,
                       change->layers ? "</layerQuotas>" : "", "</", change->root->name, ">", NULL);
}

/* Sends the change, and shows the configuration that the server has then. */
static tseed_ctl_exit_t put_quota(const change_t *change)
{
    const tseed_ctl_t *ctl = change->ctl;
    const tseed_ctl_request_t request = {
        .method = "PUT", .path = ADDRESS, .type = "text/xml", .body = document_of(change)};
    const tseed_ctl_answer_t *answer = tseed_ctl_http_ask(ctl->http, &request, ctl->pool);

    if (answer->warning) {
        tseed_ctl_complain("%s", tseed_ctl_clean(answer->warning, ctl->pool));
    }
    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(ctl, answer);
    }
    return ctl->options->is_quiet ? TSEED_CTL_DONE : get_quota(ctl);
}

/* Limits of a quota that is off limit nothing. */
static void warn_of_off(const change_t *change)
{
    if (strcmp(tseed_ctl_text(change->root, "enabled", ""), "false") == 0 &&
        !strstr(change->members, "<enabled>")) {
        tseed_ctl_complain("the disk quota is off; switch it on: quota set enabled=true");
    }
}

static tseed_ctl_exit_t set_quota(const tseed_ctl_t *ctl)
{
    change_t change = {.ctl = ctl, .members = ""};
    const char *problem = NULL, *word;
    tseed_node_t *root;
    tseed_ctl_exit_t code;

    if (!tseed_ctl_argument(ctl->options, 1)) {
        return tseed_ctl_misuse("quota set needs NAME=VALUE, such as globalQuota=20GiB");
    }
    code = read_config(&root, ctl, tseed_ctl_http_get(ctl->http, ctl->pool, ADDRESS));
    if (code != TSEED_CTL_DONE) {
        return code;
    }
    change.root = root;
    for (int i = 1; !problem && (word = tseed_ctl_argument(ctl->options, i)); i++) {
        problem = set_member(&change, word);
    }
    if (problem) {
        return tseed_ctl_misuse(problem);
    }
    code = put_quota(&change);
    if (code == TSEED_CTL_DONE) {
        warn_of_off(&change);
    }
    return code;
}

tseed_ctl_exit_t tseed_ctl_run_quota(const tseed_ctl_t *ctl)
{
    const char *what = tseed_ctl_argument(ctl->options, 0);

    if (what && strcmp(what, "set") == 0) {
        return set_quota(ctl);
    }
    if (tseed_ctl_argument(ctl->options, 1)) {
        return tseed_ctl_misuse("only quota set takes more words");
    }
    if (what && strcmp(what, "usage") == 0) {
        return tseed_ctl_run_usage(ctl);
    }
    return !what || strcmp(what, "get") == 0
               ? get_quota(ctl)
               : tseed_ctl_misuse("quota get, quota set or quota usage is expected");
}

tseed_ctl_exit_t tseed_ctl_run_reconcile(const tseed_ctl_t *ctl)
{
    const tseed_ctl_request_t request = {.method = "POST", .path = "diskquota/reconcile"};
    const tseed_ctl_answer_t *answer = tseed_ctl_http_ask(ctl->http, &request, ctl->pool);

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(ctl, answer);
    }
    if (!ctl->options->is_quiet && !ctl->options->is_json) {
        puts("the reconcile has begun; tileseedctl quota usage says how far it is");
    }
    return TSEED_CTL_DONE;
}
