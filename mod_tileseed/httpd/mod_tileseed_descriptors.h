/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The descriptors that a fork of httpd's parent inherits and has no use for. */
#ifndef MOD_TILESEED_DESCRIPTORS_H
#define MOD_TILESEED_DESCRIPTORS_H

#include <httpd.h>

/* Closes the MPM's pipes, sockets that listen, and files that httpd writes to, access logs among
 * them. /dev/null gets their numbers, so that no number comes to mean something else. Error logs
 * stay open, and so do other sockets, because a logging module may use one. Seeder, before it opens
 * anything and before it drops privileges. Does nothing without /proc. */
void tseed_descriptors_leave(const server_rec *servers);

#endif
