/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The log sink of children and seeder. */
#include "mod_tileseed.h"

#include <http_log.h>

APLOG_USE_MODULE(tileseed);

void tseed_httpd_log(void *server, tseed_log_level_t level, apr_status_t rv, const char *line)
{
    ap_log_error(APLOG_MARK, (int)level, rv, server, "%s", line);
}
