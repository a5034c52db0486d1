/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Results of portions as text. */
#include "seeder/tseed_portion_result.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "work/tseed_portion.h"

#define FIELDS 9

const char *tseed_portion_result_refuse(void)
{
    return "-";
}

const char *tseed_portion_result_write(const tseed_transfer_t *transfer, const char *path,
                                       apr_pool_t *pool)
{
    return apr_psprintf(
        pool, "%d %d %d %d %" APR_INT64_T_FMT " %" APR_INT64_T_FMT " %s %s %s",
        (int)transfer->result, transfer->http_status, transfer->sent, transfer->is_other,
        transfer->took, transfer->retry_after, tseed_portion_field(transfer->next_condition, pool),
        tseed_portion_field(transfer->cause, pool), tseed_portion_field(path, pool));
}

int tseed_portion_result_read(tseed_portion_result_t *result, char *line, apr_pool_t *pool)
{
    char *fields[FIELDS], *last = NULL;
    int count = 0;

    *result = (tseed_portion_result_t){.path = ""};
    if (strcmp(line, tseed_portion_result_refuse()) == 0) {
        result->is_refused = 1;
        return 1;
    }
    for (char *field = apr_strtok(line, " ", &last); field && count < FIELDS;
         field = apr_strtok(NULL, " ", &last)) {
        fields[count++] = field;
    }
    if (count != FIELDS) {
        return 0;
    }
    result->result = (tseed_fetch_result_t)atoi(fields[0]);
    result->http_status = atoi(fields[1]);
    result->sent = atoi(fields[2]);
    result->is_other = atoi(fields[3]);
    result->took = apr_atoi64(fields[4]);
    result->retry_after = apr_atoi64(fields[5]);
    result->next_condition = tseed_portion_text(fields[6], pool);
    result->cause = tseed_portion_text(fields[7], pool);
    result->path = tseed_portion_text(fields[8], pool);
    return 1;
}

void tseed_portion_result_put(tseed_transfer_t *transfer, const tseed_portion_result_t *result)
{
    transfer->result = result->result;
    transfer->http_status = result->http_status;
    transfer->sent = result->sent;
    transfer->is_other = result->is_other;
    transfer->took = result->took;
    transfer->retry_after = result->retry_after;
    transfer->ended = tseed_clock_monotonic();
    transfer->length = 0;
    apr_cpystrn(transfer->next_condition, result->next_condition, sizeof(transfer->next_condition));
    apr_cpystrn(transfer->cause, result->cause, sizeof(transfer->cause));
}
