/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The schema. To change it, add a list of statements at the end; never edit an old list.
 * tileseed-copystate reads the lists.
 *
 *      meta      name, value: schema_version, task_id (the last id that was given out),
 *                failed_commits (when there were any)
 *      task      the accepted task, which never changes, its state, and its progress
 *      failure   metatiles that a task has given up on, each by its first tile
 *      metatile  the metatiles of a task that retries another task's failures, likewise
 *      measure   sums of what tasks have measured, by tile set and level
 *      request   requests that came with a key, by user and key, and the tasks they became
 *      quota     one row: the configuration, and the directive that it was derived from
 *      tileset   the sums of each tile set; `print` is tseed_tileset_print
 *      page      what each page holds, and how it is used
 *      answer    which answers of the upstream the tiles of a page came from
 *      finding   which metatiles of a tile set are of one colour
 *      shade     the tiles of these colours
 *      host      the hosts that share the database, and how long each is alive
 *      role      which host has the role of the seeder
 *      miss      questions of hosts that stand by for missing tiles
 *      portion   what hosts that stand by fetch and cut for the host that works
 *      note      other short texts that must outlive the seeder
 */
#include "state/tseed_schema.h"

#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>

static const char *const version_1[] = {
    "CREATE TABLE meta (name VARCHAR(64) PRIMARY KEY, value BIGINT NOT NULL)",
    "INSERT INTO meta (name, value) VALUES ('schema_version', 0), ('task_id', 0)",
    "CREATE TABLE task ("
    " id BIGINT PRIMARY KEY,"
    " type INTEGER NOT NULL,"
    " layer TEXT NOT NULL,"
    " gridset TEXT NOT NULL,"
    " format TEXT NOT NULL,"
    " parameters TEXT NOT NULL,"
    " bounds TEXT NOT NULL,"
    " has_area INTEGER NOT NULL,"
    " zoom_start INTEGER NOT NULL,"
    " zoom_stop INTEGER NOT NULL,"
    " thread_count INTEGER NOT NULL,"
    " meta_width INTEGER NOT NULL,"
    " meta_height INTEGER NOT NULL,"
    " gutter INTEGER NOT NULL,"
    " retries INTEGER NOT NULL,"
    " retry_wait BIGINT NOT NULL,"
    " failure_limit BIGINT NOT NULL,"
    " tiles_total BIGINT NOT NULL,"
    " gridset_print TEXT NOT NULL,"
    " store_print TEXT NOT NULL,"
    " requested_by TEXT NOT NULL,"
    " created BIGINT NOT NULL,"
    " state INTEGER NOT NULL DEFAULT 0,"
    " kill_pending INTEGER NOT NULL DEFAULT 0,"
    " reason TEXT NOT NULL DEFAULT '',"
    " made BIGINT NOT NULL DEFAULT 0,"
    " skipped BIGINT NOT NULL DEFAULT 0,"
    " removed BIGINT NOT NULL DEFAULT 0,"
    " failed BIGINT NOT NULL DEFAULT 0,"
    " bytes BIGINT NOT NULL DEFAULT 0,"
    " requests BIGINT NOT NULL DEFAULT 0,"
    " failures BIGINT NOT NULL DEFAULT 0,"
    " started BIGINT NOT NULL DEFAULT 0,"
    " finished BIGINT NOT NULL DEFAULT 0,"
    " low BIGINT NOT NULL DEFAULT 0,"
    " passed TEXT NOT NULL DEFAULT '')",
    /* unfinished tasks are few, finished ones many */
    "CREATE INDEX task_state ON task (state, id)",
    "CREATE INDEX task_kill_pending ON task (id) WHERE kill_pending = 1",
    "CREATE TABLE failure ("
    " task BIGINT NOT NULL,"
    " z INTEGER NOT NULL,"
    " x BIGINT NOT NULL,"
    " y BIGINT NOT NULL,"
    " cause TEXT NOT NULL,"
    " http_status INTEGER NOT NULL,"
    " attempts INTEGER NOT NULL,"
    " happened BIGINT NOT NULL,"
    " PRIMARY KEY (task, z, x, y))",
    "CREATE TABLE quota ("
    " id INTEGER PRIMARY KEY,"
    " config TEXT NOT NULL,"
    " directive TEXT NOT NULL,"
    " version BIGINT NOT NULL)",
    NULL,
};

static const char *const version_2[] = {
    "ALTER TABLE task ADD COLUMN retry_of BIGINT NOT NULL DEFAULT 0",
    "CREATE TABLE metatile ("
    " task BIGINT NOT NULL,"
    " position BIGINT NOT NULL,"
    " z INTEGER NOT NULL,"
    " x BIGINT NOT NULL,"
    " y BIGINT NOT NULL,"
    " PRIMARY KEY (task, position))",
    NULL,
};

static const char *const version_3[] = {
    "CREATE TABLE tileset ("
    " id BIGINT PRIMARY KEY,"
    " print BIGINT NOT NULL UNIQUE,"
    " name TEXT NOT NULL,"
    " layer TEXT NOT NULL,"
    " gridset TEXT NOT NULL,"
    " format TEXT NOT NULL,"
    " parameters TEXT NOT NULL,"
    " root TEXT NOT NULL,"
    " pages BIGINT NOT NULL DEFAULT 0,"
    " names BIGINT NOT NULL DEFAULT 0,"
    " files BIGINT NOT NULL DEFAULT 0,"
    " bytes BIGINT NOT NULL DEFAULT 0,"
    " allocated BIGINT NOT NULL DEFAULT 0,"
    " shared_names BIGINT NOT NULL DEFAULT 0,"
    " shared_files BIGINT NOT NULL DEFAULT 0,"
    " shared_bytes BIGINT NOT NULL DEFAULT 0,"
    " shared_allocated BIGINT NOT NULL DEFAULT 0,"
    " detached_names BIGINT NOT NULL DEFAULT 0,"
    " detached_files BIGINT NOT NULL DEFAULT 0,"
    " detached_bytes BIGINT NOT NULL DEFAULT 0,"
    " detached_allocated BIGINT NOT NULL DEFAULT 0,"
    " complete INTEGER NOT NULL DEFAULT 0,"
    " doubtful BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE page ("
    " tileset BIGINT NOT NULL,"
    " z INTEGER NOT NULL,"
    " x BIGINT NOT NULL,"
    " y BIGINT NOT NULL,"
    " names INTEGER NOT NULL,"
    " files INTEGER NOT NULL,"
    " bytes BIGINT NOT NULL,"
    " allocated BIGINT NOT NULL,"
    " accessed BIGINT NOT NULL,"
    " heat BIGINT NOT NULL,"
    " dirty INTEGER NOT NULL,"
    " PRIMARY KEY (tileset, z, x, y))",
    "CREATE TABLE note (name VARCHAR(64) PRIMARY KEY, value TEXT NOT NULL)",
    NULL,
};

static const char *const version_4[] = {
    "CREATE TABLE measure ("
    " tileset TEXT NOT NULL,"
    " z INTEGER NOT NULL,"
    " metatiles BIGINT NOT NULL,"
    " tiles BIGINT NOT NULL,"
    " bytes DOUBLE PRECISION NOT NULL,"
    " bytes_squares DOUBLE PRECISION NOT NULL,"
    " busy DOUBLE PRECISION NOT NULL,"
    " busy_squares DOUBLE PRECISION NOT NULL,"
    " looks DOUBLE PRECISION NOT NULL,"
    " looking DOUBLE PRECISION NOT NULL,"
    " PRIMARY KEY (tileset, z))",
    NULL,
};

static const char *const version_5[] = {
    "CREATE TABLE request ("
    " client TEXT NOT NULL,"
    " name TEXT NOT NULL,"
    " digest TEXT NOT NULL,"
    " task BIGINT NOT NULL,"
    " created BIGINT NOT NULL,"
    " PRIMARY KEY (client, name))",
    "CREATE INDEX request_created ON request (created)",
    NULL,
};

static const char *const version_6[] = {
    "ALTER TABLE task ADD COLUMN away_since BIGINT NOT NULL DEFAULT 0",
    NULL,
};

static const char *const version_7[] = {
    "ALTER TABLE task ADD COLUMN unchanged BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE tileset ADD COLUMN recipe BIGINT NOT NULL DEFAULT 0",
    "CREATE TABLE answer ("
    " tileset BIGINT NOT NULL,"
    " z INTEGER NOT NULL,"
    " x BIGINT NOT NULL,"
    " y BIGINT NOT NULL,"
    " metatiles TEXT NOT NULL,"
    " PRIMARY KEY (tileset, z, x, y))",
    NULL,
};

static const char *const version_8[] = {
    "ALTER TABLE task ADD COLUMN ignored TEXT NOT NULL DEFAULT ''",
    NULL,
};

/* 0: how old the tiles of a page are is not known until the page is counted or made anew */
static const char *const version_9[] = {
    "ALTER TABLE page ADD COLUMN written BIGINT NOT NULL DEFAULT 0",
    NULL,
};

/* derived levels, see tiling/tseed_positions.h */
static const char *const version_10[] = {
    "ALTER TABLE task ADD COLUMN derived_first INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE task ADD COLUMN derived_end INTEGER NOT NULL DEFAULT 0",
    NULL,
};

/* finding: which metatiles are of one colour, and where that ends (tiling/tseed_findings.h). depth:
 * below 0 where it was not enough to prune (savings/tseed_finding_set.c). shade: the tiles of these
 * colours, as hexadecimal digits. */
static const char *const version_11[] = {
    "ALTER TABLE task ADD COLUMN pruned BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE task ADD COLUMN looked BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE task ADD COLUMN wrong BIGINT NOT NULL DEFAULT 0",
    "CREATE TABLE finding ("
    " tileset BIGINT NOT NULL,"
    " z INTEGER NOT NULL,"
    " x BIGINT NOT NULL,"
    " y BIGINT NOT NULL,"
    " minx BIGINT NOT NULL,"
    " miny BIGINT NOT NULL,"
    " maxx BIGINT NOT NULL,"
    " maxy BIGINT NOT NULL,"
    " shade INTEGER NOT NULL,"
    " depth INTEGER NOT NULL,"
    " hole INTEGER NOT NULL,"
    " clean INTEGER NOT NULL,"
    " task BIGINT NOT NULL,"
    " PRIMARY KEY (tileset, z, x, y))",
    "CREATE TABLE shade ("
    " tileset BIGINT NOT NULL,"
    " id INTEGER NOT NULL,"
    " tile TEXT NOT NULL,"
    " PRIMARY KEY (tileset, id))",
    NULL,
};

static const char *const version_12[] = {
    "ALTER TABLE task ADD COLUMN shared BIGINT NOT NULL DEFAULT 0",
    NULL,
};

static const char *const version_13[] = {
    "ALTER TABLE task ADD COLUMN spared BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE task ADD COLUMN forgotten BIGINT NOT NULL DEFAULT 0",
    NULL,
};

/* The hosts that share the database, see tseed_hosts.h. Their state: 0 active, 1 draining. */
static const char *const version_14[] = {
    "CREATE TABLE host ("
    " name VARCHAR(64) PRIMARY KEY,"
    " instance TEXT NOT NULL,"
    " machine TEXT NOT NULL,"
    " version TEXT NOT NULL,"
    " epoch BIGINT NOT NULL,"
    " renewals BIGINT NOT NULL DEFAULT 1,"
    " until BIGINT NOT NULL,"
    " state INTEGER NOT NULL DEFAULT 0,"
    " started BIGINT NOT NULL,"
    " seen BIGINT NOT NULL)",
    "CREATE TABLE role ("
    " name VARCHAR(64) PRIMARY KEY,"
    " host TEXT NOT NULL DEFAULT '',"
    " epoch BIGINT NOT NULL DEFAULT 0,"
    " tenure BIGINT NOT NULL DEFAULT 0,"
    " former BIGINT NOT NULL DEFAULT 0)",
    "INSERT INTO role (name) VALUES ('seeder')",
    "INSERT INTO meta (name, value) VALUES ('epoch', 0)",
    NULL,
};

/* Questions for missing tiles, see tseed_miss_rows.h. Their outcome: -1 none yet. */
static const char *const version_15[] = {
    "CREATE TABLE miss ("
    " epoch BIGINT NOT NULL,"
    " number BIGINT NOT NULL,"
    " question TEXT NOT NULL,"
    " outcome INTEGER NOT NULL DEFAULT -1,"
    " retry_after INTEGER NOT NULL DEFAULT 0,"
    " upstream INTEGER NOT NULL DEFAULT 0,"
    " cause TEXT NOT NULL DEFAULT '',"
    " tile TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (epoch, number))",
    NULL,
};

/* Portions for hosts that stand by, see tseed_portion_rows.h. */
static const char *const version_16[] = {
    "CREATE TABLE portion ("
    " giver BIGINT NOT NULL,"
    " number BIGINT NOT NULL,"
    " epoch BIGINT NOT NULL,"
    " requests TEXT NOT NULL,"
    " results TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (giver, number))",
    NULL,
};

/* Each host looks all the time for its rows of the giver that works. Many more rows are deleted and
 * still in the table, and PostgreSQL knows nothing of the table at first: only a key with both
 * epochs keeps it from reading all of them. Requests of rows that are lost are sent again. */
static const char *const version_17[] = {
    "DROP TABLE portion",
    "CREATE TABLE portion ("
    " giver BIGINT NOT NULL,"
    " number BIGINT NOT NULL,"
    " epoch BIGINT NOT NULL,"
    " requests TEXT NOT NULL,"
    " results TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (giver, epoch, number))",
    NULL,
};

/* The sentence beside it is for people. */
static const char *const version_18[] = {
    "ALTER TABLE task ADD COLUMN reason_code TEXT NOT NULL DEFAULT ''",
    NULL,
};

/* Who has made the tile sets that are there is not known: they give way to others. */
static const char *const version_19[] = {
    "ALTER TABLE tileset ADD COLUMN by_reading INTEGER NOT NULL DEFAULT 1",
    NULL,
};

/* Which files a tile set has is known of those that are configured from now on. */
static const char *const version_20[] = {
    "ALTER TABLE tileset ADD COLUMN place TEXT NOT NULL DEFAULT ''",
    NULL,
};

/* Counts that no statement asks for stand in one text, tseed_record.c: another one is no change of
 * the schema. Nobody reads their columns any more but processes of before. */
static const char *const version_21[] = {
    "ALTER TABLE task ADD COLUMN counts TEXT NOT NULL DEFAULT ''",
    "UPDATE task SET counts = ' prunedMetatiles=' || spared || ' prunedChecked=' || looked"
    " || ' prunedWrong=' || wrong || ' prunedForgotten=' || forgotten"
    " || ' sharedRequests=' || shared"
    " WHERE spared + looked + wrong + forgotten + shared > 0",
    NULL,
};

static const char *const *const migrations[] = {
    version_1,  version_2,  version_3,  version_4,  version_5,  version_6,  version_7,
    version_8,  version_9,  version_10, version_11, version_12, version_13, version_14,
    version_15, version_16, version_17, version_18, version_19, version_20, version_21};

#define NEWEST ((int)(sizeof(migrations) / sizeof(migrations[0])))

static apr_status_t read_version(tseed_database_t *db, int *version, apr_pool_t *scratch)
{
    const char *answer;
    apr_status_t rv = tseed_database_ask(db, &answer, db->dialect->tables, scratch);

    *version = 0;
    if (rv != APR_SUCCESS || !answer || atoi(answer) == 0) {
        return rv;
    }
    rv = tseed_database_ask(db, &answer, "SELECT value FROM meta WHERE name = 'schema_version'",
                            scratch);
    if (rv == APR_SUCCESS && (!answer || atoi(answer) < 1)) {
        rv = tseed_database_fail(db, ENOTSUP,
                                 "%s: has a table meta without a schema version: it is no state "
                                 "database of mod_tileseed; name another %s",
                                 db->name,
                                 db->dialect->has_file ? "file or move this one away" : "database");
    }
    *version = rv == APR_SUCCESS ? atoi(answer) : 0;
    return rv;
}

static apr_status_t apply(tseed_database_t *db, int version, apr_pool_t *scratch)
{
    apr_status_t rv = APR_SUCCESS;

    for (const char *const *sql = migrations[version - 1]; rv == APR_SUCCESS && *sql; sql++) {
        rv = tseed_database_execute(db, *sql);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_execute(
            db, apr_psprintf(scratch, "UPDATE meta SET value = %d WHERE name = 'schema_version'",
                             version));
    }
    return rv;
}

apr_status_t tseed_schema_version(tseed_database_t *db, int *version, apr_pool_t *scratch)
{
    apr_status_t rv = read_version(db, version, scratch);

    if (rv == APR_SUCCESS && *version > NEWEST) {
        return tseed_database_fail(db, ENOTSUP,
                                   "%s: has schema version %d of a newer mod_tileseed, this one "
                                   "knows up to %d; install that version again, or %s",
                                   db->name, *version, NEWEST,
                                   db->dialect->has_file ? "move the file away to begin anew"
                                                         : "name another database to begin anew");
    }
    return rv;
}

/* Another process may have migrated the database since its version was read. */
static apr_status_t apply_all(tseed_database_t *db, apr_pool_t *scratch)
{
    int version = 0;
    apr_status_t rv = tseed_database_ask_all(db, db->dialect->migrates, scratch);

    if (rv == APR_SUCCESS) {
        rv = read_version(db, &version, scratch);
    }
    while (rv == APR_SUCCESS && version < NEWEST) {
        rv = apply(db, ++version, scratch);
    }
    return rv;
}

apr_status_t tseed_schema_migrate(tseed_database_t *db, int version, apr_pool_t *scratch)
{
    apr_status_t rv;

    if (version == NEWEST) {
        return APR_SUCCESS;
    }
    rv = tseed_database_begin(db);
    if (rv == APR_SUCCESS) {
        rv = apply_all(db, scratch);
    }
    if (rv == APR_SUCCESS) {
        return db->dialect->commit(db);
    }
    tseed_database_rollback(db);
    return rv;
}
