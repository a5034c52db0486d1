/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Secrets: they are blanked in an upstream's words before anybody reads them. Causes of failures
 * stand in answers and in the log, and upstreams like to repeat the request.
 *
 * Secret, as sent or decoded, are: values of the query, but for those that every map request has;
 * the path, and parts of it that look like a key; values of header=; the content of the file of
 * auth=.
 *
 * Private to this room; any thread.
 */
#ifndef TSEED_SECRETS_H
#define TSEED_SECRETS_H

#include "source/tseed_fetcher.h"

/* Puts "***" in place of each secret of a transfer. `is_cut`: the text ends early, so that a secret
 * at its end may be there in part. */
void tseed_secrets_blank(char *text, int is_cut, const tseed_transfer_t *transfer);

#endif
