/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Origin pages: an array that is searched from its beginning. A page has 64 metatiles of the usual
 * size. */
#include "books/tseed_origin_page.h"

#include <stdio.h>

#include "base/tseed_memory.h"
#include "layer/tseed_page.h"

#define FIRST_ROOM  16
#define NUMBERS_MAX 64 /* of a line, with its blanks and its end */

static tseed_origin_t *find(const tseed_origin_page_t *page, int at)
{
    for (int i = 0; i < page->count; i++) {
        if (page->origins[i].at == at) {
            return &page->origins[i];
        }
    }
    return NULL;
}

const tseed_origin_t *tseed_origin_page_find(const tseed_origin_page_t *page, int at)
{
    return find(page, at);
}

static tseed_origin_t *append(tseed_origin_page_t *page)
{
    if (page->count == page->room) {
        page->room = page->room ? 2 * page->room : FIRST_ROOM;
        page->origins = realloc(page->origins, (size_t)page->room * sizeof(*page->origins));
        if (!page->origins) {
            abort();
        }
    }
    page->origins[page->count].condition = NULL;
    return &page->origins[page->count++];
}

void tseed_origin_page_put(tseed_origin_page_t *page, const tseed_origin_t *origin)
{
    char *condition = tseed_memory_copy(origin->condition);
    tseed_origin_t *place = find(page, origin->at);

    place = place ? place : append(page);
    free((char *)place->condition);
    *place = *origin;
    place->condition = condition;
}

int tseed_origin_page_forget(tseed_origin_page_t *page, int at)
{
    tseed_origin_t *origin = find(page, at);

    if (!origin) {
        return 0;
    }
    free((char *)origin->condition);
    *origin = page->origins[--page->count];
    return 1;
}

void tseed_origin_page_clear(tseed_origin_page_t *page)
{
    for (int i = 0; i < page->count; i++) {
        free((char *)page->origins[i].condition);
    }
    free(page->origins);
    *page = (tseed_origin_page_t){0};
}

const char *tseed_origin_page_save(const tseed_origin_page_t *page, apr_pool_t *pool)
{
    size_t size = 1;
    char *text, *end;

    for (int i = 0; i < page->count; i++) {
        size += NUMBERS_MAX + strlen(page->origins[i].condition);
    }
    text = end = apr_palloc(pool, size);
    for (int i = 0; i < page->count; i++) {
        const tseed_origin_t *origin = &page->origins[i];

        end += sprintf(end, "%d", origin->at);
        if (origin->columns * origin->rows > 1) {
            end += sprintf(end, "/%dx%d", origin->columns, origin->rows);
        }
        end += sprintf(end, " %016llx", (unsigned long long)origin->digest);
        if (*origin->condition) {
            end +=
                sprintf(end, " %016llx %s", (unsigned long long)origin->request, origin->condition);
        }
        *end++ = '\n';
    }
    *end = '\0';
    return text;
}

/* The shape of a cell; nonsense is none. */
static void load_cell(tseed_origin_t *origin, char **at)
{
    const long columns = strtol(*at + 1, at, 10);
    const long rows = **at == 'x' ? strtol(*at + 1, at, 10) : 0;

    if (columns > 0 && columns <= TSEED_PAGE_SIDE && rows > 0 && rows <= TSEED_PAGE_SIDE) {
        origin->columns = (int)columns;
        origin->rows = (int)rows;
    }
}

static void load_line(tseed_origin_page_t *page, char *line)
{
    tseed_origin_t origin = {.condition = ""};
    char *at = line;

    origin.at = (int)strtol(at, &at, 10);
    if (*at == '/') {
        load_cell(&origin, &at);
    }
    origin.digest = strtoull(at, &at, 16);
    if (*at == ' ') {
        origin.request = strtoull(at, &at, 16);
        origin.condition = *at == ' ' ? at + 1 : "";
    }
    if (origin.digest && origin.at >= 0 && origin.at < TSEED_PAGE_TILES) {
        tseed_origin_page_put(page, &origin);
    }
}

void tseed_origin_page_load(tseed_origin_page_t *page, const char *text)
{
    char *copy = tseed_memory_copy(text), *rest;

    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        load_line(page, line);
    }
    free(copy);
}
