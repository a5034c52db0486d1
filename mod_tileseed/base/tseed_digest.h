/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Digests that tell an upstream's answers apart: XXH64, 64 bits at a good part of the memory's
 * speed. They guard against accidents, not against malice: an upstream decides what its tiles show
 * anyway. The state database keeps digests, so the algorithm is part of its format; XXH3, which is
 * faster still, would make the next reseed cut every tile again.
 *
 * Not a CRC, which would be faster: each chunk of a PNG ends with the CRC-32 of its content, so the
 * CRC-32 of the whole file says nothing of its pixels.
 */
#ifndef TSEED_DIGEST_H
#define TSEED_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* XXH64 of `length` bytes (xxHash fast digest algorithm, specification 0.1.1). Other seeds give
 * unrelated digests. Any thread. */
uint64_t tseed_digest(const void *data, size_t length, uint64_t seed);

#endif
