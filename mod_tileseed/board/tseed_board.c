/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The board's layout, its one writer and its many readers.
 *
 * A slot is free while its id is 0. A claim writes the id last, a release clears the id first, and
 * readers look at the id before and after they copy: so nobody takes one task's numbers for
 * another's. A writer that dies in between leaves a free slot or a whole one.
 */
#include "board/tseed_board.h"

#include <apr_strings.h>
#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "board/tseed_board_layout.h"

#define MEANING 7 /* moved on when the meaning of a field changes but no size does */

/* ---- layout ---- */

/* FNV-1a over what decides where things lie and what they mean. */
uint64_t tseed_board_layout(void)
{
    static const uint64_t parts[] = {
        MEANING,
        sizeof(tseed_segment_t),
        sizeof(tseed_board_slot_t),
        sizeof(tseed_board_worker_t),
        sizeof(tseed_board_blame_t),
        sizeof(tseed_board_upstream_t),
        sizeof(tseed_quota_gauge_t),
        sizeof(tseed_quota_rule_t),
        sizeof(tseed_counters_t), /* what padding hides as well: */
        sizeof(tseed_readings_t),
        sizeof(tseed_progress_t),
        offsetof(tseed_progress_t, made),
        offsetof(tseed_progress_t, rate),
        offsetof(tseed_progress_t, started),
        offsetof(tseed_progress_t, low),
        offsetof(tseed_progress_t, window),
        offsetof(tseed_progress_t, reason),
    };
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        hash = (hash ^ parts[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

apr_size_t tseed_board_size(unsigned slots, unsigned workers)
{
    return sizeof(tseed_segment_t) + workers * sizeof(tseed_board_worker_t) +
           slots * sizeof(tseed_board_slot_t);
}

static tseed_board_t *handle_make(void *memory, unsigned slots, unsigned workers, apr_pool_t *pool)
{
    tseed_board_t *board = apr_pcalloc(pool, sizeof(*board));

    board->segment = memory;
    board->slots = slots;
    board->workers = workers;
    return board;
}

tseed_board_t *tseed_board_init(void *memory, unsigned slots, unsigned workers, apr_pool_t *pool)
{
    tseed_segment_t *segment = memory;

    assert((uintptr_t)memory % TSEED_BOARD_LINE == 0);
    segment->size = tseed_board_size(slots, workers);
    segment->born = (uint64_t)apr_time_now();
    segment->layout = tseed_board_layout();
    segment->magic = TSEED_BOARD_MAGIC;
    return handle_make(memory, slots, workers, pool);
}

tseed_board_t *tseed_board_attach(void *memory, uint64_t layout, unsigned slots, unsigned workers,
                                  apr_pool_t *pool)
{
    tseed_segment_t *segment = memory;

    if (layout != tseed_board_layout() || segment->layout != layout) {
        atomic_store(&segment->fence, 1);
        return NULL;
    }
    return handle_make(memory, slots, workers, pool);
}

int tseed_board_is_fenced(const tseed_board_t *board)
{
    return atomic_load(&board->segment->fence) != 0;
}

unsigned tseed_board_slots(const tseed_board_t *board)
{
    return board->slots;
}

unsigned tseed_board_used(const tseed_board_t *board)
{
    return tseed_board_bound(board, &board->segment->used);
}

/* ---- the seeder's own state ---- */

void tseed_board_seeder_begin(tseed_board_t *board, int64_t pid, apr_time_t now)
{
    tseed_board_blame_workers(board);
    atomic_store(&board->segment->hint,
                 0); /* the last seeder may have died before it moved it back */
    atomic_store(&board->segment->upstreams_used, 0);
    atomic_store(&board->segment->heartbeat, now);
    atomic_store(&board->segment->pid, pid);
    atomic_fetch_add(&board->segment->epoch, 1);
    tseed_board_seeder_state_set(board, TSEED_SEEDER_STARTING, now);
}

void tseed_board_seeder_state_set(tseed_board_t *board, tseed_seeder_state_t state, apr_time_t now)
{
    atomic_store(&board->segment->state, state);
    atomic_store(&board->segment->state_since, now);
    tseed_board_change(board);
}

apr_time_t tseed_board_seeder_since(const tseed_board_t *board)
{
    return atomic_load(&board->segment->state_since);
}

uint64_t tseed_board_changes(const tseed_board_t *board)
{
    return atomic_load(&board->segment->changes);
}

uint64_t tseed_board_born(const tseed_board_t *board)
{
    return board->segment->born;
}

void tseed_board_heartbeat(tseed_board_t *board, apr_time_t now)
{
    atomic_store_explicit(&board->segment->heartbeat, now, memory_order_relaxed);
}

tseed_seeder_state_t tseed_board_seeder(const tseed_board_t *board, int64_t *pid, uint64_t *epoch,
                                        apr_time_t *heartbeat)
{
    uint64_t state = atomic_load(&board->segment->state);

    if (pid) {
        *pid = atomic_load(&board->segment->pid);
    }
    if (epoch) {
        *epoch = atomic_load(&board->segment->epoch);
    }
    if (heartbeat) {
        *heartbeat = atomic_load(&board->segment->heartbeat);
    }
    return state <= TSEED_SEEDER_STANDBY ? (tseed_seeder_state_t)state : TSEED_SEEDER_NONE;
}

uint64_t tseed_board_generation(const tseed_board_t *board)
{
    return atomic_load(&board->segment->generation);
}

void tseed_board_generation_set(tseed_board_t *board, uint64_t generation)
{
    atomic_store(&board->segment->generation, generation);
    atomic_store(&board->segment->fence, 0);
}

/* ---- what was committed, what was acted upon ---- */

void tseed_board_crowd(tseed_board_t *board, int crowded)
{
    if (atomic_exchange(&board->segment->crowded, crowded != 0) != (crowded != 0)) {
        tseed_board_change(board);
    }
}

int tseed_board_is_crowded(const tseed_board_t *board)
{
    return atomic_load(&board->segment->crowded) != 0;
}

uint64_t tseed_board_commit(tseed_board_t *board)
{
    return atomic_fetch_add(&board->segment->committed, 1) + 1;
}

uint64_t tseed_board_committed(const tseed_board_t *board)
{
    return atomic_load(&board->segment->committed);
}

void tseed_board_apply(tseed_board_t *board, uint64_t seq)
{
    if (seq > atomic_load(&board->segment->applied)) {
        atomic_store(&board->segment->applied, seq);
    }
}

uint64_t tseed_board_applied(const tseed_board_t *board)
{
    return atomic_load(&board->segment->applied);
}

/* ---- slots, the writer's side ---- */

static void identity_init(tseed_board_identity_t *identity, const tseed_task_t *task)
{
    memset(identity, 0, sizeof(*identity));
    identity->tiles_total = task->tiles_total;
    identity->type = task->type;
    apr_cpystrn(identity->layer, task->layer, sizeof(identity->layer));
}

/* Whatever stands behind the used ones, the next of them is free. */
static int find_free(const tseed_board_t *board)
{
    unsigned slot = tseed_board_bound(board, &board->segment->hint);
    unsigned used = tseed_board_used(board);

    slot = slot < used ? slot : used;
    while (slot < used && !tseed_board_slot_is_free(tseed_board_slot_at(board, slot))) {
        slot++;
    }
    return slot < board->slots ? (int)slot : -1;
}

int tseed_board_slot_claim(tseed_board_t *board, const tseed_task_t *task,
                           const tseed_progress_t *progress)
{
    int found = find_free(board);
    tseed_board_slot_t *slot;
    tseed_board_identity_t identity;

    if (found < 0) {
        return -1;
    }
    slot = tseed_board_slot_at(board, (unsigned)found);
    identity_init(&identity, task);
    atomic_store_explicit(&slot->id, 0, memory_order_release);
    tseed_words_store(slot->identity, &identity, TSEED_WORDS(identity));
    atomic_store_explicit(&slot->terminating, 0, memory_order_release);
    tseed_pair_write(&slot->turn, slot->progress, progress, TSEED_WORDS(*progress));
    if ((unsigned)found >= tseed_board_used(board)) {
        atomic_store(&board->segment->used, (uint64_t)found + 1);
    }
    if ((uint64_t)found >= atomic_load(&board->segment->peak)) {
        atomic_store(&board->segment->peak, (uint64_t)found + 1);
    }
    atomic_store_explicit(&slot->id, task->id, memory_order_release);
    atomic_store(&board->segment->hint, (uint64_t)found + 1);
    tseed_board_change(board);
    return found;
}

void tseed_board_slot_update(tseed_board_t *board, int slot, const tseed_progress_t *progress)
{
    tseed_board_slot_t *record = tseed_board_slot_at(board, (unsigned)slot);

    if (tseed_pair_show(&record->turn, record->progress, progress, TSEED_WORDS(*progress))) {
        tseed_board_change(board);
    }
}

void tseed_board_slot_terminating(tseed_board_t *board, int slot)
{
    atomic_store_explicit(&tseed_board_slot_at(board, (unsigned)slot)->terminating, 1,
                          memory_order_release);
    tseed_board_change(board);
}

void tseed_board_slot_release(tseed_board_t *board, int slot)
{
    unsigned used = tseed_board_used(board);

    atomic_store_explicit(&tseed_board_slot_at(board, (unsigned)slot)->id, 0, memory_order_release);
    if ((uint64_t)slot < atomic_load(&board->segment->hint)) {
        atomic_store(&board->segment->hint, (uint64_t)slot);
    }
    while (used > 0 && tseed_board_slot_is_free(tseed_board_slot_at(board, used - 1))) {
        used--;
    }
    atomic_store(&board->segment->used, used);
    tseed_board_change(board);
}

/* ---- slots, the readers' side ---- */

/* A reader gives up after ROUNDS times SPINS attempts; the writer can't be that much faster. */
#define SPINS  64
#define ROUNDS 8

/* Whether a reader may make this attempt, counted from 0; lets the writer run from time to time. */
static int may_try(unsigned attempt)
{
    if (attempt % SPINS == SPINS - 1) {
        sched_yield();
    }
    return attempt < SPINS * ROUNDS;
}

typedef enum { SLOT_FREE, SLOT_READ, SLOT_WRONG, SLOT_TORN } reading_t;

/* One attempt. SLOT_TORN: something changed meanwhile. */
static reading_t slot_try(const tseed_board_slot_t *slot, tseed_row_t *row)
{
    int64_t id = atomic_load_explicit(&slot->id, memory_order_acquire);
    tseed_board_identity_t identity;

    if (id == 0) {
        return SLOT_FREE;
    }
    tseed_words_load(&identity, slot->identity, TSEED_WORDS(identity));
    row->terminating = atomic_load_explicit(&slot->terminating, memory_order_acquire) != 0;
    if (!tseed_pair_read(&row->progress, &slot->turn, slot->progress, TSEED_WORDS(row->progress)) ||
        atomic_load_explicit(&slot->id, memory_order_relaxed) != id) {
        return SLOT_TORN;
    }
    row->id = id;
    row->tiles_total = identity.tiles_total;
    row->type = (tseed_task_type_t)identity.type;
    memcpy(row->layer, identity.layer, sizeof(row->layer));
    return SLOT_READ;
}

static reading_t slot_copy(const tseed_board_slot_t *slot, tseed_row_t *row)
{
    reading_t reading = SLOT_TORN;

    for (unsigned attempt = 0; reading == SLOT_TORN && may_try(attempt); attempt++) {
        reading = slot_try(slot, row);
    }
    return reading;
}

/* Rows of a seeder that has left stay. Their tasks make no tiles, so the rows have no rate. */
static reading_t slot_read(const tseed_board_t *board, const tseed_board_slot_t *slot,
                           tseed_row_t *row)
{
    reading_t reading = slot_copy(slot, row);

    if (reading == SLOT_READ &&
        tseed_board_seeder(board, NULL, NULL, NULL) == TSEED_SEEDER_STOPPED) {
        row->progress.rate = 0;
    }
    return reading == SLOT_READ && tseed_board_judge(row) ? SLOT_WRONG : reading;
}

int tseed_board_copy(const tseed_board_t *board, unsigned slot, tseed_row_t *row)
{
    return slot_copy(tseed_board_slot_at(board, slot), row) == SLOT_READ;
}

int tseed_board_read(const tseed_board_t *board, unsigned slot, tseed_row_t *row)
{
    return slot < tseed_board_used(board) &&
           slot_read(board, tseed_board_slot_at(board, slot), row) == SLOT_READ;
}

int tseed_board_find(const tseed_board_t *board, int64_t task, tseed_row_t *row)
{
    unsigned used = tseed_board_used(board);

    for (unsigned i = 0; i < used; i++) {
        const tseed_board_slot_t *slot = tseed_board_slot_at(board, i);

        if (atomic_load_explicit(&slot->id, memory_order_acquire) == task &&
            slot_read(board, slot, row) == SLOT_READ && row->id == task) {
            return 1;
        }
    }
    return 0;
}

/* Whether a slot may be one of the rows wanted; what it says is looked at again when it has been
 * read. */
static int may_match(const tseed_board_slot_t *slot, const char *layer)
{
    tseed_board_identity_t identity;

    if (tseed_board_slot_is_free(slot)) {
        return 0;
    }
    if (!layer) {
        return 1;
    }
    tseed_words_load(&identity, slot->identity, TSEED_WORDS(identity));
    return strncmp(identity.layer, layer, sizeof(identity.layer)) == 0;
}

static int by_id(const void *a, const void *b)
{
    int64_t left = ((const tseed_row_t *)a)->id;
    int64_t right = ((const tseed_row_t *)b)->id;

    return (left > right) - (left < right);
}

/* Rows are large: they are counted first, so that the array needs not grow. */
static int count_matches(const tseed_board_t *board, unsigned used, const char *layer)
{
    int count = 0;

    for (unsigned i = 0; i < used; i++) {
        count += may_match(tseed_board_slot_at(board, i), layer);
    }
    return count;
}

apr_array_header_t *tseed_board_list(const tseed_board_t *board, const char *layer, int terminating,
                                     apr_pool_t *pool)
{
    unsigned used = tseed_board_used(board);
    apr_array_header_t *rows =
        apr_array_make(pool, count_matches(board, used, layer) + 1, sizeof(tseed_row_t));

    for (unsigned i = 0; i < used; i++) {
        const tseed_board_slot_t *slot = tseed_board_slot_at(board, i);
        tseed_row_t row;
        reading_t reading = may_match(slot, layer) ? slot_read(board, slot, &row) : SLOT_FREE;

        if (reading == SLOT_TORN || reading == SLOT_WRONG) {
            return NULL;
        }
        if (reading == SLOT_READ && (terminating || !row.terminating) &&
            (!layer || strcmp(row.layer, layer) == 0)) {
            APR_ARRAY_PUSH(rows, tseed_row_t) = row;
        }
    }
    qsort(rows->elts, (size_t)rows->nelts, sizeof(tseed_row_t), by_id);
    return rows;
}

/* ---- quota ---- */

apr_status_t tseed_board_quota_set(tseed_board_t *board, const char *saved, int64_t version)
{
    size_t length = strlen(saved);
    tseed_board_quota_t quota;

    if (length >= sizeof(quota.text)) {
        return APR_ENOSPC;
    }
    memset(&quota, 0, sizeof(quota));
    quota.version = version;
    memcpy(quota.text, saved, length);
    tseed_pair_write(&board->segment->quota_turn, board->segment->quota, &quota,
                     TSEED_WORDS(quota));
    tseed_board_change(board);
    return APR_SUCCESS;
}

const char *tseed_board_quota_get(const tseed_board_t *board, int64_t *version, apr_pool_t *pool)
{
    tseed_board_quota_t *quota;

    if (atomic_load(&board->segment->quota_turn) == 0) {
        return NULL;
    }
    quota = apr_palloc(pool, sizeof(*quota));
    for (unsigned attempt = 0; may_try(attempt); attempt++) {
        if (tseed_pair_read(quota, &board->segment->quota_turn, board->segment->quota,
                            TSEED_WORDS(*quota))) {
            *version = quota->version;
            quota->text[sizeof(quota->text) - 1] = '\0';
            return quota->text;
        }
    }
    return NULL;
}

/* ---- hosts ---- */

#define HOST_TRIES 512 /* of a reader; the writer writes once a second */

void tseed_board_host_set(tseed_board_t *board, const tseed_board_host_t *host)
{
    tseed_segment_t *segment = board->segment;

    if (tseed_pair_show(&segment->host_turn, segment->host, host, TSEED_WORDS(*host))) {
        tseed_board_change(board);
    }
}

tseed_board_host_t tseed_board_host_get(const tseed_board_t *board)
{
    const tseed_segment_t *segment = board->segment;
    tseed_board_host_t host = {0};
    int tries = atomic_load(&segment->host_turn) ? HOST_TRIES : 0;

    while (tries > 0 &&
           !tseed_pair_read(&host, &segment->host_turn, segment->host, TSEED_WORDS(host))) {
        tries--;
    }
    host.active[sizeof(host.active) - 1] = '\0';
    return host;
}

int tseed_board_is_standby(const tseed_board_t *board)
{
    return tseed_board_seeder(board, NULL, NULL, NULL) == TSEED_SEEDER_STANDBY;
}

void tseed_board_clear(tseed_board_t *board)
{
    for (unsigned used = tseed_board_used(board); used > 0; used--) {
        if (!tseed_board_slot_is_free(tseed_board_slot_at(board, used - 1))) {
            tseed_board_slot_release(board, (int)used - 1);
        }
    }
    for (unsigned trace = tseed_traces_used(board); trace > 0; trace--) {
        tseed_trace_end(board, trace);
    }
}
