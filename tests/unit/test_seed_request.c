/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Seed requests: members, defaults and limits; what is refused; an old task in a new world. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "malformed_fixture.h"
#include "protocol/tseed_seed_request.h"
#include "protocol/tseed_task_check.h"
#include "layers_fixture.h"

#include "document_fixture.h" /* its pool is the name of parameters above */

static tseed_catalog_t *catalog;
static tseed_task_t task;
static tseed_tileset_t tileset;

/* Each test changes the layers as it likes. */
static int setup(void **state)
{
    (void)state;
    catalog = layers_catalog(pool);
    return 0;
}

static tseed_layer_t *layer_of(const char *name)
{
    return apr_hash_get(catalog->layers, name, APR_HASH_KEY_STRING);
}

/* NULL, and `task` and `tileset` are filled; or what the 400 says. */
static const char *submit(const char *layer, tseed_format_of_body_t format, const char *body)
{
    tseed_seed_document_t document;
    const char *problem = tseed_seed_document_read(&document, format, body, strlen(body), pool);

    return problem ? problem
                   : tseed_seed_document_resolve(&task, &tileset, &document, layer_of(layer), pool);
}

/* The same for the members of an XML request for topp:states. */
static const char *submit_members(const char *members)
{
    return submit("topp:states", TSEED_BODY_XML,
                  apr_pstrcat(pool, "<seedRequest>", members, "</seedRequest>", NULL));
}

static void assert_bounds(double minx, double miny, double maxx, double maxy)
{
    assert_true(task.bounds.minx == minx);
    assert_true(task.bounds.miny == miny);
    assert_true(task.bounds.maxx == maxx);
    assert_true(task.bounds.maxy == maxy);
}

/* GeoWebCache's manual, and what a shell makes of its double quotes. */
static void test_seed_request__the_manuals_examples_are_one_task(void **state)
{
    static const char *const bodies[] = {
        "{'seedRequest':{'name':'topp:states','bounds':{'coords':{ 'double':['-124.0','22.0',"
        "'66.0','72.0']}},'srs':{'number':4326},'zoomStart':1,'zoomStop':12,'format':'image\\/png',"
        "'type':'truncate','threadCount':4}}}",
        "{seedRequest:{name:topp:states,bounds:{coords:{ double:[-124.0,22.0,66.0,72.0]}},"
        "srs:{number:4326},zoomStart:1,zoomStop:12,format:image/png,type:truncate,threadCount:4}}",
        "{\"seedRequest\":{\"threadCount\":\"4\",\"type\":\"TRUNCATE\",\"format\":\"image/png\","
        "\"zoomStop\":\"12\",\"zoomStart\":\"01\",\"gridSetId\":\"EPSG:4326\",\"x\":{\"y\":[]},"
        "\"bounds\":{\"coords\":{\"double\":[-124,22,66,72]}}}}",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><seedRequest><name>topp:states</name><bounds>"
        "<coords><double>-124.0</double><double>22.0</double><double>66.0</double>"
        "<double>72.0</double></coords></bounds><gridSetId>EPSG:4326</gridSetId>"
        "<zoomStart>1</zoomStart><zoomStop>12</zoomStop><format>image/png</format>"
        "<type>truncate</type><threadCount>4</threadCount></seedRequest>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        const tseed_format_of_body_t format = *bodies[i] == '<' ? TSEED_BODY_XML : TSEED_BODY_JSON;

        assert_null(submit("topp:states", format, bodies[i]));
        assert_string_equal(task.layer, "topp:states");
        assert_string_equal(task.gridset, "EPSG:4326");
        assert_string_equal(task.format, "image/png");
        assert_int_equal(task.type, TSEED_TRUNCATE);
        assert_bounds(-124, 22, 66, 72);
        assert_int_equal(task.zoom_start, 1);
        assert_int_equal(task.zoom_stop, 12);
        assert_int_equal(task.thread_count, 1); /* a truncate uses one */
    }
}

static void test_seed_request__nothing_said_is_everything(void **state)
{
    static const char *const bodies[] = {
        "<seedRequest/>",
        "<seedRequest><gridSetId/><srs/><bounds/><zoomStart/><zoomStop/><format/><threadCount/>"
        "<parameters/><name/></seedRequest>",
        "<seedRequest><bounds> <coords/> </bounds><srs><number/></srs>"
        "<parameters><entry/></parameters></seedRequest>",
        "{seedRequest:{}}",
        "{'seedRequest':{'gridSetId':null,'bounds':[],'parameters':{},'zoomStart':''}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        const tseed_format_of_body_t format = *bodies[i] == '<' ? TSEED_BODY_XML : TSEED_BODY_JSON;

        assert_null(submit("topp:states", format, bodies[i]));
        assert_string_equal(task.gridset, "EPSG:4326");
        assert_bounds(-180, -90, 180, 90);
        assert_int_equal(task.zoom_start, 0);
        assert_int_equal(task.zoom_stop, 21);
        assert_string_equal(task.format, "image/png");
        assert_int_equal(task.type, TSEED_SEED);
        assert_int_equal(task.thread_count, 1);
        assert_string_equal(apr_table_get(task.parameters, "STYLES"), "");
        assert_int_equal(task.retries, 2);
        assert_int_equal(task.retry_wait, 0);
        assert_int_equal(task.failure_limit, 1000);
        assert_int_equal(task.meta_width, 4);
        assert_int_equal(task.meta_height, 4);
        assert_int_equal(task.gutter, 10);
        assert_string_equal(task.requested_by, "");
        assert_ptr_equal(tileset.layer, layer_of("topp:states"));
        assert_null(tileset.hash);
    }
}

static void test_seed_request__totals_are_exact(void **state)
{
    (void)state;
    assert_null(submit_members("<zoomStart>0</zoomStart><zoomStop>12</zoomStop>"));
    assert_int_equal(task.tiles_total, 44739242);
    assert_null(submit("roads", TSEED_BODY_XML,
                       "<seedRequest><gridSetId>EPSG:3857</gridSetId>"
                       "<zoomStop>20</zoomStop></seedRequest>"));
    assert_int_equal(task.tiles_total, INT64_C(1466015503701));
    /* the north-east quarter: whole from zoom 1 on, where it is 2 x 1 of 4 x 2 tiles */
    assert_null(submit_members("<bounds><coords><double>0</double><double>0</double><double>180"
                               "</double><double>90</double></coords></bounds>"
                               "<zoomStart>1</zoomStart><zoomStop>3</zoomStop>"));
    assert_int_equal(task.tiles_total, 2 * 1 + 4 * 2 + 8 * 4);
}

static const char *bounds_of(const char *a, const char *b, const char *c, const char *d)
{
    return apr_psprintf(pool,
                        "<bounds><coords><double>%s</double><double>%s</double>"
                        "<double>%s</double><double>%s</double></coords></bounds>",
                        a, b, c, d);
}

static void test_seed_request__bounds_are_cut_to_the_extent(void **state)
{
    (void)state;
    assert_null(submit_members(bounds_of("-1e6", "-95", "-179.5", "+12.50")));
    assert_bounds(-180, -90, -179.5, 12.5);
    assert_true(task.has_area);
}

static void test_seed_request__bounds_outside_are_no_tiles(void **state)
{
    (void)state;
    assert_null(submit_members(bounds_of("200", "0", "210", "10")));
    assert_false(task.has_area);
    assert_int_equal(task.tiles_total, 0);
    assert_null(submit_members(bounds_of("180", "0", "210", "10")));
    assert_false(task.has_area);
    assert_int_equal(task.tiles_total, 0);
}

static void test_seed_request__a_point_is_a_tile_a_level(void **state)
{
    (void)state;
    assert_null(submit_members(
        apr_pstrcat(pool, bounds_of("10", "20", "10", "20"), "<zoomStop>4</zoomStop>", NULL)));
    assert_int_equal(task.tiles_total, 5);
}

static void test_seed_request__srs_finds_the_grid_set(void **state)
{
    static const char *const codes[] = {"900913", "3857", "102100", "102113"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_null(submit_members(apr_psprintf(pool, "<srs><number>%s</number></srs>", codes[i])));
        assert_string_equal(task.gridset, "EPSG:900913");
    }
    assert_null(submit_members("<srs><number>2154</number></srs>"
                               "<gridSetId>EPSG:4326</gridSetId>"));
    assert_string_equal(task.gridset, "EPSG:4326");
    assert_null(submit_members("<srs>what</srs><gridSetId>EPSG:4326</gridSetId>"));
}

static void test_seed_request__zooms_are_cut_to_the_layers(void **state)
{
    (void)state;
    assert_null(submit_members("<gridSetId>EPSG:900913</gridSetId>"
                               "<zoomStart>00</zoomStart><zoomStop>99</zoomStop>"));
    assert_int_equal(task.zoom_start, 2);
    assert_int_equal(task.zoom_stop, 20);
    assert_null(submit_members("<zoomStart>-1</zoomStart><zoomStop>08</zoomStop>"));
    assert_int_equal(task.zoom_start, 0);
    assert_int_equal(task.zoom_stop, 8);
    assert_null(submit_members("<zoomStop>99999999999</zoomStop>"));
    assert_int_equal(task.zoom_stop, 21);
}

static void test_seed_request__types_are_read_in_any_case(void **state)
{
    (void)state;
    assert_null(submit_members("<type> Seed </type>"));
    assert_int_equal(task.type, TSEED_SEED);
    assert_null(submit_members("<type>reSEED</type>"));
    assert_int_equal(task.type, TSEED_RESEED);
    assert_null(submit_members("<type>TRUNCATE</type>"));
    assert_int_equal(task.type, TSEED_TRUNCATE);
}

static void test_seed_request__thread_count_is_at_least_one(void **state)
{
    (void)state;
    assert_null(submit_members("<threadCount>0</threadCount>"));
    assert_int_equal(task.thread_count, 1);
    assert_null(submit_members("<threadCount>-99999999999</threadCount>"));
    assert_int_equal(task.thread_count, 1);
    assert_null(submit_members("<threadCount>500</threadCount>"));
    assert_int_equal(task.thread_count, 500);
    assert_null(submit_members("<threadCount>99999999999</threadCount>"));
    assert_int_equal(task.thread_count, INT32_MAX);
}

static void test_seed_request__failures_are_the_requests_to_decide(void **state)
{
    (void)state;
    assert_null(submit_members("<tileFailureRetryCount>7</tileFailureRetryCount>"
                               "<tileFailureRetryWaitTime>250</tileFailureRetryWaitTime>"
                               "<totalFailuresBeforeAborting>0</totalFailuresBeforeAborting>"));
    assert_int_equal(task.retries, 7);
    assert_int_equal(task.retry_wait, 250000);
    assert_int_equal(task.failure_limit, 0);
    assert_null(submit_members("<totalFailuresBeforeAborting>-1</totalFailuresBeforeAborting>"));
    assert_int_equal(task.failure_limit, -1);
}

static void test_seed_request__parameters_choose_the_tile_set(void **state)
{
    static const char *const bodies[] = {
        ("<seedRequest><parameters><entry><string>styles</string><string>population</string>"
         "</entry></parameters></seedRequest>"),
        "{'seedRequest':{'parameters':{'entry':{'string':['STYLES','population']}}}}",
        "{'seedRequest':{'parameters':{'entry':[{'string':['Styles','population']}]}}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        const tseed_format_of_body_t format = *bodies[i] == '<' ? TSEED_BODY_XML : TSEED_BODY_JSON;

        assert_null(submit("topp:states", format, bodies[i]));
        assert_string_equal(apr_table_get(task.parameters, "STYLES"), "population");
        assert_non_null(tileset.hash);
    }
    assert_null(submit_members("<parameters><entry><string>STYLES</string><string/></entry>"
                               "</parameters>"));
    assert_null(tileset.hash);
}

static void test_seed_request__a_name_is_kept_for_the_warning(void **state)
{
    static const char body[] = "<seedRequest><name> other </name></seedRequest>";
    tseed_seed_document_t document;

    (void)state;
    assert_null(tseed_seed_document_read(&document, TSEED_BODY_XML, body, strlen(body), pool));
    assert_string_equal(document.name, "other");
}

static const char *submit_case(const malformed_t *request, const tseed_route_t *route)
{
    return submit(route->layer, route->format, request->body);
}

static void test_seed_request__malformed_ones_are_refused_in_these_words(void **state)
{
    (void)state;
    assert_true(malformed_each(TSEED_ACTION_SEED, submit_case, pool) > 60);
}

/* ---- an accepted task in today's configuration ---- */

static const char *accept_and_ask(const char *members)
{
    assert_null(submit_members(members));
    return tseed_task_tileset(&tileset, &task, catalog, pool);
}

static void test_seed_request__an_accepted_task_finds_its_tile_set(void **state)
{
    tseed_tileset_t accepted;

    (void)state;
    assert_null(submit_members("<parameters><entry><string>STYLES</string><string>outline</string>"
                               "</entry></parameters><format>image/jpeg</format>"));
    accepted = tileset;
    catalog = layers_catalog(pool);
    assert_null(tseed_task_tileset(&tileset, &task, catalog, pool));
    assert_string_equal(tileset.key, accepted.key);
    assert_ptr_equal(tileset.layer, layer_of("topp:states"));
}

static void test_seed_request__what_is_gone_stops_a_task(void **state)
{
    (void)state;
    assert_null(accept_and_ask(""));
    task.layer = "old";
    assert_string_equal(tseed_task_tileset(&tileset, &task, catalog, pool),
                        "layer old is not configured");
    assert_null(accept_and_ask("<format>image/jpeg</format>"));
    layer_of("topp:states")->formats->nelts = 1;
    assert_string_equal(tseed_task_tileset(&tileset, &task, catalog, pool),
                        "layer topp:states no longer has the format image/jpeg");
    assert_null(accept_and_ask("<gridSetId>EPSG:900913</gridSetId>"));
    layer_of("topp:states")->subsets->nelts = 1;
    assert_string_equal(tseed_task_tileset(&tileset, &task, catalog, pool),
                        "layer topp:states no longer has the grid set EPSG:900913");
}

static void test_seed_request__a_moved_grid_stops_a_task(void **state)
{
    tseed_gridset_t moved = *tseed_gridset_builtin("EPSG:4326");

    (void)state;
    assert_null(accept_and_ask(""));
    moved.resolution[0] = moved.resolution[0] * 1.5;
    APR_ARRAY_IDX(layer_of("topp:states")->subsets, 0, tseed_subset_t).gridset = &moved;
    assert_string_equal(tseed_task_tileset(&tileset, &task, catalog, pool),
                        "the grid set EPSG:4326 has changed since the task was accepted: send the "
                        "request again");
}

static void test_seed_request__another_store_stops_a_task(void **state)
{
    (void)state;
    assert_null(accept_and_ask(""));
    layer_of("topp:states")->store.layout = TSEED_LAYOUT_TMS;
    assert_string_equal(tseed_task_tileset(&tileset, &task, catalog, pool),
                        "the layout of layer topp:states's store has changed since the task was "
                        "accepted: send the request again");
}

static void test_seed_request__a_moved_store_keeps_its_tasks(void **state)
{
    (void)state;
    assert_null(accept_and_ask(""));
    layer_of("topp:states")->store.root = "/elsewhere";
    assert_null(tseed_task_tileset(&tileset, &task, catalog, pool));
    /* of an earlier version: a store that was moved is another one */
    task.store_print = tseed_store_print(&layer_of("topp:states")->store, pool);
    assert_null(tseed_task_tileset(&tileset, &task, catalog, pool));
    layer_of("topp:states")->store.root = "/and/on";
    assert_non_null(tseed_task_tileset(&tileset, &task, catalog, pool));
}

static void test_seed_request__another_filter_stops_a_task(void **state)
{
    static const char outline[] = "<parameters><entry><string>STYLES</string>"
                                  "<string>outline</string></entry></parameters>";
    tseed_filter_t *styles;

    (void)state;
    assert_null(accept_and_ask(outline));
    styles = &APR_ARRAY_IDX(layer_of("topp:states")->filters, 0, tseed_filter_t);
    styles->letter_case = TSEED_CASE_UPPER;
    assert_string_equal(tseed_task_tileset(&tileset, &task, catalog, pool),
                        "parameter STYLES turns 'outline' into 'OUTLINE' since the task was "
                        "accepted: send the request again");
    styles->letter_case = TSEED_CASE_KEEP;
    styles->values->nelts = 1;
    assert_non_null(strstr(tseed_task_tileset(&tileset, &task, catalog, pool), "'outline'"));
    layer_of("topp:states")->filters->nelts = 0;
    assert_non_null(strstr(tseed_task_tileset(&tileset, &task, catalog, pool), "'STYLES'"));
}

static void test_seed_request__an_added_filter_stops_a_task(void **state)
{
    (void)state;
    assert_null(accept_and_ask(""));
    layers_add_filter(layer_of("topp:states"), "TIME", pool);
    assert_string_equal(tseed_task_tileset(&tileset, &task, catalog, pool),
                        "layer topp:states has got the parameter TIME since the task was "
                        "accepted: send the request again");
}

/* What a request with these members is warned of. */
static const char *warning_of(const char *members)
{
    const char *body = apr_pstrcat(pool, "<seedRequest>", members, "</seedRequest>", NULL);
    tseed_seed_document_t document;

    assert_null(tseed_seed_document_read(&document, TSEED_BODY_XML, body, strlen(body), pool));
    assert_null(
        tseed_seed_document_resolve(&task, &tileset, &document, layer_of("topp:states"), pool));
    return tseed_seed_document_warning(&document, &task, &tileset, pool);
}

static void test_seed_request__a_misspelt_member_is_refused(void **state)
{
    static const struct {
        const char *members, *message;
    } rows[] = {
        {"<zoomstop>3</zoomstop>", "Unknown member: 'zoomstop'. Is zoomStop meant?"},
        {"<Type>truncate</Type>", "Unknown member: 'Type'. Is type meant?"},
        {"<bbox>1,2,3,4</bbox>", "Unknown member: 'bbox'. Is bounds.coords meant?"},
        {"<extent><coords>1</coords></extent>",
         "Unknown member: 'extent'. Is bounds.coords meant?"},
        {"<boundingBox><minx>1</minx></boundingBox>",
         "Unknown member: 'boundingBox'. Is bounds.coords meant?"},
        {"<minX>1</minX>", "Unknown member: 'minX'. Is bounds.coords meant?"},
        {"<zoomEnd>3</zoomEnd>", "Unknown member: 'zoomEnd'. Is zoomStop meant?"},
        {"<zoomLevel>3</zoomLevel>",
         "Unknown member: 'zoomLevel'. Is zoomStart or zoomStop meant?"},
        {"<gridSetName>a</gridSetName>", "Unknown member: 'gridSetName'. Is gridSetId meant?"},
        {"<tileFormat>a</tileFormat>", "Unknown member: 'tileFormat'. Is format meant?"},
        {"<epsg>4326</epsg>", "Unknown member: 'epsg'. Is srs.number meant?"},
        {"<style>a</style>", "Unknown member: 'style'. Is parameters.entry meant?"},
        {"<operation>truncate</operation>", "Unknown member: 'operation'. Is type meant?"},
        {"<minZoom>3</minZoom>", "Unknown member: 'minZoom'. Is zoomStart meant?"},
        {"<maxzoom>3</maxzoom>", "Unknown member: 'maxzoom'. Is zoomStop meant?"},
        {"<gridSetID>a</gridSetID>", "Unknown member: 'gridSetID'. Is gridSetId meant?"},
        {"<bounds><cords><double>1</double></cords></bounds>",
         "Unknown member: 'bounds.cords'. Is bounds.coords meant?"},
        {"<bounds><coords><Double>1</Double></coords></bounds>",
         "Unknown member: 'bounds.coords.Double'. Is bounds.coords.double meant?"},
        {"<srs><Number>4326</Number></srs>", "Unknown member: 'srs.Number'. Is srs.number meant?"},
        {"<bounds><coords><double>1</double><double>2</double><double>3</double><double>4</double>"
         "</coords><minx>1</minx></bounds>",
         "Unknown member: 'bounds.minx'. Is bounds.coords meant?"},
        {"<bounds><coords><double>1</double><double>2</double><double>3</double><double>4</double>"
         "<unit>m</unit></coords></bounds>",
         "Unknown member: 'bounds.coords.unit'. Possible here: double"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(submit_members(rows[i].members), rows[i].message);
    }
}

static void test_seed_request__an_unknown_member_is_named(void **state)
{
    (void)state;
    assert_string_equal(warning_of("<name>roads</name><priority>9</priority><srs><number>4326"
                                   "</number><title>WGS84</title></srs><zoomStop>3</zoomStop>"),
                        "ignored: priority, srs.title; name roads ignored, layer is topp:states");
    assert_string_equal(task.ignored, "priority\nsrs.title");
    assert_null(warning_of("<name>topp:states</name><zoomStop>3</zoomStop>"));
    assert_string_equal(task.ignored, "");
    assert_string_equal(
        warning_of("<gridSetId>EPSG:4326</gridSetId><srs><number>2154</number></srs>"
                   "<zoomStop>3</zoomStop>"),
        "ignored: srs");
}

/* What real programs send and what says nothing: also in a truncate. */
static void test_seed_request__what_says_nothing_is_accepted(void **state)
{
    (void)state;
    assert_null(submit_members("<type>truncate</type><priority/><filterUpdate></filterUpdate>"
                               "<boundingBox/><zoomEnd> </zoomEnd><x><y/></x>"));
    assert_string_equal(task.ignored, "priority\nfilterUpdate\nboundingBox\nzoomEnd\nx");
    assert_null(submit_members("<parameterFilters><f>1</f></parameterFilters>"
                               "<filterUpdate>true</filterUpdate>"));
    assert_null(submit_members("<type>reseed</type><parameterFilters><f>1</f></parameterFilters>"));
}

/* A truncate without what it does not understand would remove more than was said. */
static void test_seed_request__a_truncate_takes_no_unknown_member(void **state)
{
    static const char *const members[] = {
        "<priority>9</priority>",
        "<parameterFilters><f>1</f></parameterFilters>",
        "<filterUpdate>true</filterUpdate>",
        "<srs><number>4326</number><title>WGS84</title></srs>",
        "<layers>roads</layers>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        assert_null(submit_members(members[i]));
        assert_non_null(
            submit_members(apr_pstrcat(pool, "<type>truncate</type>", members[i], NULL)));
        assert_non_null(
            submit_members(apr_pstrcat(pool, members[i], "<type>Truncate</type>", NULL)));
    }
    assert_string_equal(submit_members("<priority>9</priority><type>truncate</type>"),
                        "Unknown member: 'priority'. A truncate is refused rather than done "
                        "without it: leave it out if it says nothing");
}

/* Whatever its name is: what it holds may be what limits the request. */
static void test_seed_request__an_unknown_member_of_parts_is_refused(void **state)
{
    static const char *const bodies[] = {
        "<seedRequest><comment minx='1'/></seedRequest>",
        "<seedRequest><options><zoomStart>3</zoomStart></options></seedRequest>",
        "<seedRequest><options><a/><b c='1'/></options></seedRequest>",
        "<seedRequest><n>1</n><n>2</n></seedRequest>",
        "<seedRequest><seedRequest><type>truncate</type></seedRequest></seedRequest>",
        "<seedRequest><srs><number>4326</number><more><code>1</code></more></srs></seedRequest>",
        "{'seedRequest':{'options':{'zoomStart':3,'bounds':{}}}}",
        "{'seedRequest':{'priority':[1]}}",
        "{'seedRequest':{'priority':[1,2]}}",
        "{'seedRequest':{'layer':{'zoomStop':2}}}",
        "{'seedRequest':{'seedRequest':{'type':'truncate','zoomStart':4,'zoomStop':4}}}",
        "{'seedRequest':{'@options':{'zoomStart':3}}}",
        "{'seedRequest':{'@options':[3]}}",
        "{'@options':{'zoomStart':3},'seedRequest':{'type':'seed'}}",
        "{'seedRequest':{'type':'seed'},'@zoomStart':3}",
        "{'seedRequest':{'type':'seed'}},'bounds':{'coords':{'double':[0,0,1,1]}}}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        if (!submit("topp:states", *bodies[i] == '<' ? TSEED_BODY_XML : TSEED_BODY_JSON,
                    bodies[i])) {
            fail_msg("accepted: %s", bodies[i]);
        }
    }
    assert_string_equal(submit("topp:states", TSEED_BODY_JSON, bodies[6]),
                        "Unknown member: 'options'. Possible here: name, gridSetId, srs, bounds, "
                        "zoomStart, zoomStop, format, type, threadCount, parameters, "
                        "tileFailureRetryCount, tileFailureRetryWaitTime, "
                        "totalFailuresBeforeAborting");
    assert_null(submit("topp:states", TSEED_BODY_JSON,
                       "{'@a':'1','seedRequest':{'options':{'a':[],'b':null,'c':{'d':''}},"
                       "'list':[],'type':'seed'},'@class':{'x':1}}}"));
    assert_string_equal(task.ignored, "@a\noptions\nlist");
}

/* A value in attributes, or a text beside elements, is never lost. */
static void test_seed_request__values_elsewhere_are_refused(void **state)
{
    static const char *const xml[] = {
        "<bounds minx='-10' miny='-10' maxx='10' maxy='10'/>",
        "<bounds><coords minx='-10' miny='-10' maxx='10' maxy='10'/></bounds>",
        "<bounds><coords><double value='1'/><double>2</double><double>3</double><double>4</double>"
        "</coords></bounds>",
        "<bounds minx='1'><coords/></bounds>",
        "<bounds srs='EPSG:3857'><coords><double>1</double><double>2</double><double>3</double>"
        "<double>4</double></coords></bounds>",
        "<srs number='900913'/>",
        "<srs><number value='900913'/></srs>",
        "<gridSetId id='EPSG:900913'/>",
        "<zoomStop value='3'/>",
        "<type value='truncate'/>",
        "<parameters STYLES='population'/>",
        "<parameters><entry key='STYLES' value='population'/></parameters>",
        "<parameters><entry><string>STYLES</string><string value='population'/></entry>"
        "</parameters>",
        "<bounds>1,2,3,4<coords/></bounds>",
        "<bounds><coords/><coords><double>1</double></coords></bounds>",
        "<srs><number>4326</number><number>900913</number></srs>",
        "truncate<zoomStop>3</zoomStop>",
        "<zoomStop level='3'>5</zoomStop>",
    };
    static const char *const json[] = {
        "{'seedRequest':{'bounds':{'@minx':-10,'@miny':-10,'@maxx':10,'@maxy':10}}}",
        "{'seedRequest':{'srs':{'@number':900913}}}",
        "{'seedRequest':{'@type':'truncate'}}",
        "{'seedRequest':{'parameters':{'entry':{'@key':'STYLES','@value':'population'}}}}",
        "{'seedRequest':{'bounds':{'coords':{'double':[]}}}}",
        "{'seedRequest':{'bounds':{'coords':[{'double':[1,2,3,4]},{'double':[5,6,7,8]}]}}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(xml) / sizeof(xml[0]); i++) {
        if (!submit_members(xml[i])) {
            fail_msg("accepted: %s", xml[i]);
        }
    }
    for (size_t i = 0; i < sizeof(json) / sizeof(json[0]); i++) {
        if (!submit("topp:states", TSEED_BODY_JSON, json[i])) {
            fail_msg("accepted: %s", json[i]);
        }
    }
    assert_string_equal(submit_members(xml[0]),
                        "bounds of line 1 has the attribute maxy and no content: a value stands "
                        "between the tags");
    assert_non_null(submit("topp:states", TSEED_BODY_XML, "<seedRequest type='truncate'/>"));
}

/* Attributes of XStream and Jettison say what a value is, not which one. */
static void test_seed_request__attributes_of_encoders_are_fine(void **state)
{
    static const char *const bodies[] = {
        "{'seedRequest':{'@class':'a.b.SeedRequest','type':{'@class':'string','$':'truncate'},"
        "'zoomStop':{'#text':'3','@class':'int'},'parameters':[{'@class':'tree-map','entry':["
        "{'string':['STYLES','population']}]}]}}",
        "<seedRequest class='a' xmlns:xsi='urn:x' xsi:type='b' xml:lang='en'><type class='string'>"
        "truncate</type><zoomStop xsi:type='int'>3</zoomStop><parameters class='tree-map'><entry>"
        "<string>STYLES</string><string>population</string></entry></parameters>"
        "<bounds class='x'/><srs xsi:nil='true'/></seedRequest>",
        "{'@version':'1','seedRequest':{'type':'truncate','zoomStop':3,'srs':{'@xsi:nil':'true'},"
        "'parameters':{'entry':{'string':['STYLES','population']}}}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        assert_null(
            submit("topp:states", *bodies[i] == '<' ? TSEED_BODY_XML : TSEED_BODY_JSON, bodies[i]));
        assert_int_equal(task.type, TSEED_TRUNCATE);
        assert_int_equal(task.zoom_stop, 3);
        assert_string_equal(apr_table_get(task.parameters, "STYLES"), "population");
    }
}

static void test_seed_request__bounds_have_the_grid_sets_system(void **state)
{
    static const char box[] = "<coords><double>1</double><double>2</double><double>3</double>"
                              "<double>4</double></coords>";
    static const char *const codes[] = {"900913", "3857", "102100", "102113"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_null(submit_members(apr_psprintf(pool,
                                                "<gridSetId>EPSG:900913</gridSetId><bounds>%s<srs>"
                                                "<number>%s</number></srs></bounds>",
                                                box, codes[i])));
    }
    assert_string_equal(
        submit_members(
            apr_psprintf(pool, "<bounds>%s<srs><number>3857</number></srs></bounds>", box)),
        "bounds.srs must be that of grid set EPSG:4326, EPSG code 4326, not '3857'");
    assert_non_null(submit_members(apr_psprintf(pool, "<bounds>%s<srs>x</srs></bounds>", box)));
}

static void test_seed_request__values_keep_their_blanks(void **state)
{
    (void)state;
    layers_add_filter(layer_of("topp:states"), "CQL_FILTER", pool);
    assert_null(submit_members("<parameters><entry><string> CQL_FILTER </string>"
                               "<string> A &gt; 1 </string></entry></parameters>"));
    assert_string_equal(apr_table_get(task.parameters, "CQL_FILTER"), " A > 1 ");
    assert_non_null(submit_members("<parameters><entry><string>STYLES</string>"
                                   "<string> population </string></entry></parameters>"));
}

static void test_seed_request__a_count_of_minus_one_is_none(void **state)
{
    (void)state;
    layer_of("topp:states")->failure_is_share = 1;
    assert_null(submit_members("<tileFailureRetryCount>-1</tileFailureRetryCount>"));
    assert_int_equal(task.retries, 0);
    assert_int_equal(task.failure_limit, 0);
    assert_null(submit_members("<tileFailureRetryCount>-1</tileFailureRetryCount>"
                               "<totalFailuresBeforeAborting>1000</totalFailuresBeforeAborting>"));
    assert_int_equal(task.retries, 0);
    assert_int_equal(task.failure_limit, 0);
}

static void test_seed_request__a_truncate_says_what_it_leaves(void **state)
{
    (void)state;
    assert_string_equal(warning_of("<type>truncate</type>"),
                        "only tiles of EPSG:4326, image/png are removed, these stay: gridSetId "
                        "EPSG:900913; format image/jpeg; other values of STYLES");
    assert_string_equal(warning_of("<type>truncate</type><gridSetId>EPSG:4326</gridSetId>"
                                   "<format>image/png</format>"),
                        "only tiles of EPSG:4326, image/png are removed, these stay: other values "
                        "of STYLES");
    assert_null(warning_of("<type>truncate</type><srs><number>4326</number></srs>"
                           "<format>image/png</format><parameters><entry><string>styles</string>"
                           "<string/></entry></parameters>"));
}

static void test_seed_request__a_truncate_above_the_last_level_has_no_tiles(void **state)
{
    (void)state;
    assert_string_equal(
        warning_of("<type>truncate</type><gridSetId>EPSG:4326</gridSetId><format>image/png</format>"
                   "<zoomStart>22</zoomStart><zoomStop>30</zoomStop><parameters><entry>"
                   "<string>STYLES</string><string/></entry></parameters>"),
        "zoomStart 22 is above 21, the last level of layer topp:states in EPSG:4326; no tiles");
    assert_false(task.has_area);
    assert_int_equal(task.tiles_total, 0);
    assert_non_null(submit_members("<zoomStart>22</zoomStart><zoomStop>30</zoomStop>"));
}

static const char *warning_of_box(const char *gridset, const char *box)
{
    char *rest, *number = apr_strtok(apr_pstrdup(pool, box), ",", &rest);
    const char *members = apr_pstrcat(pool, "<gridSetId>", gridset,
                                      "</gridSetId><zoomStop>9</zoomStop><bounds><coords>", NULL);

    for (; number; number = apr_strtok(NULL, ",", &rest)) {
        members = apr_pstrcat(pool, members, "<double>", number, "</double>", NULL);
    }
    return warning_of(apr_pstrcat(pool, members, "</coords></bounds>", NULL));
}

static void test_seed_request__odd_bounds_are_said(void **state)
{
    (void)state;
    assert_string_equal(warning_of_box("EPSG:4326", "200,95,300,99"),
                        "bounds 200,95,300,99 lie outside of layer topp:states in grid set "
                        "EPSG:4326, which has -180,-90,180,90; no tiles");
    assert_int_equal(task.tiles_total, 0);
    assert_string_equal(warning_of_box("EPSG:900913", "5.9,45.8,10.5,47.8"),
                        "bounds 5.9,45.8,10.5,47.8 look like degrees, grid set EPSG:900913 has "
                        "other units and the extent "
                        "-20037508.34,-20037508.34,20037508.34,20037508.34");
    assert_string_equal(warning_of_box("EPSG:4326", "-1000000,-1000000,1000000,1000000"),
                        "bounds -1000000,-1000000,1000000,1000000 reach beyond the extent "
                        "-180,-90,180,90 of grid set EPSG:4326 and were cut");
    assert_null(warning_of_box("EPSG:4326", "-124,22,66,72"));
    assert_null(warning_of_box("EPSG:4326", "-180.0001,-90,180,90.0001"));
    assert_null(warning_of_box("EPSG:900913", "0,0,1000,1000"));
}

static void test_seed_request__levels_that_are_cut_are_said(void **state)
{
    (void)state;
    assert_string_equal(warning_of("<gridSetId>EPSG:900913</gridSetId>"
                                   "<zoomStart>00</zoomStart><zoomStop>99</zoomStop>"),
                        "zoomStart 00 raised to 2, the first level of layer topp:states in "
                        "EPSG:900913; zoomStop 99 reduced to 20, the last level of layer "
                        "topp:states in EPSG:900913");
    assert_string_equal(warning_of("<zoomStart>-1</zoomStart><zoomStop>99999999999</zoomStop>"),
                        "zoomStart -1 raised to 0, the first level of layer topp:states in "
                        "EPSG:4326; zoomStop 99999999999 reduced to 21, the last level of layer "
                        "topp:states in EPSG:4326");
    assert_null(warning_of("<zoomStart>0</zoomStart><zoomStop>021</zoomStop>"));
    assert_null(warning_of("<gridSetId>EPSG:900913</gridSetId><zoomStart> 2 </zoomStart>"
                           "<zoomStop>3</zoomStop>"));
    assert_null(warning_of("<gridSetId>EPSG:900913</gridSetId><zoomStop>20</zoomStop>"));
}

static void test_seed_request__more_tiles_than_anybody_seeds_are_said(void **state)
{
    (void)state;
    assert_string_equal(warning_of(""),
                        "11728124029610 tiles, because zoomStop is not given and the last level of "
                        "layer topp:states in EPSG:4326 is 21: a lower zoomStop or bounds make "
                        "them fewer");
    assert_null(
        warning_of("<bounds><coords><double>1</double><double>1</double><double>1.1</double>"
                   "<double>1.1</double></coords></bounds>"));
}

/* A truncate removes tiles of derived levels like any others. */
static void test_seed_request__a_task_derives_what_its_layer_does(void **state)
{
    static const struct {
        const char *type;
        tseed_derived_t derived;
    } cases[] = {{"seed", {1, 4}}, {"reseed", {1, 4}}, {"truncate", {0, 0}}};

    (void)state;
    layer_of("topp:states")->derived = (tseed_derived_t){1, 4};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_null(submit_members(apr_pstrcat(pool, "<type>", cases[i].type, "</type>", NULL)));
        assert_int_equal(task.derived.first, cases[i].derived.first);
        assert_int_equal(task.derived.end, cases[i].derived.end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_seed_request__the_manuals_examples_are_one_task, setup),
        cmocka_unit_test_setup(test_seed_request__nothing_said_is_everything, setup),
        cmocka_unit_test_setup(test_seed_request__a_task_derives_what_its_layer_does, setup),
        cmocka_unit_test_setup(test_seed_request__totals_are_exact, setup),
        cmocka_unit_test_setup(test_seed_request__bounds_are_cut_to_the_extent, setup),
        cmocka_unit_test_setup(test_seed_request__bounds_outside_are_no_tiles, setup),
        cmocka_unit_test_setup(test_seed_request__a_point_is_a_tile_a_level, setup),
        cmocka_unit_test_setup(test_seed_request__srs_finds_the_grid_set, setup),
        cmocka_unit_test_setup(test_seed_request__zooms_are_cut_to_the_layers, setup),
        cmocka_unit_test_setup(test_seed_request__types_are_read_in_any_case, setup),
        cmocka_unit_test_setup(test_seed_request__thread_count_is_at_least_one, setup),
        cmocka_unit_test_setup(test_seed_request__failures_are_the_requests_to_decide, setup),
        cmocka_unit_test_setup(test_seed_request__parameters_choose_the_tile_set, setup),
        cmocka_unit_test_setup(test_seed_request__a_name_is_kept_for_the_warning, setup),
        cmocka_unit_test_setup(test_seed_request__a_misspelt_member_is_refused, setup),
        cmocka_unit_test_setup(test_seed_request__an_unknown_member_is_named, setup),
        cmocka_unit_test_setup(test_seed_request__what_says_nothing_is_accepted, setup),
        cmocka_unit_test_setup(test_seed_request__a_truncate_takes_no_unknown_member, setup),
        cmocka_unit_test_setup(test_seed_request__values_elsewhere_are_refused, setup),
        cmocka_unit_test_setup(test_seed_request__an_unknown_member_of_parts_is_refused, setup),
        cmocka_unit_test_setup(test_seed_request__attributes_of_encoders_are_fine, setup),
        cmocka_unit_test_setup(test_seed_request__bounds_have_the_grid_sets_system, setup),
        cmocka_unit_test_setup(test_seed_request__values_keep_their_blanks, setup),
        cmocka_unit_test_setup(test_seed_request__a_count_of_minus_one_is_none, setup),
        cmocka_unit_test_setup(test_seed_request__a_truncate_says_what_it_leaves, setup),
        cmocka_unit_test_setup(test_seed_request__a_truncate_above_the_last_level_has_no_tiles,
                               setup),
        cmocka_unit_test_setup(test_seed_request__more_tiles_than_anybody_seeds_are_said, setup),
        cmocka_unit_test_setup(test_seed_request__odd_bounds_are_said, setup),
        cmocka_unit_test_setup(test_seed_request__levels_that_are_cut_are_said, setup),
        cmocka_unit_test_setup(test_seed_request__malformed_ones_are_refused_in_these_words, setup),
        cmocka_unit_test_setup(test_seed_request__an_accepted_task_finds_its_tile_set, setup),
        cmocka_unit_test_setup(test_seed_request__what_is_gone_stops_a_task, setup),
        cmocka_unit_test_setup(test_seed_request__a_moved_grid_stops_a_task, setup),
        cmocka_unit_test_setup(test_seed_request__another_store_stops_a_task, setup),
        cmocka_unit_test_setup(test_seed_request__a_moved_store_keeps_its_tasks, setup),
        cmocka_unit_test_setup(test_seed_request__another_filter_stops_a_task, setup),
        cmocka_unit_test_setup(test_seed_request__an_added_filter_stops_a_task, setup),
    };

    return cmocka_run_group_tests(tests, setup_documents, teardown_group);
}
