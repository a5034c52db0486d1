/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Explains an answer that is a document instead of a picture. Pure text, any thread. */
#ifndef TSEED_EXPLAIN_H
#define TSEED_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

/* Names the kind of document: "an XML exception", "an XML document", "an HTML page", "text", "a
 * picture of a wrong type" or "data called text". UTF-16 is read as well. Puts the words that a
 * person would read in it into `text`: one line of valid UTF-8 without control characters, cut to
 * `size`; "" when there are none. Returns NULL when neither the Content-Type nor the first
 * character says that the body is a document. `type` may be "". */
const char *tseed_explain(char *text, size_t size, const char *type, const unsigned char *body,
                          size_t length);

/* Puts the code of an OGC exception into `code`, cut to `size`: "LayerNotDefined" (06-042, table
 * E.1; 06-121r9, table 27). "": the body has none. Of several the first counts. */
void tseed_explain_code(char *code, size_t size, const unsigned char *body, size_t length);

/* Reads a reference of HTML or XML that begins at `text`, of which `most` bytes may be read:
 * "&#228;", "&#xE4;", "&amp;" and the other four names, in any case. Returns its bytes; 0: there is
 * none. The number need not be one of a character. */
size_t tseed_explain_reference(uint32_t *code, const char *text, size_t most);

#endif
