/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Small helpers for text: numbers with units, strict integers, digests. Pure functions.
 *
 * Functions that judge a person's input, here and in the rooms above, return a `const char *`: NULL
 * when the input is fine, else a sentence that says what is wrong and what would be right, without
 * a full stop, in the caller's pool. httpd's directive handlers do the same.
 */
#ifndef TSEED_TEXT_H
#define TSEED_TEXT_H

/* Most bytes that the headers of one transfer over HTTP may have: those of all its answers, and the
 * trailers. libcurl has no limit for trailers. */
#define TSEED_HEADERS_MOST (256 << 10)

#include <apr_pools.h>
#include <apr_time.h>
#include <stddef.h>
#include <stdint.h>

/* Reads decimal digits with an optional sign; leading zeros are allowed. Returns 0, or -1 when the
 * text has anything else or the number lies outside lowest..highest. */
int tseed_text_int64(int64_t *value, const char *text, int64_t lowest, int64_t highest);

/* Reads a finite decimal number in strtod's form of the C locale; no hex, NaN or infinity. Returns
 * 0, or -1 when the text is anything else. */
int tseed_text_double(double *value, const char *text);

/* Reads `count` numbers, separated by `separators`, and nothing else. Returns 0, or -1. */
int tseed_text_doubles(double *numbers, int count, const char *text, const char *separators,
                       apr_pool_t *pool);

/* "500ms", "30s", "15m", "24h", "30d", bare numbers are seconds. Returns NULL or a sentence. */
const char *tseed_text_duration(apr_interval_time_t *value, const char *text, apr_pool_t *pool);

/* "64KiB", "10MB" (read as MiB), "1.5 GiB", "4096": whole bytes. Returns NULL or a sentence. */
const char *tseed_text_size(int64_t *bytes, const char *text, apr_pool_t *pool);

/* The shortest decimal that reads back as the same number: "0.1". In `pool`. */
const char *tseed_text_number(double number, apr_pool_t *pool);

/* A size for people, in the unit that fits: "512 bytes", "1.5 GiB". In `pool`. */
const char *tseed_text_amount(int64_t bytes, apr_pool_t *pool);

/* Reads the character that begins at `text`, of which `most` bytes may be read (SIZE_MAX: up to a
 * NUL). Returns its bytes, 1 to 4; 0: it is no UTF-8 (RFC 3629: overlong forms, surrogates and what
 * lies beyond U+10FFFF are none). A NUL is a character of one byte. */
size_t tseed_text_utf8_read(uint32_t *code, const void *text, size_t most);

/* Writes a character, U+10FFFF at most, and returns its bytes, 4 at most. */
size_t tseed_text_utf8_write(char *to, uint32_t code);

/* Whether all of a text is UTF-8. */
int tseed_text_is_utf8(const char *text);

/* Lower-case hexadecimal SHA-1 of `length` bytes, 40 digits and a NUL. */
void tseed_text_sha1(char hex[41], const void *data, size_t length);

/* A copy of a text of `length` bytes without white space around it. */
const char *tseed_text_trim(const char *text, size_t length, apr_pool_t *pool);

/* A copy of at most `most` bytes, trimmed of white space, control characters as `?`; for quoting
 * input in messages. Never cuts a UTF-8 sequence. */
const char *tseed_text_quote(const char *text, size_t most, apr_pool_t *pool);

/* Ends a text of `size` bytes or more with "…", so that it has less; a UTF-8 sequence stays whole.
 * `size` is at least 4. */
void tseed_text_cut(char *text, size_t size);

/* Copies as much of the text as `size` bytes hold, with "…" at the end if that is not all of it.
 * `size` is at least 4. Returns `to`. */
const char *tseed_text_fit(char *to, size_t size, const char *text);

/* The same of what a format makes. */
void tseed_text_say(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* RFC 3339 in UTC without fractions, "2026-11-21T09:30:00Z". */
#define TSEED_TIME_SIZE 24
void tseed_text_second(char text[TSEED_TIME_SIZE], apr_time_t time);

/* RFC 3339 in UTC with milliseconds, "2026-11-21T09:30:00.000Z". */
const char *tseed_text_rfc3339(apr_time_t time, apr_pool_t *pool);

/* Whether a text can be the name of a host: 1 to `most` letters, digits, '-', '_' and '.', the
 * first of them no '.'. */
int tseed_text_is_host(const char *text, size_t most);

#endif
