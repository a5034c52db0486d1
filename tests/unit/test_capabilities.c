/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What a WMS says that it offers, compared with what a layer wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <string.h>

#include "protocol/tseed_capabilities.h"

#include "pool_fixture.h"

/* WMS 1.3.0 (OGC 06-042): EPSG:4326 has the northing first, CRS:84 has not; both are inherited. */
static const char new_service[] =
    "<?xml version='1.0'?>\n"
    "<WMS_Capabilities version='1.3.0' xmlns='http://www.opengis.net/wms'><Service><Name>WMS</Name>"
    "<MaxWidth> 2048 </MaxWidth><MaxHeight>many</MaxHeight></Service><Capability><Request>"
    "<GetMap><Format> image/png </Format><Format>image/jpg</Format></GetMap></Request>"
    "<Layer><Title>all</Title><CRS>EPSG:4326</CRS><CRS>CRS:84</CRS>"
    "<BoundingBox CRS='EPSG:4326' minx='47' miny='5' maxx='55' maxy='15'/>"
    "<Layer><Name>roads</Name></Layer>"
    "<Layer><Title>group</Title><Layer><Name>rivers</Name><CRS>EPSG:3857</CRS></Layer></Layer>"
    "</Layer></Capability></WMS_Capabilities>";

static const char old_service[] =
    "<!DOCTYPE WMT_MS_Capabilities SYSTEM 'http://127.0.0.1:1/none.dtd' [<!ENTITY a 'b'>]>\n"
    "<WMT_MS_Capabilities version='1.1.1'><Capability><Request><GetMap><Format>image/png</Format>"
    "</GetMap></Request><Layer><Name>roads</Name><SRS>EPSG:3857 EPSG:4326</SRS>"
    "<BoundingBox SRS='EPSG:4326' minx='5' miny='47' maxx='15' maxy='55'/></Layer></Capability>"
    "</WMT_MS_Capabilities>";

typedef struct {
    const char *service, *layers, *format, *srs;
    tseed_bounds_t extent; /* of EPSG:4326 */
    const char *lacks;     /* joined by ';' */
} wish_t;

#define WORLD                                                                                      \
    {                                                                                              \
        -180, -90, 180, 90                                                                         \
    }

static const wish_t wishes[] = {
    {new_service, "roads", "image/png", "EPSG:4326", WORLD, ""},
    {new_service, "rivers,roads", "image/jpeg", "CRS:84", WORLD, ""},
    {new_service, "rivers", "image/png", "EPSG:3857", WORLD, ""},
    {new_service, "all", "image/png", "EPSG:4326", WORLD, "a layer 'all'"},
    {new_service, "Roads,x", "image/png", "EPSG:4326", WORLD, "a layer 'Roads';a layer 'x'"},
    {new_service, "roads", "image/png", "EPSG:3857", WORLD, "its layer 'roads' in EPSG:3857"},
    {new_service, "roads", "image/webp", "EPSG:4326", WORLD, "the format image/webp"},
    {new_service, "roads", "image/png", "EPSG:4326", {5, 47, 15, 55}, ""},
    {new_service,
     "roads",
     "image/png",
     "EPSG:4326",
     {47, 5, 55, 15},
     "anything of its layer 'roads' within the extent in EPSG:4326"},
    {old_service, "roads", "image/png", "EPSG:4326", {5, 47, 15, 55}, ""},
    {old_service, "roads", "image/png", "epsg:3857", WORLD, ""},
    {old_service,
     "roads",
     "image/png",
     "EPSG:4326",
     {15, 47, 20, 55},
     "anything of its layer 'roads' within the extent in EPSG:4326"},
};

static int lacks_layer;

static const char *lacks_of(const wish_t *wish)
{
    tseed_capabilities_t *offered =
        tseed_capabilities_read(wish->service, strlen(wish->service), pool);
    tseed_layer_t layer = {.subsets = apr_array_make(pool, 1, sizeof(tseed_subset_t)),
                           .formats = apr_array_make(pool, 1, sizeof(tseed_format_t)),
                           .source = {.parameters = apr_table_make(pool, 1)}};

    assert_non_null(offered);
    APR_ARRAY_PUSH(layer.subsets, tseed_subset_t) = (tseed_subset_t){
        .gridset = tseed_gridset_builtin("EPSG:4326"), .extent = wish->extent, .srs = wish->srs};
    APR_ARRAY_PUSH(layer.formats, tseed_format_t) = (tseed_format_t){.from = wish->format};
    apr_table_set((apr_table_t *)layer.source.parameters, "LAYERS", wish->layers);
    return apr_array_pstrcat(pool, tseed_capabilities_lacks(&lacks_layer, offered, &layer, pool),
                             ';');
}

static void test_capabilities__says_what_is_lacking(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        assert_string_equal(lacks_of(&wishes[i]), wishes[i].lacks);
        assert_int_equal(lacks_layer, strstr(wishes[i].lacks, "a layer '") != NULL);
    }
}

static void test_capabilities__refuses_other_documents(void **state)
{
    static const char *const others[] = {
        "",
        "no XML",
        "<html/>",
        "<WMS_Capabilities>",
        "<ServiceExceptionReport/>",
        "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_null(tseed_capabilities_read(others[i], strlen(others[i]), pool));
    }
}

static void test_capabilities__say_how_large_a_picture_may_be(void **state)
{
    int width = -1, height = -1;

    (void)state;
    tseed_capabilities_most(tseed_capabilities_read(new_service, sizeof(new_service) - 1, pool),
                            &width, &height);
    assert_int_equal(width, 2048);
    assert_int_equal(height, 0);
    tseed_capabilities_most(tseed_capabilities_read(old_service, sizeof(old_service) - 1, pool),
                            &width, &height);
    assert_int_equal(width, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capabilities__say_how_large_a_picture_may_be),
        cmocka_unit_test(test_capabilities__says_what_is_lacking),
        cmocka_unit_test(test_capabilities__refuses_other_documents),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
