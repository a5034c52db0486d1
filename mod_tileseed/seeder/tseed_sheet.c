/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A sheet as an array that is walked: of the usual metatiles a page has 64. */
#include "seeder/tseed_sheet.h"

#include <stdio.h>

#include "base/tseed_memory.h"
#include "layer/tseed_page.h"

#define FIRST_ROOM  16
#define NUMBERS_MAX 48 /* of a line, with its blanks and its end */

static tseed_known_t *find(const tseed_sheet_t *sheet, int at)
{
    for (int i = 0; i < sheet->count; i++) {
        if (sheet->known[i].at == at) {
            return &sheet->known[i];
        }
    }
    return NULL;
}

const tseed_known_t *tseed_sheet_find(const tseed_sheet_t *sheet, int at)
{
    return find(sheet, at);
}

static tseed_known_t *append(tseed_sheet_t *sheet)
{
    if (sheet->count == sheet->room) {
        sheet->room = sheet->room ? 2 * sheet->room : FIRST_ROOM;
        sheet->known = realloc(sheet->known, (size_t)sheet->room * sizeof(*sheet->known));
        if (!sheet->known) {
            abort();
        }
    }
    sheet->known[sheet->count].condition = NULL;
    return &sheet->known[sheet->count++];
}

void tseed_sheet_put(tseed_sheet_t *sheet, const tseed_known_t *known)
{
    char *condition = tseed_memory_copy(known->condition);
    tseed_known_t *place = find(sheet, known->at);

    place = place ? place : append(sheet);
    free((char *)place->condition);
    *place = *known;
    place->condition = condition;
}

int tseed_sheet_forget(tseed_sheet_t *sheet, int at)
{
    tseed_known_t *known = find(sheet, at);

    if (!known) {
        return 0;
    }
    free((char *)known->condition);
    *known = sheet->known[--sheet->count];
    return 1;
}

void tseed_sheet_clear(tseed_sheet_t *sheet)
{
    for (int i = 0; i < sheet->count; i++) {
        free((char *)sheet->known[i].condition);
    }
    free(sheet->known);
    *sheet = (tseed_sheet_t){0};
}

const char *tseed_sheet_save(const tseed_sheet_t *sheet, apr_pool_t *pool)
{
    size_t size = 1;
    char *text, *end;

    for (int i = 0; i < sheet->count; i++) {
        size += NUMBERS_MAX + strlen(sheet->known[i].condition);
    }
    text = end = apr_palloc(pool, size);
    for (int i = 0; i < sheet->count; i++) {
        const tseed_known_t *known = &sheet->known[i];

        end += sprintf(end, "%d %016llx", known->at, (unsigned long long)known->digest);
        if (*known->condition) {
            end += sprintf(end, " %016llx %s", (unsigned long long)known->asked, known->condition);
        }
        *end++ = '\n';
    }
    *end = '\0';
    return text;
}

static void load_line(tseed_sheet_t *sheet, char *line)
{
    tseed_known_t known = {.condition = ""};
    char *at = line;

    known.at = (int)strtol(at, &at, 10);
    known.digest = strtoull(at, &at, 16);
    if (*at == ' ') {
        known.asked = strtoull(at, &at, 16);
        known.condition = *at == ' ' ? at + 1 : "";
    }
    if (known.digest && known.at >= 0 && known.at < TSEED_PAGE_TILES) {
        tseed_sheet_put(sheet, &known);
    }
}

void tseed_sheet_load(tseed_sheet_t *sheet, const char *text)
{
    char *copy = tseed_memory_copy(text), *rest;

    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        load_line(sheet, line);
    }
    free(copy);
}
