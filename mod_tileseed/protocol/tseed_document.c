/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Documents as trees: what both formats share. */
#include "protocol/tseed_document.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "protocol/tseed_reader.h"

#define QUOTE_MAX 100

const char *tseed_document_read(tseed_node_t **root, tseed_format_of_body_t format,
                                const char *body, size_t length, apr_pool_t *pool)
{
    size_t blanks = 0;

    *root = NULL;
    while (blanks < length && tseed_ascii_is_space(body[blanks])) {
        blanks++;
    }
    if (blanks == length) {
        return apr_psprintf(pool, "The body is empty: a document in %s is expected",
                            format == TSEED_BODY_XML ? "XML" : "JSON");
    }
    return format == TSEED_BODY_XML ? tseed_xml_read(root, body, length, pool)
                                    : tseed_json_read(root, body, length, pool);
}

const char *tseed_document_check_root(const tseed_node_t *root, tseed_format_of_body_t format,
                                      const char *const *names, apr_pool_t *pool)
{
    const char *list = "", *found;

    for (int i = 0; names[i]; i++) {
        if (!root || strcmp(root->name, names[i]) == 0) {
            return NULL;
        }
        list = apr_pstrcat(pool, list, i ? "|" : "", names[i], NULL);
    }
    found = tseed_text_quote(root->name, QUOTE_MAX, pool);
    if (format == TSEED_BODY_XML) {
        return apr_psprintf(pool, "The root must be %s, not '%s'", list, found);
    }
    return *found ? apr_psprintf(pool, "The root member %s is missing, '%s' stands in its place",
                                 list, found)
                  : apr_psprintf(pool, "The root member %s is missing", list);
}
