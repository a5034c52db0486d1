/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the services' documents have in common. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "layers_fixture.h"
#include "pool_fixture.h"
#include "protocol/tseed_write.h"

/* A layer in two grid sets of EPSG:3857, one of them with another of its codes, and in EPSG:4326
 * with a part of the world only. */
static tseed_layer_t *layer_of_three(void)
{
    tseed_layer_t *layer = layers_add(tseed_catalog_create(pool), "three", pool);

    layers_add_grid(layer, "EPSG:900913", 0, 5);
    layers_add_grid(layer, "EPSG:4326", 0, 5);
    layers_add_grid(layer, "EPSG:3857", 0, 5);
    APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t).extent = (tseed_bounds_t){-10, 5, 20, 30};
    APR_ARRAY_IDX(layer->subsets, 1, tseed_subset_t).extent = (tseed_bounds_t){7, 46, 8, 47};
    APR_ARRAY_IDX(layer->subsets, 2, tseed_subset_t).extent = (tseed_bounds_t){-5, -15, 40, 25};
    return layer;
}

static void assert_box(const tseed_bounds_t *box, double minx, double miny, double maxx,
                       double maxy)
{
    assert_true(box->minx == minx && box->miny == miny && box->maxx == maxx && box->maxy == maxy);
}

static void test_xml_write__boxes_of_one_system_are_joined(void **state)
{
    const apr_array_header_t *boxes = tseed_xml_boxes(layer_of_three(), 1, pool);
    const tseed_xml_box_t *mercator = &APR_ARRAY_IDX(boxes, 0, tseed_xml_box_t);
    const tseed_xml_box_t *degrees = &APR_ARRAY_IDX(boxes, 1, tseed_xml_box_t);

    (void)state;
    assert_int_equal(boxes->nelts, 2);
    assert_int_equal(mercator->epsg, 3857);
    assert_false(mercator->north_east);
    assert_box(&mercator->bounds, -10, -15, 40, 30);
    assert_int_equal(degrees->epsg, 4326);
    assert_true(degrees->north_east);
    assert_box(&degrees->bounds, 7, 46, 8, 47);
}

static void test_xml_write__codes_stay_apart_when_told(void **state)
{
    const apr_array_header_t *boxes = tseed_xml_boxes(layer_of_three(), 0, pool);

    (void)state;
    assert_int_equal(boxes->nelts, 3);
    assert_int_equal(APR_ARRAY_IDX(boxes, 0, tseed_xml_box_t).epsg, 900913);
    assert_box(&APR_ARRAY_IDX(boxes, 0, tseed_xml_box_t).bounds, -10, 5, 20, 30);
    assert_int_equal(APR_ARRAY_IDX(boxes, 2, tseed_xml_box_t).epsg, 3857);
    assert_box(&APR_ARRAY_IDX(boxes, 2, tseed_xml_box_t).bounds, -5, -15, 40, 25);
}

static void test_xml_write__corners_turn(void **state)
{
    const tseed_bounds_t box = {7, 46.5, 8, 47};
    const tseed_xml_t plain = tseed_xml_begin(pool), turned = tseed_xml_begin(pool);

    (void)state;
    tseed_xml_corners(&plain, &box, 0);
    tseed_xml_corners(&turned, &box, 1);
    assert_string_equal(tseed_xml_end(&plain), "<ows:LowerCorner>7 46.5</ows:LowerCorner>"
                                               "<ows:UpperCorner>8 47</ows:UpperCorner>");
    assert_string_equal(tseed_xml_end(&turned), "<ows:LowerCorner>46.5 7</ows:LowerCorner>"
                                                "<ows:UpperCorner>47 8</ows:UpperCorner>");
}

static void test_xml_write__names_are_escaped_for_addresses(void **state)
{
    (void)state;
    assert_string_equal(tseed_xml_segment("a b/c", pool), "a%20b%2fc");
    assert_string_equal(tseed_xml_segment("R&D", pool), "R&#38;D");
}

static void test_xml_write__pieces_are_joined(void **state)
{
    const tseed_xml_t xml = tseed_xml_begin(pool);

    (void)state;
    assert_string_equal(tseed_xml_end(&xml), "");
    tseed_xml_put(&xml, "<a b=\"%d\">", 5);
    tseed_xml_put(&xml, "</a>");
    assert_string_equal(tseed_xml_end(&xml), "<a b=\"5\"></a>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xml_write__boxes_of_one_system_are_joined),
        cmocka_unit_test(test_xml_write__codes_stay_apart_when_told),
        cmocka_unit_test(test_xml_write__corners_turn),
        cmocka_unit_test(test_xml_write__names_are_escaped_for_addresses),
        cmocka_unit_test(test_xml_write__pieces_are_joined),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
