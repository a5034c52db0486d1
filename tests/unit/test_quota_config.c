/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The disk quota document: written to the letter, read in every form, changed as a whole or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "malformed_fixture.h"
#include "protocol/tseed_quota_config.h"
#include "layers_fixture.h"
#include "pool_fixture.h"

static tseed_catalog_t *catalog;
static tseed_quota_change_t change;

static int setup_catalog(void **state)
{
    setup_group(state);
    tseed_document_init();
    catalog = layers_catalog(pool);
    return 0;
}

/* Each test begins with the defaults. */
static int setup(void **state)
{
    (void)state;
    tseed_quota_config_init(&change.config, 4096, pool);
    change.only = NULL;
    return 0;
}

static const char *merge(tseed_format_of_body_t format, const char *body)
{
    return tseed_quota_config_merge(&change, format, body, strlen(body), catalog, pool);
}

static const char *merge_json(const char *members)
{
    return merge(TSEED_BODY_JSON,
                 apr_pstrcat(pool, "{'cacheQuotaConfiguration':{", members, "}}", NULL));
}

static const char *written(tseed_format_of_body_t format, int after_put)
{
    return tseed_quota_config_write(&change.config, "cacheQuotaConfiguration", format, after_put,
                                    pool);
}

#define DEFAULTS                                                                                   \
    "{\"cacheQuotaConfiguration\":{\"enabled\":false,\"diskBlockSize\":4096,"                      \
    "\"cacheCleanUpFrequency\":10,\"cacheCleanUpUnits\":\"SECONDS\","                              \
    "\"maxConcurrentCleanUps\":2,\"globalExpirationPolicyName\":\"LFU\","                          \
    "\"globalQuota\":{\"value\":\"500\",\"units\":\"MiB\"}"

static void test_quota_config__defaults_are_the_contracts(void **state)
{
    (void)state;
    assert_string_equal(written(TSEED_BODY_JSON, 0), DEFAULTS "}}");
    assert_string_equal(written(TSEED_BODY_JSON, 1), DEFAULTS ",\"layerQuotas\":[]}}");
    assert_string_equal(written(TSEED_BODY_XML, 0),
                        "<cacheQuotaConfiguration>\n"
                        "  <enabled>false</enabled>\n"
                        "  <diskBlockSize>4096</diskBlockSize>\n"
                        "  <cacheCleanUpFrequency>10</cacheCleanUpFrequency>\n"
                        "  <cacheCleanUpUnits>SECONDS</cacheCleanUpUnits>\n"
                        "  <maxConcurrentCleanUps>2</maxConcurrentCleanUps>\n"
                        "  <globalExpirationPolicyName>LFU</globalExpirationPolicyName>\n"
                        "  <globalQuota>\n"
                        "    <value>500</value>\n"
                        "    <units>MiB</units>\n"
                        "  </globalQuota>\n"
                        "  <layerQuotas/>\n"
                        "</cacheQuotaConfiguration>\n");
    assert_int_equal(change.config.quota.bytes, 524288000);
}

static void test_quota_config__layers_are_written_in_both_formats(void **state)
{
    (void)state;
    assert_null(merge_json("layerQuotas:[{layer:'topp:states',expirationPolicyName:LRU,"
                           "quota:{value:1.5,units:GiB}},"
                           "{layer:roads,quota:{value:'7',units:B}}]"));
    assert_string_equal(written(TSEED_BODY_JSON, 0),
                        DEFAULTS ",\"layerQuotas\":[{\"layer\":\"topp:states\","
                                 "\"expirationPolicyName\":\"LRU\",\"quota\":{\"value\":\"1.5\","
                                 "\"units\":\"GiB\"}},{\"layer\":\"roads\",\"quota\":{\"value\":"
                                 "\"7\",\"units\":\"B\"}}]}}");
    assert_non_null(strstr(written(TSEED_BODY_XML, 0),
                           "  <layerQuotas>\n"
                           "    <LayerQuota>\n"
                           "      <layer>topp:states</layer>\n"
                           "      <expirationPolicyName>LRU</expirationPolicyName>\n"
                           "      <quota>\n"
                           "        <value>1.5</value>\n"
                           "        <units>GiB</units>\n"
                           "      </quota>\n"
                           "    </LayerQuota>\n"
                           "    <LayerQuota>\n"
                           "      <layer>roads</layer>\n"
                           "      <quota>\n"));
}

static void test_quota_config__json_is_json_for_others(void **state)
{
    json_object *parsed;

    (void)state;
    assert_null(merge_json("enabled:true,layerQuotas:[{layer:roads,quota:{value:1,units:B}}]"));
    parsed = json_tokener_parse(written(TSEED_BODY_JSON, 1));
    assert_non_null(parsed);
    assert_string_equal(json_object_to_json_string_ext(parsed, JSON_C_TO_STRING_PLAIN),
                        written(TSEED_BODY_JSON, 1));
    json_object_put(parsed);
}

static void test_quota_config__only_what_is_there_changes(void **state)
{
    (void)state;
    assert_null(merge_json("'enabled':true"));
    assert_true(change.config.enabled);
    assert_int_equal(change.config.frequency, 10);
    assert_null(merge(TSEED_BODY_XML, "<cacheQuotaConfiguration><cacheCleanUpFrequency>0"
                                      "</cacheCleanUpFrequency><cacheCleanUpUnits>MILLISECONDS"
                                      "</cacheCleanUpUnits></cacheQuotaConfiguration>"));
    assert_true(change.config.enabled);
    assert_int_equal(change.config.frequency, 0);
    assert_string_equal(change.config.frequency_units, "MILLISECONDS");
    assert_null(merge_json("maxConcurrentCleanUps:2147483647,diskBlockSize:' 512 ',"
                           "globalExpirationPolicyName:LRU"));
    assert_int_equal(change.config.concurrent_cleanups, INT32_MAX);
    assert_int_equal(change.config.block_size, 512);
    assert_int_equal(change.config.policy, TSEED_POLICY_LRU);
    assert_string_equal(change.config.quota.value, "500");
}

static void test_quota_config__an_empty_root_changes_nothing(void **state)
{
    static const char *const bodies[] = {"<gwcQuotaConfiguration/>",
                                         "<gwcQuotaConfiguration> </gwcQuotaConfiguration>",
                                         "{'gwcQuotaConfiguration':{}}"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_null(merge(*bodies[i] == '<' ? TSEED_BODY_XML : TSEED_BODY_JSON, bodies[i]));
        assert_string_equal(written(TSEED_BODY_JSON, 0), DEFAULTS "}}");
        assert_string_equal(change.root, "gwcQuotaConfiguration");
        assert_null(change.ignored);
    }
}

static void test_quota_config__three_roots_are_known(void **state)
{
    static const char root[] = "org.geowebcache.diskquota.DiskQuotaConfig";

    (void)state;
    assert_null(merge(TSEED_BODY_XML, apr_pstrcat(pool, "<", root, "/>", NULL)));
    assert_string_equal(change.root, root);
    assert_null(merge_json(""));
    assert_string_equal(change.root, "cacheQuotaConfiguration");
}

static void test_quota_config__unknown_members_are_named(void **state)
{
    (void)state;
    assert_null(merge_json("quotaStore:H2,enabled:true,'K\xC3\xB6ln':1,"
                           "globalQuota:{value:1,units:B,type:x},"
                           "layerQuotas:[{layer:roads,quota:{value:1,units:B},id:7}]"));
    assert_string_equal(change.ignored, "quotaStore\nK\xC3\xB6ln\nglobalQuota.type\n"
                                        "layerQuotas.id");
    assert_true(change.config.enabled);
}

/* A list that an encoder keeps in its wrapper, the words of other languages; and a value that would
 * be lost. */
static void test_quota_config__what_encoders_write(void **state)
{
    static const char *const none[] = {"{LayerQuota:[]}", "{LayerQuota:null}", "{LayerQuota:''}",
                                       "[]", "null"};

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_null(merge_json("layerQuotas:[{layer:roads,quota:{value:1,units:B}}]"));
        assert_int_equal(change.config.layers->nelts, 1);
        assert_null(merge_json(apr_pstrcat(pool, "layerQuotas:", none[i], NULL)));
        assert_int_equal(change.config.layers->nelts, 0);
    }
    assert_null(merge_json("enabled:True"));
    assert_true(change.config.enabled);
    assert_null(merge_json("enabled:'FALSE'"));
    assert_false(change.config.enabled);
    assert_non_null(merge_json("enabled:yes"));
    assert_non_null(merge_json("layerQuotas:{'@layer':roads}"));
    assert_non_null(merge_json("layerQuotas:{LayerQuota:[{},{}]}"));
    assert_non_null(merge_json("enabled:{'@value':true}"));
}

static void test_quota_config__values_are_kept_as_given_and_exact(void **state)
{
    static const struct {
        const char *value, *units;
        int64_t bytes;
    } cases[] = {
        {"0", "B", 0},
        {"1", "KiB", 1024},
        {"0.5", "KiB", 512},
        {"1.5", "GiB", 1610612736},
        {"0.3", "B", 0},
        {"10", "TiB", INT64_C(10995116277760)},
        {"9007199254740993", "B", INT64_C(9007199254740993)}, /* 2^53 + 1 is no double */
        {"9223372036854775807", "B", INT64_MAX},
        {"8388607", "TiB", INT64_MAX - (INT64_C(1) << 40) + 1},
        {"1e3", "MiB", 1048576000},
        {"007", "B", 7},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_null(merge_json(apr_psprintf(pool, "globalQuota:{value:%s,units:'%s'}",
                                            cases[i].value, cases[i].units)));
        assert_true(change.config.quota.bytes == cases[i].bytes);
        assert_string_equal(change.config.quota.value, cases[i].value);
        assert_string_equal(change.config.quota.units, cases[i].units);
    }
}

#define JSON(quotas) "{'cacheQuotaConfiguration':{'layerQuotas':" quotas "}}"
#define ENTRY        "{'layer':'roads','quota':{'value':3,'units':'KiB'}}"

static void test_quota_config__layer_quotas_come_in_many_forms(void **state)
{
    static const char *const bodies[] = {
        "<cacheQuotaConfiguration><layerQuotas><LayerQuota><layer>roads</layer><quota>"
        "<value>3</value><units>KiB</units></quota></LayerQuota></layerQuotas>"
        "</cacheQuotaConfiguration>",
        JSON("[" ENTRY "]"),
        JSON(ENTRY),
        JSON("{'LayerQuota':" ENTRY "}"),
        JSON("{'LayerQuota':[" ENTRY "]}"),
        JSON("[{'LayerQuota':" ENTRY "}]"),
        JSON("{'layer':'roads','expirationPolicyName':null,'quota':{'units':'KiB','value':'3'}}"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        const tseed_layer_quota_t *entry;

        assert_null(merge(*bodies[i] == '<' ? TSEED_BODY_XML : TSEED_BODY_JSON, bodies[i]));
        assert_int_equal(change.config.layers->nelts, 1);
        entry = &APR_ARRAY_IDX(change.config.layers, 0, tseed_layer_quota_t);
        assert_string_equal(entry->layer, "roads");
        assert_false(entry->has_policy);
        assert_int_equal(entry->quota.bytes, 3072);
        setup(NULL);
    }
}

static void test_quota_config__layer_quotas_are_replaced_as_a_whole(void **state)
{
    static const char *const nothing[] = {"layerQuotas:[]", "layerQuotas:{}", "layerQuotas:null"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_null(merge_json("layerQuotas:[{layer:roads,quota:{value:1,units:B}}]"));
        assert_null(merge_json("enabled:true"));
        assert_int_equal(change.config.layers->nelts, 1);
        assert_null(merge_json(nothing[i]));
        assert_int_equal(change.config.layers->nelts, 0);
    }
}

static void test_quota_config__an_error_changes_nothing(void **state)
{
    const apr_array_header_t *layers = change.config.layers;

    (void)state;
    change.root = "before";
    assert_non_null(merge_json("enabled:true,layerQuotas:[{layer:roads,quota:{value:1,units:B}}],"
                               "globalQuota:{value:1,units:GiB},maxConcurrentCleanUps:0"));
    assert_string_equal(written(TSEED_BODY_JSON, 0), DEFAULTS "}}");
    assert_ptr_equal(change.config.layers, layers);
    assert_int_equal(layers->nelts, 0);
    assert_string_equal(change.root, "before");
}

static const char *refused(const malformed_t *request, const tseed_route_t *route)
{
    const char *problem = merge(route->format, request->body);

    assert_string_equal(written(TSEED_BODY_JSON, 1), DEFAULTS ",\"layerQuotas\":[]}}");
    return problem;
}

static void test_quota_config__malformed_ones_are_refused_in_these_words(void **state)
{
    (void)state;
    assert_true(malformed_each(TSEED_ACTION_QUOTA_PUT, refused, pool) > 30);
}

static void test_quota_config__what_is_saved_is_loaded(void **state)
{
    tseed_quota_config_t loaded;
    const char *saved;

    (void)state;
    assert_null(merge_json("enabled:true,cacheCleanUpUnits:DAYS,globalQuota:{value:0.25,units:TiB},"
                           "layerQuotas:[{layer:roads,expirationPolicyName:LRU,"
                           "quota:{value:1,units:B}}]"));
    saved = tseed_quota_config_save(&change.config, pool);
    assert_null(tseed_quota_config_load(&loaded, saved, pool));
    assert_string_equal(tseed_quota_config_save(&loaded, pool), saved);
    assert_true(loaded.quota.bytes == INT64_C(1) << 38);
    assert_int_equal(APR_ARRAY_IDX(loaded.layers, 0, tseed_layer_quota_t).policy, TSEED_POLICY_LRU);
}

static void test_quota_config__a_removed_layer_is_still_loaded(void **state)
{
    tseed_quota_config_t loaded;

    (void)state;
    assert_null(tseed_quota_config_load(&loaded,
                                        DEFAULTS ",\"layerQuotas\":[{\"layer\":\"gone\",\"quota\":"
                                                 "{\"value\":\"1\",\"units\":\"B\"}}]}}",
                                        pool));
    assert_int_equal(loaded.layers->nelts, 1);
    assert_non_null(tseed_quota_config_load(&loaded, "{\"cacheQuotaConfiguration\":{", pool));
}

/* The layers that a client sees, until setup of the next test. */
static void see(const char *layer)
{
    apr_array_header_t *only = apr_array_make(pool, 1, sizeof(const char *));

    APR_ARRAY_PUSH(only, const char *) = layer;
    change.only = only;
}

static void test_quota_config__a_part_of_the_layers_replaces_its_own(void **state)
{
    (void)state;
    assert_null(merge_json("layerQuotas:[{layer:roads,quota:{value:1,units:B}},"
                           "{layer:'topp:states',quota:{value:2,units:B}}]"));
    see("roads");
    assert_null(merge_json("layerQuotas:[{layer:roads,quota:{value:3,units:B}}]"));
    tseed_quota_config_limit(&change.config, NULL, pool);
    assert_int_equal(change.config.layers->nelts, 2);
    assert_int_equal(APR_ARRAY_IDX(change.config.layers, 0, tseed_layer_quota_t).quota.bytes, 2);
    assert_int_equal(APR_ARRAY_IDX(change.config.layers, 1, tseed_layer_quota_t).quota.bytes, 3);
    assert_null(
        merge(TSEED_BODY_XML, "<cacheQuotaConfiguration><layerQuotas/></cacheQuotaConfiguration>"));
    assert_int_equal(change.config.layers->nelts, 1);
    tseed_quota_config_limit(&change.config, change.only, pool);
    assert_int_equal(change.config.layers->nelts, 0);
}

static void test_quota_config__a_part_of_the_layers_changes_nothing_else(void **state)
{
    static const char *const members[] = {
        "enabled:true",
        "diskBlockSize:1",
        "cacheCleanUpFrequency:1",
        "cacheCleanUpUnits:DAYS",
        "maxConcurrentCleanUps:1",
        "globalExpirationPolicyName:LRU",
        "globalQuota:{value:1,units:MiB}",
        "globalQuota:{value:500,units:GiB}",
    };

    (void)state;
    see("roads");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        assert_non_null(strstr(merge_json(members[i]), "TileSeedLayers"));
        assert_non_null(change.forbidden);
        assert_string_equal(written(TSEED_BODY_JSON, 1), DEFAULTS ",\"layerQuotas\":[]}}");
    }
    assert_string_equal(merge_json("layerQuotas:[{layer:'topp:states',quota:{value:1,units:B}}]"),
                        "Unknown layer: topp:states");
    assert_null(change.forbidden);
    assert_null(merge(TSEED_BODY_JSON, DEFAULTS ",\"layerQuotas\":[]}}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_quota_config__defaults_are_the_contracts, setup),
        cmocka_unit_test_setup(test_quota_config__layers_are_written_in_both_formats, setup),
        cmocka_unit_test_setup(test_quota_config__json_is_json_for_others, setup),
        cmocka_unit_test_setup(test_quota_config__only_what_is_there_changes, setup),
        cmocka_unit_test_setup(test_quota_config__an_empty_root_changes_nothing, setup),
        cmocka_unit_test_setup(test_quota_config__three_roots_are_known, setup),
        cmocka_unit_test_setup(test_quota_config__unknown_members_are_named, setup),
        cmocka_unit_test_setup(test_quota_config__what_encoders_write, setup),
        cmocka_unit_test_setup(test_quota_config__values_are_kept_as_given_and_exact, setup),
        cmocka_unit_test_setup(test_quota_config__layer_quotas_come_in_many_forms, setup),
        cmocka_unit_test_setup(test_quota_config__layer_quotas_are_replaced_as_a_whole, setup),
        cmocka_unit_test_setup(test_quota_config__an_error_changes_nothing, setup),
        cmocka_unit_test_setup(test_quota_config__malformed_ones_are_refused_in_these_words, setup),
        cmocka_unit_test_setup(test_quota_config__what_is_saved_is_loaded, setup),
        cmocka_unit_test_setup(test_quota_config__a_removed_layer_is_still_loaded, setup),
        cmocka_unit_test_setup(test_quota_config__a_part_of_the_layers_replaces_its_own, setup),
        cmocka_unit_test_setup(test_quota_config__a_part_of_the_layers_changes_nothing_else, setup),
    };

    return cmocka_run_group_tests(tests, setup_catalog, teardown_group);
}
