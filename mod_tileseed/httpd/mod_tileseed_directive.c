/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Rules of directives: where they may stand, their number of words, and how complaints begin. */
#include "mod_tileseed_directive.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"

/* ---- names ---- */

const char *tseed_name_check(const char *what, const char *name, apr_pool_t *pool)
{
    uint32_t code;
    size_t length;

    if (!*name || strlen(name) > TSEED_NAME_MAX) {
        return apr_psprintf(pool, "the name of %s has 1 to %d bytes, not %d", what, TSEED_NAME_MAX,
                            (int)strlen(name));
    }
    for (; *name; name += length) {
        length = tseed_text_utf8_read(&code, name, SIZE_MAX);
        if (length == 0) {
            return apr_psprintf(pool, "the name of %s must be UTF-8", what);
        }
        if (code < 0x20 || code == 0x7F || code == '/') {
            return apr_psprintf(pool, "the name of %s must not have control characters or '/'",
                                what);
        }
    }
    return NULL;
}

const char *tseed_directive_place(const ap_directive_t *directive, apr_pool_t *pool)
{
    return apr_psprintf(pool, "line %d of %s", directive->line_num, directive->filename);
}

/* ---- places ---- */

static const struct {
    const char *section;
    unsigned place;
    const char *description;
} sections[] = {
    {NULL, TSEED_IN_SERVER, "outside of all sections"},
    {"<TileSeedLayer", TSEED_IN_LAYER, "in <TileSeedLayer>"},
    {"<TileSeedGridSet", TSEED_IN_GRIDSET, "in <TileSeedGridSet>"},
    {"<Location", TSEED_IN_LOCATION, "in <Location \"/path\">"},
    {"<Directory", TSEED_IN_DIRECTORY, "in <Directory \"/path\">"},
};

#define SECTION_COUNT (sizeof(sections) / sizeof(sections[0]))

/* A location may also be a regular expression or a pattern: requests below it share no path. */
static int is_plain_location(const char *path)
{
    return path && *path == '/' && !path[strcspn(path, "*?[")];
}

static unsigned place_of(const cmd_parms *cmd)
{
    const ap_directive_t *parent = cmd->directive->parent;

    if (!parent) {
        return TSEED_IN_SERVER;
    }
    for (size_t i = 1; i < SECTION_COUNT; i++) {
        if (apr_cstr_casecmp(parent->directive, sections[i].section) == 0) {
            return sections[i].place == TSEED_IN_LOCATION && !is_plain_location(cmd->path)
                       ? 0
                       : sections[i].place;
        }
    }
    return 0;
}

/* "<VirtualHost *:80>": the '>' is part of the arguments. */
static const char *show_parent(const cmd_parms *cmd)
{
    const ap_directive_t *parent = cmd->directive->parent;

    return parent ? apr_pstrcat(cmd->pool, "in ", parent->directive, " ", parent->args, NULL)
                  : sections[0].description;
}

static const char *check_place(const cmd_parms *cmd, unsigned places)
{
    const char *list = NULL;

    if (place_of(cmd) & places) {
        return NULL;
    }
    for (size_t i = SECTION_COUNT; i-- > 0;) {
        if (sections[i].place & places) {
            list = list ? apr_pstrcat(cmd->pool, list, " or ", sections[i].description, NULL)
                        : sections[i].description;
        }
    }
    return apr_psprintf(cmd->pool, "it can't stand %s, only %s", show_parent(cmd), list);
}

/* ---- handlers ---- */

static const char *count_words(const cmd_parms *cmd, const tseed_rule_t *rule, int count)
{
    if (count >= rule->least && (rule->most < 0 || count <= rule->most)) {
        return NULL;
    }
    return apr_psprintf(cmd->pool, "%s arguments, expected is: %s",
                        count < rule->least ? "too few" : "too many", cmd->cmd->errmsg);
}

/* Another module may have set the locale when the configuration was read before. */
static const char *read_words(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const tseed_rule_t *rule = cmd->info;
    const locale_t before = tseed_ascii_enter();
    const char *error = rule->read(cmd, dir, words);

    tseed_ascii_leave(before);
    return error;
}

static const char *carry_out(cmd_parms *cmd, void *dir, const char *args)
{
    const tseed_rule_t *rule = cmd->info;
    apr_array_header_t *words;
    const char *error = check_place(cmd, rule->places);

    if (!error) {
        error = tseed_words_split(&words, args, cmd->pool);
    }
    if (!error) {
        error = count_words(cmd, rule, words->nelts);
    }
    return error ? error : read_words(cmd, dir, words);
}

const char *tseed_directive(cmd_parms *cmd, void *dir, const char *args)
{
    const char *error = carry_out(cmd, dir, args);

    return error ? apr_pstrcat(cmd->pool, cmd->cmd->name, ": ", error, NULL) : NULL;
}

const char *tseed_section(cmd_parms *cmd, void *dir, const char *args)
{
    const char *end = strrchr(args, '>');
    const char *error;

    if (!end || end[1 + strspn(end + 1, " \t")]) {
        return apr_pstrcat(cmd->pool, cmd->cmd->name, "> is not closed: '>' is missing", NULL);
    }
    error = carry_out(cmd, dir, apr_pstrmemdup(cmd->pool, args, (apr_size_t)(end - args)));
    if (!error || cmd->err_directive) {
        return error; /* a directive inside has its name in front already */
    }
    return apr_pstrcat(cmd->pool, cmd->cmd->name, ">: ", error, NULL);
}

const char *tseed_section_walk(cmd_parms *cmd)
{
    ap_directive_t *section = cmd->directive;
    const command_rec *command = cmd->cmd;
    void *info = cmd->info;
    const char *error;

    for (const ap_directive_t *child = section->first_child; child; child = child->next) {
        const char *name = child->directive + (*child->directive == '<');

        if (apr_cstr_casecmpn(name, "TileSeed", strlen("TileSeed")) != 0) {
            cmd->err_directive = child;
            return apr_psprintf(
                cmd->pool, "%s%s can't stand in %s>, only directives of the module can",
                child->directive, *child->directive == '<' ? ">" : "", section->directive);
        }
    }
    error = ap_walk_config(section->first_child, cmd, cmd->context);
    cmd->directive = section;
    cmd->cmd = command;
    cmd->info = info;
    return error;
}

const char *tseed_directive_setting(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const tseed_rule_t *rule = cmd->info;
    tseed_settings_t *settings = &tseed_conf_main()->settings;

    (void)dir;
    return rule->value.read((char *)settings + rule->value.offset, &rule->value,
                            APR_ARRAY_IDX(words, 0, const char *), cmd->pool);
}
