/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The table, and who has what. */
#include "savings/tseed_together.h"

#include <stddef.h>

#define ROW(a, b, how, why) {TSEED_##a, TSEED_##b, TSEED_##how, why},
static const struct {
    tseed_saving_kind_t a, b;
    tseed_together_t how;
    const char *why;
} rows[] = {TSEED_TOGETHER_LIST(ROW)};

#define ROWS (sizeof(rows) / sizeof(*rows))

tseed_together_t tseed_together_how(tseed_saving_kind_t a, tseed_saving_kind_t b)
{
    size_t i = 0;

    while (i < ROWS && !(rows[i].a == a && rows[i].b == b) && !(rows[i].a == b && rows[i].b == a)) {
        i++;
    }
    return i < ROWS ? rows[i].how : TSEED_BOTH;
}

/* Whether a layer is configured for a saving. */
static int has(const tseed_layer_t *layer, tseed_saving_kind_t kind)
{
    const int configured[TSEED_SAVINGS] = {
        [TSEED_JOINED] = layer->most_width > 0,
        [TSEED_PRUNED] = layer->uniform.is_on,
        [TSEED_SHARED] = 1,
        [TSEED_DERIVED] = layer->derived.end > 0,
        [TSEED_UNCHANGED] = !layer->reseed_all,
    };

    return configured[kind];
}

const char *tseed_together_problem(const tseed_layer_t *layer, tseed_saving_kind_t *other)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].how == TSEED_NEVER && has(layer, rows[i].a) && has(layer, rows[i].b)) {
            *other = rows[i].a;
            return rows[i].why;
        }
    }
    return NULL;
}

const char *tseed_together_off(tseed_saving_kind_t kind)
{
    static const char *const off[TSEED_SAVINGS] = {
        [TSEED_JOINED] = "TileSeedMetatile with a size",
        [TSEED_PRUNED] = "TileSeedPrune off",
        [TSEED_SHARED] = "another source",
        [TSEED_DERIVED] = "TileSeedDerive off",
        [TSEED_UNCHANGED] = "TileSeedReseed all",
    };

    return off[kind];
}
