/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Answers as MapServer, GeoServer, OWS services and web servers send them instead of pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "source/tseed_explain.h"

#define SIZE 240

typedef struct {
    const char *type, *body;
    const char *kind, *text; /* kind NULL: no document */
} answer_t;

static void check(const answer_t *answers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[SIZE] = "?";
        const char *kind =
            tseed_explain(text, sizeof(text), answers[i].type,
                          (const unsigned char *)answers[i].body, strlen(answers[i].body));

        assert_string_equal(kind ? kind : "none", answers[i].kind ? answers[i].kind : "none");
        assert_string_equal(text, answers[i].text);
    }
}

#define CHECK(answers) check(answers, sizeof(answers) / sizeof(answers[0]))

static void test_explain__reads_exceptions(void **state)
{
    static const answer_t answers[] = {
        {"application/vnd.ogc.se_xml",
         "<?xml version='1.0' encoding=\"UTF-8\" standalone=\"no\" ?>\n"
         "<!DOCTYPE ServiceExceptionReport SYSTEM "
         "\"http://schemas.opengis.net/wms/1.1.1/exception_1_1_1.dtd\">\n"
         "<ServiceExceptionReport version=\"1.1.1\">\n<ServiceException "
         "code=\"LayerNotDefined\">\nmsWMSLoadGetMapParams(): WMS server "
         "error.\n</ServiceException>"
         "\n</ServiceExceptionReport>\n",
         "an XML exception", "msWMSLoadGetMapParams(): WMS server error."},
        {"text/xml",
         "<ServiceExceptionReport xmlns=\"http://www.opengis.net/ogc\">"
         "<ServiceException>\n      Could not find layer a:b\n</ServiceException>"
         "<ServiceException>and a second</ServiceException></ServiceExceptionReport>",
         "an XML exception", "Could not find layer a:b and a second"},
        {"application/xml",
         "<ows:ExceptionReport><ows:Exception exceptionCode=\"x\"><ows:ExceptionText>No such "
         "&apos;thing&apos;</ows:ExceptionText></ows:Exception></ows:ExceptionReport>",
         "an XML exception", "No such 'thing'"},
        {"text/xml",
         "<ServiceExceptionReport><ServiceException><![CDATA[a < b && \"c\"]]></ServiceException>"
         "</ServiceExceptionReport>",
         "an XML exception", "a < b && \"c\""},
        {"text/xml",
         "<ServiceExceptionReport><ServiceException code='x'/></ServiceExceptionReport>",
         "an XML exception", ""},
        {"", "<ServiceExceptionReport><ServiceException>cut off he", "an XML exception",
         "cut off he"},
        {"text/xml", "<WMS_Capabilities><Title>World</Title></WMS_Capabilities>", "an XML document",
         "World"},
    };

    (void)state;
    CHECK(answers);
}

static void test_explain__reads_pages(void **state)
{
    static const answer_t answers[] = {
        {"text/html",
         "<HTML>\n<HEAD><TITLE>MapServer Message</TITLE></HEAD>\n<!-- MapServer version 8.0 -->\n"
         "<BODY BGCOLOR=\"#FFFFFF\">\nmsLoadMap(): Unable to access file. (/x.map)\n</BODY></HTML>",
         "an HTML page", "MapServer Message msLoadMap(): Unable to access file. (/x.map)"},
        {"image/png",
         "\xEF\xBB\xBF \r\n<!DOCTYPE html><html><head><title>Log in</title><style>p { color: red }"
         "</style><SCRIPT>if (a < b) { go(); }</SCRIPT></head><body><p>Who&#39;s there?</p>"
         "</body></html>",
         "an HTML page", "Log in Who's there?"},
        {"", "<html><script>x</script><style>y</style>Hello<br/>you</html>", "an HTML page",
         "Hello you"},
    };

    (void)state;
    CHECK(answers);
}

static void test_explain__reads_plain_text_where_the_type_says_so(void **state)
{
    static const answer_t answers[] = {
        {"text/plain; charset=utf-8", " 1 < 2 &amp; so\non ", "text", "1 < 2 &amp; so on"},
        {"application/json", "{\"error\": 5}", "text", "{\"error\": 5}"},
        {"TEXT/HTML", "Nothing marked up", "text", "Nothing marked up"},
        {"text/plain", "", "text", ""},
    };

    (void)state;
    CHECK(answers);
}

static void test_explain__leaves_pictures_alone(void **state)
{
    static const answer_t answers[] = {
        {"image/png", "\x89PNG\r\n\x1A\n", NULL, ""},
        {"", "\xFF\xD8\xFF\xE0", NULL, ""},
        {"application/octet-stream", "words", NULL, ""},
        {"image/png", "", NULL, ""},
        {"image/png", " \n ", NULL, ""},
    };

    (void)state;
    CHECK(answers);
}

static void test_explain__decodes_references(void **state)
{
    static const answer_t answers[] = {
        {"", "<a>&lt;&gt;&amp;&quot;&apos;&LT;</a>", "an XML document", "<>&\"'<"},
        {"", "<a>&#228;&#xE4;&#x20AC;&#x1F5FA;</a>", "an XML document",
         "\xC3\xA4\xC3\xA4\xE2\x82\xAC\xF0\x9F\x97\xBA"},
        {"", "<a>one&#10;two&#0;three&#x85;four</a>", "an XML document", "one two three four"},
        {"", "<a>&#xD800;&#1114112;&#99999999999999999999;</a>", "an XML document", "???"},
        {"", "<a>&nbsp; &#; &#x; &#12 &amp</a>", "an XML document", "&nbsp; &#; &#x; &#12 &amp"},
        {"", "<a>&amp;lt;</a>", "an XML document", "&lt;"},
    };

    (void)state;
    CHECK(answers);
}

/* Unicode 15, table 3-7: what is no UTF-8 is read as ISO 8859-1. */
static void test_explain__writes_utf8_whatever_it_reads(void **state)
{
    static const answer_t answers[] = {
        {"", "<a>Gew\xC3\xA4sser \xE2\x82\xAC \xF0\x9F\x97\xBA</a>", "an XML document",
         "Gew\xC3\xA4sser \xE2\x82\xAC \xF0\x9F\x97\xBA"},
        {"", "<a>Gew\xE4sser</a>", "an XML document", "Gew\xC3\xA4sser"},
        {"", "<a>\xC0\xBC</a>", "an XML document", "\xC3\x80\xC2\xBC"}, /* overlong */
        {"", "<a>\xE0\xA2\xBC</a>", "an XML document", "\xE0\xA2\xBC"}, /* shortest of 3 */
        {"", "<a>\xED\xB2\xB0</a>", "an XML document", "\xC3\xAD\xC2\xB2\xC2\xB0"}, /* surrogate */
        {"", "<a>\xF5\xBF\xBF\xBF</a>", "an XML document", "\xC3\xB5\xC2\xBF\xC2\xBF\xC2\xBF"},
        {"text/plain", "cut \xE2\x82", "text", "cut \xC3\xA2"}, /* 0x82 is a control by itself */
        {"text/plain",
         "a\tb\x01"
         "c\x7F"
         "d\xC2\x85"
         "e\xC2\xA0"
         "f\xE2\x80\xA8g",
         "text", "a b c d e f g"},
    };

    (void)state;
    CHECK(answers);
}

static void test_explain__cuts_between_characters(void **state)
{
    const unsigned char body[] = "<a>abc \xC3\xA4\xC3\xA4 def</a>";
    static const char *const expected[] = {
        [1] = "",
        [2] = "a",
        [3] = "ab",
        [4] = "abc",
        [5] = "abc",
        [6] = "abc",
        [7] = "abc \xC3\xA4",
        [8] = "abc \xC3\xA4",
        [9] = "abc \xC3\xA4\xC3\xA4",
    };

    (void)state;
    for (size_t size = 1; size < sizeof(expected) / sizeof(expected[0]); size++) {
        char *text = malloc(size); /* so that a byte too many is noticed */

        assert_string_equal(tseed_explain(text, size, "", body, sizeof(body) - 1),
                            "an XML document");
        assert_string_equal(text, expected[size]);
        free(text);
    }
}

static void test_explain__reads_utf16(void **state)
{
    static const char page[] = "<ServiceException code='NoLayer'>no layer \xE4</ServiceException>";
    unsigned char little[2 * sizeof(page)] = {0xFF, 0xFE}, big[2 * sizeof(page)];
    const size_t count = sizeof(page) - 1;
    char text[SIZE];

    (void)state;
    for (size_t i = 0; i < count; i++) {
        little[2 * i + 2] = big[2 * i + 1] = (unsigned char)page[i];
        little[2 * i + 3] = big[2 * i] = 0;
    }
    assert_string_equal(tseed_explain(text, sizeof(text), "text/xml", little, 2 * count + 2),
                        "an XML exception");
    assert_string_equal(text, "no layer \xC3\xA4");
    assert_string_equal(tseed_explain(text, sizeof(text), "text/xml", big, 2 * count),
                        "an XML exception");
    assert_string_equal(text, "no layer \xC3\xA4");
    tseed_explain_code(text, sizeof(text), big, 2 * count);
    assert_string_equal(text, "NoLayer");
}

static void test_explain__names_a_picture_of_a_wrong_type(void **state)
{
    static const unsigned char body[] = "\x89PNG\r\n\x1A\n\0\0\0\rIHDR";
    char text[SIZE];

    (void)state;
    assert_string_equal(tseed_explain(text, sizeof(text), "text/html", body, sizeof(body)),
                        "a picture of a wrong type");
    assert_string_equal(text, "image/png called text/html");
    assert_null(tseed_explain(text, sizeof(text), "image/png", body, sizeof(body)));
}

static void test_explain__finds_the_code_of_an_exception(void **state)
{
    static const char *const documents[][2] = {
        {"<ServiceExceptionReport version='1.1.1'>\n<ServiceException code=\"LayerNotDefined\" "
         "locator=\"layers\">no</ServiceException>",
         "LayerNotDefined"},
        {"<ows:ExceptionReport><ows:Exception\n exceptionCode='TileOutOfRange' locator='TILEROW'/>",
         "TileOutOfRange"},
        {"<ServiceException>code=\"Words\"</ServiceException>", ""},
        {"<ServiceException code=Bare>no</ServiceException>", ""},
        {"<Error code=\"NoSuchKey\"/>", ""},
        {"<ServiceException code=\"Cut", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
        const size_t length = strlen(documents[i][0]);
        char code[20] = "?";
        unsigned char *body = malloc(length ? length : 1); /* nothing is read beyond it */

        memcpy(body, documents[i][0], length);
        tseed_explain_code(code, sizeof(code), body, length);
        assert_string_equal(code, documents[i][1]);
        free(body);
    }
}

/* Every prefix of awkward documents, in memory of just that size: nothing is read beyond it. */
static void test_explain__survives_documents_cut_anywhere(void **state)
{
    static const char whole[] = "\xEF\xBB\xBF <?x?><!DOCTYPE y [<!ELEMENT z>]><!-- & --><a b='&'>"
                                "&#x41;&amp;\xF0\x9F\x97\xBA<![CDATA[<&]]><script>&</script>\xE2";

    (void)state;
    for (size_t length = 0; length < sizeof(whole); length++) {
        unsigned char *body = malloc(length ? length : 1);
        char text[SIZE] = "?";

        memcpy(body, whole, length);
        tseed_explain(text, sizeof(text), "text/xml", body, length);
        assert_true(strlen(text) < 40);
        free(body);
    }
}

static void test_explain__stays_quick_on_large_bodies(void **state)
{
    size_t length = 64 << 20;
    unsigned char *body = malloc(length);
    char text[SIZE];

    (void)state;
    memset(body, '<', length);
    assert_string_equal(tseed_explain(text, sizeof(text), "", body, length), "an XML document");
    assert_string_equal(text, "");
    free(body);
}

/* Of HTML: five names, decimal and hexadecimal numbers; 0: none is there. */
static void test_explain__reads_a_reference(void **state)
{
    static const struct {
        const char *text;
        size_t length;
        uint32_t code;
    } rows[] = {
        {"&lt;b", 4, '<'},    {"&GT;", 4, '>'},  {"&amp;amp;", 5, '&'}, {"&quot;", 6, '"'},
        {"&apos;", 6, '\''},  {"&#65;", 5, 'A'}, {"&#x41;", 6, 'A'},    {"&#X1f30d;", 9, 0x1F30D},
        {"&#xE9;x", 6, 0xE9}, {"&nbsp;", 0, 0},  {"&lt", 0, 0},         {"&#;", 0, 0},
        {"&#x;", 0, 0},       {"&#65", 0, 0},    {"&#6A;", 0, 0},       {"&", 0, 0},
        {"x&lt;", 0, 0},      {"&x41;", 0, 0}};
    uint32_t code;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t length = tseed_explain_reference(&code, rows[i].text, strlen(rows[i].text));

        if (length != rows[i].length || (length > 0 && code != rows[i].code)) {
            fail_msg("%s: %d, %x", rows[i].text, (int)length, code);
        }
    }
    assert_int_equal(tseed_explain_reference(&code, "&lt;", 3), 0);
    assert_int_equal(tseed_explain_reference(&code, "&#65;", 4), 0);
    /* a number that is too large stays one */
    assert_int_equal(tseed_explain_reference(&code, "&#99999999999999999999;", 23), 23);
    assert_true(code > 0x10FFFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explain__reads_exceptions),
        cmocka_unit_test(test_explain__reads_pages),
        cmocka_unit_test(test_explain__reads_plain_text_where_the_type_says_so),
        cmocka_unit_test(test_explain__leaves_pictures_alone),
        cmocka_unit_test(test_explain__decodes_references),
        cmocka_unit_test(test_explain__writes_utf8_whatever_it_reads),
        cmocka_unit_test(test_explain__cuts_between_characters),
        cmocka_unit_test(test_explain__reads_utf16),
        cmocka_unit_test(test_explain__names_a_picture_of_a_wrong_type),
        cmocka_unit_test(test_explain__finds_the_code_of_an_exception),
        cmocka_unit_test(test_explain__survives_documents_cut_anywhere),
        cmocka_unit_test(test_explain__stays_quick_on_large_bodies),
        cmocka_unit_test(test_explain__reads_a_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
