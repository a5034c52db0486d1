/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* XXH64 by its specification: four lanes of 8 bytes each, folded, and what is left one by one. */
#include "base/tseed_digest.h"

#include <string.h>

#define PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C(0x165667B19E3779F9)
#define PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C(0x27D4EB2F165667C5)

#define LANES  4
#define STRIPE (LANES * sizeof(uint64_t))

static uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

/* Little-endian whatever the machine is: what is saved may move to another one. */
static uint64_t read_8(const unsigned char *data)
{
    uint64_t value;

    memcpy(&value, data, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static uint32_t read_4(const unsigned char *data)
{
    uint32_t value;

    memcpy(&value, data, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap32(value);
#endif
    return value;
}

static uint64_t take_round(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * PRIME_2, 31) * PRIME_1;
}

/* The whole stripes; *data is moved on. */
static uint64_t take_stripes(const unsigned char **data, const unsigned char *end, uint64_t seed)
{
    uint64_t lanes[LANES] = {seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1};
    uint64_t sum;

    for (; (size_t)(end - *data) >= STRIPE; *data += STRIPE) {
        for (unsigned i = 0; i < LANES; i++) {
            lanes[i] = take_round(lanes[i], read_8(*data + 8 * i));
        }
    }
    sum = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (unsigned i = 0; i < LANES; i++) {
        sum = (sum ^ take_round(0, lanes[i])) * PRIME_1 + PRIME_4;
    }
    return sum;
}

static uint64_t take_rest(uint64_t sum, const unsigned char *data, const unsigned char *end)
{
    for (; end - data >= 8; data += 8) {
        sum = rotate(sum ^ take_round(0, read_8(data)), 27) * PRIME_1 + PRIME_4;
    }
    for (; end - data >= 4; data += 4) {
        sum = rotate(sum ^ read_4(data) * PRIME_1, 23) * PRIME_2 + PRIME_3;
    }
    for (; data < end; data++) {
        sum = rotate(sum ^ *data * PRIME_5, 11) * PRIME_1;
    }
    return sum;
}

uint64_t tseed_digest(const void *data, size_t length, uint64_t seed)
{
    const unsigned char *at = data, *end = at + length;
    uint64_t sum = length < STRIPE ? seed + PRIME_5 : take_stripes(&at, end, seed);

    sum = take_rest(sum + length, at, end);
    sum = (sum ^ sum >> 33) * PRIME_2;
    sum = (sum ^ sum >> 29) * PRIME_3;
    return sum ^ sum >> 32;
}
