/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Our section of mod_status' page. */
#ifndef MOD_TILESEED_STATUS_H
#define MOD_TILESEED_STATUS_H

#include <httpd.h>

/* status_hook of mod_status: a few lines, in the short form for machines. Request thread; reads the
 * board alone. */
int tseed_status_section(request_rec *r, int flags);

#endif
