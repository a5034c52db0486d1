/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What upstreams repeat of what they were asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_general.h>
#include <string.h>

#include "source/tseed_secrets.h"

typedef struct {
    const char *url, *said, *left;
    int is_cut;
} case_t;

static apr_pool_t *pool;

static void check(const case_t *cases, size_t count, const tseed_upstream_t *upstream)
{
    for (size_t i = 0; i < count; i++) {
        tseed_transfer_t transfer = {.url = cases[i].url, .upstream = upstream};
        char text[200];

        strcpy(text, cases[i].said);
        tseed_secrets_blank(text, cases[i].is_cut, &transfer);
        assert_string_equal(text, cases[i].left);
    }
}

static void test_secrets__blanks_the_query(void **state)
{
    static const tseed_upstream_t upstream;
    static const case_t cases[] = {
        {"http://h/wms?map=/maps/a.map&LAYERS=roads", "can't open /maps/a.map for roads",
         "can't open *** for roads", 0},
        {"http://h/wms?key=s3cret", "invalid key s3cret, s3cret!", "invalid key ***, ***!", 0},
        {"http://h/wms?key=a%2Fb%20c", "a/b c, a%2fb+c, a\\/b%20c", "***, ***, ***", 0},
        {"http://h/wms?key=a/b+c", "a%2Fb%20c a/b", "*** a/b", 0},
        {"http://h/wms?LAYERS=roads;token=abcdef", "roads abcdef", "roads ***", 0},
        {"http://h/wms?BBOX=1,2,3,4&WIDTH=256&x=1", "1,2,3,4 256 1", "1,2,3,4 256 1", 0},
        {"http://h/wms?key=abcdef", "the key abcd", "the key abcd", 0},
        {"http://h/wms?key=abcdef", "the key abcd", "the key ***", 1},
        {"http://h?key=abcdef", "abcdef", "***", 0},
        {"http://h/wms?key=%zz%", "%zz% 5%", "*** 5%", 0},
        {"http://h/wms?sig=QUJD%2B%2FTQ%3D%3D",
         "bad QUJD+/TQ==, QUJD%2B/TQ%3d=, QUJD /TQ==", "bad ***, ***, ***", 0},
        {"http://h/wms?sig=QUJD%2B%2FTQ%3D%3D", "bad QUJD\\u002b\\/TQ\\u003D\\u003d", "bad ***", 0},
        {"http://h/wms?sig=QUJD%2B%2FTQ%3D%3D", "bad QUJD&#43;&#x2f;TQ&#61;&#X3D;", "bad ***", 0},
        {"http://h/wms?pass=a%26b%3Cc", "bad a&amp;b&lt;c a&amp b &#; &#x &#",
         "bad *** a&amp b &#; &#x &#", 0},
        {"http://h/wms?key=S3cRet", "bad key S3CRET s3cret", "bad key *** ***", 0},
    };

    (void)state;
    check(cases, sizeof(cases) / sizeof(cases[0]), &upstream);
}

static void test_secrets__blanks_the_path(void **state)
{
    static const tseed_upstream_t upstream;
    static const case_t cases[] = {
        {"http://h/k3y/3/1/2.png", "/k3y/3/1/2.png was not found on h", "*** was not found on h",
         0},
        {"http://h/wms", "/wms was not found", "/wms was not found", 0},
        {"http://h/v1/0123456789abcdef/3/1/2.png", "no such account: 0123456789abcdef",
         "no such account: ***", 0},
        {"http://h/geoserver/workspace-of-roads/wms", "workspace-of-roads", "workspace-of-roads",
         0},
    };

    (void)state;
    check(cases, sizeof(cases) / sizeof(cases[0]), &upstream);
}

static void test_secrets__blanks_headers_and_credentials(void **state)
{
    apr_array_header_t *headers = apr_array_make(pool, 2, sizeof(const char *));
    const tseed_upstream_t upstream = {.headers = headers, .credentials = "Aladdin:open sesame"};
    static const case_t cases[] = {
        {"http://h/wms", "no such key: tr33", "no such key: ***", 0},
        {"http://h/wms", "bad token abc.def", "bad token ***", 0},
        {"http://h/wms", "wrong password open sesame", "wrong password ***", 0},
        {"http://h/wms", "Aladdin is unknown", "Aladdin is unknown", 0},
        {"http://h/wms", "got Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "got Basic ***", 0},
    };

    (void)state;
    APR_ARRAY_PUSH(headers, const char *) = "X-Key: tr33";
    APR_ARRAY_PUSH(headers, const char *) = "Authorization: Bearer abc.def";
    check(cases, sizeof(cases) / sizeof(cases[0]), &upstream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets__blanks_the_query),
        cmocka_unit_test(test_secrets__blanks_the_path),
        cmocka_unit_test(test_secrets__blanks_headers_and_credentials),
    };

    apr_initialize();
    apr_pool_create(&pool, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
