/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Rules of directives, and their arguments: words, name=value options and values, read by tables.
 *
 * A rule says where a directive may stand, how many words it takes, which function reads the words
 * and how the dump shows them. The two handlers check place and number, call the reader, and put
 * the directive's name before the reader's complaint.
 *
 * Every function that can refuse returns NULL or a sentence, in the pool given or that of the
 * command. Parent, while it reads the configuration; what has no cmd_parms, any thread.
 */
#ifndef MOD_TILESEED_DIRECTIVE_H
#define MOD_TILESEED_DIRECTIVE_H

#include <apr_uri.h>
#include <stddef.h>
#include <stdint.h>

#include "mod_tileseed_config.h"

/* What says that this build has no fleet, to administrators and clients. */
#define TSEED_NO_FLEET                                                                             \
    "this module was built for one host alone (configure --without-fleet), and knows no other"

/* ---- arguments ---- */

typedef struct tseed_option_t tseed_option_t;

/* Reads `text` into a member of the type that the reader says. */
typedef const char *tseed_option_read_t(void *member, const tseed_option_t *option,
                                        const char *text, apr_pool_t *pool);

#define TSEED_REPEATS INT64_MIN

/* One row of a table, which a row without a name ends. */
struct tseed_option_t {
    const char *name;
    tseed_option_read_t *read;
    size_t offset;            /* of the member in the struct that is filled */
    int64_t lowest, highest;  /* of numbers, durations (microseconds) and sizes (bytes); highest is
                               * TSEED_REPEATS of what may be there more than once */
    const char *const *words; /* of tseed_read_word, NULL at the end */
};

/* Rows of a table; `type` is the struct that is filled. */
#define TSEED_OPTION(name, read, type, member)                                                     \
    {                                                                                              \
        name, read, offsetof(type, member), 0, 0, NULL                                             \
    }
#define TSEED_OPTION_RANGE(name, read, type, member, lowest, highest)                              \
    {                                                                                              \
        name, read, offsetof(type, member), lowest, highest, NULL                                  \
    }
#define TSEED_OPTION_WORD(name, type, member, words)                                               \
    {                                                                                              \
        name, tseed_read_word, offsetof(type, member), 0, 0, words                                 \
    }

tseed_option_read_t tseed_read_int;      /* int: decimal */
tseed_option_read_t tseed_read_int64;    /* int64_t: decimal */
tseed_option_read_t tseed_read_duration; /* apr_interval_time_t */
tseed_option_read_t tseed_read_word;     /* int or enum: index in option->words, any case */
tseed_option_read_t tseed_read_switch;   /* int: off or on, 0 or 1; needs no row */
tseed_option_read_t tseed_read_text;     /* const char *: anything */
tseed_option_read_t tseed_read_list;     /* apr_array_header_t * of const char *: one more */

/* Cuts "name=value" at the first '='. Returns 0 when there is no name in front of one. */
int tseed_option_cut(const char **name, const char **value, const char *word, apr_pool_t *pool);

/* A value without the name of its option is a usual slip: TileSeedKeep 0-7. If the word at that
 * place begins with a digit, returns the sentence that says how it is written, in `pool`; else
 * NULL. */
const char *tseed_option_apart(const apr_array_header_t *words, int at, const char *name,
                               apr_pool_t *pool);

/* Reads the words from the `first` on into `target`. */
const char *tseed_options_read(void *target, const tseed_option_t *options,
                               const apr_array_header_t *words, int first, apr_pool_t *pool);

/* Reads "3-14", or one level, from 0 to `highest`. Returns 0, or -1. */
int tseed_read_levels(int *first, int *last, const char *text, int highest, apr_pool_t *pool);

/* Reads "256x512": two numbers from 1 to `highest`. */
const char *tseed_read_pair(int *width, int *height, const char *text, int highest,
                            apr_pool_t *pool);

/* Parses an http or https address without user and password. NULL or a sentence. */
const char *tseed_url_check(apr_uri_t *uri, const char *url, apr_pool_t *pool);

/* A word in quotes as httpd reads it, and a duration as tseed_read_duration does, in the largest
 * unit that fits: "500ms", "60s", "30d". In `pool`. */
const char *tseed_show_word(const char *text, apr_pool_t *pool);
const char *tseed_show_duration(int64_t duration, apr_pool_t *pool);

/* ---- names and places ---- */

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

typedef struct tseed_dump_t tseed_dump_t;

/* Shows what a directive has set, as lines of the dump. `record`: a tseed_server_conf_t, or the
 * tseed_layer_t of a layer. */
typedef void tseed_directive_show_t(const tseed_dump_t *dump, const void *record);

typedef struct {
    unsigned places;
    int least, most; /* words; most < 0: any number */
    tseed_directive_read_t *read;
    tseed_directive_show_t *show;  /* NULL: the dump writes `value`, if there is one */
    tseed_option_t value;          /* of a directive that its row says all about */
    const tseed_option_t *options; /* likewise: the members of the value; NULL: it is one word */
    const char *initial;           /* of a layer's value: the word of the default; NULL: zeros */
    size_t size; /* of what a layer takes from the defaults, from value.offset on; 0: nothing */
} tseed_rule_t;

/* The rule in a row of command_rec; one with its dump; one whose value the last arguments tell. */
#define TSEED_RULE(where, fewest, most_, reader)                                                   \
    (void *)&(const tseed_rule_t)                                                                  \
    {                                                                                              \
        .places = where, .least = fewest, .most = most_, .read = reader                            \
    }
#define TSEED_SHOWN(where, fewest, most_, reader, shower)                                          \
    (void *)&(const tseed_rule_t)                                                                  \
    {                                                                                              \
        .places = where, .least = fewest, .most = most_, .read = reader, .show = shower            \
    }
#define TSEED_VALUED(where, fewest, most_, reader, ...)                                            \
    (void *)&(const tseed_rule_t)                                                                  \
    {                                                                                              \
        .places = where, .least = fewest, .most = most_, .read = reader, __VA_ARGS__               \
    }

/* The handler of all directives; cmd->info is the tseed_rule_t. The reader of a section, whose name
 * begins with '<', gets the words in front of the '>' and walks its inside with
 * tseed_section_walk. */
const char *tseed_directive(cmd_parms *cmd, void *dir, const char *args);

/* A row of command_rec, which gets its handler when the rows of all files are joined. httpd lets a
 * directive through wherever it may be; the rule says where it stands. */
#define TSEED_DIRECTIVE(title, rule, help)                                                         \
    {                                                                                              \
        .name = title, .cmd_data = rule, .req_override = RSRC_CONF | ACCESS_CONF,                  \
        .args_how = RAW_ARGS, .errmsg = help                                                       \
    }

/* Carries out the directives inside a section; only ours may stand there. */
const char *tseed_section_walk(cmd_parms *cmd);

/* Reads "off", which is all zeros, or options, or one word, into the value that a rule describes.
 * `record` has it. */
const char *tseed_rule_read(void *record, const tseed_rule_t *rule, const apr_array_header_t *words,
                            apr_pool_t *pool);

#endif
