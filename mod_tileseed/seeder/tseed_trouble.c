/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Trouble with the state database: what the log and tasks say of it, once each. */
#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "seeder/tseed_house.h"

#define RETRY_AFTER APR_USEC_PER_SEC

static const char *say_trouble(apr_status_t rv)
{
    return APR_STATUS_IS_ENOSPC(rv)
               ? "paused: the state directory has no space left"
               : "paused: the state database can't be written; the error log says why";
}

void tseed_trouble_note(tseed_seeder_t *seeder, apr_status_t rv, const char *what)
{
    seeder->retry_at = tseed_clock_monotonic() + RETRY_AFTER;
    if (!seeder->state_trouble) {
        tseed_log(TSEED_LOG_ERROR, rv,
                  "can't %s in the state database below %s: %s; running tasks go on up to the next "
                  "page of the cache, new ones wait, "
                  "it is tried again every second",
                  what, seeder->settings->state_dir, tseed_state_error(seeder->state));
    }
    seeder->state_trouble = say_trouble(rv);
    tseed_display_all_waiting(seeder, seeder->state_trouble);
}

void tseed_trouble_end(tseed_seeder_t *seeder)
{
    if (seeder->state_trouble) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "the state database works again");
        tseed_display_all_waiting(seeder, "");
    }
    seeder->state_trouble = NULL;
}
