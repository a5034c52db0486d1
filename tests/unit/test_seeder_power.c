/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Store and books together when the power fails: the seeder works on a disk that takes notes, and
 * the disk as random moments may have left it is looked at. What the database calls made is there
 * whole, and pages without a mark hold what the books say. */
#include "power_store.h"
#include "seeder_fixture.h"

#include <time.h>

#define CUTS    80
#define HASTE   20   /* ticks are a second of this clock */
#define PATIENT 6000 /* seconds of this clock that nothing lasts, however slow the machine */

/* A strip above the equator, four tiles high at level 8, where it is in eight pages. */
#define STRIP_BODY                                                                                 \
    "{'seedRequest':{'type':'%s','zoomStart':4,'zoomStop':8,'threadCount':2,"                      \
    "'bounds':{'coords':{'double':[-20037508,1000,20037508,620000]}}}}"
#define WORLD_BODY "{'seedRequest':{'type':'%s','zoomStart':0,'zoomStop':4,'threadCount':2}}"

typedef struct {
    int64_t id;
    const char *body; /* with its type */
    int is_other;     /* of the other layer */
    size_t posted;    /* notes by then */
    size_t replaced;  /* notes when another began to replace its tiles; that one is judged by what
                       * it makes */
    size_t removed;   /* notes when another began to remove them */
} act_t;

typedef struct {
    fixture_t *fixture;
    char folder[64];
    act_t acts[8];
    int count;
    size_t from;       /* notes before the first cut */
    int is_books_only; /* tiles are not looked at */
    uint64_t dice;
} life_t;

/* ---- living ---- */

static void start(fixture_t *fixture, int is_synced)
{
    fixture->settings.sync = is_synced;
    fixture->settings.stop_timeout = PATIENT * APR_USEC_PER_SEC;
    power_store_hurry(HASTE);
    seeder_start(fixture);
    power_store_hurry(1);
}

static int is_working(const fixture_t *fixture)
{
    int64_t pid;
    uint64_t epoch;
    apr_time_t beat;

    return tseed_board_seeder(fixture->board, &pid, &epoch, &beat) == TSEED_SEEDER_WORKING &&
           pid == fixture->seeder;
}

/* Who is told to end before it listens is killed, between a call and its note maybe. */
static void restart(fixture_t *fixture, int is_synced)
{
    AWAIT(is_working(fixture));
    assert_int_equal(seeder_stop(fixture, SIGTERM), 0);
    start(fixture, is_synced);
}

static act_t *act(life_t *life, int is_other, const char *type)
{
    fixture_t *fixture = life->fixture;
    act_t *made = &life->acts[life->count++];

    made->is_other = is_other;
    made->body = is_other ? apr_psprintf(fixture->pool, WORLD_BODY, type)
                          : apr_psprintf(fixture->pool, STRIP_BODY, type);
    made->posted = power_store_notes();
    made->replaced = made->removed = SIZE_MAX;
    made->id = post_document(fixture, is_other ? fixture->other : fixture->layer, made->body);
    return made;
}

static void finish(life_t *life, const act_t *made)
{
    assert_int_equal(wait_end(life->fixture, made->id).state, TSEED_DONE);
}

static void begin_life(life_t *life, int is_synced)
{
    const tseed_address_t *address = &life->fixture->layer->source.addresses[0];

    for (int i = 0; i < 2; i++, address = &life->fixture->other->source.addresses[0]) {
        tseed_upstream_t *server = (tseed_upstream_t *)address->upstream;

        server->timeout = server->connect_timeout = server->first_byte_timeout =
            PATIENT * APR_USEC_PER_SEC;
    }
    restart(life->fixture, is_synced);
    life->from = power_store_notes();
}

static void seed_strip(life_t *life)
{
    upstream->mood = SLOW;
    finish(life, act(life, 0, "seed"));
}

/* Seeds, once interrupted; shared files; tiles replaced; a truncate. */
static void live(life_t *life)
{
    act_t *seed, *world;

    begin_life(life, 1);
    upstream->mood = SLOW;
    seed = act(life, 0, "seed");
    wait_processed(life->fixture, seed->id, 600);
    restart(life->fixture, 1);
    finish(life, seed);
    upstream->mood = UNIFORM;
    world = act(life, 1, "seed");
    finish(life, world);
    upstream->mood = SLOW;
    upstream->tint++;
    seed->replaced = power_store_notes();
    finish(life, act(life, 0, "reseed"));
    world->removed = power_store_notes();
    finish(life, act(life, 1, "truncate"));
    assert_int_equal(seeder_stop(life->fixture, SIGTERM), 0);
    life->fixture->seeder = 0;
    power_store_stop();
}

/* ---- looking at what a cut left ---- */

typedef struct {
    life_t *life;
    const power_cut_t *cut;
    apr_pool_t *pool;
    tseed_state_t *state;
    tseed_task_t task; /* of the act looked at */
    tseed_tileset_t tileset;
    tseed_layer_t layer;
    tseed_store_t *store;
    tseed_positions_t positions;
    tseed_tileset_record_t *record; /* NULL: the database does not know the tile set */
    int pages, made;                /* that were looked at */
} look_t;

static void resolve(look_t *look, const act_t *of)
{
    tseed_seed_document_t document;
    fixture_t *fixture = look->life->fixture;
    tseed_shape_t shape;

    look->layer = of->is_other ? *fixture->other : *fixture->layer;
    look->layer.store.root = apr_pstrcat(look->pool, look->life->folder, "/cache", NULL);
    assert_null(tseed_seed_document_read(&document, TSEED_BODY_JSON, of->body, strlen(of->body),
                                         look->pool));
    assert_null(tseed_seed_document_resolve(&look->task, &look->tileset, &document, &look->layer,
                                            look->pool));
    assert_int_equal(tseed_store_open(&look->store, &look->tileset, 1, look->pool), APR_SUCCESS);
    shape = (tseed_shape_t){look->task.zoom_start, look->task.zoom_stop, look->task.meta_width,
                            look->task.meta_height};
    tseed_positions_init(&look->positions, look->tileset.subset->gridset, &look->task.bounds,
                         &shape);
}

/* A PNG says where it ends. */
static int is_whole(const char *path)
{
    char bytes[65536];
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

    if (file) {
        fclose(file);
    }
    return length > 20 && memcmp(bytes, "\x89PNG", 4) == 0 &&
           memcmp(bytes + length - 8, "IEND", 4) == 0;
}

static const char *tile_fault(const look_t *look, const act_t *of, const tseed_tile_t *tile)
{
    const char *path = tseed_store_path(&look->tileset, tile->z, tile->x, tile->y, look->pool);
    const char *name = apr_pstrcat(look->pool, POWER_STORE, path, NULL);

    path = apr_pstrcat(look->pool, look->life->folder, "/", name, NULL);
    if (power_store_born(name) > of->replaced) {
        return NULL;
    }
    if (!is_whole(path)) {
        return apr_psprintf(look->pool, "tile %s of task %d is not whole", name, (int)of->id);
    }
    if (power_store_born(name) <= of->posted) {
        return apr_psprintf(look->pool, "tile %s of task %d is as before", name, (int)of->id);
    }
    return NULL;
}

static const char *metatile_fault(const look_t *look, const act_t *of, int64_t position)
{
    const tseed_range_t wanted = tseed_positions_at(&look->positions, position).wanted;
    const char *fault = NULL;

    for (int64_t y = wanted.miny; !fault && y <= wanted.maxy; y++) {
        for (int64_t x = wanted.minx; !fault && x <= wanted.maxx; x++) {
            fault = tile_fault(look, of, &(tseed_tile_t){wanted.z, x, y});
        }
    }
    return fault;
}

/* What a truncate that is done has left. */
static const char *rest_of(const look_t *look, const act_t *of)
{
    tseed_effect_t sum = {0};

    for (int z = look->task.zoom_start; z <= look->task.zoom_stop; z++) {
        tseed_effect_t level;

        assert_int_equal(tseed_store_count(&level, NULL, look->store, &look->positions.range[z], 0),
                         APR_SUCCESS);
        tseed_effect_add(&sum, &level);
    }
    return sum.names ? apr_psprintf(look->pool, "truncate %d is done and has left %d tiles",
                                    (int)of->id, (int)sum.names)
                     : NULL;
}

static const char *task_fault(look_t *look, const act_t *of)
{
    tseed_task_t *task;
    tseed_progress_t progress;
    const char *fault = NULL;
    apr_status_t rv = tseed_state_task_get(look->state, &task, &progress, of->id, look->pool);

    if (APR_STATUS_IS_NOTFOUND(rv) || look->cut->at > of->removed) {
        return NULL;
    }
    assert_int_equal(rv, APR_SUCCESS);
    if (task->type == TSEED_TRUNCATE) {
        return progress.state == TSEED_DONE ? rest_of(look, of) : NULL;
    }
    for (int64_t i = 0; !fault && i < look->positions.count; i++) {
        if (progress.state == TSEED_DONE || tseed_progress_is_done(&progress, i)) {
            look->made++;
            fault = metatile_fault(look, of, i);
        }
    }
    return fault;
}

/* ---- books ---- */

static void find_record(look_t *look)
{
    apr_array_header_t *records;

    assert_int_equal(tseed_books_tilesets(look->state, &records, look->pool), APR_SUCCESS);
    look->record = NULL;
    for (int i = 0; i < records->nelts; i++) {
        tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        if (strcmp(record->layer, look->layer.name) == 0) {
            look->record = record;
        }
    }
}

static tseed_page_record_t row_of(const apr_array_header_t *pages, const tseed_page_t *page)
{
    for (int i = 0; i < pages->nelts; i++) {
        const tseed_page_record_t *record = &APR_ARRAY_IDX(pages, i, tseed_page_record_t);

        if (record->page.z == page->z && record->page.x == page->x && record->page.y == page->y) {
            return *record;
        }
    }
    return (tseed_page_record_t){.page = *page};
}

static const char *page_fault(look_t *look, const tseed_page_record_t *record)
{
    const tseed_gridset_t *gridset = look->tileset.subset->gridset;
    const tseed_page_t at = record->page;
    tseed_range_t grid = {at.z, 0, 0, gridset->columns[at.z] - 1, gridset->rows[at.z] - 1};
    tseed_range_t tiles = {at.z, at.x * TSEED_PAGE_SIDE, at.y * TSEED_PAGE_SIDE,
                           (at.x + 1) * TSEED_PAGE_SIDE - 1, (at.y + 1) * TSEED_PAGE_SIDE - 1};
    tseed_effect_t sum;

    if (record->dirty) {
        return NULL;
    }
    tiles = tseed_range_intersect(&tiles, &grid);
    assert_int_equal(tseed_store_count(&sum, NULL, look->store, &tiles, 0), APR_SUCCESS);
    look->pages += record->usage.names > 0;
    if (sum.names == record->usage.names && sum.files == record->usage.files &&
        sum.bytes == record->usage.bytes) {
        return NULL;
    }
    return apr_psprintf(look->pool,
                        "page %d/%d/%d of %s has no mark, books %d tiles, %d bytes and "
                        "holds %d, %d",
                        at.z, (int)at.x, (int)at.y, look->layer.name, (int)record->usage.names,
                        (int)record->usage.bytes, (int)sum.names, (int)sum.bytes);
}

/* Every page that the act's tiles are in, whether the database has it or not. */
static const char *books_fault(look_t *look)
{
    apr_array_header_t *pages;
    const char *fault = NULL;

    find_record(look);
    if (!look->record || !look->record->complete) {
        return NULL; /* it will be walked */
    }
    assert_int_equal(
        tseed_books_pages(look->state, &pages, look->record->id, NULL, 1000, look->pool),
        APR_SUCCESS);
    for (int z = look->task.zoom_start; !fault && z <= look->task.zoom_stop; z++) {
        const tseed_range_t *range = &look->positions.range[z];
        tseed_page_t page = {z, 0, range->miny / TSEED_PAGE_SIDE};

        if (look->record->doubtful >> z & 1) {
            continue;
        }
        for (; !fault && page.x <= range->maxx / TSEED_PAGE_SIDE; page.x++) {
            tseed_page_record_t record = row_of(pages, &page);

            fault = page_fault(look, &record);
        }
    }
    return fault;
}

static const char *act_fault(look_t *look, const act_t *of)
{
    const char *fault;

    resolve(look, of);
    fault = look->life->is_books_only ? NULL : task_fault(look, of);
    return fault ? fault : books_fault(look);
}

static void empty(const life_t *life)
{
    nftw(life->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    mkdir(life->folder, 0755);
}

static ino_t inode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* A power loss leaves the database its inode, by which a database from a backup is told. */
static void keep_inode(const look_t *look)
{
    const char *folder = look->life->folder;
    const char *ids = apr_pstrcat(look->pool, folder, "/tileseed.ids", NULL);
    const char *original = apr_pstrcat(look->pool, look->life->fixture->dir, "/tileseed.db", NULL);
    unsigned long long inode;
    long long id;
    FILE *file = fopen(ids, "r+e");

    if (file && fscanf(file, "%lld %llu", &id, &inode) == 2 && inode == inode_of(original)) {
        rewind(file);
        assert_int_equal(ftruncate(fileno(file), 0), 0);
        fprintf(
            file, "%lld %llu\n", id,
            (unsigned long long)inode_of(apr_pstrcat(look->pool, folder, "/tileseed.db", NULL)));
    }
    if (file) {
        fclose(file);
    }
}

/* NULL, or what is wrong with what the cut left. */
static const char *fault_of(look_t *look)
{
    life_t *life = look->life;
    const char *fault = NULL;

    empty(life);
    power_store_restore(life->folder, look->cut);
    keep_inode(look);
    if (tseed_state_open(&look->state, life->folder, "sqlite3", "", look->pool) != APR_SUCCESS) {
        return "the state can't be opened";
    }
    for (int i = 0; !fault && i < life->count; i++) {
        fault = act_fault(look, &life->acts[i]);
    }
    tseed_state_close(look->state);
    return fault;
}

/* ---- cuts ---- */

static uint64_t next(life_t *life)
{
    life->dice ^= life->dice << 13;
    life->dice ^= life->dice >> 7;
    life->dice ^= life->dice << 17;
    return life->dice;
}

/* Half of them right after something was committed. */
static power_cut_t random_cut(life_t *life)
{
    size_t notes = power_store_notes() - life->from;
    size_t at = life->from + (size_t)(next(life) % (notes + 1));
    int is_commit = next(life) % 2;

    return (power_cut_t){.at = is_commit ? power_store_commit(at) : at, .dice = next(life)};
}

/* The first fault of so many cuts, or NULL; what was looked at is added to `seen`. */
static const char *first_fault(life_t *life, int cuts, int ignores_syncfs, look_t *seen)
{
    const char *fault = NULL;

    for (int i = 0; !fault && i < cuts; i++) {
        power_cut_t cut = random_cut(life);
        look_t look = {.life = life, .cut = &cut};

        cut.ignores_syncfs = ignores_syncfs;
        apr_pool_create(&look.pool, life->fixture->pool);
        fault = fault_of(&look);
        fault = fault ? apr_psprintf(life->fixture->pool,
                                     "cut %d of %d (%" APR_UINT64_T_HEX_FMT "): %s", (int)cut.at,
                                     (int)power_store_notes(), cut.dice, fault)
                      : NULL;
        apr_pool_destroy(look.pool);
        seen->made += look.made;
        seen->pages += look.pages;
    }
    return fault;
}

/* ---- tests ---- */

static int setup(void **state)
{
    life_t *life = calloc(1, sizeof(*life));
    void *fixture;

    life->dice = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    snprintf(life->folder, sizeof(life->folder), "%s/tileseed-cut-XXXXXX", memory_folder());
    assert_non_null(mkdtemp(life->folder));
    power_store_start();
    fixture_setup(&fixture);
    life->fixture = fixture;
    *state = life;
    return 0;
}

static int teardown(void **state)
{
    life_t *life = *state;
    void *fixture = life->fixture;

    power_store_stop();
    fixture_teardown(&fixture);
    nftw(life->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(life);
    return 0;
}

#define LISTING "cd %s && find . -type f ! -name '*-shm' -exec cksum {} + | sort"

/* Notes without a cut make up the folder itself. */
static void assert_notes_are_whole(const life_t *life)
{
    const power_cut_t none = {.at = power_store_notes(), .keeps_all = 1};
    const char *command =
        apr_psprintf(life->fixture->pool, "[ \"$(" LISTING ")\" = \"$(" LISTING ")\" ]",
                     life->fixture->dir, life->folder);

    empty(life);
    power_store_restore(life->folder, &none);
    assert_int_equal(system(command), 0);
}

static void test_seeder_power__what_is_called_made_is_on_the_disk(void **state)
{
    life_t *life = *state;
    look_t seen = {0};
    const char *fault;

    live(life);
    assert_notes_are_whole(life);
    fault = first_fault(life, CUTS, 0, &seen);
    if (fault) {
        fail_msg("%s", fault);
    }
    assert_true(seen.made > CUTS);
    assert_true(seen.pages > CUTS);
    assert_non_null(first_fault(life, CUTS, 1, &seen));
    life->is_books_only = 1;
    fault = first_fault(life, CUTS, 1, &seen);
    assert_non_null(fault);
    assert_non_null(strstr(fault, "has no mark"));
}

static void test_seeder_power__finds_a_seeder_that_does_not_sync(void **state)
{
    life_t *life = *state;
    look_t seen = {0};

    begin_life(life, 0);
    seed_strip(life);
    power_store_stop();
    assert_non_null(first_fault(life, CUTS, 0, &seen));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_seeder_power__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_called_made_is_on_the_disk),
        TEST(finds_a_seeder_that_does_not_sync),
    };

    return cmocka_run_group_tests(tests, upstream_setup, upstream_teardown);
}
