/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Numbers and names for people at a terminal. */
#include "ctl/tseed_ctl_words.h"

#include <apr_strings.h>
#include <math.h>
#include <string.h>

#include "protocol/tseed_escape.h"

#define MINUTE 60.0
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

/* Counts below this stand as they are. */
#define PLAIN_BELOW 10000

const char *tseed_ctl_count(int64_t number, apr_pool_t *pool)
{
    static const char units[] = "kMGTPE";
    const char *unit = units;
    double scaled = (double)number / 1000;

    if (number < PLAIN_BELOW) {
        return apr_psprintf(pool, "%" APR_INT64_T_FMT, number);
    }
    while (scaled >= 999.5 && unit[1]) {
        scaled /= 1000;
        unit++;
    }
    return apr_psprintf(pool, "%.*f%c", scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0, scaled, *unit);
}

const char *tseed_ctl_share(int64_t part, int64_t whole, apr_pool_t *pool)
{
    const double share = whole > 0 ? (double)part / (double)whole : 1;

    if (part >= whole) {
        return "100.0 %";
    }
    return apr_psprintf(pool, "%.1f %%", fmin(floor(share * 1000) / 10, 99.9));
}

const char *tseed_ctl_seconds(double seconds, apr_pool_t *pool)
{
    if (seconds < MINUTE - 0.5) {
        return apr_psprintf(pool, "%.0f s", seconds);
    }
    if (seconds < HOUR - MINUTE / 2) {
        return apr_psprintf(pool, "%.0f min", seconds / MINUTE);
    }
    if (seconds < 2 * DAY) {
        const int minutes = (int)round(seconds / MINUTE);

        return apr_psprintf(pool, "%d h %02d min", minutes / 60, minutes % 60);
    }
    seconds = round(seconds / HOUR) * HOUR;
    return apr_psprintf(pool, "%.0f d %.0f h", floor(seconds / DAY), fmod(seconds, DAY) / HOUR);
}

const char *tseed_ctl_rate(double per_second, apr_pool_t *pool)
{
    if (per_second < 9.95) {
        return apr_psprintf(pool, "%.1f/s", per_second);
    }
    return apr_pstrcat(pool, tseed_ctl_count((int64_t)round(per_second), pool), "/s", NULL);
}

/* A character that a terminal obeys: C0, DEL, C1, and the marks of direction (UAX 9). */
static int is_command(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || (c >= 0x200E && c <= 0x200F) ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

/* `with_lines`: what makes lines stays. */
static const char *clean(const char *text, int with_lines, apr_pool_t *pool)
{
    char *cleaned = apr_palloc(pool, 3 * strlen(text) + 1);
    char *to = cleaned;
    const char *before = text;

    for (uint32_t c = tseed_utf8_next(&text); c; c = tseed_utf8_next(&text)) {
        const int is_line = c == '\n' || c == '\t' || (c == '\r' && *text == '\n');

        if (is_command(c) && !(with_lines && is_line)) {
            *to++ = '?';
        } else if (c == 0xFFFD) {
            memcpy(to, "\xEF\xBF\xBD", 3);
            to += 3;
        } else {
            memcpy(to, before, (size_t)(text - before));
            to += text - before;
        }
        before = text;
    }
    *to = '\0';
    return cleaned;
}

const char *tseed_ctl_clean(const char *text, apr_pool_t *pool)
{
    return clean(text, 0, pool);
}

const char *tseed_ctl_clean_lines(const char *text, apr_pool_t *pool)
{
    return clean(text, 1, pool);
}

int tseed_ctl_width(const char *text)
{
    int width = 0;

    while (tseed_utf8_next(&text)) {
        width++;
    }
    return width;
}

const char *tseed_ctl_clip(const char *text, int width, apr_pool_t *pool)
{
    const char *end = text;

    for (int i = 0; i < width && *end; i++) {
        tseed_utf8_next(&end);
    }
    return *end ? apr_pstrmemdup(pool, text, (apr_size_t)(end - text)) : text;
}

const char *tseed_ctl_csv(const char *text, apr_pool_t *pool)
{
    char *field, *to;

    if (!text[strcspn(text, ",\"\r\n")]) {
        return text;
    }
    field = to = apr_palloc(pool, 2 * strlen(text) + 3);
    *to++ = '"';
    for (; *text; text++) {
        if (*text == '"') {
            *to++ = '"';
        }
        *to++ = *text;
    }
    strcpy(to, "\"");
    return field;
}
