/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Explains an answer that is a document instead of a picture. Pure text, any thread. */
#ifndef TSEED_EXPLAIN_H
#define TSEED_EXPLAIN_H

#include <stddef.h>

/* Names the kind of document: "an XML exception", "an XML document", "an HTML page", "text" or
 * "data called text". Puts the words that a person would read in it into `text`: one line of valid
 * UTF-8 without control characters, cut to `size`; "" when there are none. Returns NULL when
 * neither the Content-Type nor the first character says that the body is a document. `type` may be
 * "". */
const char *tseed_explain(char *text, size_t size, const char *type, const unsigned char *body,
                          size_t length);

#endif
