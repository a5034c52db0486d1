/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Arguments of directives: one tokenizer, one table walk and a reader for each kind of value. */
#include "mod_tileseed_options.h"

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

const char *tseed_words_split(apr_array_header_t **words, const char *text, apr_pool_t *pool)
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

const char *tseed_read_mode(void *member, const tseed_option_t *option, const char *text,
                            apr_pool_t *pool)
{
    long bits = strtol(text, NULL, 8);

    if (!*text || text[strspn(text, "01234567")] || bits < option->lowest ||
        bits > option->highest) {
        return apr_psprintf(pool,
                            "'%s' is not possible, octal permission bits from 0%lo to 0%lo are "
                            "expected",
                            tseed_text_quote(text, QUOTE_MAX, pool), (long)option->lowest,
                            (long)option->highest);
    }
    *(int *)member = (int)bits;
    return NULL;
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

const char *tseed_read_size(void *member, const tseed_option_t *option, const char *text,
                            apr_pool_t *pool)
{
    int64_t bytes;
    const char *error = tseed_text_size(&bytes, text, pool);

    if (!error && (bytes < option->lowest || bytes > option->highest)) {
        error = apr_psprintf(
            pool,
            "'%s' is not possible, %" APR_INT64_T_FMT " to %" APR_INT64_T_FMT " bytes are expected",
            tseed_text_quote(text, QUOTE_MAX, pool), option->lowest, option->highest);
    }
    if (!error) {
        *(int64_t *)member = bytes;
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

int tseed_read_doubles(double *numbers, int count, const char *text, const char *separators,
                       apr_pool_t *pool)
{
    char *last, *word = apr_strtok(apr_pstrdup(pool, text), separators, &last);
    int i = 0;

    for (; word && i < count; i++) {
        if (tseed_text_double(&numbers[i], word) != 0) {
            return -1;
        }
        word = apr_strtok(NULL, separators, &last);
    }
    return word || i < count ? -1 : 0;
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
