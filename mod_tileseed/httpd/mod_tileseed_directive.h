/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Rules of directives: a rule says where a directive may stand, how many words it takes, and which
 * function reads the words. The two handlers check place and number, call the reader, and put the
 * directive's name before the reader's complaint. Parent, while it reads the configuration;
 * sentences live in the pool of the command. */
#ifndef MOD_TILESEED_DIRECTIVE_H
#define MOD_TILESEED_DIRECTIVE_H

#include "mod_tileseed_config.h"
#include "mod_tileseed_options.h"

/* At most TSEED_NAME_MAX bytes of UTF-8 without '/' and control characters: a name can be a path's
 * segment, in an address and on disk. NULL or a sentence, in which `what` ("a layer") is named. */
const char *tseed_name_check(const char *what, const char *name, apr_pool_t *pool);

/* "line 12 of /etc/apache2/layers.conf" */
const char *tseed_directive_place(const ap_directive_t *directive, apr_pool_t *pool);

/* Where a directive may stand. */
enum {
    TSEED_IN_SERVER = 1,
    TSEED_IN_LAYER = 2,
    TSEED_IN_GRIDSET = 4,
    TSEED_IN_LOCATION = 8,
    TSEED_IN_DIRECTORY = 16
};

/* Reads a directive's words, of which there are as many as the rule says. `dir` is the
 * tseed_dir_conf_t of a <Location>. NULL or a sentence without the directive's name. */
typedef const char *tseed_directive_read_t(cmd_parms *cmd, void *dir,
                                           const apr_array_header_t *words);

typedef struct {
    unsigned places;
    int least, most; /* words; most < 0: any number */
    tseed_directive_read_t *read;
    tseed_option_t value; /* of tseed_directive_setting */
} tseed_rule_t;

/* Handlers of AP_INIT_RAW_ARGS; cmd->info is the tseed_rule_t. A section's reader gets the words
 * in front of the '>' and walks its inside with tseed_section_walk. */
const char *tseed_directive(cmd_parms *cmd, void *dir, const char *args);
const char *tseed_section(cmd_parms *cmd, void *dir, const char *args);

/* Carries out the directives inside a section; only ours may stand there. */
const char *tseed_section_walk(cmd_parms *cmd);

/* Reads the one word into the member of tseed_settings_t that rule->value describes. */
tseed_directive_read_t tseed_directive_setting;

#endif
