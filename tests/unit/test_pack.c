/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Packs: what goes in comes out, and no damage goes unnoticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/tseed_digest.h"
#include "fleet/tseed_pack.h"

#define DAMAGED "the tiles that another host has made are damaged"
#define NUMBER  8
#define TILE    (3 * NUMBER + 4) /* the content of the first tile of small_pack */

/* The bytes of a pack in memory of exactly their length: a sanitizer sees who reads beyond. */
typedef struct {
    unsigned char *data;
    size_t length;
} bytes_t;

static bytes_t copy(const unsigned char *data, size_t length)
{
    bytes_t bytes = {malloc(length), length};

    assert_true(bytes.data || length == 0);
    if (length > 0) {
        memcpy(bytes.data, data, length);
    }
    return bytes;
}

static bytes_t end(tseed_pack_t *pack)
{
    size_t length;
    const unsigned char *data = tseed_pack_bytes(pack, &length);
    bytes_t bytes = copy(data, length);

    tseed_pack_end(pack);
    return bytes;
}

static tseed_encoded_t tile_of(const char *text)
{
    return (tseed_encoded_t){(const unsigned char *)text, strlen(text), 0, {0}};
}

static void add(tseed_pack_t *pack, int64_t x, int64_t y, const char *text)
{
    const tseed_encoded_t tile = tile_of(text);

    tseed_pack_add(pack, x, y, &tile);
}

/* Records of each kind. */
static bytes_t small_pack(void)
{
    const tseed_encoded_t blue = {(const unsigned char *)"blue", 4, 1, {1, 2, 255, 128}};
    tseed_pack_t *pack = tseed_pack_begin();

    tseed_pack_digest(pack, 7, 70);
    add(pack, 3, 4, "land");
    tseed_pack_add(pack, 4, 4, &blue);
    tseed_pack_digest(pack, UINT64_MAX, UINT64_C(0xFEDCBA9876543210));
    return end(pack);
}

static void assert_damaged(bytes_t bytes)
{
    const char *error = tseed_pack_check(bytes.data, bytes.length);

    assert_non_null(error);
    assert_string_equal(error, DAMAGED);
}

static void write_number(unsigned char *to, uint64_t number)
{
    for (int i = 0; i < NUMBER; i++) {
        to[i] = (unsigned char)(number >> 8 * i);
    }
}

/* Gives a pack that was changed the checksum that fits. */
static void sign(bytes_t bytes)
{
    const size_t length = bytes.length - NUMBER;

    write_number(bytes.data + length, tseed_digest(bytes.data, length, 0));
}

/* Looks for what is there and what is not, and reads all that is found. */
static void look_for_everything(bytes_t bytes)
{
    volatile unsigned char sum = 0;
    tseed_encoded_t tile;
    uint64_t digest;

    for (int64_t x = 2; x < 6; x++) {
        if (tseed_pack_reader.find(&tile, bytes.data, bytes.length, x, 4)) {
            assert_true(tile.data >= bytes.data);
            assert_true(tile.data + tile.length <= bytes.data + bytes.length);
            for (size_t i = 0; i < tile.length; i++) {
                sum = (unsigned char)(sum + tile.data[i]);
            }
        }
    }
    tseed_pack_reader.digest_of(&digest, bytes.data, bytes.length, 7);
    tseed_pack_reader.digest_of(&digest, bytes.data, bytes.length, UINT64_MAX);
    tseed_pack_reader.digest_of(&digest, bytes.data, bytes.length, 8);
}

static void assert_tile(bytes_t bytes, int64_t x, int64_t y, const char *text)
{
    tseed_encoded_t tile;

    assert_true(tseed_pack_reader.find(&tile, bytes.data, bytes.length, x, y));
    assert_int_equal(tile.length, strlen(text));
    assert_memory_equal(tile.data, text, tile.length);
}

static void test_pack__tiles_come_back_by_their_place(void **state)
{
    tseed_pack_t *pack = tseed_pack_begin();
    tseed_encoded_t tile;
    bytes_t bytes;

    (void)state;
    add(pack, 0, 0, "first");
    add(pack, 1, 0, "second");
    add(pack, 0, 1, "t");
    add(pack, INT64_MAX, -1, "far away");
    bytes = end(pack);
    assert_null(tseed_pack_check(bytes.data, bytes.length));
    assert_tile(bytes, 0, 0, "first");
    assert_tile(bytes, 1, 0, "second");
    assert_tile(bytes, 0, 1, "t");
    assert_tile(bytes, INT64_MAX, -1, "far away");
    assert_false(tseed_pack_reader.find(&tile, bytes.data, bytes.length, 1, 1));
    free(bytes.data);
}

/* As many tiles as a metatile may have: the pack grows. */
static void test_pack__a_large_metatile_fits(void **state)
{
    enum { SIDE = 32, SIZE = 1000 };
    tseed_pack_t *pack = tseed_pack_begin();
    unsigned char file[SIZE];
    tseed_encoded_t tile = {file, SIZE, 0, {0}};
    bytes_t bytes;

    (void)state;
    for (int i = 0; i < SIDE * SIDE; i++) {
        memset(file, i % 251, SIZE);
        tseed_pack_add(pack, i % SIDE, i / SIDE, &tile);
    }
    bytes = end(pack);
    assert_null(tseed_pack_check(bytes.data, bytes.length));
    for (int i = 0; i < SIDE * SIDE; i++) {
        memset(file, i % 251, SIZE);
        assert_true(tseed_pack_reader.find(&tile, bytes.data, bytes.length, i % SIDE, i / SIDE));
        assert_int_equal(tile.length, SIZE);
        assert_memory_equal(tile.data, file, SIZE);
    }
    free(bytes.data);
}

static void test_pack__uniform_tiles_keep_their_colour(void **state)
{
    bytes_t bytes = small_pack();
    tseed_encoded_t tile;

    (void)state;
    assert_true(tseed_pack_reader.find(&tile, bytes.data, bytes.length, 4, 4));
    assert_true(tile.uniform);
    assert_memory_equal(tile.rgba, ((unsigned char[]){1, 2, 255, 128}), 4);
    assert_true(tseed_pack_reader.find(&tile, bytes.data, bytes.length, 3, 4));
    assert_false(tile.uniform);
    free(bytes.data);
}

static void test_pack__a_tile_without_bytes_is_left_out(void **state)
{
    tseed_pack_t *pack = tseed_pack_begin();
    tseed_encoded_t tile;
    bytes_t bytes;

    (void)state;
    add(pack, 1, 1, "");
    add(pack, 2, 1, "land");
    bytes = end(pack);
    assert_null(tseed_pack_check(bytes.data, bytes.length));
    assert_false(tseed_pack_reader.find(&tile, bytes.data, bytes.length, 1, 1));
    assert_tile(bytes, 2, 1, "land");
    free(bytes.data);
}

static void test_pack__digests_come_back_by_their_seed(void **state)
{
    bytes_t bytes = small_pack();
    uint64_t digest;

    (void)state;
    assert_true(tseed_pack_reader.digest_of(&digest, bytes.data, bytes.length, 7));
    assert_true(digest == 70);
    assert_true(tseed_pack_reader.digest_of(&digest, bytes.data, bytes.length, UINT64_MAX));
    assert_true(digest == UINT64_C(0xFEDCBA9876543210));
    assert_false(tseed_pack_reader.digest_of(&digest, bytes.data, bytes.length, 70));
    free(bytes.data);
}

static void test_pack__an_empty_pack_is_whole(void **state)
{
    bytes_t bytes = end(tseed_pack_begin());

    (void)state;
    assert_int_equal(bytes.length, 2 * NUMBER);
    assert_null(tseed_pack_check(bytes.data, bytes.length));
    look_for_everything(bytes);
    free(bytes.data);
}

static void test_pack__bytes_may_be_asked_for_before_the_end(void **state)
{
    tseed_pack_t *pack = tseed_pack_begin();
    const unsigned char *data;
    size_t length;
    bytes_t bytes;

    (void)state;
    add(pack, 1, 1, "land");
    data = tseed_pack_bytes(pack, &length);
    assert_null(tseed_pack_check(data, length));
    add(pack, 2, 1, "sea");
    bytes = end(pack);
    assert_null(tseed_pack_check(bytes.data, bytes.length));
    assert_tile(bytes, 1, 1, "land");
    assert_tile(bytes, 2, 1, "sea");
    free(bytes.data);
    tseed_pack_end(NULL);
}

/* Hosts of either byte order must read it. */
static void test_pack__its_layout_stays(void **state)
{
    static const char start[] = "TSPACK01"
                                "\1\0\0\0\0\0\0\0" /* a digest */
                                "\20\0\0\0\0\0\0\0"
                                "\7\0\0\0\0\0\0\0" /* its seed */
                                "\106\0\0\0\0\0\0\0"
                                "\2\0\0\0\0\0\0\0" /* a tile */
                                "\34\0\0\0\0\0\0\0"
                                "\3\0\0\0\0\0\0\0" /* its place */
                                "\4\0\0\0\0\0\0\0"
                                "\0\0\0\0\0\0\0\0" /* its colour */
                                "land"
                                "\2\0\0\0\0\0\0\0" /* a uniform tile */
                                "\34\0\0\0\0\0\0\0"
                                "\4\0\0\0\0\0\0\0"
                                "\4\0\0\0\0\0\0\0"
                                "\1\0\0\0\1\2\377\200"
                                "blue";
    const size_t length = sizeof(start) - 1;
    bytes_t bytes = small_pack();

    (void)state;
    assert_int_equal(bytes.length, length + 4 * NUMBER + NUMBER); /* a digest, the checksum */
    assert_memory_equal(bytes.data, start, length);
    free(bytes.data);
}

static void test_pack__a_torn_pack_is_found_out(void **state)
{
    bytes_t whole = small_pack();

    (void)state;
    assert_null(tseed_pack_check(whole.data, whole.length));
    for (size_t length = 0; length < whole.length; length++) {
        bytes_t torn = copy(whole.data, length);

        assert_damaged(torn);
        look_for_everything(torn);
        free(torn.data);
    }
    free(whole.data);
}

/* Whatever has become of the file's end: there are file systems that leave zeros there. */
static void test_pack__zeros_at_the_end_are_found_out(void **state)
{
    bytes_t bytes = small_pack();

    (void)state;
    for (size_t i = bytes.length; i-- > 0;) {
        bytes.data[i] = 0;
        assert_damaged(bytes);
        look_for_everything(bytes);
    }
    free(bytes.data);
}

static void test_pack__every_changed_byte_is_found_out(void **state)
{
    bytes_t bytes = small_pack();

    (void)state;
    for (size_t i = 0; i < bytes.length; i++) {
        for (int change = 1; change < 256; change++) {
            bytes.data[i] ^= (unsigned char)change;
            assert_damaged(bytes);
            look_for_everything(bytes);
            bytes.data[i] ^= (unsigned char)change;
        }
    }
    assert_null(tseed_pack_check(bytes.data, bytes.length));
    free(bytes.data);
}

/* With a checksum that fits: only where a record ends a shorter pack is one. */
static void test_pack__records_end_at_the_end(void **state)
{
    bytes_t whole = small_pack();
    int sound = 0;

    (void)state;
    for (size_t length = 2 * NUMBER; length < whole.length; length++) {
        bytes_t shorter = copy(whole.data, length);

        sign(shorter);
        look_for_everything(shorter);
        if (!tseed_pack_check(shorter.data, shorter.length)) {
            sound++;
        } else {
            assert_damaged(shorter);
        }
        free(shorter.data);
    }
    assert_int_equal(sound, 4);
    free(whole.data);
}

/* The kind and the length of a record with a checksum that fits. */
static void assert_refused(size_t record, uint64_t kind, uint64_t length)
{
    bytes_t bytes = small_pack();

    write_number(bytes.data + record, kind);
    write_number(bytes.data + record + NUMBER, length);
    sign(bytes);
    assert_damaged(bytes);
    look_for_everything(bytes);
    free(bytes.data);
}

static void test_pack__no_length_is_believed(void **state)
{
    static const uint64_t lengths[] = {0,
                                       1,
                                       15,
                                       17,
                                       23,
                                       24,
                                       1000,
                                       UINT32_MAX,
                                       UINT64_C(1) << 32 | 16,
                                       INT64_MAX,
                                       UINT64_MAX,
                                       UINT64_MAX - 15,
                                       UINT64_MAX - 23};
    const size_t digest = NUMBER, tile = digest + 4 * NUMBER;

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        assert_refused(digest, 1, lengths[i]);
        assert_refused(tile, 2, lengths[i]);
    }
    assert_refused(digest, 0, 16);
    assert_refused(digest, 3, 16);
    assert_refused(digest, 4, 16);
    assert_refused(digest, UINT64_C(1) << 32 | 1, 16);
    assert_refused(tile, 0, TILE);
    assert_refused(tile, 1, TILE);
    assert_refused(tile, 3, TILE);
}

/* The last record is a digest, and all else fits the length that it has. */
static void test_pack__a_digest_has_its_length(void **state)
{
    bytes_t whole = small_pack();

    (void)state;
    for (size_t lost = 1; lost <= 2 * NUMBER; lost++) {
        bytes_t bytes = copy(whole.data, whole.length - lost);

        write_number(bytes.data + whole.length - 4 * NUMBER, 2 * NUMBER - lost);
        sign(bytes);
        assert_damaged(bytes);
        look_for_everything(bytes);
        free(bytes.data);
    }
    free(whole.data);
}

static void test_pack__what_is_no_pack_is_found_out(void **state)
{
    static const char *const texts[] = {"", "T", "TSPACK01", "TSPACK02________",
                                        "<html><body>Not Found</body></html>"};
    bytes_t bytes = small_pack();

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        bytes_t text = copy((const unsigned char *)texts[i], strlen(texts[i]));

        assert_damaged(text);
        look_for_everything(text);
        free(text.data);
    }
    assert_damaged((bytes_t){NULL, 0});
    look_for_everything((bytes_t){NULL, 0});
    bytes.data[NUMBER - 1]++; /* of another version */
    sign(bytes);
    assert_damaged(bytes);
    free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack__tiles_come_back_by_their_place),
        cmocka_unit_test(test_pack__a_large_metatile_fits),
        cmocka_unit_test(test_pack__uniform_tiles_keep_their_colour),
        cmocka_unit_test(test_pack__a_tile_without_bytes_is_left_out),
        cmocka_unit_test(test_pack__digests_come_back_by_their_seed),
        cmocka_unit_test(test_pack__an_empty_pack_is_whole),
        cmocka_unit_test(test_pack__bytes_may_be_asked_for_before_the_end),
        cmocka_unit_test(test_pack__its_layout_stays),
        cmocka_unit_test(test_pack__a_torn_pack_is_found_out),
        cmocka_unit_test(test_pack__zeros_at_the_end_are_found_out),
        cmocka_unit_test(test_pack__every_changed_byte_is_found_out),
        cmocka_unit_test(test_pack__records_end_at_the_end),
        cmocka_unit_test(test_pack__no_length_is_believed),
        cmocka_unit_test(test_pack__a_digest_has_its_length),
        cmocka_unit_test(test_pack__what_is_no_pack_is_found_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
