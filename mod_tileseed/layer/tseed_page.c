/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Prints of tile sets and pages. */
#include "layer/tseed_page.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"

uint64_t tseed_tileset_print(const tseed_tileset_t *tileset, apr_pool_t *scratch)
{
    const char *text = apr_pstrcat(scratch, tseed_store_print(&tileset->layer->store, scratch),
                                   "\n", tileset->key, NULL);
    char hex[41];

    tseed_text_sha1(hex, text, strlen(text));
    hex[16] = '\0';
    return strtoull(hex, NULL, 16);
}

/* SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014): one
 * step of its state and the finalizer, which alone would turn 0 into 0. A bijection. */
static uint64_t mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

uint64_t tseed_page_print(uint64_t tileset_print, int z, int64_t page_x, int64_t page_y)
{
    uint64_t print = mix(mix(tileset_print) ^ (uint64_t)z);

    print = mix(print ^ (uint64_t)page_x);
    print = mix(print ^ (uint64_t)page_y);
    return print ? print : 1;
}
