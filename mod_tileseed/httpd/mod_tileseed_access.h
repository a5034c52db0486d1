/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Access to a tile that was not there when httpd looked. */
#ifndef MOD_TILESEED_ACCESS_H
#define MOD_TILESEED_ACCESS_H

#include <httpd.h>

/* Whether the client may see the file at `path`, which was made while the request waited. Returns
 * OK, the status with which httpd refuses, or HTTP_NOT_FOUND when httpd still finds no directory of
 * the file. From now on the <Directory> sections of the file decide about the answer's headers.
 * Request thread. */
int tseed_access_again(request_rec *r, const char *path);

#endif
