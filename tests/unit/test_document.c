/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Documents: both formats as one tree, in the disguises people send; ASCII escapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_strings.h>
#include <string.h>

#include "document_fixture.h"

/* "a(b=1 c(d=x))": a tree in one line, null as name!. */
static const char *drawn(const tseed_node_t *node)
{
    const char *inner = "";

    for (const tseed_node_t *child = node->children; child; child = child->next) {
        inner = apr_pstrcat(pool, inner, *inner ? " " : "", drawn(child), NULL);
    }
    if (*inner) {
        return apr_pstrcat(pool, node->name, "(", inner, ")", NULL);
    }
    return node->is_null ? apr_pstrcat(pool, node->name, "!", NULL)
                         : apr_pstrcat(pool, node->name, "=", node->text, NULL);
}

static const char *read_sized(tseed_format_of_body_t format, const char *body, size_t length)
{
    tseed_node_t *root = NULL;
    const char *problem = tseed_document_read(&root, format, body, length, pool);

    return problem ? problem : drawn(root);
}

static const char *read_xml(const char *body)
{
    return read_sized(TSEED_BODY_XML, body, strlen(body));
}

static const char *read_json(const char *body)
{
    return read_sized(TSEED_BODY_JSON, body, strlen(body));
}

static void test_document__xml_in_all_disguises_is_one_tree(void **state)
{
    static const char *const bodies[] = {
        "<a><b>1</b><c><d>x y</d></c></a>",
        "\r\n\t <?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a><b>1</b><c><d>x y</d></c></a>\n",
        "\xEF\xBB\xBF<a><b>1</b><c><d>x y</d></c></a>",
        "<a xmlns=\"http://example.org\"><b>1</b><c><d>x y</d></c></a>",
        "<g:a xmlns:g=\"urn:g\"><g:b>1</g:b><c><g:d>x y</g:d></c></g:a>",
        "<g:a><b>1</b><c><g:d>x y</g:d></c></g:a>",
        "<a id=\"7\"><b class='java.lang.Integer'>1</b><c><d>x y</d></c></a>",
        "<!-- of today --><a><?php 1 ?><b>1<!-- one --></b><c><d>x y</d></c></a><!-- end -->",
        "<a><b><![CDATA[1]]></b><c><d>x<![CDATA[ ]]>y</d></c></a>",
        "<a>\n  <b>1</b>\n  <c>\n    <d>x&#32;&#x79;</d>\n  </c>\n</a>",
        "<a>some <b>1</b> mixed <c><d>x y</d></c> text</a>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        assert_string_equal(read_xml(bodies[i]), "a(b=1 c(d=x y))");
    }
}

static void test_document__xml_encodings_become_utf8(void **state)
{
    static const char wide[] = "\xFE\xFF\0<\0a\0>\0\xFC\0<\0/\0a\0>";

    (void)state;
    assert_string_equal(read_xml("<a>K\xC3\xB6ln</a>"), "a=K\xC3\xB6ln");
    assert_string_equal(read_xml("<?xml version='1.0' encoding='ISO-8859-1'?><a>K\xF6ln</a>"),
                        "a=K\xC3\xB6ln");
    assert_string_equal(read_xml("<a>&#8364;&amp;&lt;&gt;&quot;&apos;</a>"),
                        "a=\xE2\x82\xAC&<>\"'");
    assert_string_equal(read_sized(TSEED_BODY_XML, wide, sizeof(wide) - 1), "a=\xC3\xBC");
}

static void test_document__json_in_all_disguises_is_one_tree(void **state)
{
    static const char *const bodies[] = {
        "{\"a\":{\"b\":1,\"c\":{\"d\":\"x y\"}}}",
        " \r\n{ \"a\" : { \"b\" : \"1\" , \"c\" : { \"d\" : \"x y\" } } } \n",
        "{'a':{'b':1,'c':{'d':'x y'}}}",
        "{a:{b:1,c:{d:'x y'}}}",
        "{a:{'b':1,c:{\"d\":\"x y\",},},}",
        "{'a':{'b':1,'c':{'d':'x y'}}}}",
        "{'a':{'b':1,'c':{'d':'x y'}}}} }\n}",
        "{'a':{'b':1,'c':{'d':'x y'}}} and more {[",
        "{\"a\":{\"b\":[1],\"c\":[{\"d\":[\"x y\",]},]}}",
        "{\"\\u0061\":{\"b\":1,\"c\":{\"d\":\"x\\u0020y\"}}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        assert_string_equal(read_json(bodies[i]), "a(b=1 c(d=x y))");
    }
}

static void test_document__json_arrays_become_siblings(void **state)
{
    (void)state;
    assert_string_equal(read_json("{\"a\":{\"b\":[1,\"2\",{\"c\":3},null],\"d\":4}}"),
                        "a(b=1 b=2 b(c=3) b! d=4)");
    assert_string_equal(read_json("{\"a\":{\"b\":[],\"c\":{},\"d\":\"\"}}"), "a(b= c= d=)");
}

static void test_document__json_texts_are_as_written(void **state)
{
    (void)state;
    assert_string_equal(read_json("{a:{b:image\\/png,c:topp:states,d:-124.0,e:08,f:1e3,g:true}}"),
                        "a(b=image/png c=topp:states d=-124.0 e=08 f=1e3 g=true)");
    assert_string_equal(read_json("{\"a\":{\"b\":-0,\"c\":99999999999999999999,\"d\":1.50,"
                                  "\"e\":1E400,f:NaN,g:Null,h:/**/}}"),
                        "a(b=-0 c=99999999999999999999 d=1.50 e=1E400 f=NaN g=Null h=/**/)");
    assert_string_equal(read_json("{'a':{'b':'it\\'s \"so\"','c':\"it's\",'d':null,'e':'null'}}"),
                        "a(b=it's \"so\" c=it's d! e=null)");
    assert_string_equal(read_json("{\"a\":{\"b\":\"\\u00fc\\u20ac\\ud83d\\ude00\\\\\\n\"}}"),
                        "a(b=\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80\\\n)");
}

static void test_document__json_that_is_no_text_is_refused(void **state)
{
    static const char nul[] = "{\"a\":{\"b\":\"x\0y\"}}";

    (void)state;
    assert_string_equal(read_sized(TSEED_BODY_JSON, nul, sizeof(nul) - 1),
                        "The body is not well-formed JSON, line 1: a control character within a "
                        "text");
    assert_string_equal(read_json("{\"a\":\n{\"b\":\"K\xF6ln\"}}"),
                        "The body is not well-formed JSON, line 2: a text that is not UTF-8");
    assert_string_equal(read_json("{\"a\":{\"b\":\"\\u0000\"}}"),
                        "The body is not well-formed JSON, line 1: a backslash that begins no "
                        "escape of JSON");
}

/* JSON libraries take these, each in its way. */
static void test_document__json_that_has_two_meanings_is_refused(void **state)
{
    static const char *const bodies[][2] = {
        {"{\"a\":{\"b\":1,\n\"b\":2}}", "line 2: 'b' stands twice in one object"},
        {"{\"a\":{\"b\":1,\"\\u0062\":2}}", "line 1: 'b' stands twice in one object"},
        {"{\"a\":{\"b\":{\"c\":1,\"c\":null}}}", "line 1: 'c' stands twice in one object"},
        {"{\"a\":{\"b\\u0000c\":1}}", "line 1: a backslash that begins no escape of JSON"},
        {"{\"a\":{\"b\":\"\\ude00\\ud83d\"}}", "line 1: a backslash that begins no escape of JSON"},
        {"{\"a\":{\"b\":\"\xED\xA0\x80\"}}", "line 1: a text that is not UTF-8"},
        {"{\"a\":{\"\xC0\xAF\":1}}", "line 1: a text that is not UTF-8"},
        {"{a:{b:c\\,d:1}}", "line 1: a backslash that begins no escape of JSON"},
        {"{\"a\":{\"b\":[1,,2]}}", "line 1: a value expected before ',2]}}'"},
        {"{\"a\":{\"b\":[1 2]}}", "line 1: ',' or ']' expected before '2]}}'"},
        {"{\"a\":{\"b\":[1}}", "line 1: ',' or ']' expected before '}}'"},
        {"{a:{b:1}},c:2}}", "line 1: only '}' or the end of the body expected before ',c:2}}'"},
        {"{a:{b:1}}{a:{b:2}}",
         "line 1: only '}' or the end of the body expected before '{a:{b:2}}'"},
        {"{\"a\":{\"b\":1}\n", "line 2: the closing '}' expected, but the body ends here"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        assert_string_equal(
            read_json(bodies[i][0]),
            apr_pstrcat(pool, "The body is not well-formed JSON, ", bodies[i][1], NULL));
    }
}

/* {"zoomStop":0 lacks the root, whatever else it lacks. */
static void test_document__json_that_is_wrong_may_have_a_root(void **state)
{
    static const char *const roots[][2] = {
        {"{\"a\":{\"b\":}}", "a"},    {"{\"\\u0061\":", "a"}, {"{a:[]}", "a"}, {"{}", ""},
        {"{\"a\":{},\"b\":{}}", "a"},
    };
    static const char *const none[] = {"{",           "{\"a\"", "{\"\xFF\":1",
                                       "[{\"a\":1}]", "{[]:1",  "{,a:1}"};
    tseed_node_t *root;

    (void)state;
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        assert_non_null(
            tseed_document_read(&root, TSEED_BODY_JSON, roots[i][0], strlen(roots[i][0]), pool));
        assert_string_equal(root->name, roots[i][1]);
    }
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_non_null(
            tseed_document_read(&root, TSEED_BODY_JSON, none[i], strlen(none[i]), pool));
        assert_null(root);
    }
}

static void test_document__sixteen_levels_are_read(void **state)
{
    const char *xml = "1", *json = "1";

    (void)state;
    for (int i = 0; i < 16; i++) {
        xml = apr_pstrcat(pool, "<a>", xml, "</a>", NULL);
        json = apr_pstrcat(pool, "{\"a\":", json, "}", NULL);
    }
    assert_non_null(strstr(read_xml(xml), "a(a=1"));
    assert_non_null(strstr(read_json(json), "a(a=1"));
    xml = apr_pstrcat(pool, "<a>", xml, "</a>", NULL);
    json = apr_pstrcat(pool, "{\"a\":", json, "}", NULL);
    assert_string_equal(read_xml(xml), "Elements are nested deeper than 16 levels");
    assert_string_equal(read_json(json), "The body is not well-formed JSON, line 1: nested deeper "
                                         "than 16 levels");
}

static void test_document__a_body_may_end_anywhere(void **state)
{
    static const char whole[] = "{'a':{\"b\":[1,{'c':'\\u00e4\\ud83d\\ude00'}],d:null}}";

    (void)state;
    for (size_t length = 0; length < sizeof(whole) - 1; length++) {
        char *exact = malloc(length ? length : 1); /* so that a sanitizer sees a byte too far */
        tseed_node_t *root;

        memcpy(exact, whole, length);
        assert_non_null(tseed_document_read(&root, TSEED_BODY_JSON, exact, length, pool));
        free(exact);
    }
    assert_string_equal(read_json(whole), "a(b=1 b(c=\xC3\xA4\xF0\x9F\x98\x80) d!)");
}

static void test_document__nodes_are_found_and_trimmed(void **state)
{
    static const char body[] = "{\"a\":{\"b\":\" x\\t\",\"c\":\" \",\"d\":null,\"e\":{\"f\":1}}}";
    tseed_node_t *root;

    (void)state;
    assert_null(tseed_document_read(&root, TSEED_BODY_JSON, body, strlen(body), pool));
    assert_string_equal(tseed_node_trimmed(tseed_node_find(root, "b"), pool), "x");
    assert_false(tseed_node_is_empty(tseed_node_find(root, "b")));
    assert_true(tseed_node_is_empty(tseed_node_find(root, "c")));
    assert_true(tseed_node_is_empty(tseed_node_find(root, "d")));
    assert_string_equal(tseed_node_trimmed(tseed_node_find(root, "d"), pool), "");
    assert_false(tseed_node_is_empty(tseed_node_find(root, "e")));
    assert_null(tseed_node_find(root, "f"));
}

static void test_document__escapes_are_ascii(void **state)
{
    static const char text[] = "a\"\\<&>'/\x01\n\x7F\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80";

    (void)state;
    assert_string_equal(tseed_escape_json(text, pool), "\"a\\\"\\\\<&>'/\\u0001\\u000a\\u007f"
                                                       "\\u00fc\\u20ac\\ud83d\\ude00\"");
    assert_string_equal(tseed_escape_xml(text, pool), "a&#34;\\&#60;&#38;&#62;&#39;/&#65533;\n"
                                                      "&#127;&#252;&#8364;&#128512;");
    assert_string_equal(tseed_escape_plain(text, pool), "a\"\\<&>'/\x01\n????");
}

static void test_document__what_is_no_utf8_is_replaced_bytewise(void **state)
{
    (void)state;
    assert_string_equal(tseed_escape_json("\xFCx", pool), "\"\\ufffdx\"");
    assert_string_equal(tseed_escape_json("\xC0\xAF", pool), "\"\\ufffd\\ufffd\"");
    assert_string_equal(tseed_escape_json("\xED\xA0\x80", pool), "\"\\ufffd\\ufffd\\ufffd\"");
    assert_string_equal(tseed_escape_json("\xE2\x82", pool), "\"\\ufffd\\ufffd\"");
    assert_string_equal(tseed_escape_xml("\xFF\xFE", pool), "&#65533;&#65533;");
    assert_string_equal(tseed_escape_plain("\xF0\x9F", pool), "??");
    assert_string_equal(tseed_escape_plain("cut\xE2\x80\xA6", pool), "cut...");
}

static void test_document__attributes_are_bounded(void **state)
{
    static const char one[] = " a%d = '1'";
    const char *body = "<seedRequest><type>x='1'</type><a";

    (void)state;
    for (int i = 0; i < 999; i++) {
        body = apr_pstrcat(pool, body, apr_psprintf(pool, one, i), NULL);
    }
    assert_null(strstr(read_xml(apr_pstrcat(pool, body, "/></seedRequest>", NULL)), "attributes"));
    body = apr_pstrcat(pool, body, " b=\"2\"/></seedRequest>", NULL);
    assert_string_equal(read_xml(body), "The body has more than 1000 attributes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document__xml_in_all_disguises_is_one_tree),
        cmocka_unit_test(test_document__xml_encodings_become_utf8),
        cmocka_unit_test(test_document__json_in_all_disguises_is_one_tree),
        cmocka_unit_test(test_document__json_arrays_become_siblings),
        cmocka_unit_test(test_document__json_texts_are_as_written),
        cmocka_unit_test(test_document__json_that_is_no_text_is_refused),
        cmocka_unit_test(test_document__json_that_has_two_meanings_is_refused),
        cmocka_unit_test(test_document__json_that_is_wrong_may_have_a_root),
        cmocka_unit_test(test_document__attributes_are_bounded),
        cmocka_unit_test(test_document__sixteen_levels_are_read),
        cmocka_unit_test(test_document__a_body_may_end_anywhere),
        cmocka_unit_test(test_document__nodes_are_found_and_trimmed),
        cmocka_unit_test(test_document__escapes_are_ascii),
        cmocka_unit_test(test_document__what_is_no_utf8_is_replaced_bytewise),
    };

    return cmocka_run_group_tests(tests, setup_documents, teardown_group);
}
