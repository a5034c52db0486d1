/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Help and completion. */
#include "ctl/tseed_ctl_help.h"

#include <stdio.h>
#include <string.h>

#define INDENT 34

/* ---- help ---- */

/* Behind so many columns, or below them. */
static void print_help(int width, const char *help)
{
    if (width >= INDENT) {
        putchar('\n');
        width = 0;
    }
    printf("%*s%s\n", INDENT - width, "", help);
}

static void print_option(const tseed_ctl_option_row_t *row)
{
    char letter[8] = "    ";
    int width;

    if (row->letter) {
        snprintf(letter, sizeof(letter), "-%c, ", row->letter);
    }
    width = printf("  %s--%s%s%s", letter, row->name, row->value ? " " : "",
                   row->value ? row->value : "");
    print_help(width, row->help);
}

static void print_options(tseed_ctl_verb_t verb, int are_common)
{
    for (int i = 0; i < tseed_ctl_option_count; i++) {
        const tseed_ctl_option_row_t *row = &tseed_ctl_option_rows[i];

        if (tseed_ctl_option_fits(row, verb) && tseed_ctl_option_is_common(row) == are_common) {
            print_option(row);
        }
    }
}

static void print_verb(const tseed_ctl_verb_row_t *row)
{
    print_help(printf("  %s %s", row->name, row->arguments), row->help);
}

static int has_options(tseed_ctl_verb_t verb)
{
    int count = 0;

    for (int i = 0; i < tseed_ctl_option_count; i++) {
        const tseed_ctl_option_row_t *row = &tseed_ctl_option_rows[i];

        count += tseed_ctl_option_fits(row, verb) && !tseed_ctl_option_is_common(row);
    }
    return count > 0;
}

void tseed_ctl_help(tseed_ctl_verb_t verb)
{
    if (verb == TSEED_VERB_COUNT) {
        puts("usage: tileseedctl [options] VERB [arguments]\n\nverbs:");
        for (int i = 0; i < TSEED_VERB_COUNT; i++) {
            print_verb(&tseed_ctl_verbs[i]);
        }
        puts("\noptions of all verbs:");
    } else {
        printf("usage: tileseedctl [options] %s%s%s\n\n%s\n\n", tseed_ctl_verbs[verb].name,
               *tseed_ctl_verbs[verb].arguments ? " " : "", tseed_ctl_verbs[verb].arguments,
               tseed_ctl_verbs[verb].help);
        if (has_options(verb)) {
            puts("options:");
            print_options(verb, 0);
            putchar('\n');
        }
        puts("options of all verbs:");
    }
    print_options(verb, 1);
    if (verb == TSEED_VERB_COUNT) {
        puts("\n\"tileseedctl VERB --help\" lists the options of a verb, tileseedctl(1) explains "
             "all.");
    }
}

/* ---- completion ---- */

/* The row of an option as it is written, if it waits for its value. */
static const tseed_ctl_option_row_t *waiting_option(tseed_ctl_verb_t verb, const char *word)
{
    for (int i = 0; word[0] == '-' && i < tseed_ctl_option_count; i++) {
        const tseed_ctl_option_row_t *row = &tseed_ctl_option_rows[i];
        const int is_it = word[1] == '-' ? strcmp(word + 2, row->name) == 0
                                         : row->letter && word[1] == row->letter && !word[2];

        if (is_it && row->value && tseed_ctl_option_fits(row, verb)) {
            return row;
        }
    }
    return NULL;
}

tseed_ctl_verb_t tseed_ctl_complete_verb(int count, const char *const *words)
{
    for (int i = 0; i + 1 < count; i++) {
        if (waiting_option(TSEED_VERB_COUNT, words[i])) {
            i++;
        } else if (words[i][0] != '-') {
            return tseed_ctl_verb_find(words[i]);
        }
    }
    return TSEED_VERB_COUNT;
}

static void print_if(const char *before, const char *word, const char *last)
{
    const size_t length = strlen(before);

    if (strncmp(before, last, strlen(last) < length ? strlen(last) : length) == 0 &&
        (strlen(last) <= length || strncmp(word, last + length, strlen(last) - length) == 0)) {
        printf("%s%s\n", before, word);
    }
}

void tseed_ctl_complete_words(tseed_ctl_verb_t verb, const char *last)
{
    if (last[0] == '-') {
        for (int i = 0; i < tseed_ctl_option_count; i++) {
            if (tseed_ctl_option_fits(&tseed_ctl_option_rows[i], verb)) {
                print_if("--", tseed_ctl_option_rows[i].name, last);
            }
        }
    } else if (verb == TSEED_VERB_COUNT) {
        for (int i = 0; i < TSEED_VERB_COUNT; i++) {
            print_if("", tseed_ctl_verbs[i].name, last);
        }
    }
}

tseed_argument_t tseed_ctl_complete_kind(tseed_ctl_verb_t verb, int count, const char *const *words)
{
    const tseed_ctl_option_row_t *row = count > 1 ? waiting_option(verb, words[count - 2]) : NULL;

    if (row) {
        return strcmp(row->name, "layer") == 0 ? TSEED_ARGUMENT_LAYER : TSEED_ARGUMENT_NONE;
    }
    if (verb == TSEED_VERB_COUNT || words[count - 1][0] == '-') {
        return TSEED_ARGUMENT_NONE;
    }
    return tseed_ctl_verbs[verb].kind;
}
