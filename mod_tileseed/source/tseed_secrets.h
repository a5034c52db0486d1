/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What is blanked in an upstream's words before anybody reads them: causes of failures stand in
 * answers and in the log, and upstreams like to repeat what they were asked.
 *
 * Secret are, as sent or decoded, values of the query but for those that every map request has, the
 * path, what in it looks like a key, values of header= and what stands in the file of auth=.
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
