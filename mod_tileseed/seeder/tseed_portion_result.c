/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Results of portions as text. */
#include "seeder/tseed_portion_result.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "work/tseed_portion.h"

static const char *const words[] = {"ok", "unchanged", "failed", "undone", "refused"};

#define OUTCOMES ((int)(sizeof(words) / sizeof(words[0])))
#define DAY      (24 * 3600 * APR_USEC_PER_SEC)

/* The numbers of a line and the most of each. */
static const int64_t most[] = {999, 1, DAY, DAY, DAY, INT32_MAX};

#define NUMBERS ((int)(sizeof(most) / sizeof(most[0])))
#define FIELDS  (NUMBERS + 2)

/* What was cancelled has not ended. */
static apr_interval_time_t age_of(const tseed_transfer_t *transfer, apr_time_t now)
{
    return transfer->ended > 0 && transfer->ended < now ? now - transfer->ended : 0;
}

const char *tseed_portion_result_write(tseed_portion_outcome_t outcome,
                                       const tseed_transfer_t *transfer, apr_time_t now,
                                       apr_pool_t *pool)
{
    if (outcome == TSEED_PORTION_REFUSED) {
        return apr_pstrcat(pool, words[outcome], " ", tseed_portion_field(transfer->cause, pool),
                           NULL);
    }
    return apr_psprintf(pool,
                        "%s %d %d %" APR_TIME_T_FMT " %" APR_TIME_T_FMT " %" APR_TIME_T_FMT
                        " %" APR_SIZE_T_FMT " %s %s",
                        words[outcome], transfer->http_status, transfer->sent, transfer->took,
                        age_of(transfer, now), transfer->retry_after, transfer->received,
                        tseed_portion_field(transfer->next_condition, pool),
                        tseed_portion_field(transfer->cause, pool));
}

/* The number of a line's outcome, or -1. */
static int outcome_of(const char *word)
{
    int outcome = OUTCOMES - 1;

    while (outcome >= 0 && strcmp(words[outcome], word) != 0) {
        outcome--;
    }
    return outcome;
}

static int read_numbers(int64_t *numbers, char **fields)
{
    for (int i = 0; i < NUMBERS; i++) {
        if (tseed_text_int64(&numbers[i], fields[i], 0, most[i]) != 0) {
            return 0;
        }
    }
    return 1;
}

static int read_cause(tseed_portion_result_t *result, const char *field, apr_pool_t *pool)
{
    const char *cause = tseed_portion_text(field, pool);

    result->cause = cause ? tseed_text_quote(cause, TSEED_CAUSE_SIZE - 1, pool) : "";
    return cause != NULL;
}

static int read_fields(tseed_portion_result_t *result, char **fields, apr_pool_t *pool)
{
    const char *condition = tseed_portion_condition(fields[NUMBERS], pool);
    int64_t numbers[NUMBERS];

    if (!read_numbers(numbers, fields) || !read_cause(result, fields[NUMBERS + 1], pool)) {
        return 0;
    }
    result->http_status = (int)numbers[0];
    result->sent = (int)numbers[1];
    result->took = numbers[2];
    result->age = numbers[3];
    result->retry_after = numbers[4];
    result->received = (size_t)numbers[5];
    result->next_condition = condition ? condition : "";
    return 1;
}

int tseed_portion_result_read(tseed_portion_result_t *result, char *line, apr_pool_t *pool)
{
    char *fields[FIELDS], *last = NULL, *word = apr_strtok(line, " ", &last);
    const int outcome = word ? outcome_of(word) : -1;
    int count = 0;

    *result = (tseed_portion_result_t){.outcome = (tseed_portion_outcome_t)outcome};
    if (outcome < 0) {
        return 0;
    }
    for (char *field = apr_strtok(NULL, " ", &last); field; field = apr_strtok(NULL, " ", &last)) {
        if (count < FIELDS) {
            fields[count] = field;
        }
        count++;
    }
    return outcome == TSEED_PORTION_REFUSED ? count == 1 && read_cause(result, fields[0], pool)
                                            : count == FIELDS && read_fields(result, fields, pool);
}

void tseed_portion_result_put(tseed_transfer_t *transfer, const tseed_portion_result_t *result)
{
    transfer->result = result->outcome == TSEED_PORTION_OK ? TSEED_FETCH_OK : TSEED_FETCH_UNCHANGED;
    transfer->http_status = result->http_status;
    transfer->sent = result->sent;
    transfer->took = result->took;
    transfer->ended = tseed_clock_monotonic() - result->age;
    transfer->received = result->received;
    transfer->length = 0;
    apr_cpystrn(transfer->next_condition, result->next_condition, sizeof(transfer->next_condition));
}
