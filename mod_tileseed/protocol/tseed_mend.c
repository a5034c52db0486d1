/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Mends JSON token by token. The mark before a word tells names from values: only a name ends at a
 * colon ("topp:states" is a value). */
#include "protocol/tseed_mend.h"

#include <apr_lib.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/tseed_document.h"

#define BLANKS " \t\r\n"
#define MARKS  ",{}[]"
#define QUOTES "\"'"

/* Kinds of the token before, besides a mark. */
#define NAME 'n'
#define TEXT 't'

_Static_assert(TSEED_DOCUMENT_DEPTH <= 32, "a bit for each open brace or bracket");

typedef struct {
    const char *at, *end;
    apr_array_header_t *text, *names;
    char before;    /* the token before, 0 at first: its mark, NAME or TEXT */
    uint32_t lists; /* the lowest bit is set: the innermost of what is open is a bracket */
    tseed_mended_t *mended;
    apr_pool_t *pool;
} mender_t;

/* Notes the problem; always -1. */
static int fail(mender_t *mender, const char *problem)
{
    mender->mended->problem = problem;
    return -1;
}

static int is_one_of(char c, const char *set)
{
    return memchr(set, c, strlen(set)) != NULL;
}

static void put(mender_t *mender, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        APR_ARRAY_PUSH(mender->text, char) = text[i];
    }
}

static int expects_name(const mender_t *mender)
{
    return !(mender->lists & 1) && (mender->before == '{' || mender->before == ',');
}

static int expects_value(const mender_t *mender)
{
    return mender->before == ':' || mender->before == '[' ||
           (mender->before == ',' && mender->lists & 1);
}

/* ---- texts ---- */

/* The four digits behind \u, or -1. */
static int hex4(const char *at, const char *end)
{
    char digits[5] = {0};

    if (end - at < 4) {
        return -1;
    }
    memcpy(digits, at, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? (int)strtol(digits, NULL, 16) : -1;
}

/* The length of the escape at `at`, 0 if it stands for no character: a NUL does not, nor does half
 * a surrogate pair. A letter that stands for nothing is for the library to refuse. */
static size_t escape_length(const char *at, const char *end)
{
    int first, second;

    if (end - at < 2) {
        return 0;
    }
    if (at[1] != 'u') {
        return 2;
    }
    first = hex4(at + 2, end);
    if (first < 0xD800 || first > 0xDFFF) {
        return first > 0 ? 6 : 0;
    }
    second = end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? hex4(at + 8, end) : -1;
    return first < 0xDC00 && second >= 0xDC00 && second <= 0xDFFF ? 12 : 0;
}

/* Puts begin..end, which lies in single quotes, in double quotes or in none. */
static int put_content(mender_t *mender, const char *begin, const char *end)
{
    for (size_t length = 1; begin < end; begin += length) {
        length = *begin == '\\' ? escape_length(begin, end) : 1;
        if ((unsigned char)*begin < 0x20) {
            return fail(mender, "a control character within a text");
        }
        if (length == 0) {
            return fail(mender, "a backslash that begins no escape of JSON");
        }
        if (*begin == '"') {
            put(mender, "\\\"", 2);
        } else if (length == 2 && begin[1] == '\'') {
            put(mender, "'", 1);
        } else {
            put(mender, begin, length);
        }
    }
    return 0;
}

static void put_number(mender_t *mender)
{
    char digits[TSEED_MEND_DIGITS + 1];

    apr_snprintf(digits, sizeof(digits), "%08x", mender->names->nelts);
    APR_ARRAY_PUSH(mender->names, tseed_mended_name_t) = (tseed_mended_name_t){
        .at = mender->mended->token,
        .line = mender->mended->line,
        .offset = (size_t)mender->text->nelts - 1,
    };
    put(mender, digits, TSEED_MEND_DIGITS);
}

/* Where the text or word at `begin` ends: at its quote, which may be missing (NULL), or at what can
 * be in no word. */
static const char *find_end(const mender_t *mender, const char *begin, char quote)
{
    const char *stops = expects_value(mender) ? BLANKS MARKS QUOTES : BLANKS MARKS QUOTES ":";
    const char *at = begin;

    if (!quote) {
        while (at < mender->end && !is_one_of(*at, stops)) {
            at++;
        }
        return at;
    }
    while (at < mender->end && *at != quote) {
        at += *at == '\\' && at + 1 < mender->end ? 2 : 1;
    }
    return at < mender->end ? at : NULL;
}

static int mend_text(mender_t *mender)
{
    const char quote = is_one_of(*mender->at, QUOTES) ? *mender->at : 0;
    const char *begin = mender->at + (quote != 0), *end = find_end(mender, begin, quote);
    const int is_name = expects_name(mender);

    if (!end) {
        return fail(mender, apr_psprintf(mender->pool, "a text that no %c ends", quote));
    }
    mender->at = end + (quote != 0);
    mender->before = is_name ? NAME : TEXT;
    if (!quote && !is_name && end - begin == 4 && memcmp(begin, "null", 4) == 0) {
        put(mender, begin, 4);
        return 0;
    }
    put(mender, "\"", 1);
    if (is_name) {
        put_number(mender);
    }
    if (put_content(mender, begin, end) != 0) {
        return -1;
    }
    put(mender, "\"", 1);
    return 0;
}

/* ---- marks ---- */

static int mend_mark(mender_t *mender)
{
    const char mark = *mender->at++;
    tseed_mended_t *mended = mender->mended;

    if (mark == '[' && mender->lists & 1) {
        return fail(mender, "a list within a list");
    }
    if (mark == '{' || mark == '[') {
        if (++mended->depth > TSEED_DOCUMENT_DEPTH) {
            return fail(mender, apr_psprintf(mender->pool, "nested deeper than %d levels",
                                             TSEED_DOCUMENT_DEPTH));
        }
        mender->lists = mender->lists << 1 | (mark == '[');
    } else if (mark == '}' || mark == ']') {
        mended->depth--;
        mender->lists >>= 1;
    } else if (mark == ':' && mender->before == NAME) {
        APR_ARRAY_IDX(mender->names, mender->names->nelts - 1, tseed_mended_name_t).value =
            mender->at;
    }
    mender->before = mark;
    put(mender, &mark, 1);
    return 0;
}

static int mend_token(mender_t *mender)
{
    const char c = *mender->at;

    mender->mended->token = mender->at;
    if (is_one_of(c, BLANKS)) {
        mender->mended->line += c == '\n';
        mender->at++;
        put(mender, &c, 1);
        return 0;
    }
    return is_one_of(c, MARKS) || (c == ':' && !expects_value(mender)) ? mend_mark(mender)
                                                                       : mend_text(mender);
}

void tseed_mend(tseed_mended_t *mended, const char *body, size_t length, size_t most,
                apr_pool_t *pool)
{
    mender_t mender = {
        .at = body,
        .end = body + length,
        .text = apr_array_make(pool, (int)length + 64, sizeof(char)),
        .names = apr_array_make(pool, 16, sizeof(tseed_mended_name_t)),
        .mended = mended,
        .pool = pool,
    };
    size_t whole = 0;

    *mended = (tseed_mended_t){.token = body, .line = 1};
    while (mender.at < mender.end && whole <= most && mend_token(&mender) == 0) {
        whole = (size_t)mender.text->nelts;
        if (mended->depth <= 0 && is_one_of(mender.before, "}]")) {
            break;
        }
    }
    put(&mender, "", 1);
    mender.text->elts[whole] = '\0';
    mended->text = mender.text->elts;
    mended->length = whole;
    mended->names = (const tseed_mended_name_t *)mender.names->elts;
    mended->name_count = mender.names->nelts;
}
