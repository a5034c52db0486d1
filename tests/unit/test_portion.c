/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Portions: the reader takes what the writer writes, and refuses all that a damaged or hostile host
 * may write, before the reader uses it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "layers_fixture.h"
#include "pool_fixture.h"
#include "source/tseed_source.h"
#include "tiling/tseed_cells.h"
#include "fleet/tseed_portion.h"
#include "work/tseed_run.h"

#define LAYER_NAME  "topp:states, \xc3\xbc"
#define UNREADABLE  "it writes a request that can't be read here"
#define OTHERWISE   "layer '" LAYER_NAME "' is configured otherwise here"
#define UNKNOWN     "it is not configured"
#define OF_A_PART   5
#define LENGTH(all) (int)(sizeof(all) / sizeof((all)[0]))

/* The fields of a line by their places. */
enum {
    VERSION,
    LAYER,
    GRIDSET,
    FORMAT,
    PARAMETERS,
    ADDRESS,
    PRINT,
    GUTTER,
    CONDITION,
    WEIGHT,
    LEVEL,
    MINX,
    MINY,
    MAXX,
    MAXY,
    PART, /* the same four numbers of the wanted tiles, and the seed */
    SEED = PART + 4,
    FIELDS
};

static tseed_catalog_t *catalog;
static tseed_layer_t *layer;
static tseed_upstream_t server;
static tseed_run_t run;
static tseed_task_t task;
static tseed_job_t jobs[TSEED_CELL_MOST];

/* ---- a layer, a request ---- */

static void add_text(const apr_array_header_t *texts, const char *text)
{
    APR_ARRAY_PUSH((apr_array_header_t *)texts, const char *) = text;
}

static void make_layer(void)
{
    apr_table_t *parameters = apr_table_make(pool, 1);

    catalog = tseed_catalog_create(pool);
    layer = layers_add(catalog, LAYER_NAME, pool);
    layers_add_grid(layer, "EPSG:900913", 0, 20);
    layers_add_filter(layer, "STYLES", pool);
    layers_add_filter(layer, "-", pool);
    apr_table_setn(parameters, "LAYERS", "all");
    layer->source.parameters = parameters;
    layer->source.count = 1;
    layer->source.addresses[0] = (tseed_address_t){"http://127.0.0.1/wms", &server};
    server = (tseed_upstream_t){.url = "http://127.0.0.1/wms",
                                .headers = apr_array_make(pool, 2, sizeof(char *)),
                                .redirects = apr_array_make(pool, 2, sizeof(char *))};
    add_text(server.headers, "X-Key: secret");
}

/* A request for the 4 x 4 tiles of level 4 from column 8 on. */
static void make_request(const apr_table_t *parameters)
{
    tseed_job_t *job = &jobs[0];

    memset(jobs, 0, sizeof(jobs));
    task = (tseed_task_t){.gutter = 10};
    run = (tseed_run_t){.task = &task};
    assert_null(
        tseed_tileset_init(&run.tileset, layer, &APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t),
                           &APR_ARRAY_IDX(layer->formats, 0, tseed_format_t), parameters, pool));
    job->run = &run;
    job->savings.asked = job->metatile.wanted = (tseed_range_t){4, 8, 0, 11, 3};
    job->accounts.seed = UINT64_C(0xfedcba9876543210);
}

static int setup(void **state)
{
    (void)state;
    make_layer();
    make_request(NULL);
    return 0;
}

/* The portion of the request as it is now. */
static const char *line(void)
{
    tseed_ask_t ask = {
        .tileset = &run.tileset, .whole = &jobs[0].savings.asked, .gutter = run.task->gutter};

    jobs[0].request.url = (char *)tseed_source_url(&ask, 0, pool);
    return tseed_portion_write(&jobs[0], 0, pool);
}

/* The line with another text in one place. */
static const char *with(const char *text, int place, const char *field)
{
    char *rest = apr_pstrdup(pool, text);
    const char *changed = "";

    for (int i = 0; rest; i++) {
        const char *old = strsep(&rest, " ");

        changed = apr_pstrcat(pool, changed, i ? " " : "", i == place ? field : old, NULL);
    }
    return changed;
}

/* The line with other columns and rows in four places from `place` on. */
static const char *with_range(const char *text, int place, int minx, int maxx, int maxy)
{
    text = with(text, place, apr_itoa(pool, minx));
    text = with(text, place + 1, "0");
    text = with(text, place + 2, apr_itoa(pool, maxx));
    return with(text, place + 3, apr_itoa(pool, maxy));
}

/* Reads from memory of exactly the text's length: a sanitizer sees who reads beyond. */
static const char *problem_of(tseed_portion_t *portion, const char *text)
{
    char *exact = strdup(text);
    const char *problem = tseed_portion_read(portion, exact, catalog, pool);

    free(exact);
    return problem;
}

static void assert_reads(tseed_portion_t *portion, const char *text)
{
    const char *problem = problem_of(portion, text);

    if (problem) {
        fail_msg("%s: %s", text, problem);
    }
}

static void assert_refused(const char *text, const char *expected)
{
    tseed_portion_t portion;
    const char *problem = problem_of(&portion, text);

    if (!problem || strcmp(problem, expected) != 0) {
        fail_msg("%.200s: %s instead of %s", text, problem ? problem : "accepted", expected);
    }
}

/* ---- what the writer writes ---- */

static void assert_same_tiles(const tseed_range_t *found, const tseed_range_t *wanted)
{
    assert_int_equal(found->z, wanted->z);
    assert_int_equal(found->minx, wanted->minx);
    assert_int_equal(found->miny, wanted->miny);
    assert_int_equal(found->maxx, wanted->maxx);
    assert_int_equal(found->maxy, wanted->maxy);
}

static void test_portion__a_request_comes_back(void **state)
{
    tseed_portion_t portion;
    const tseed_portion_part_t *part;

    (void)state;
    jobs[0].metatile.wanted = (tseed_range_t){4, 9, 1, 11, 2};
    jobs[0].request.transfer.condition = "If-None-Match: W/\"a b\"";
    jobs[0].request.transfer.weight = 1.5;
    assert_reads(&portion, line());
    part = &APR_ARRAY_IDX(portion.parts, 0, tseed_portion_part_t);
    assert_ptr_equal(portion.tileset.layer, layer);
    assert_string_equal(portion.url, jobs[0].request.url);
    assert_string_equal(portion.condition, "If-None-Match: W/\"a b\"");
    assert_true(portion.weight == 1.5);
    assert_int_equal(portion.address, 0);
    assert_int_equal(portion.gutter, 10);
    assert_int_equal(portion.width, 4 * 256 + 20);
    assert_int_equal(portion.height, 4 * 256 + 10); /* cut at the lower edge */
    assert_same_tiles(&portion.asked, &jobs[0].savings.asked);
    assert_int_equal(portion.parts->nelts, 1);
    assert_same_tiles(&part->wanted, &jobs[0].metatile.wanted);
    assert_true(part->seed == jobs[0].accounts.seed);
}

static void test_portion__parameters_come_back(void **state)
{
    static const char *const values[] = {"", "-", "--", "%2d", "a&b=c %", "\xc3\xbc+", "\r\n"};
    apr_table_t *parameters = apr_table_make(pool, 2);
    tseed_portion_t portion;

    (void)state;
    for (int i = 0; i < LENGTH(values); i++) {
        apr_table_setn(parameters, "STYLES", values[i]);
        apr_table_setn(parameters, "-", values[LENGTH(values) - 1 - i]);
        make_request(parameters);
        assert_reads(&portion, line());
        assert_string_equal(apr_table_get(portion.tileset.parameters, "STYLES"), values[i]);
        assert_string_equal(apr_table_get(portion.tileset.parameters, "-"),
                            apr_table_get(parameters, "-"));
        assert_string_equal(portion.tileset.key, run.tileset.key);
    }
}

/* Most layers have no parameter filter, or one. */
static void test_portion__a_layer_may_have_few_parameters(void **state)
{
    static const char *const fields[] = {"-", "STYLES=thin", "STYLES=thin&%2d=-"};
    apr_table_t *parameters = apr_table_make(pool, 2);
    tseed_portion_t portion;

    (void)state;
    for (int count = 0; count < LENGTH(fields); count++) {
        make_layer();
        ((apr_array_header_t *)layer->filters)->nelts = count;
        if (count == 1) {
            apr_table_setn(parameters, "STYLES", "thin");
        }
        make_request(parameters);
        assert_string_equal(with(line(), PARAMETERS, fields[count]), line());
        assert_reads(&portion, line());
        assert_int_equal(apr_table_elts(portion.tileset.parameters)->nelts, count);
        assert_string_equal(portion.tileset.key, run.tileset.key);
    }
}

static void test_portion__a_field_is_the_text_again(void **state)
{
    static const char *const wrong[] = {"", "%", "%2", "%zz", "a%", "%00", "a%00b"};
    char text[2] = "";

    (void)state;
    for (int i = 1; i < 256; i++) {
        const char *field;

        text[0] = (char)i;
        field = tseed_portion_field(text, pool);
        assert_null(strpbrk(field, " \r\n\t"));
        assert_string_equal(tseed_portion_text(field, pool), text);
    }
    assert_string_equal(tseed_portion_field("", pool), "-");
    assert_string_equal(tseed_portion_field("-", pool), "%2d");
    assert_string_equal(tseed_portion_text("-", pool), "");
    for (int i = 0; i < LENGTH(wrong); i++) {
        assert_null(tseed_portion_text(wrong[i], pool));
    }
}

/* One tile each. */
static void join(int count)
{
    jobs[0].savings.asked = (tseed_range_t){4, 8, 0, 15, 7};
    for (int i = 0; i < count; i++) {
        const int64_t x = 8 + i % 8, y = i / 8;

        jobs[i].metatile.wanted = (tseed_range_t){4, x, y, x, y};
        jobs[i].accounts.seed = (uint64_t)i;
        jobs[i].savings.joined = i + 1 < count ? &jobs[i + 1] : NULL;
    }
}

static void test_portion__as_many_metatiles_as_a_cell_has_may_be_joined(void **state)
{
    tseed_portion_t portion;
    const char *text;

    (void)state;
    join(TSEED_CELL_MOST);
    text = line();
    assert_reads(&portion, text);
    assert_int_equal(portion.parts->nelts, TSEED_CELL_MOST);
    assert_int_equal(APR_ARRAY_IDX(portion.parts, 63, tseed_portion_part_t).wanted.maxx, 15);
    assert_true(APR_ARRAY_IDX(portion.parts, 63, tseed_portion_part_t).seed == 63);
    assert_refused(apr_pstrcat(pool, text, " 8 0 8 0 1", NULL), UNREADABLE);
}

static void test_portion__a_weight_comes_back(void **state)
{
    static const struct {
        double weight, read;
    } cases[] = {{0, 0}, {-1, -1}, {-7, -1}, {64, 64}, {1e6, 1e6}, {1e300, 1e6}};
    tseed_portion_t portion;

    (void)state;
    for (int i = 0; i < LENGTH(cases); i++) {
        jobs[0].request.transfer.weight = cases[i].weight;
        assert_reads(&portion, line());
        assert_true(portion.weight == cases[i].read);
    }
}

static void test_portion__its_layer_is_found(void **state)
{
    (void)state;
    assert_ptr_equal(tseed_portion_layer(line(), catalog, pool), layer);
    assert_ptr_equal(tseed_portion_layer(with(line(), VERSION, "9"), catalog, pool), layer);
    assert_ptr_equal(tseed_portion_layer("1 topp%3astates%2c+%c3%bc", catalog, pool), layer);
    assert_null(tseed_portion_layer("", catalog, pool));
    assert_null(tseed_portion_layer("1", catalog, pool));
    assert_null(tseed_portion_layer("1 ", catalog, pool));
    assert_null(tseed_portion_layer("1 -", catalog, pool));
    assert_null(tseed_portion_layer("1 %zz", catalog, pool));
    assert_null(tseed_portion_layer("1 roads", catalog, pool));
}

static void test_portion__lines_are_counted(void **state)
{
    (void)state;
    assert_int_equal(tseed_portion_lines(""), 0);
    assert_int_equal(tseed_portion_lines("a"), 0);
    assert_int_equal(tseed_portion_lines("a\n"), 1);
    assert_int_equal(tseed_portion_lines("\n\nb c\n"), 3);
}

/* ---- what nobody should write ---- */

static void test_portion__no_number_goes_unjudged(void **state)
{
    static const int places[] = {ADDRESS, PRINT, GUTTER, WEIGHT,   LEVEL,    MINX,     MINY,
                                 MAXX,    MAXY,  PART,   PART + 1, PART + 2, PART + 3, SEED};
    static const char *const wrong[] = {"",    "-",   "99999999999999999999",
                                        "4x",  "x4",  "nan",
                                        "NAN", "inf", "-inf",
                                        "0x1", "--1", "1.2.3",
                                        "%31", "+",   "\t1",
                                        "1\t", "1\r", "-99999999999999999999x"};

    (void)state;
    for (int i = 0; i < LENGTH(places); i++) {
        for (int j = 0; j < LENGTH(wrong); j++) {
            assert_refused(with(line(), places[i], wrong[j]), UNREADABLE);
        }
    }
}

static void test_portion__what_is_out_of_range_is_refused(void **state)
{
    static const struct {
        int place;
        const char *field;
    } cases[] = {
        {ADDRESS, "-1"},
        {ADDRESS, "2147483648"},
        {PRINT, "-1"},
        {PRINT, "10000000000000000"},
        {GUTTER, "-1"},
        {GUTTER, "1025"},
        {GUTTER, "4294967306"},
        {WEIGHT, "1000001"},
        {WEIGHT, "1e300"},
        {WEIGHT, "1e999"},
        {WEIGHT, "-1e999"},
        {LEVEL, "-1"},
        {LEVEL, "31"}, /* the grid set has 0 to 30 */
        {LEVEL, "64"},
        {LEVEL, "2147483647"},
        {LEVEL, "4294967300"},
        {LEVEL, "3"}, /* has 8 columns */
        {MINX, "-1"},
        {MINX, "12"}, /* inverted */
        {MINX, "9"},  /* a part sticks out */
        {MINY, "-1"},
        {MINY, "4"},
        {MINY, "1"},
        {MAXX, "7"},
        {MAXX, "16"},
        {MAXX, "10"},
        {MAXX, "9223372036854775807"},
        {MAXY, "-1"},
        {MAXY, "2"},
        {MAXY, "16"},
        {PART, "7"},
        {PART, "12"},
        {PART, "-9223372036854775808"},
        {PART + 1, "-1"},
        {PART + 1, "4"},
        {PART + 2, "7"},
        {PART + 2, "12"},
        {PART + 2, "9223372036854775807"},
        {PART + 3, "-1"},
        {PART + 3, "4"},
        {SEED, "-1"},
        {SEED, "10000000000000000"},
    };

    (void)state;
    for (int i = 0; i < LENGTH(cases); i++) {
        assert_refused(with(line(), cases[i].place, cases[i].field), UNREADABLE);
    }
    assert_refused(with(with(line(), PART, "11"), PART + 2, "10"), UNREADABLE); /* inverted */
    assert_refused(with(with(line(), PART + 1, "3"), PART + 3, "2"), UNREADABLE);
    assert_refused(with(line(), ADDRESS, "1"),
                   "the source of layer '" LAYER_NAME "' has other addresses here");
}

/* 64 tiles are 16384 pixels, and 34 x 34 tiles are 8704 x 8704. What may be asked for fails by its
 * print alone. */
static void test_portion__no_picture_is_too_large(void **state)
{
    const char *text = with(with_range(line(), PART, 0, 0, 0), LEVEL, "20");
    const char *bare = with(text, GUTTER, "0");

    (void)state;
    assert_refused(with_range(bare, MINX, 0, 63, 0), OTHERWISE);
    assert_refused(with_range(bare, MINX, 0, 64, 0), UNREADABLE);
    assert_refused(with_range(bare, MINX, 0, 0, 64), UNREADABLE);
    assert_refused(with_range(text, MINX, 0, 63, 0), UNREADABLE);
    assert_refused(with_range(bare, MINX, 0, 33, 33), OTHERWISE);
    assert_refused(with_range(bare, MINX, 0, 33, 34), UNREADABLE);
    assert_refused(with_range(text, MINX, 0, 33, 33), UNREADABLE);
    assert_refused(with_range(bare, MINX, 0, 1048575, 1048575), UNREADABLE);
}

static void test_portion__missing_fields_are_missed(void **state)
{
    const char *text = line();

    (void)state;
    for (size_t i = strlen(text) - 1; i > 0; i--) {
        if (text[i] == ' ') {
            assert_refused(apr_pstrmemdup(pool, text, i), UNREADABLE);
        }
    }
    for (int i = 0; i < FIELDS; i++) {
        if (i != VERSION) {
            assert_refused(with(text, i, ""), UNREADABLE);
        }
    }
    assert_refused(apr_pstrcat(pool, text, " ", NULL), UNREADABLE);
    assert_refused(apr_pstrcat(pool, text, " 8", NULL), UNREADABLE);
}

static void test_portion__there_are_not_too_many_parts(void **state)
{
    enum { MANY = 10000 };
    static const char part[] = " 8 0 8 0 1";
    const char *text = line();
    char *many = apr_pcalloc(pool, strlen(text) + MANY * strlen(part) + 1);
    char *end = apr_cpystrn(many, text, strlen(text) + 1);

    (void)state;
    for (int i = 0; i < MANY; i++) {
        end = apr_cpystrn(end, part, sizeof(part));
    }
    assert_refused(many, UNREADABLE);
    assert_refused(apr_pstrcat(pool, text, part, NULL), UNREADABLE); /* it wants a tile twice */
}

static void test_portion__names_are_decoded_strictly(void **state)
{
    static const char *const wrong[] = {"%", "%2", "%zz", "a%0", "%00", "a%00b"};
    const char *text = line();

    (void)state;
    for (int i = 0; i < LENGTH(wrong); i++) {
        for (int place = LAYER; place <= FORMAT; place++) {
            assert_refused(with(text, place, wrong[i]), UNREADABLE);
        }
    }
    assert_refused(with(text, LAYER, "roads"), "layer 'roads': " UNKNOWN);
    assert_refused(with(text, LAYER, "-"), "layer '': " UNKNOWN);
    assert_refused(with(text, LAYER, "a%0d%0ab"), "layer 'a??b': " UNKNOWN);
    assert_refused(with(text, GRIDSET, "EPSG%3a4326"), "layer '" LAYER_NAME "': " UNKNOWN);
    assert_refused(with(text, FORMAT, "image%2fgif"), "layer '" LAYER_NAME "': " UNKNOWN);
}

static void test_portion__parameters_are_decoded_strictly(void **state)
{
    static const char *const wrong[] = {"STYLES",     "STYLES=",     "=",          "=a",
                                        "STYLES=%zz", "%zz=a",       "STYLES=%00", "STYLES=a&",
                                        "&STYLES=a",  "STYLES=a&&-", "&"};
    const char *text = line();

    (void)state;
    for (int i = 0; i < LENGTH(wrong); i++) {
        assert_refused(with(text, PARAMETERS, wrong[i]), UNREADABLE);
    }
    assert_refused(with(text, PARAMETERS, "ELSE=a"), "layer '" LAYER_NAME "': layer " LAYER_NAME
                                                     " has no parameter 'ELSE', it has STYLES, -");
    assert_refused(with(text, PARAMETERS, "STYLES=a&styles=b"),
                   "layer '" LAYER_NAME "': parameter 'styles' is there twice, once is expected");
}

static void test_portion__whatever_is_cut_off_is_survived(void **state)
{
    const char *text = line();
    tseed_portion_t portion;

    (void)state;
    for (size_t length = 0; length < strlen(text); length++) {
        problem_of(&portion, apr_pstrmemdup(pool, text, length));
    }
}

/* ---- conditions ---- */

static void test_portion__sound_conditions_are_taken(void **state)
{
    static const char *const sound[] = {"", "If-None-Match: \"a b\"",
                                        "If-None-Match: W/\"\xc3\xbc\"",
                                        "If-Modified-Since: Wed, 21 Oct 2015 07:28:00 GMT"};

    (void)state;
    for (int i = 0; i < LENGTH(sound); i++) {
        const char *field = tseed_portion_field(sound[i], pool);

        assert_string_equal(tseed_portion_condition(field, pool), sound[i]);
    }
}

static void test_portion__a_condition_is_one_short_header(void **state)
{
    static const char *const wrong[] = {
        "-",
        "x",
        "Cookie: a",
        "if-none-match: \"a\"",
        "If-None-Match",
        "If-None-Match:",
        "If-None-Match: ",
        "If-None-Match:\"a\"",
        "If-None-Match:  \"a\"",
        "If-None-Match: \"a\" ",
        "If-None-Match: \"a\"\r\nHost: other",
        "If-None-Match: \"a\"\n",
        "If-None-Match: \"a\tb\"",
        "If-None-Match: \"a\x7f\"",
        "X\r\nIf-None-Match: \"a\"",
        "If-Modified-Since: \r\n",
    };
    const char *text = line();

    (void)state;
    for (int i = 0; i < LENGTH(wrong); i++) {
        const char *field = tseed_portion_field(wrong[i], pool);

        assert_null(tseed_portion_condition(field, pool));
        assert_refused(with(text, CONDITION, field), UNREADABLE);
    }
    assert_null(tseed_portion_condition("", pool));
    assert_refused(with(text, CONDITION, "If-None-Match%3a+%zz"), UNREADABLE);
    assert_refused(with(text, CONDITION, "If-None-Match%3a+a%0D%0AHost%3a+b"), UNREADABLE);
}

static void test_portion__a_condition_fits_a_transfer(void **state)
{
    char text[TSEED_CONDITION_SIZE + 1];
    const char *field;

    (void)state;
    memset(text, 'a', sizeof(text));
    memcpy(text, "If-None-Match: ", strlen("If-None-Match: "));
    text[TSEED_CONDITION_SIZE] = '\0';
    field = tseed_portion_field(text, pool);
    assert_null(tseed_portion_condition(field, pool));
    text[TSEED_CONDITION_SIZE - 1] = '\0';
    field = tseed_portion_field(text, pool);
    assert_string_equal(tseed_portion_condition(field, pool), text);
}

/* Else every host would refuse the portions of an upstream with such validators. */
static void test_portion__a_condition_that_is_not_sound_is_left_out(void **state)
{
    tseed_portion_t portion;

    (void)state;
    jobs[0].request.transfer.condition = "If-None-Match: \"a\tb\"";
    assert_reads(&portion, line());
    assert_null(portion.condition);
}

/* ---- other hosts ---- */

static void test_portion__another_version_refuses(void **state)
{
    static const char *const others[] = {"", "1", "0.0.0", TSEED_VERSION ".1", "v" TSEED_VERSION};

    (void)state;
    assert_string_equal(with(line(), VERSION, TSEED_VERSION), line());
    for (int i = 0; i < LENGTH(others); i++) {
        assert_refused(with(line(), VERSION, others[i]), "it has another version of the module");
    }
    assert_refused("", "it has another version of the module");
    assert_refused("2 nonsense", "it has another version of the module");
}

static void test_portion__another_request_refuses(void **state)
{
    (void)state;
    assert_refused(with(line(), PRINT, "0"), OTHERWISE);
    assert_refused(with(line(), GUTTER, "11"), OTHERWISE);
    assert_refused(with(line(), LEVEL, "5"), OTHERWISE);
    assert_refused(with(line(), MAXX, "12"), OTHERWISE);
    assert_refused(with(line(), PARAMETERS, "STYLES=a"), OTHERWISE);
}

static void test_portion__another_upstream_refuses(void **state)
{
    const char *text = line();
    tseed_portion_t portion;

    (void)state;
    server.proxy = "http://proxy";
    server.ca = "/etc/ca.pem";
    server.name = "other";
    server.connections = 3;
    assert_reads(&portion, text);
    add_text(server.headers, "X-Other: 1");
    assert_refused(text, OTHERWISE);
    text = line();
    APR_ARRAY_IDX(server.headers, 0, const char *) = "X-Key: other";
    assert_refused(text, OTHERWISE);
    text = line();
    add_text(server.redirects, "maps.example");
    assert_refused(text, OTHERWISE);
    text = line();
    server.credentials = "user:password";
    assert_refused(text, OTHERWISE);
    text = line();
    assert_null(strstr(text, "password"));
    assert_reads(&portion, text);
    server.credentials = "user:other";
    assert_refused(text, OTHERWISE);
    server.headers = server.redirects = NULL;
    assert_reads(&portion, line());
}

static void test_portion__another_format_refuses(void **state)
{
    tseed_format_t *format = &APR_ARRAY_IDX(layer->formats, 0, tseed_format_t);
    const char *text = line();

    (void)state;
    format->quality++;
    assert_refused(text, OTHERWISE);
    text = line();
    format->level++;
    assert_refused(text, OTHERWISE);
    text = line();
    format->lossless = !format->lossless;
    assert_refused(text, OTHERWISE);
    text = line();
    format->palette = TSEED_PALETTE_NONE;
    assert_refused(text, OTHERWISE);
}

static void test_portion__another_layer_refuses(void **state)
{
    tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t);
    tseed_gridset_t other = *subset->gridset;
    const char *text = line();

    (void)state;
    layer->gutter_beyond = 1;
    assert_refused(text, OTHERWISE);
    text = line();
    layer->source.missing = apr_array_make(pool, 1, sizeof(const char *));
    APR_ARRAY_PUSH((apr_array_header_t *)layer->source.missing, const char *) = "404";
    assert_refused(text, OTHERWISE);
    text = line();
    layer->source.addresses[0].url = "http://127.0.0.1/other";
    assert_refused(text, OTHERWISE);
    text = line();
    other.resolution[30] /= 2;
    subset->gridset = &other;
    assert_refused(text, OTHERWISE);
    other.levels = 4;
    assert_refused(text, UNREADABLE);
    subset->gridset = tseed_gridset_builtin("EPSG:900913");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(test_portion__##name, setup)
        TEST(a_request_comes_back),
        TEST(parameters_come_back),
        TEST(a_layer_may_have_few_parameters),
        TEST(a_field_is_the_text_again),
        TEST(as_many_metatiles_as_a_cell_has_may_be_joined),
        TEST(a_weight_comes_back),
        TEST(its_layer_is_found),
        TEST(lines_are_counted),
        TEST(no_number_goes_unjudged),
        TEST(what_is_out_of_range_is_refused),
        TEST(no_picture_is_too_large),
        TEST(missing_fields_are_missed),
        TEST(there_are_not_too_many_parts),
        TEST(names_are_decoded_strictly),
        TEST(parameters_are_decoded_strictly),
        TEST(whatever_is_cut_off_is_survived),
        TEST(sound_conditions_are_taken),
        TEST(a_condition_is_one_short_header),
        TEST(a_condition_fits_a_transfer),
        TEST(a_condition_that_is_not_sound_is_left_out),
        TEST(another_version_refuses),
        TEST(another_request_refuses),
        TEST(another_upstream_refuses),
        TEST(another_format_refuses),
        TEST(another_layer_refuses),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
