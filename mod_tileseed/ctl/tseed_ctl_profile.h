/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where the server is and who asks: what the command line leaves open comes from the environment
 * and from files. A password comes from a file or from the terminal, never from a command line,
 * which all users of the machine can read. Main thread. */
#ifndef TSEED_CTL_PROFILE_H
#define TSEED_CTL_PROFILE_H

#include "ctl/tseed_ctl_http.h"
#include "ctl/tseed_ctl_options.h"

/* Reads lines such as "server http://localhost/rest": the name of a long option without its dashes,
 * and its value. An option that is set already stays as it is. `name` is the name of the file, for
 * sentences. NULL or a sentence, in `pool`. */
const char *tseed_ctl_profile_read(tseed_ctl_options_t *options, const char *text, const char *name,
                                   apr_pool_t *pool);

/* NULL, or a sentence when the address is none of a REST interface or holds a password. In `pool`.
 */
const char *tseed_ctl_server_check(const char *url, apr_pool_t *pool);

/* Completes the options and makes the server of them. NULL, or a sentence. In `pool`. */
const char *tseed_ctl_profile(tseed_ctl_server_t *server, tseed_ctl_options_t *options,
                              apr_pool_t *pool);

#endif
