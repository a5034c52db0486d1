/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writes metrics. The formats are described by prometheus.io, "Exposition formats", and by
 * "OpenMetrics 1.0", which RFC drafts repeat. */
#include "protocol/tseed_exposition.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"

#define FIRST_BYTES 16384
#define NUMBER_MAX  64

/* ---- which format ---- */

typedef struct {
    const char *name, *group, *version;
} media_t;

static const media_t media[] = {
    [TSEED_EXPOSITION_TEXT] = {"text/plain", "text/*", "0.0.4"},
    [TSEED_EXPOSITION_OPENMETRICS] = {"application/openmetrics-text", "application/*", "1.0.0"},
};

/* A range of Accept (RFC 9110 12.5.1). */
typedef struct {
    const char *name, *version; /* NULL: any version */
    double quality;
} range_t;

static char *trim(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

/* A parameter of a range; unknown ones are passed over. A q that is no number from 0 to 1 counts as
 * 0: the client did not ask for that. */
static void read_parameter(range_t *range, char *text)
{
    char *value = strchr(text, '=');
    size_t length;

    if (!value) {
        return;
    }
    *value = '\0';
    value = trim(value + 1);
    length = strlen(value);
    if (length >= 2 && value[0] == '"' && value[length - 1] == '"') {
        value[length - 1] = '\0';
        value++;
    }
    if (apr_cstr_casecmp(trim(text), "q") == 0) {
        const int is_number = tseed_text_double(&range->quality, value) == 0;

        range->quality =
            is_number && range->quality >= 0 && range->quality <= 1 ? range->quality : 0;
    } else if (apr_cstr_casecmp(trim(text), "version") == 0) {
        range->version = value;
    }
}

static range_t read_range(char *text)
{
    range_t range = {.quality = 1};
    char *last, *part = apr_strtok(text, ";", &last);

    range.name = part ? trim(part) : "";
    while (part && (part = apr_strtok(NULL, ";", &last)) != NULL) {
        read_parameter(&range, part);
    }
    return range;
}

/* How exactly a range means a format; 0: not at all. */
static int rank(const range_t *range, const media_t *format)
{
    if (apr_cstr_casecmp(range->name, format->name) == 0) {
        if (!range->version) {
            return 3;
        }
        return strcmp(range->version, format->version) == 0 ? 4 : 0;
    }
    if (apr_cstr_casecmp(range->name, format->group) == 0) {
        return 2;
    }
    return strcmp(range->name, "*/*") == 0;
}

static double quality(const char *accept, const media_t *format, apr_pool_t *scratch)
{
    char *last, *part = apr_strtok(apr_pstrdup(scratch, accept), ",", &last);
    double found = 0;
    int best = 0;

    for (; part; part = apr_strtok(NULL, ",", &last)) {
        const range_t range = read_range(part);

        if (rank(&range, format) > best) {
            best = rank(&range, format);
            found = range.quality;
        }
    }
    return found;
}

tseed_exposition_format_t tseed_exposition_choose(const char *accept, apr_pool_t *scratch)
{
    if (!accept) {
        return TSEED_EXPOSITION_TEXT;
    }
    return quality(accept, &media[TSEED_EXPOSITION_OPENMETRICS], scratch) >
                   quality(accept, &media[TSEED_EXPOSITION_TEXT], scratch)
               ? TSEED_EXPOSITION_OPENMETRICS
               : TSEED_EXPOSITION_TEXT;
}

const char *tseed_exposition_type(tseed_exposition_format_t format)
{
    return format == TSEED_EXPOSITION_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- text ---- */

tseed_exposition_t tseed_exposition_begin(tseed_exposition_format_t format, apr_pool_t *pool)
{
    return (tseed_exposition_t){.pool = pool,
                                .format = format,
                                .text = apr_palloc(pool, FIRST_BYTES),
                                .capacity = FIRST_BYTES};
}

static void put_bytes(tseed_exposition_t *text, const char *bytes, apr_size_t length)
{
    if (text->length + length > text->capacity) {
        char *larger;

        while (text->length + length > text->capacity) {
            text->capacity *= 2;
        }
        larger = apr_palloc(text->pool, text->capacity);
        memcpy(larger, text->text, text->length);
        text->text = larger;
    }
    memcpy(text->text + text->length, bytes, length);
    text->length += length;
}

static void put(tseed_exposition_t *text, const char *words)
{
    put_bytes(text, words, strlen(words));
}

static int is_openmetrics(const tseed_exposition_t *text)
{
    return text->format == TSEED_EXPOSITION_OPENMETRICS;
}

/* ---- families ---- */

/* What a sample of a counter or an info has behind the family's name. */
static const char *suffix_of(tseed_metric_type_t type)
{
    return type == TSEED_METRIC_COUNTER ? "_total" : type == TSEED_METRIC_INFO ? "_info" : "";
}

static void put_about(tseed_exposition_t *text, const char *what, const char *words)
{
    const tseed_family_t *family = text->family;

    put(text, what);
    put(text, family->name);
    put(text, is_openmetrics(text) ? "" : suffix_of(family->type));
    put(text, " ");
    put(text, words);
    put(text, "\n");
}

void tseed_exposition_family(tseed_exposition_t *text, const tseed_family_t *family)
{
    static const char *const names[] = {
        [TSEED_METRIC_COUNTER] = "counter",
        [TSEED_METRIC_GAUGE] = "gauge",
        [TSEED_METRIC_HISTOGRAM] = "histogram",
        [TSEED_METRIC_INFO] = "info",
    };
    const int is_gauge = !is_openmetrics(text) && family->type == TSEED_METRIC_INFO;

    text->family = family;
    put_about(text, "# HELP ", family->help);
    put_about(text, "# TYPE ", is_gauge ? "gauge" : names[family->type]);
    if (is_openmetrics(text) && *family->unit) {
        put_about(text, "# UNIT ", family->unit);
    }
}

/* ---- values ---- */

/* The value of a label: backslash, quote and line feed are escaped. */
static void put_value(tseed_exposition_t *text, const char *value)
{
    while (*value) {
        uint32_t code;
        const size_t length = tseed_text_utf8_read(&code, value, SIZE_MAX);

        if (length == 0) {
            put(text, "\xEF\xBF\xBD");
        } else if (*value == '\n') {
            put(text, "\\n");
        } else {
            if (*value == '\\' || *value == '"') {
                put(text, "\\");
            }
            put_bytes(text, value, length);
        }
        value += length > 0 ? length : 1;
    }
}

/* The labels of a sample, and one more of a bucket (NULL: none). */
static void put_labels(tseed_exposition_t *text, const char *const *labels, const char *bound)
{
    const char *before = "{";

    for (; labels && *labels; labels += 2) {
        put(text, before);
        put(text, labels[0]);
        put(text, "=\"");
        put_value(text, labels[1]);
        put(text, "\"");
        before = ",";
    }
    if (bound) {
        put(text, before);
        put(text, "le=\"");
        put(text, bound);
        put(text, "\"");
        before = ",";
    }
    put(text, *before == ',' ? "} " : " ");
}

static void put_sample(tseed_exposition_t *text, const char *suffix, const char *const *labels,
                       const char *bound, const char *number)
{
    put(text, text->family->name);
    put(text, suffix);
    put_labels(text, labels, bound);
    put(text, number);
    put(text, "\n");
}

void tseed_exposition_count(tseed_exposition_t *text, const char *const *labels, uint64_t number)
{
    char digits[NUMBER_MAX];

    snprintf(digits, sizeof(digits), "%" PRIu64, number);
    put_sample(text, suffix_of(text->family->type), labels, NULL, digits);
}

void tseed_exposition_number(tseed_exposition_t *text, const char *const *labels, int64_t number)
{
    char digits[NUMBER_MAX];

    snprintf(digits, sizeof(digits), "%" PRId64, number);
    put_sample(text, suffix_of(text->family->type), labels, NULL, digits);
}

void tseed_exposition_real(tseed_exposition_t *text, const char *const *labels, double number)
{
    put_sample(text, suffix_of(text->family->type), labels, NULL,
               tseed_text_number(number, text->pool));
}

/* Seconds without needless zeroes. */
static const char *seconds(char digits[NUMBER_MAX], uint64_t micros)
{
    size_t length;

    snprintf(digits, NUMBER_MAX, "%" PRIu64 ".%06" PRIu64, micros / APR_USEC_PER_SEC,
             micros % APR_USEC_PER_SEC);
    length = strlen(digits);
    while (digits[length - 1] == '0' && digits[length - 2] != '.') {
        digits[--length] = '\0';
    }
    return digits;
}

void tseed_exposition_time(tseed_exposition_t *text, const char *const *labels, apr_time_t time)
{
    char digits[NUMBER_MAX];

    put_sample(text, "", labels, NULL, seconds(digits, time > 0 ? (uint64_t)time : 0));
}

void tseed_exposition_histogram(tseed_exposition_t *text, const char *const *labels,
                                const apr_interval_time_t *bounds, unsigned count,
                                const uint64_t *buckets, uint64_t sum)
{
    char digits[NUMBER_MAX], bound[NUMBER_MAX];
    uint64_t below = 0;

    for (unsigned i = 0; i <= count; i++) {
        below += buckets[i];
        snprintf(digits, sizeof(digits), "%" PRIu64, below);
        put_sample(text, "_bucket", labels,
                   i < count ? seconds(bound, (uint64_t)bounds[i]) : "+Inf", digits);
    }
    put_sample(text, "_sum", labels, NULL, seconds(bound, sum));
    put_sample(text, "_count", labels, NULL, digits);
}

const char *tseed_exposition_end(tseed_exposition_t *text, apr_size_t *length)
{
    if (is_openmetrics(text)) {
        put(text, "# EOF\n");
    }
    *length = text->length;
    put_bytes(text, "", 1);
    return text->text;
}
