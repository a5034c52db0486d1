/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Words for gauges. */
#include "protocol/tseed_gauge.h"

const char *tseed_upstream_state_name(int64_t state)
{
    static const char *const names[] = {
        [TSEED_UPSTREAM_UNASKED] = "UNASKED", [TSEED_UPSTREAM_WELL] = "WELL",
        [TSEED_UPSTREAM_FAILING] = "FAILING", [TSEED_UPSTREAM_SILENT] = "SILENT",
        [TSEED_UPSTREAM_QUIET] = "QUIET",     [TSEED_UPSTREAM_AWAY] = "AWAY",
    };

    return state >= 0 && state <= TSEED_UPSTREAM_AWAY ? names[state]
                                                      : names[TSEED_UPSTREAM_UNASKED];
}
