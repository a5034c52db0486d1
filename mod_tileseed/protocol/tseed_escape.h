/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Text as pure ASCII, so that no reader can get its encoding wrong.
 *
 * Every `text` is taken for UTF-8; a byte that is not part of it counts as U+FFFD.
 *
 * Pure functions; results live in `pool`.
 */
#ifndef TSEED_ESCAPE_H
#define TSEED_ESCAPE_H

#include <apr_pools.h>
#include <stdint.h>

/* The character at *at, which moves on behind it; 0 at the end, where it stays. U+FFFD for a byte
 * that is no UTF-8 (overlong forms and surrogates are none). */
uint32_t tseed_utf8_next(const char **at);

/* A JSON string, quotes included: beyond U+007F and below U+0020 \uXXXX. */
const char *tseed_escape_json(const char *text, apr_pool_t *pool);

/* Content of an element or attribute, XML or HTML: characters beyond U+007F become &#n;. Characters
 * that XML 1.0 can't hold become U+FFFD. */
const char *tseed_escape_xml(const char *text, apr_pool_t *pool);

/* Plain text: "..." for an ellipsis, else beyond U+007F one `?` a character. */
const char *tseed_escape_plain(const char *text, apr_pool_t *pool);

#endif
