/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Forms: what web pages and curl -d send, and the termination among it. */
#ifndef TSEED_FORM_H
#define TSEED_FORM_H

#include <apr_tables.h>

/* application/x-www-form-urlencoded into a table, keys as sent. Malformed escapes stay as they
 * are, and so does %00. */
apr_table_t *tseed_form_read(const char *body, size_t length, apr_pool_t *pool);

/* kill_all of a body or, if the body has none, of a query (NULL: there is none); a body that begins
 * with { or < is no form. Sets the mask of states to terminate (1 << TSEED_PENDING, 1 <<
 * TSEED_RUNNING) and the code's lower-case name. NULL or the text of the 400. */
const char *tseed_kill_code_read(unsigned *mask, const char **code, const char *body, size_t length,
                                 const char *query, apr_pool_t *pool);

#endif
