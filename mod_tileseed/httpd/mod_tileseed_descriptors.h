/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The descriptors that a fork of httpd's parent inherits and has no use for. */
#ifndef MOD_TILESEED_DESCRIPTORS_H
#define MOD_TILESEED_DESCRIPTORS_H

#include <httpd.h>

/* Lets go of the MPM's pipes, sockets that listen, and files that are written to, the access logs
 * among them: /dev/null takes their places, so that no number comes to mean something else. Error
 * logs stay, and so do other sockets: a logging module may talk through one. Seeder, before it has
 * opened anything and before it drops privileges. Without /proc nothing happens. */
void tseed_descriptors_leave(const server_rec *servers);

#endif
