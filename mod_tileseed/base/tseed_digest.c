/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Digests by libxxhash. */
#include "base/tseed_digest.h"

#include <xxhash.h>

uint64_t tseed_digest(const void *data, size_t length, uint64_t seed)
{
    return XXH64(data, length, seed);
}
