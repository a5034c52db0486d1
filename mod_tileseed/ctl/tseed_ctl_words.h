/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Numbers and names for people at a terminal. Pure functions; results live in `pool`. */
#ifndef TSEED_CTL_WORDS_H
#define TSEED_CTL_WORDS_H

#include <apr_pools.h>
#include <stdint.h>

/* A count: "9999", "12.3k", "1.37M". */
const char *tseed_ctl_count(int64_t number, apr_pool_t *pool);

/* A share: "61.3 %". It is cut and not rounded, so that 100.0 % means all. */
const char *tseed_ctl_share(int64_t part, int64_t whole, apr_pool_t *pool);

/* "12 s", "35 min", "2 h 05 min", "3 d 4 h". */
const char *tseed_ctl_seconds(double seconds, apr_pool_t *pool);

/* "0.5/s", "412/s". */
const char *tseed_ctl_rate(double per_second, apr_pool_t *pool);

/* A text of the server without what a terminal would obey: control characters, and those that turn
 * the direction of writing, become `?`; bytes that are not UTF-8 become U+FFFD. */
const char *tseed_ctl_clean(const char *text, apr_pool_t *pool);

/* The same for several lines: tabs stay, and so do the ends of lines, "\n" and "\r\n". */
const char *tseed_ctl_clean_lines(const char *text, apr_pool_t *pool);

/* How many characters a text has: what it takes on a terminal. */
int tseed_ctl_width(const char *text);

/* The beginning of a text of at most so many characters. */
const char *tseed_ctl_clip(const char *text, int width, apr_pool_t *pool);

/* A field of comma-separated values (RFC 4180). */
const char *tseed_ctl_csv(const char *text, apr_pool_t *pool);

#endif
