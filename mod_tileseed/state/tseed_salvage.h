/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What can still be read of a damaged database. Private to the state room. The process that holds
 * the opening lock. The scratch pool holds what the call needs while it runs. */
#ifndef TSEED_SALVAGE_H
#define TSEED_SALVAGE_H

#include "state/tseed_database.h"

/* Takes over readable tasks with row numbers up to `last`, what belongs to them and the quota
 * configuration from the file `damaged`, of this version or an older one; *tasks and *quota say how
 * many came over. What can't be read is no failure; a full disk, a locked database or one that
 * can't be opened is: nothing may be given up for that. */
apr_status_t tseed_salvage(tseed_database_t *db, int *tasks, int *quota, const char *damaged,
                           int64_t last, apr_pool_t *scratch);

#endif
