/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Small helpers for text: numbers with units, strict integers, digests. */
#include "base/tseed_text.h"

#include <apr_cstr.h>
#include <apr_sha1.h>
#include <apr_strings.h>
#include <apr_time.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"

int tseed_text_int64(int64_t *value, const char *text, int64_t lowest, int64_t highest)
{
    const char *digits = text + (*text == '-' || *text == '+');
    char *end;
    long long number;

    if (!tseed_ascii_is_digit(*digits)) {
        return -1;
    }
    errno = 0;
    number = strtoll(text, &end, 10);
    if (*end || errno || number < lowest || number > highest) {
        return -1;
    }
    *value = number;
    return 0;
}

int tseed_text_double(double *value, const char *text)
{
    char *end;
    double number;

    if (!*text || text[strspn(text, "0123456789+-.eE")]) {
        return -1;
    }
    number = tseed_ascii_strtod(text, &end);
    if (end == text || *end || !isfinite(number)) {
        return -1;
    }
    *value = number;
    return 0;
}

int tseed_text_doubles(double *numbers, int count, const char *text, const char *separators,
                       apr_pool_t *pool)
{
    char *last, *word = apr_strtok(apr_pstrdup(pool, text), separators, &last);
    int i = 0;

    for (; word && i < count; i++) {
        if (tseed_text_double(&numbers[i], word) != 0) {
            return -1;
        }
        word = apr_strtok(NULL, separators, &last);
    }
    return word || i < count ? -1 : 0;
}

typedef struct {
    const char *name;
    int64_t factor;
} unit_t;

static const unit_t duration_units[] = {
    {"", APR_USEC_PER_SEC},          {"ms", 1000},
    {"s", APR_USEC_PER_SEC},         {"m", 60 * APR_USEC_PER_SEC},
    {"min", 60 * APR_USEC_PER_SEC},  {"h", 3600 * APR_USEC_PER_SEC},
    {"d", 86400 * APR_USEC_PER_SEC}, {NULL, 0}};

static const unit_t size_units[] = {{"", 1},           {"B", 1},           {"K", 1LL << 10},
                                    {"KB", 1LL << 10}, {"KiB", 1LL << 10}, {"M", 1LL << 20},
                                    {"MB", 1LL << 20}, {"MiB", 1LL << 20}, {"G", 1LL << 30},
                                    {"GB", 1LL << 30}, {"GiB", 1LL << 30}, {"T", 1LL << 40},
                                    {"TB", 1LL << 40}, {"TiB", 1LL << 40}, {NULL, 0}};

/* A number that is not negative, blanks, a unit of the table. Returns 0, or -1. */
static int quantity(int64_t *value, const char *text, const unit_t *unit)
{
    char *end;
    double number;

    if (!tseed_ascii_is_digit(*text)) {
        return -1;
    }
    number = tseed_ascii_strtod(text, &end);
    while (*end == ' ') {
        end++;
    }
    while (unit->name && apr_cstr_casecmp(unit->name, end) != 0) {
        unit++;
    }
    if (!unit->name || number * (double)unit->factor >= 9.2e18) {
        return -1;
    }
    *value = (int64_t)llround(number * (double)unit->factor);
    return 0;
}

const char *tseed_text_duration(apr_interval_time_t *value, const char *text, apr_pool_t *pool)
{
    int64_t parsed;

    if (quantity(&parsed, text, duration_units) != 0) {
        return apr_psprintf(pool, "'%s' is no duration: a number with ms, s, m, h or d is expected",
                            tseed_text_quote(text, 60, pool));
    }
    *value = parsed;
    return NULL;
}

const char *tseed_text_size(int64_t *bytes, const char *text, apr_pool_t *pool)
{
    if (quantity(bytes, text, size_units) != 0) {
        return apr_psprintf(pool,
                            "'%s' is no size: a number with B, KiB, MiB, GiB or TiB is expected",
                            tseed_text_quote(text, 60, pool));
    }
    return NULL;
}

/* By the number of a character's bytes: what its first byte has above its bits of the character,
 * and the lowest character that may take so many bytes. */
static const struct {
    unsigned char lead;
    uint32_t lowest;
} utf8[] = {{0, 0}, {0, 0}, {0xC0, 0x80}, {0xE0, 0x800}, {0xF0, 0x10000}, {0xF8, 0x110000}};

size_t tseed_text_utf8_read(uint32_t *code, const void *text, size_t most)
{
    const unsigned char *bytes = text;
    size_t length = 2;

    *code = bytes[0];
    if (*code < 0x80) {
        return 1;
    }
    while (length < 5 && *code >= utf8[length + 1].lead) {
        length++;
    }
    if (*code < utf8[2].lead || length > 4 || length > most) {
        return 0;
    }
    *code -= utf8[length].lead;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
        *code = *code << 6 | (bytes[i] & 0x3F);
    }
    return *code >= utf8[length].lowest && *code <= 0x10FFFF && (*code < 0xD800 || *code > 0xDFFF)
               ? length
               : 0;
}

size_t tseed_text_utf8_write(char *to, uint32_t code)
{
    size_t length = 1;

    while (code >= utf8[length + 1].lowest) {
        length++;
    }
    for (size_t i = length - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    to[0] = (char)(utf8[length].lead | code);
    return length;
}

int tseed_text_is_utf8(const char *text)
{
    uint32_t code;
    size_t length = 1;

    while (*text && length > 0) {
        length = tseed_text_utf8_read(&code, text, SIZE_MAX);
        text += length;
    }
    return length > 0;
}

void tseed_text_sha1(char hex[41], const void *data, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[APR_SHA1_DIGESTSIZE];
    apr_sha1_ctx_t context;

    apr_sha1_init(&context);
    apr_sha1_update_binary(&context, data, (unsigned int)length);
    apr_sha1_final(digest, &context);
    for (int i = 0; i < APR_SHA1_DIGESTSIZE; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[40] = '\0';
}

const char *tseed_text_trim(const char *text, size_t length, apr_pool_t *pool)
{
    for (; length > 0 && tseed_ascii_is_space(*text); text++) {
        length--;
    }
    while (length > 0 && tseed_ascii_is_space(text[length - 1])) {
        length--;
    }
    return apr_pstrmemdup(pool, text, length);
}

const char *tseed_text_quote(const char *text, size_t most, apr_pool_t *pool)
{
    char *quoted = (char *)tseed_text_trim(text, strlen(text), pool);
    size_t length = strlen(quoted);

    if (length > most) {
        length = most;
        while (length > 0 && ((unsigned char)quoted[length] & 0xC0) == 0x80) {
            length--;
        }
        quoted[length] = '\0';
    }
    for (char *p = quoted; *p; p++) {
        if (tseed_ascii_is_cntrl(*p)) {
            *p = '?';
        }
    }
    return quoted;
}

#define ELLIPSIS "\xE2\x80\xA6"

/* Ends a text that fills its `size` bytes, or more, with the sign that something is missing. */
static void mark_as_cut(char *text, size_t size)
{
    size_t length = size - sizeof(ELLIPSIS);

    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) {
        length--;
    }
    memcpy(text + length, ELLIPSIS, sizeof(ELLIPSIS));
}

void tseed_text_cut(char *text, size_t size)
{
    if (strlen(text) >= size) {
        mark_as_cut(text, size);
    }
}

const char *tseed_text_fit(char *to, size_t size, const char *text)
{
    apr_cpystrn(to, text, size);
    if (strlen(text) >= size) {
        mark_as_cut(to, size);
    }
    return to;
}

void tseed_text_say(char *to, size_t size, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = tseed_ascii_vprint(to, size, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length >= size) {
        mark_as_cut(to, size);
    }
}

void tseed_text_second(char text[TSEED_TIME_SIZE], apr_time_t time)
{
    apr_time_exp_t t;

    apr_time_exp_gmt(&t, time);
    apr_snprintf(text, TSEED_TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02dZ", t.tm_year + 1900,
                 t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
}

const char *tseed_text_rfc3339(apr_time_t time, apr_pool_t *pool)
{
    apr_time_exp_t t;

    apr_time_exp_gmt(&t, time);
    return apr_psprintf(pool, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900, t.tm_mon + 1,
                        t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, t.tm_usec / 1000);
}

const char *tseed_text_amount(int64_t bytes, apr_pool_t *pool)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    int unit = 0;

    for (; size >= 1024 && unit < 4; unit++) {
        size /= 1024;
    }
    return apr_psprintf(pool, "%.*f %s", unit ? 1 : 0, size, units[unit]);
}

/* apr_psprintf knows no more than six digits for certain; the C library rounds correctly. */
const char *tseed_text_number(double number, apr_pool_t *pool)
{
    char text[32];

    for (int digits = 15; digits <= 17; digits++) {
        tseed_ascii_print(text, sizeof(text), "%.*g", digits, number);
        if (tseed_ascii_strtod(text, NULL) == number) {
            break;
        }
    }
    return apr_pstrdup(pool, text);
}

int tseed_text_is_host(const char *text, size_t most)
{
    const size_t length = strlen(text);

    for (size_t i = 0; i < length; i++) {
        if (!tseed_ascii_is_alnum(text[i]) && !strchr("-_.", text[i])) {
            return 0;
        }
    }
    return length > 0 && length <= most && text[0] != '.';
}
