/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Rules of directives: where they may stand, their number of words, and how complaints begin.
 * Arguments: one tokenizer, one table walk and a reader for each kind of value. */
#include "mod_tileseed_directive.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"

/* Most of a value that a message repeats. */
#define QUOTE_MAX 100

/* ---- words ---- */

/* Copies one word to `to` and moves *from behind it. Returns 0, or the quote that never ended. */
static char take_word(char *to, const char **from)
{
    const char *at = *from;
    char quote = '\0';

    for (; *at && (quote || !tseed_ascii_is_space(*at)); at++) {
        if (*at == '\\' && (at[1] == '\\' || (quote && at[1] == quote))) {
            *to++ = *++at;
        } else if (quote ? *at == quote : *at == '"' || *at == '\'') {
            quote = quote ? '\0' : *at;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    *from = at;
    return quote;
}

/* Splits arguments at blanks as httpd does. Quotes may begin inside a word too (header="K: v").
 * Within quotes a backslash before a quote makes the quote a character. *words: array of const char
 * *. */
static const char *split_words(apr_array_header_t **words, const char *text, apr_pool_t *pool)
{
    *words = apr_array_make(pool, 8, sizeof(const char *));
    for (;;) {
        char *word, quote;

        while (tseed_ascii_is_space(*text)) {
            text++;
        }
        if (!*text) {
            return NULL;
        }
        word = apr_palloc(pool, strlen(text) + 1);
        quote = take_word(word, &text);
        if (quote) {
            return apr_psprintf(pool, "a quote %c has no partner", quote);
        }
        APR_ARRAY_PUSH(*words, const char *) = word;
    }
}

int tseed_option_cut(const char **name, const char **value, const char *word, apr_pool_t *pool)
{
    const char *equals = strchr(word, '=');

    if (!equals || equals == word) {
        return 0;
    }
    *name = apr_pstrmemdup(pool, word, (apr_size_t)(equals - word));
    *value = equals + 1;
    return 1;
}

const char *tseed_option_apart(const apr_array_header_t *words, int at, const char *name,
                               apr_pool_t *pool)
{
    const char *word = at < words->nelts ? APR_ARRAY_IDX(words, at, const char *) : "";
    const char *quoted = tseed_text_quote(word, QUOTE_MAX, pool);

    return tseed_ascii_is_digit(*word)
               ? apr_psprintf(pool, "'%s' stands alone, %s=%s is expected", quoted, name, quoted)
               : NULL;
}

/* ---- options ---- */

/* "connections=, timeout= or auth=" */
static const char *list_options(const tseed_option_t *options, apr_pool_t *pool)
{
    const char *list = "";

    for (int i = 0; options[i].name; i++) {
        const char *glue = i == 0 ? "" : options[i + 1].name ? ", " : " or ";

        list = apr_pstrcat(pool, list, glue, options[i].name, "=", NULL);
    }
    return list;
}

static const tseed_option_t *find_option(const tseed_option_t *options, const char *name)
{
    for (; options->name; options++) {
        if (apr_cstr_casecmp(options->name, name) == 0) {
            return options;
        }
    }
    return NULL;
}

static const char *read_option(uint64_t *seen, void *target, const tseed_option_t *options,
                               const char *word, apr_pool_t *pool)
{
    const char *name, *value, *error;
    const tseed_option_t *option;
    uint64_t bit;

    if (!tseed_option_cut(&name, &value, word, pool)) {
        return apr_psprintf(pool, "'%s' is not understood, %s is expected",
                            tseed_text_quote(word, QUOTE_MAX, pool), list_options(options, pool));
    }
    option = find_option(options, name);
    if (!option) {
        return apr_psprintf(pool, "the option %s= is unknown, %s is expected",
                            tseed_text_quote(name, QUOTE_MAX, pool), list_options(options, pool));
    }
    bit = UINT64_C(1) << (option - options);
    if ((*seen & bit) && option->highest != TSEED_REPEATS && option->read != tseed_read_list) {
        return apr_psprintf(pool, "%s= is there twice, once is expected", option->name);
    }
    *seen |= bit;
    error = option->read((char *)target + option->offset, option, value, pool);
    return error ? apr_psprintf(pool, "%s=: %s", option->name, error) : NULL;
}

const char *tseed_options_read(void *target, const tseed_option_t *options,
                               const apr_array_header_t *words, int first, apr_pool_t *pool)
{
    const char *error = NULL;
    uint64_t seen = 0;

    for (int i = first; !error && i < words->nelts; i++) {
        error = read_option(&seen, target, options, APR_ARRAY_IDX(words, i, const char *), pool);
    }
    return error;
}

/* ---- values ---- */

const char *tseed_read_int64(void *member, const tseed_option_t *option, const char *text,
                             apr_pool_t *pool)
{
    if (tseed_text_int64(member, text, option->lowest, option->highest) != 0) {
        return apr_psprintf(pool,
                            "'%s' is not possible, a whole number from %" APR_INT64_T_FMT
                            " to %" APR_INT64_T_FMT " is expected",
                            tseed_text_quote(text, QUOTE_MAX, pool), option->lowest,
                            option->highest);
    }
    return NULL;
}

const char *tseed_read_int(void *member, const tseed_option_t *option, const char *text,
                           apr_pool_t *pool)
{
    int64_t number;
    const char *error = tseed_read_int64(&number, option, text, pool);

    if (!error) {
        *(int *)member = (int)number;
    }
    return error;
}

const char *tseed_show_duration(int64_t duration, apr_pool_t *pool)
{
    static const struct {
        int64_t unit;
        const char *name;
    } units[] = {
        {86400 * APR_USEC_PER_SEC, "d"},
        {3600 * APR_USEC_PER_SEC, "h"},
        {60 * APR_USEC_PER_SEC, "m"},
        {APR_USEC_PER_SEC, "s"},
        {1000, "ms"},
    };
    const size_t count = sizeof(units) / sizeof(units[0]);
    size_t i = 0;

    while (i < count && duration % units[i].unit != 0) {
        i++;
    }
    if (i == count) {
        return apr_pstrcat(pool, tseed_text_number((double)duration / 1000, pool), "ms", NULL);
    }
    return apr_psprintf(pool, "%" APR_INT64_T_FMT "%s", duration / units[i].unit, units[i].name);
}

const char *tseed_read_duration(void *member, const tseed_option_t *option, const char *text,
                                apr_pool_t *pool)
{
    apr_interval_time_t duration;
    const char *error = tseed_text_duration(&duration, text, pool);

    if (!error && (duration < option->lowest || duration > option->highest)) {
        error = apr_psprintf(pool, "'%s' is not possible, %s to %s is expected",
                             tseed_text_quote(text, QUOTE_MAX, pool),
                             tseed_show_duration(option->lowest, pool),
                             tseed_show_duration(option->highest, pool));
    }
    if (!error) {
        *(apr_interval_time_t *)member = duration;
    }
    return error;
}

const char *tseed_read_word(void *member, const tseed_option_t *option, const char *text,
                            apr_pool_t *pool)
{
    const char *list = "";

    for (int i = 0; option->words[i]; i++) {
        const char *glue = i == 0 ? "" : option->words[i + 1] ? ", " : " or ";

        if (apr_cstr_casecmp(option->words[i], text) == 0) {
            *(int *)member = i;
            return NULL;
        }
        list = apr_pstrcat(pool, list, glue, option->words[i], NULL);
    }
    return apr_psprintf(pool, "'%s' is unknown, %s is expected",
                        tseed_text_quote(text, QUOTE_MAX, pool), list);
}

const char *tseed_read_switch(void *member, const tseed_option_t *option, const char *text,
                              apr_pool_t *pool)
{
    static const char *const switches[] = {"off", "on", NULL};
    static const tseed_option_t row = {.words = switches};

    (void)option;
    return tseed_read_word(member, &row, text, pool);
}

const char *tseed_read_text(void *member, const tseed_option_t *option, const char *text,
                            apr_pool_t *pool)
{
    (void)option;
    *(const char **)member = apr_pstrdup(pool, text);
    return NULL;
}

const char *tseed_read_list(void *member, const tseed_option_t *option, const char *text,
                            apr_pool_t *pool)
{
    apr_array_header_t **list = member;

    (void)option;
    APR_ARRAY_PUSH(*list, const char *) = apr_pstrdup(pool, text);
    return NULL;
}

int tseed_read_levels(int *first, int *last, const char *text, int highest, apr_pool_t *pool)
{
    size_t digits = strspn(text, "0123456789");
    const char *second = text[digits] == '-' ? text + digits + 1 : text;
    int64_t from, to;

    if ((text[digits] && text[digits] != '-') ||
        tseed_text_int64(&from, apr_pstrmemdup(pool, text, digits), 0, highest) != 0 ||
        tseed_text_int64(&to, text[digits] ? second : text, from, highest) != 0) {
        return -1;
    }
    *first = (int)from;
    *last = (int)to;
    return 0;
}

const char *tseed_read_pair(int *width, int *height, const char *text, int highest,
                            apr_pool_t *pool)
{
    const char *x = text + strcspn(text, "xX");
    int64_t first, second;

    if (!*x ||
        tseed_text_int64(&first, apr_pstrmemdup(pool, text, (apr_size_t)(x - text)), 1, highest) ||
        tseed_text_int64(&second, x + 1, 1, highest)) {
        return apr_psprintf(pool, "'%s' is not possible, 1x1 to %dx%d is expected",
                            tseed_text_quote(text, QUOTE_MAX, pool), highest, highest);
    }
    *width = (int)first;
    *height = (int)second;
    return NULL;
}

/* A backslash in front of anything else than a quote or a backslash stands for itself, too. */
const char *tseed_show_word(const char *text, apr_pool_t *pool)
{
    char *shown = apr_palloc(pool, 2 * strlen(text) + 3), *to = shown;

    *to++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            *to++ = '\\';
        }
        *to++ = *text;
    }
    *to++ = '"';
    *to = '\0';
    return shown;
}

/* ---- addresses ---- */

/* APR takes any number and cuts it to 16 bits. */
static int is_port(const char *text)
{
    int64_t port;

    return tseed_ascii_is_digit(*text) && tseed_text_int64(&port, text, 1, UINT16_MAX) == 0;
}

/* The address is quoted in no sentence: it may hold a password. */
const char *tseed_url_check(apr_uri_t *uri, const char *url, apr_pool_t *pool)
{
    if (apr_uri_parse(pool, url, uri) != APR_SUCCESS || !uri->scheme || !uri->hostname ||
        !*uri->hostname ||
        (apr_cstr_casecmp(uri->scheme, "http") != 0 &&
         apr_cstr_casecmp(uri->scheme, "https") != 0)) {
        return "an address is written as http://host:port/path or https://host:port/path";
    }
    if (uri->port_str && *uri->port_str && !is_port(uri->port_str)) {
        return "the port of an address is a number from 1 to 65535";
    }
    if (uri->user || uri->password) {
        return "user and password don't belong into the address: write user:password into a file "
               "and name it with auth=FILE";
    }
    return uri->fragment ? "an address must end in front of the '#'" : NULL;
}

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
        error = split_words(&words, args, cmd->pool);
    }
    if (!error) {
        error = count_words(cmd, rule, words->nelts);
    }
    return error ? error : read_words(cmd, dir, words);
}

static const char *carry_out_section(cmd_parms *cmd, void *dir, const char *args)
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

const char *tseed_directive(cmd_parms *cmd, void *dir, const char *args)
{
    const char *error;

    if (*cmd->cmd->name == '<') {
        return carry_out_section(cmd, dir, args);
    }
    error = carry_out(cmd, dir, args);
    return error ? apr_pstrcat(cmd->pool, cmd->cmd->name, ": ", error, NULL) : NULL;
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

const char *tseed_rule_read(void *record, const tseed_rule_t *rule, const apr_array_header_t *words,
                            apr_pool_t *pool)
{
    const char *word = APR_ARRAY_IDX(words, 0, const char *);
    void *member = (char *)record + rule->value.offset;

    if (!rule->options) {
        return rule->value.read(member, &rule->value, word, pool);
    }
    memset(member, 0, rule->size);
    if (apr_cstr_casecmp(word, "off") != 0) {
        return tseed_options_read(member, rule->options, words, 0, pool);
    }
    return words->nelts > 1 ? "off takes no options" : NULL;
}
