/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dump of the configuration: its lines, the values of plain rules, sections of httpd. */
#include "mod_tileseed_dump.h"

#include <stdlib.h>
#include <string.h>

#include <apr_cstr.h>
#include <apr_file_io.h>
#include <apr_strings.h>
#include <httpd.h>
#include <http_config.h>
#include <http_core.h>

#include "base/tseed_text.h"
#include "mod_tileseed.h"

#define INDENT "    "

/* ---- lines ---- */

void tseed_dump_line(const tseed_dump_t *dump, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    apr_file_puts(dump->indent, dump->to);
    apr_file_puts(apr_pvsprintf(dump->pool, format, args), dump->to);
    apr_file_putc('\n', dump->to);
    va_end(args);
}

const char *tseed_dump_option(const tseed_dump_t *dump, const char *name, const char *value)
{
    return value ? apr_pstrcat(dump->pool, " ", name, "=", tseed_show_word(value, dump->pool), NULL)
                 : "";
}

const char *tseed_dump_options(const tseed_dump_t *dump, const char *name,
                               const apr_array_header_t *values)
{
    const char *shown = "";

    for (int i = 0; i < values->nelts; i++) {
        shown = apr_pstrcat(dump->pool, shown,
                            tseed_dump_option(dump, name, APR_ARRAY_IDX(values, i, const char *)),
                            NULL);
    }
    return shown;
}

const char *tseed_show_box(const tseed_bounds_t *bounds, const char *glue, apr_pool_t *pool)
{
    return apr_pstrcat(pool, tseed_text_number(bounds->minx, pool), glue,
                       tseed_text_number(bounds->miny, pool), glue,
                       tseed_text_number(bounds->maxx, pool), glue,
                       tseed_text_number(bounds->maxy, pool), NULL);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const apr_array_header_t *tseed_dump_names(const tseed_dump_t *dump, apr_hash_t *hash)
{
    apr_array_header_t *names = apr_array_make(dump->pool, 8, sizeof(const char *));

    for (apr_hash_index_t *i = apr_hash_first(dump->pool, hash); i; i = apr_hash_next(i)) {
        APR_ARRAY_PUSH(names, const char *) = apr_hash_this_key(i);
    }
    qsort(names->elts, (size_t)names->nelts, (size_t)names->elt_size, by_name);
    return names;
}

/* ---- rules ---- */

/* A value as its option reads it; NULL: one that is not configured, below the lowest. */
static const char *show_value(const tseed_option_t *option, const void *record, apr_pool_t *pool)
{
    const void *member = (const char *)record + option->offset;

    if (option->read == tseed_read_int) {
        return apr_itoa(pool, *(const int *)member);
    }
    if (option->read == tseed_read_switch) {
        return *(const int *)member ? "on" : "off";
    }
    if (option->read == tseed_read_word) {
        return option->words[*(const int *)member];
    }
    if (option->read == tseed_read_duration) {
        const apr_interval_time_t duration = *(const apr_interval_time_t *)member;

        return duration < option->lowest ? NULL : tseed_show_duration(duration, pool);
    }
    return apr_psprintf(pool, "%" APR_INT64_T_FMT, *(const int64_t *)member);
}

/* The options of a value, or "off" when it is all zeros. */
static const char *show_options(const tseed_rule_t *rule, const char *value, apr_pool_t *pool)
{
    const char *line = "";
    size_t zeros = 0;

    while (zeros < rule->size && !value[zeros]) {
        zeros++;
    }
    for (const tseed_option_t *option = rule->options; option->name; option++) {
        line = apr_pstrcat(pool, line, *line ? " " : "", option->name, "=",
                           show_value(option, value, pool), NULL);
    }
    return zeros == rule->size ? "off" : line;
}

static void dump_value(const tseed_dump_t *dump, const command_rec *command, const void *record)
{
    const tseed_rule_t *rule = command->cmd_data;
    const char *value = NULL;

    if (rule->options) {
        value = show_options(rule, (const char *)record + rule->value.offset, dump->pool);
    } else if (rule->value.read) {
        value = show_value(&rule->value, record, dump->pool);
    }
    if (value) {
        tseed_dump_line(dump, "%s %s", command->name, value);
    }
}

/* A layer's directives may stand before all layers, too. */
static unsigned place_of(const tseed_rule_t *rule)
{
    return rule->places & TSEED_IN_LAYER ? TSEED_IN_LAYER : rule->places & TSEED_IN_SERVER;
}

static void dump_rules(const tseed_dump_t *dump, unsigned place, const void *record)
{
    for (const command_rec *command = tileseed_module.cmds; command->name; command++) {
        const tseed_rule_t *rule = command->cmd_data;

        if (place_of(rule) != place) {
            continue;
        }
        if (rule->show) {
            rule->show(dump, record);
        } else {
            dump_value(dump, command, record);
        }
    }
}

/* ---- sections of httpd ---- */

static int is_ours(const ap_directive_t *directive)
{
    return apr_cstr_casecmpn(directive->directive, "TileSeed", strlen("TileSeed")) == 0;
}

static int has_ours(const ap_directive_t *directive)
{
    for (; directive; directive = directive->next) {
        if (is_ours(directive) || has_ours(directive->first_child)) {
            return 1;
        }
    }
    return 0;
}

/* The sections of httpd with directives of ours, as they are written: httpd merges them for each
 * request. */
static void dump_sections(const tseed_dump_t *dump, const ap_directive_t *directive,
                          const char *indent)
{
    for (; directive; directive = directive->next) {
        if (is_ours(directive) && *indent) {
            tseed_dump_line(dump, "%s%s %s", indent, directive->directive, directive->args);
        } else if (has_ours(directive->first_child) &&
                   apr_cstr_casecmpn(directive->directive, "<TileSeed", strlen("<TileSeed")) != 0) {
            tseed_dump_line(dump, "%s%s %s", indent, directive->directive, directive->args);
            dump_sections(dump, directive->first_child,
                          apr_pstrcat(dump->pool, indent, INDENT, NULL));
            tseed_dump_line(dump, "%s</%s>", indent, directive->directive + 1);
        }
    }
}

/* ---- all ---- */

static void dump_layers(const tseed_dump_t *dump)
{
    const apr_array_header_t *layers = dump->catalog->order;
    tseed_dump_t inside = *dump;

    inside.indent = INDENT;
    for (int i = 0; i < layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, tseed_layer_t *);

        tseed_dump_line(dump, "<TileSeedLayer %s>", tseed_show_word(layer->name, dump->pool));
        dump_rules(&inside, TSEED_IN_LAYER, layer);
        tseed_dump_line(dump, "</TileSeedLayer>");
    }
}

static void dump_all(apr_pool_t *pool, server_rec *server)
{
    const tseed_server_conf_t *conf = tseed_conf_get(server);
    tseed_dump_t dump = {.indent = "", .pool = pool, .catalog = conf->catalog};

    if (!ap_exists_config_define("DUMP_TILESEED") ||
        apr_file_open_stdout(&dump.to, pool) != APR_SUCCESS) {
        return;
    }
    tseed_dump_line(&dump, "# The configuration of mod_tileseed in force, with every default.");
    tseed_dump_line(&dump, "# Directives of other modules, Require for example, are not in it.");
    dump_rules(&dump, TSEED_IN_SERVER, conf);
    dump_layers(&dump);
    dump_sections(&dump, ap_conftree, "");
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_test_config(dump_all, NULL, NULL, APR_HOOK_MIDDLE);
}

const tseed_module_part_t tseed_dump_part = {.hook = register_hooks};
