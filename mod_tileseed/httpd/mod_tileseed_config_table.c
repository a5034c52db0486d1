/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The table of directives. */
#include "mod_tileseed_draft.h"

/* clang-format off */

/* httpd lets a directive through where one of these is allowed; the rule says where it stands. */
#define ANYWHERE (RSRC_CONF | ACCESS_CONF)

#define IN_SERVER   TSEED_IN_SERVER
#define IN_LAYER    (TSEED_IN_LAYER | TSEED_IN_SERVER)
#define IN_GRIDSET  TSEED_IN_GRIDSET
#define IN_LOCATION TSEED_IN_LOCATION

#define MSEC (APR_USEC_PER_SEC / 1000)
#define DAY  (86400 * APR_USEC_PER_SEC)

#define RULE(places, least, most, read) \
    (void *)&(const tseed_rule_t){places, least, most, read, {0}}

#define SETTING(member, reader, low, high) \
    (void *)&(const tseed_rule_t){ \
        IN_SERVER, 1, 1, tseed_directive_setting, \
        {NULL, reader, offsetof(tseed_settings_t, member), low, high, NULL}}

const command_rec tseed_directives[] = {
    AP_INIT_RAW_ARGS("TileSeedStateDir", tseed_directive,
                     RULE(IN_SERVER, 1, 1, tseed_set_state_dir), ANYWHERE,
                     "DIR, where state database and locks are kept"),
    AP_INIT_RAW_ARGS("TileSeedDatabase", tseed_directive,
                     RULE(IN_SERVER, 1, 2, tseed_set_database), ANYWHERE,
                     "DRIVER [PARAMS], the database of tasks"),
    AP_INIT_RAW_ARGS("TileSeedThreads", tseed_directive,
                     SETTING(threads, tseed_read_int, 1, 256), ANYWHERE,
                     "N, seeding threads that all tasks share"),
    AP_INIT_RAW_ARGS("TileSeedWorkers", tseed_directive,
                     SETTING(workers, tseed_read_int, 1, 256), ANYWHERE,
                     "N, threads that cut, encode, store and delete"),
    AP_INIT_RAW_ARGS("TileSeedMaxTasks", tseed_directive,
                     SETTING(max_tasks, tseed_read_int64, 1, 1000000), ANYWHERE,
                     "N, most pending and running tasks"),
    AP_INIT_RAW_ARGS("TileSeedHistory", tseed_directive,
                     RULE(IN_SERVER, 2, 2, tseed_set_history), ANYWHERE,
                     "N AGE, how many finished tasks are kept, and for how long"),
    AP_INIT_RAW_ARGS("TileSeedMaxRequestBody", tseed_directive,
                     SETTING(max_request_body, tseed_read_size, 1024, 64 << 20), ANYWHERE,
                     "SIZE, longest body of a request"),
    AP_INIT_RAW_ARGS("TileSeedMissWaiters", tseed_directive,
                     RULE(IN_SERVER, 1, 3, tseed_set_miss_waiters), ANYWHERE,
                     "N [layer=N] [client=N], requests that may wait for missing tiles at once, "
                     "for one layer, of one client"),
    AP_INIT_RAW_ARGS("TileSeedNice", tseed_directive,
                     SETTING(nice, tseed_read_int, 0, 19), ANYWHERE,
                     "N, niceness of the seeder"),
    AP_INIT_RAW_ARGS("TileSeedStopTimeout", tseed_directive,
                     SETTING(stop_timeout, tseed_read_duration, 10 * MSEC, 10000 * MSEC), ANYWHERE,
                     "DURATION, what the seeder takes to stop at most"),
    AP_INIT_RAW_ARGS("TileSeedSync", tseed_directive, RULE(IN_SERVER, 1, 1, tseed_set_sync),
                     ANYWHERE, "on|off, whether tiles are on the disk before tasks are done"),
    AP_INIT_RAW_ARGS("TileSeedServerStatus", tseed_directive,
                     RULE(IN_SERVER, 1, 1, tseed_set_server_status), ANYWHERE,
                     "on|off, whether mod_status shows the seeder and its tasks"),
    AP_INIT_RAW_ARGS("TileSeedHangTimeout", tseed_directive,
                     SETTING(hang_timeout, tseed_read_duration, 5000 * MSEC, DAY), ANYWHERE,
                     "DURATION, a seeder that is silent for so long is replaced"),
    AP_INIT_RAW_ARGS("TileSeedGiveUp", tseed_directive,
                     SETTING(give_up, tseed_read_duration, 1000 * MSEC, 365 * DAY), ANYWHERE,
                     "DURATION, a task whose upstream is away for so long is aborted"),
    AP_INIT_RAW_ARGS("TileSeedDiskQuota", tseed_directive,
                     RULE(IN_SERVER, 1, -1, tseed_set_quota), ANYWHERE,
                     "on|off [SIZE [policy=LRU|LFU] [every=10s] [cleanups=2] [blocksize=N]]"),
    AP_INIT_RAW_ARGS("TileSeedDiskQuotaFiles", tseed_directive,
                     SETTING(quota_files, tseed_read_int64, 1, INT64_MAX), ANYWHERE,
                     "N, most files while the disk quota is on"),
    AP_INIT_RAW_ARGS("TileSeedDiskQuotaGrace", tseed_directive,
                     SETTING(quota_grace, tseed_read_duration, 0, 365 * DAY), ANYWHERE,
                     "DURATION, how long a first large clean-up is announced"),
    AP_INIT_RAW_ARGS("TileSeedMinFree", tseed_directive,
                     SETTING(min_free, tseed_read_size, 0, INT64_MAX), ANYWHERE,
                     "SIZE, what is left free on the file systems of the stores"),
    AP_INIT_RAW_ARGS("TileSeedUpstream", tseed_directive,
                     RULE(IN_SERVER, 2, -1, tseed_set_upstream), ANYWHERE,
                     "NAME URL [connections=4] [rate=N/s] [timeout=60s] [connect-timeout=10s] "
                     "[first-byte-timeout=60s] [auth=FILE] [header=\"NAME: VALUE\"] "
                     "[redirect=host|HOST,...] [ca=FILE] [proxy=URL]"),

    AP_INIT_RAW_ARGS("<TileSeedGridSet", tseed_section,
                     RULE(IN_SERVER, 1, 1, tseed_set_gridset), ANYWHERE,
                     "NAME, a grid set of your own"),
    AP_INIT_RAW_ARGS("TileSeedSRS", tseed_directive,
                     RULE(IN_GRIDSET, 1, 1, tseed_set_srs), ANYWHERE,
                     "N, EPSG code of the reference system"),
    AP_INIT_RAW_ARGS("TileSeedExtent", tseed_directive,
                     RULE(IN_GRIDSET, 4, 4, tseed_set_extent), ANYWHERE,
                     "minx miny maxx maxy, in units of the reference system"),
    AP_INIT_RAW_ARGS("TileSeedOrigin", tseed_directive,
                     RULE(IN_GRIDSET, 1, 3, tseed_set_origin), ANYWHERE,
                     "bottom-left|top-left [x y], the corner that tiles are aligned to"),
    AP_INIT_RAW_ARGS("TileSeedResolutions", tseed_directive,
                     RULE(IN_GRIDSET, 1, -1, tseed_set_resolutions), ANYWHERE,
                     "R0 R1 ..., units a pixel, from coarse to fine"),
    AP_INIT_RAW_ARGS("TileSeedScaleDenominators", tseed_directive,
                     RULE(IN_GRIDSET, 1, -1, tseed_set_scales), ANYWHERE,
                     "D0 D1 ..., of pixels of 0.28 mm, from coarse to fine"),
    AP_INIT_RAW_ARGS("TileSeedLevels", tseed_directive,
                     RULE(IN_GRIDSET, 1, 1, tseed_set_levels), ANYWHERE,
                     "N, that many levels, each twice as fine as the one before"),
    AP_INIT_RAW_ARGS("TileSeedTileSize", tseed_directive,
                     RULE(IN_GRIDSET, 1, 1, tseed_set_tile_size), ANYWHERE,
                     "WIDTHxHEIGHT, pixels"),
    AP_INIT_RAW_ARGS("TileSeedMetersPerUnit", tseed_directive,
                     RULE(IN_GRIDSET, 1, 1, tseed_set_meters_per_unit), ANYWHERE,
                     "F, for scale denominators"),
    AP_INIT_RAW_ARGS("TileSeedAxisOrder", tseed_directive,
                     RULE(IN_GRIDSET, 1, 1, tseed_set_axis_order), ANYWHERE,
                     "en|ne, the reference system's own order of axes"),
    AP_INIT_RAW_ARGS("TileSeedWGS84Box", tseed_directive,
                     RULE(IN_GRIDSET | TSEED_IN_LAYER, 4, 4, tseed_set_wgs84_box), ANYWHERE,
                     "west south east north, degrees, of the grid set's extent or of the layer"),

    AP_INIT_RAW_ARGS("<TileSeedLayer", tseed_section,
                     RULE(IN_SERVER, 1, 1, tseed_set_layer), ANYWHERE,
                     "NAME, a layer"),
    AP_INIT_RAW_ARGS("TileSeedSource", tseed_directive,
                     RULE(IN_LAYER, 2, -1, tseed_set_source), ANYWHERE,
                     "wms|wmts|xyz URL|upstream:NAME [URL ...] [mode=fallback|share] "
                     "[missing=error|empty] "
                     "[NAME=VALUE ...]"),
    AP_INIT_RAW_ARGS("TileSeedGrid", tseed_directive,
                     RULE(IN_LAYER, 1, -1, tseed_set_grid), ANYWHERE,
                     "GRIDSET [zoom=FIRST-LAST] [extent=minx,miny,maxx,maxy] [srs=EPSG:N]"),
    AP_INIT_RAW_ARGS("TileSeedFormat", tseed_directive,
                     RULE(IN_LAYER, 1, -1, tseed_set_format), ANYWHERE,
                     "MIME [from=MIME] [quality=85] [level=1] [palette=keep|auto|none]"),
    AP_INIT_RAW_ARGS("TileSeedMetatile", tseed_directive,
                     RULE(IN_LAYER, 1, -1, tseed_set_metatile), ANYWHERE,
                     "WIDTHxHEIGHT [gutter=N] [edge=cut|ask]"),
    AP_INIT_RAW_ARGS("TileSeedParameter", tseed_directive,
                     RULE(IN_LAYER, 1, -1, tseed_set_parameter), ANYWHERE,
                     "NAME [default=V] [value=V ...] [regex=RE] [case=keep|upper|lower]"),
    AP_INIT_RAW_ARGS("TileSeedStore", tseed_directive,
                     RULE(IN_LAYER, 2, -1, tseed_set_store), ANYWHERE,
                     "file DIR [layout=geowebcache] [link-uniform=on] [mode=0644] [dirmode=0755]"),
    AP_INIT_RAW_ARGS("TileSeedKeep", tseed_directive,
                     RULE(IN_LAYER, 1, 1, tseed_set_keep), ANYWHERE,
                     "zoom=FIRST-LAST, levels that the disk quota never removes"),
    AP_INIT_RAW_ARGS("TileSeedReseed", tseed_directive,
                     RULE(IN_LAYER, 1, 1, tseed_set_reseed), ANYWHERE,
                     "changed|all, which tiles a reseed makes again"),
    AP_INIT_RAW_ARGS("TileSeedPrune", tseed_directive,
                     RULE(IN_LAYER, 1, -1, tseed_set_prune), ANYWHERE,
                     "off|uniform[=LEVELS] [sparse=off] [check=PERCENT], whether what lies below "
                     "metatiles of one colour is taken to be of that colour"),
    AP_INIT_RAW_ARGS("TileSeedRetries", tseed_directive,
                     RULE(IN_LAYER, 1, 1, tseed_set_retries), ANYWHERE,
                     "N, how often a metatile is tried again"),
    AP_INIT_RAW_ARGS("TileSeedFailureLimit", tseed_directive,
                     RULE(IN_LAYER, 1, 1, tseed_set_failure_limit), ANYWHERE,
                     "N|P%, failed metatiles after which a task is aborted, -1: none"),
    AP_INIT_RAW_ARGS("TileSeedExpires", tseed_directive,
                     RULE(IN_LAYER, 1, 1, tseed_set_expires), ANYWHERE,
                     "DURATION, how long caches may keep served tiles"),
    AP_INIT_RAW_ARGS("TileSeedMaxTileSets", tseed_directive,
                     RULE(IN_LAYER, 1, 1, tseed_set_max_tilesets), ANYWHERE,
                     "N, how many tile sets requests for tiles may make with values not listed"),
    AP_INIT_RAW_ARGS("TileSeedOnMiss", tseed_directive,
                     RULE(IN_LAYER, 1, 1, tseed_set_on_miss), ANYWHERE,
                     "fetch|404|empty, what is served where there is no tile"),

    AP_INIT_RAW_ARGS("TileSeedRest", tseed_directive,
                     RULE(IN_LOCATION, 1, 1, tseed_set_rest), ANYWHERE,
                     "on|off, whether this location is the root of the REST interface"),
    AP_INIT_RAW_ARGS("TileSeedPage", tseed_directive,
                     RULE(IN_LOCATION, 1, 1, tseed_set_page), ANYWHERE,
                     "on|off|DIR, whether the REST interface has a page for operators, and where "
                     "its files are"),
    AP_INIT_RAW_ARGS("TileSeedTiles", tseed_directive,
                     RULE(IN_LOCATION | TSEED_IN_DIRECTORY, 1, 1, tseed_set_tiles), ANYWHERE,
                     "on|off in a location, count|off in a directory"),
    AP_INIT_RAW_ARGS("TileSeedDialect", tseed_directive,
                     RULE(IN_LOCATION, 1, 1, tseed_set_dialect), ANYWHERE,
                     "document|geowebcache"),
    AP_INIT_RAW_ARGS("TileSeedLayers", tseed_directive,
                     RULE(IN_LOCATION, 1, -1, tseed_set_layers), ANYWHERE,
                     "NAME ..., the only layers that this location sees"),
    AP_INIT_RAW_ARGS("TileSeedCheckOrigin", tseed_directive,
                     RULE(IN_LOCATION, 1, -1, tseed_set_check_origin), ANYWHERE,
                     "on|off|ORIGIN ..., whether pages of other sites may send requests"),
    AP_INIT_RAW_ARGS("TileSeedMetrics", tseed_directive,
                     RULE(IN_LOCATION, 1, 1, tseed_set_metrics), ANYWHERE,
                     "on|off, whether this location tells the metrics"),
    AP_INIT_RAW_ARGS("TileSeedPublicURL", tseed_directive,
                     RULE(IN_LOCATION, 1, 1, tseed_set_public_url), ANYWHERE,
                     "URL, the address by which clients call this location"),
    {.name = NULL},
};
/* clang-format on */
