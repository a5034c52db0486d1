/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Who may see a tile that was not there when httpd looked. */
#ifndef MOD_TILESEED_ACCESS_H
#define MOD_TILESEED_ACCESS_H

#include <httpd.h>

/* Whether whoever sent the request may see the file at `path`, which was made while the request
 * waited. OK; the status with which httpd refuses it; HTTP_NOT_FOUND when httpd still finds no
 * directory for it. The directories of the file count for the answer's headers from now on. Request
 * thread. */
int tseed_access_again(request_rec *r, const char *path);

#endif
