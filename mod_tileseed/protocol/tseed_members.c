/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Nodes of a document's tree, and unknown members of a request: judged, refused or noted. */
#include "protocol/tseed_members.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"

#define NAME_MOST    40  /* letters of a name that is compared */
#define QUOTE_MAX    100 /* of a name in a sentence */
#define IGNORED_MOST 500 /* bytes after which no more names are noted */

/* ---- nodes ---- */

tseed_node_t *tseed_node_create(const char *name, int line, apr_pool_t *pool)
{
    tseed_node_t *node = apr_pcalloc(pool, sizeof(*node));

    node->name = name;
    node->text = "";
    node->line = line;
    return node;
}

tseed_node_t *tseed_node_add_attribute(tseed_node_t *node, const char *name, const char *text,
                                       apr_pool_t *pool)
{
    tseed_node_t *attribute;

    if (strcmp(name, "class") == 0 || apr_cstr_casecmpn(name, "xml", 3) == 0 ||
        strncmp(name, "xsi:", 4) == 0) {
        return NULL;
    }
    attribute = tseed_node_create(name, node->line, pool);
    attribute->text = text;
    attribute->next = node->attributes;
    node->attributes = attribute;
    return attribute;
}

const tseed_node_t *tseed_node_find(const tseed_node_t *parent, const char *name)
{
    const tseed_node_t *child = parent->children;

    while (child && strcmp(child->name, name) != 0) {
        child = child->next;
    }
    return child;
}

const char *tseed_node_trimmed(const tseed_node_t *node, apr_pool_t *pool)
{
    return tseed_text_trim(node->text, node->is_null ? 0 : strlen(node->text), pool);
}

int tseed_node_is_empty(const tseed_node_t *node)
{
    return !node->children && (node->is_null || !node->text[strspn(node->text, " \t\r\n\v\f")]);
}

/* Whether something is said between its tags: by a text, or by a child, which may say it in an
 * attribute. */
static int has_content(const tseed_node_t *node)
{
    int has = node->is_mixed || (!node->children && !tseed_node_is_empty(node));

    for (const tseed_node_t *one = node->children; one && !has; one = one->next) {
        has = !tseed_node_is_blank(one);
    }
    return has;
}

int tseed_node_is_blank(const tseed_node_t *node)
{
    int is_blank = !has_content(node);

    for (const tseed_node_t *one = node->attributes; one && is_blank; one = one->next) {
        is_blank = tseed_node_is_empty(one);
    }
    return is_blank;
}

/* ---- the name that is meant ---- */

/* The letters that count, in lower case. Returns how many; NAME_MOST + 1: too many. */
static int fold(char *letters, const char *name)
{
    int length = 0;

    for (; *name && length <= NAME_MOST; name++) {
        if (*name != '-' && *name != '_') {
            letters[length++] = tseed_ascii_lower(*name);
        }
    }
    return length;
}

static int least(int a, int b, int c)
{
    const int two = a < b ? a : b;

    return two < c ? two : c;
}

/* Letters that are added, left out, changed, or swapped with their neighbour between a and b: the
 * optimal string alignment distance. */
static int distance(const char *a, int a_length, const char *b, int b_length)
{
    int rows[3][NAME_MOST + 2];
    int *before = rows[0], *last = rows[1], *row = rows[2];

    for (int j = 0; j <= b_length; j++) {
        last[j] = j;
    }
    for (int i = 1; i <= a_length; i++) {
        int *free_row = before;

        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            const int is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

            row[j] = least(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            row[j] = is_swap && before[j - 2] + 1 < row[j] ? before[j - 2] + 1 : row[j];
        }
        before = last;
        last = row;
        row = free_row;
    }
    return last[b_length];
}

const char *tseed_name_meant(const char *name, const char *const *known)
{
    char letters[NAME_MOST + 1], others[NAME_MOST + 1];
    const int length = fold(letters, name);
    const char *nearest = NULL;
    int least_apart = 3;

    for (; *known && length > 0 && length <= NAME_MOST; known++) {
        const int other = fold(others, *known);
        const int most = other <= 4 ? 1 : 2;
        const int apart = other <= NAME_MOST ? distance(letters, length, others, other) : NAME_MOST;

        if (apart <= most && apart < least_apart) {
            nearest = *known;
            least_apart = apart;
        }
    }
    return nearest;
}

/* ---- what a name speaks of ---- */

/* Where a word must stand in a name. */
typedef enum {
    ANYWHERE, /* boundingbox */
    WORD,     /* minLat, lat_min; not in translate */
    ALONE     /* from; not in validFrom */
} place_t;

/* The first row that fits decides: mimeType is a format. */
static const struct {
    const char *word;
    place_t place;
    tseed_subject_t subject;
} vocabulary[] = {
    {"format", ANYWHERE, TSEED_SUBJECT_FORMAT},
    {"mime", WORD, TSEED_SUBJECT_FORMAT},
    {"image", WORD, TSEED_SUBJECT_FORMAT},
    {"img", WORD, TSEED_SUBJECT_FORMAT},
    {"extension", WORD, TSEED_SUBJECT_FORMAT},
    {"ext", WORD, TSEED_SUBJECT_FORMAT},
    {"suffix", WORD, TSEED_SUBJECT_FORMAT},
    {"output", WORD, TSEED_SUBJECT_FORMAT},
    {"zoom", ANYWHERE, TSEED_SUBJECT_LEVELS},
    {"level", ANYWHERE, TSEED_SUBJECT_LEVELS},
    {"resolution", ANYWHERE, TSEED_SUBJECT_LEVELS},
    {"pyramid", ANYWHERE, TSEED_SUBJECT_LEVELS},
    {"lod", WORD, TSEED_SUBJECT_LEVELS},
    {"depth", WORD, TSEED_SUBJECT_LEVELS},
    {"scale", WORD, TSEED_SUBJECT_LEVELS},
    {"z", WORD, TSEED_SUBJECT_LEVELS},
    {"zmin", WORD, TSEED_SUBJECT_LEVELS},
    {"zmax", WORD, TSEED_SUBJECT_LEVELS},
    {"minz", WORD, TSEED_SUBJECT_LEVELS},
    {"maxz", WORD, TSEED_SUBJECT_LEVELS},
    {"grid", ANYWHERE, TSEED_SUBJECT_GRID},
    {"matrix", ANYWHERE, TSEED_SUBJECT_GRID},
    {"tileset", ANYWHERE, TSEED_SUBJECT_GRID},
    {"srs", ANYWHERE, TSEED_SUBJECT_SYSTEM},
    {"epsg", ANYWHERE, TSEED_SUBJECT_SYSTEM},
    {"projection", ANYWHERE, TSEED_SUBJECT_SYSTEM},
    {"crs", WORD, TSEED_SUBJECT_SYSTEM},
    {"proj", WORD, TSEED_SUBJECT_SYSTEM},
    {"box", ANYWHERE, TSEED_SUBJECT_BOX},
    {"bound", ANYWHERE, TSEED_SUBJECT_BOX},
    {"extent", ANYWHERE, TSEED_SUBJECT_BOX},
    {"envelope", ANYWHERE, TSEED_SUBJECT_BOX},
    {"coord", ANYWHERE, TSEED_SUBJECT_BOX},
    {"polygon", ANYWHERE, TSEED_SUBJECT_BOX},
    {"geom", ANYWHERE, TSEED_SUBJECT_BOX},
    {"region", ANYWHERE, TSEED_SUBJECT_BOX},
    {"corner", ANYWHERE, TSEED_SUBJECT_BOX},
    {"rectangle", ANYWHERE, TSEED_SUBJECT_BOX},
    {"latitude", ANYWHERE, TSEED_SUBJECT_BOX},
    {"longitude", ANYWHERE, TSEED_SUBJECT_BOX},
    {"area", ANYWHERE, TSEED_SUBJECT_BOX},
    {"shape", ANYWHERE, TSEED_SUBJECT_BOX},
    {"radius", ANYWHERE, TSEED_SUBJECT_BOX},
    {"window", ANYWHERE, TSEED_SUBJECT_BOX},
    {"rect", WORD, TSEED_SUBJECT_BOX},
    {"aoi", WORD, TSEED_SUBJECT_BOX},
    {"wkt", WORD, TSEED_SUBJECT_BOX},
    {"geojson", WORD, TSEED_SUBJECT_BOX},
    {"shp", WORD, TSEED_SUBJECT_BOX},
    {"lat", WORD, TSEED_SUBJECT_BOX},
    {"lon", WORD, TSEED_SUBJECT_BOX},
    {"lng", WORD, TSEED_SUBJECT_BOX},
    {"north", WORD, TSEED_SUBJECT_BOX},
    {"south", WORD, TSEED_SUBJECT_BOX},
    {"east", WORD, TSEED_SUBJECT_BOX},
    {"west", WORD, TSEED_SUBJECT_BOX},
    {"left", WORD, TSEED_SUBJECT_BOX},
    {"right", WORD, TSEED_SUBJECT_BOX},
    {"top", WORD, TSEED_SUBJECT_BOX},
    {"bottom", WORD, TSEED_SUBJECT_BOX},
    {"upper", WORD, TSEED_SUBJECT_BOX},
    {"lower", WORD, TSEED_SUBJECT_BOX},
    {"ll", WORD, TSEED_SUBJECT_BOX},
    {"lr", WORD, TSEED_SUBJECT_BOX},
    {"ul", WORD, TSEED_SUBJECT_BOX},
    {"ur", WORD, TSEED_SUBJECT_BOX},
    {"minx", WORD, TSEED_SUBJECT_BOX},
    {"miny", WORD, TSEED_SUBJECT_BOX},
    {"maxx", WORD, TSEED_SUBJECT_BOX},
    {"maxy", WORD, TSEED_SUBJECT_BOX},
    {"xmin", WORD, TSEED_SUBJECT_BOX},
    {"ymin", WORD, TSEED_SUBJECT_BOX},
    {"xmax", WORD, TSEED_SUBJECT_BOX},
    {"ymax", WORD, TSEED_SUBJECT_BOX},
    {"style", ANYWHERE, TSEED_SUBJECT_PARAMETER},
    {"param", ANYWHERE, TSEED_SUBJECT_PARAMETER},
    {"filter", ANYWHERE, TSEED_SUBJECT_PARAMETER},
    {"dimension", ANYWHERE, TSEED_SUBJECT_PARAMETER},
    {"elevation", ANYWHERE, TSEED_SUBJECT_PARAMETER},
    {"dim", WORD, TSEED_SUBJECT_PARAMETER},
    {"sld", WORD, TSEED_SUBJECT_PARAMETER},
    {"env", WORD, TSEED_SUBJECT_PARAMETER},
    {"cql", WORD, TSEED_SUBJECT_PARAMETER},
    {"time", WORD, TSEED_SUBJECT_PARAMETER},
    {"bgcolor", WORD, TSEED_SUBJECT_PARAMETER},
    {"transparent", WORD, TSEED_SUBJECT_PARAMETER},
    {"x", WORD, TSEED_SUBJECT_PART},
    {"y", WORD, TSEED_SUBJECT_PART},
    {"width", WORD, TSEED_SUBJECT_BOX},
    {"height", WORD, TSEED_SUBJECT_BOX},
    {"center", WORD, TSEED_SUBJECT_BOX},
    {"centre", WORD, TSEED_SUBJECT_BOX},
    {"point", WORD, TSEED_SUBJECT_BOX},
    {"mask", WORD, TSEED_SUBJECT_BOX},
    {"clip", WORD, TSEED_SUBJECT_BOX},
    {"crop", WORD, TSEED_SUBJECT_BOX},
    {"buffer", WORD, TSEED_SUBJECT_BOX},
    {"place", WORD, TSEED_SUBJECT_BOX},
    {"country", WORD, TSEED_SUBJECT_BOX},
    {"zone", WORD, TSEED_SUBJECT_BOX},
    {"type", ANYWHERE, TSEED_SUBJECT_KIND},
    {"operation", ANYWHERE, TSEED_SUBJECT_KIND},
    {"truncate", ANYWHERE, TSEED_SUBJECT_KIND},
    {"simulate", ANYWHERE, TSEED_SUBJECT_KIND},
    {"action", WORD, TSEED_SUBJECT_KIND},
    {"op", WORD, TSEED_SUBJECT_KIND},
    {"mode", WORD, TSEED_SUBJECT_KIND},
    {"job", WORD, TSEED_SUBJECT_KIND},
    {"task", WORD, TSEED_SUBJECT_KIND},
    {"command", WORD, TSEED_SUBJECT_KIND},
    {"cmd", WORD, TSEED_SUBJECT_KIND},
    {"method", WORD, TSEED_SUBJECT_KIND},
    {"kind", WORD, TSEED_SUBJECT_KIND},
    {"verb", WORD, TSEED_SUBJECT_KIND},
    {"dry", WORD, TSEED_SUBJECT_KIND},
    {"dryrun", WORD, TSEED_SUBJECT_KIND},
    {"noop", WORD, TSEED_SUBJECT_KIND},
    {"test", WORD, TSEED_SUBJECT_KIND},
    {"preview", WORD, TSEED_SUBJECT_KIND},
    {"delete", WORD, TSEED_SUBJECT_KIND},
    {"remove", WORD, TSEED_SUBJECT_KIND},
    {"clear", WORD, TSEED_SUBJECT_KIND},
    {"purge", WORD, TSEED_SUBJECT_KIND},
    {"overwrite", WORD, TSEED_SUBJECT_KIND},
    {"refresh", WORD, TSEED_SUBJECT_KIND},
    {"seed", ALONE, TSEED_SUBJECT_KIND},
    {"reseed", ALONE, TSEED_SUBJECT_KIND},
    {"request", ALONE, TSEED_SUBJECT_KIND},
    {"seedrequest", ALONE, TSEED_SUBJECT_KIND},
    {"do", ALONE, TSEED_SUBJECT_KIND},
    {"what", ALONE, TSEED_SUBJECT_KIND},
    {"tile", WORD, TSEED_SUBJECT_PART},
    {"row", WORD, TSEED_SUBJECT_PART},
    {"col", WORD, TSEED_SUBJECT_PART},
    {"column", WORD, TSEED_SUBJECT_PART},
    {"range", ANYWHERE, TSEED_SUBJECT_PART},
    {"subset", ANYWHERE, TSEED_SUBJECT_PART},
    {"quad", ANYWHERE, TSEED_SUBJECT_PART},
    {"exclude", ANYWHERE, TSEED_SUBJECT_PART},
    {"include", ANYWHERE, TSEED_SUBJECT_PART},
    {"except", ANYWHERE, TSEED_SUBJECT_PART},
    {"select", ANYWHERE, TSEED_SUBJECT_PART},
    {"feature", ANYWHERE, TSEED_SUBJECT_PART},
    {"percent", ANYWHERE, TSEED_SUBJECT_PART},
    {"expire", ANYWHERE, TSEED_SUBJECT_PART},
    {"chunk", ANYWHERE, TSEED_SUBJECT_PART},
    {"segment", ANYWHERE, TSEED_SUBJECT_PART},
    {"section", ANYWHERE, TSEED_SUBJECT_PART},
    {"part", WORD, TSEED_SUBJECT_PART},
    {"sub", WORD, TSEED_SUBJECT_PART},
    {"only", WORD, TSEED_SUBJECT_PART},
    {"just", WORD, TSEED_SUBJECT_PART},
    {"skip", WORD, TSEED_SUBJECT_PART},
    {"missing", WORD, TSEED_SUBJECT_PART},
    {"where", WORD, TSEED_SUBJECT_PART},
    {"query", WORD, TSEED_SUBJECT_PART},
    {"sample", WORD, TSEED_SUBJECT_PART},
    {"share", WORD, TSEED_SUBJECT_PART},
    {"older", WORD, TSEED_SUBJECT_PART},
    {"newer", WORD, TSEED_SUBJECT_PART},
    {"limit", WORD, TSEED_SUBJECT_PART},
    {"count", WORD, TSEED_SUBJECT_PART},
    {"page", WORD, TSEED_SUBJECT_PART},
    {"offset", WORD, TSEED_SUBJECT_PART},
    {"before", WORD, TSEED_SUBJECT_PART},
    {"after", WORD, TSEED_SUBJECT_PART},
    {"since", WORD, TSEED_SUBJECT_PART},
    {"until", WORD, TSEED_SUBJECT_PART},
    {"age", WORD, TSEED_SUBJECT_PART},
    {"date", WORD, TSEED_SUBJECT_PART},
    {"key", ALONE, TSEED_SUBJECT_PART},
    {"value", ALONE, TSEED_SUBJECT_PART},
    {"values", ALONE, TSEED_SUBJECT_PART},
    {"custom", ALONE, TSEED_SUBJECT_PART},
    {"min", WORD, TSEED_SUBJECT_LEVELS},
    {"max", WORD, TSEED_SUBJECT_LEVELS},
    {"start", WORD, TSEED_SUBJECT_LEVELS},
    {"stop", WORD, TSEED_SUBJECT_LEVELS},
    {"end", WORD, TSEED_SUBJECT_LEVELS},
    {"begin", WORD, TSEED_SUBJECT_LEVELS},
    {"first", ALONE, TSEED_SUBJECT_LEVELS},
    {"last", ALONE, TSEED_SUBJECT_LEVELS},
    {"from", ALONE, TSEED_SUBJECT_LEVELS},
    {"to", ALONE, TSEED_SUBJECT_LEVELS},
    {"layer", WORD, TSEED_SUBJECT_CHOICE},
    {"workspace", WORD, TSEED_SUBJECT_CHOICE},
    {"name", WORD, TSEED_SUBJECT_CHOICE},
    {"state", WORD, TSEED_SUBJECT_CHOICE},
    {"status", WORD, TSEED_SUBJECT_CHOICE},
    {"id", WORD, TSEED_SUBJECT_CHOICE},
    {"user", WORD, TSEED_SUBJECT_CHOICE},
    {"host", WORD, TSEED_SUBJECT_CHOICE},
    {"thread", WORD, TSEED_SUBJECT_CHOICE},
};

/* Members that GeoWebCache and programs around it send, whose names speak of parameters and that
 * narrow nothing. */
static const char *const harmless[] = {"parameterFilters", "filterUpdate", NULL};

static int is_one_of(const char *name, const char *const *names)
{
    while (*names && apr_cstr_casecmp(name, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

static int is_small(char c)
{
    return c >= 'a' && c <= 'z';
}

static int is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

static int is_letter(char c)
{
    return is_small(c) || is_capital(c);
}

/* Whether `word` begins here and ends here: a word ends where a capital follows a small letter, and
 * at anything that is no letter. It may have an s at its end. */
static int stands_at(const char *name, const char *at, const char *word)
{
    const size_t length = strlen(word);
    const char *end = at + length;
    const char before = at > name ? at[-1] : 0;

    if (apr_cstr_casecmpn(at, word, length) != 0 ||
        (is_letter(before) && !(is_small(before) && is_capital(*at)))) {
        return 0;
    }
    end += length > 1 && (*end == 's' || *end == 'S') && !is_small(end[1]);
    return !is_letter(*end) || (is_small(end[-1]) && is_capital(*end));
}

static int has_word(const char *name, const char *word)
{
    const char *at = name;

    while (*at && !stands_at(name, at, word)) {
        at++;
    }
    return *at != 0;
}

static tseed_subject_t which_level(const char *letters)
{
    static const char *const firsts[] = {"min", "start", "first", "from", "begin", NULL};
    static const char *const lasts[] = {"max", "stop", "end", "last", "to", NULL};

    for (int i = 0; firsts[i]; i++) {
        if (strstr(letters, firsts[i])) {
            return TSEED_SUBJECT_FIRST_LEVEL;
        }
    }
    for (int i = 0; lasts[i]; i++) {
        if (strstr(letters, lasts[i])) {
            return TSEED_SUBJECT_LAST_LEVEL;
        }
    }
    return TSEED_SUBJECT_LEVELS;
}

tseed_subject_t tseed_name_subject(const char *name)
{
    char letters[NAME_MOST + 2];

    letters[fold(letters, name)] = 0;
    for (size_t i = 0; i < sizeof(vocabulary) / sizeof(vocabulary[0]); i++) {
        const char *word = vocabulary[i].word;
        const place_t place = vocabulary[i].place;

        if (place == ANYWHERE ? strstr(letters, word) != NULL
            : place == WORD   ? has_word(name, word)
                              : strcmp(letters, word) == 0) {
            return vocabulary[i].subject == TSEED_SUBJECT_LEVELS ? which_level(letters)
                                                                 : vocabulary[i].subject;
        }
    }
    return TSEED_SUBJECT_NONE;
}

/* ---- members ---- */

static int is_noted(const char *ignored, const char *name)
{
    const size_t length = strlen(name);

    for (const char *line = ignored; *line;) {
        const size_t end = strcspn(line, "\n");

        if (end == length && memcmp(line, name, length) == 0) {
            return 1;
        }
        line += end + (line[end] == '\n');
    }
    return 0;
}

void tseed_members_note(const char **ignored, const char *name, apr_pool_t *pool)
{
    if (!*ignored) {
        *ignored = name;
    } else if (strlen(*ignored) < IGNORED_MOST && !is_noted(*ignored, name)) {
        *ignored = apr_pstrcat(pool, *ignored, "\n", name, NULL);
    }
}

/* The sentence about a name that is refused, though nobody knows what is meant. */
static const char *not_known(const tseed_members_t *members, const char *name, apr_pool_t *pool)
{
    const char *list = NULL;

    for (int i = 0; members->known[i]; i++) {
        list = list ? apr_pstrcat(pool, list, ", ", members->known[i], NULL) : members->known[i];
    }
    return list ? apr_psprintf(pool, "Unknown member: '%s'. Possible here: %s", name, list)
                : apr_psprintf(pool, "Unknown member: '%s'. None is possible here", name);
}

const char *tseed_member_judge(tseed_unknown_t *unknown, const tseed_members_t *members,
                               const char *part, const char *name, tseed_content_t content,
                               apr_pool_t *pool)
{
    const char *quoted = tseed_text_quote(name, QUOTE_MAX, pool);
    const char *prefix = *part ? apr_pstrcat(pool, part, ".", NULL) : "";
    const char *whole = apr_pstrcat(pool, prefix, quoted, NULL);
    const int is_empty =
        content == TSEED_CONTENT_NONE || (members->idle && is_one_of(name, members->idle));
    const char *meant = is_empty ? NULL : tseed_name_meant(name, members->known);

    if (meant) {
        return apr_psprintf(pool, "Unknown member: '%s'. Is %s%s meant?", whole, prefix, meant);
    }
    if (!is_empty && !is_one_of(name, harmless)) {
        meant = members->meant[tseed_name_subject(name)];
        if (meant && *meant) {
            return apr_psprintf(pool, "Unknown member: '%s'. Is %s meant?", whole, meant);
        }
        if (meant || members->is_closed ||
            (content == TSEED_CONTENT_PARTS && members->meant[TSEED_SUBJECT_PART])) {
            return not_known(members, whole, pool);
        }
    }
    tseed_members_note(&unknown->ignored, whole, pool);
    unknown->dropped = is_empty || unknown->dropped ? unknown->dropped : whole;
    return NULL;
}

const char *tseed_member_hollow(const tseed_node_t *node, apr_pool_t *pool)
{
    const tseed_node_t *attribute = node->attributes;

    while (attribute && tseed_node_is_empty(attribute)) {
        attribute = attribute->next;
    }
    return attribute && !has_content(node)
               ? apr_psprintf(pool,
                              "%s of line %d has the attribute %s and no content: a value stands "
                              "between the tags",
                              node->name, node->line,
                              tseed_text_quote(attribute->name, QUOTE_MAX, pool))
               : NULL;
}

const char *tseed_members_joined(const char *ignored, apr_pool_t *pool)
{
    const char *joined = "";

    for (const char *line = ignored; *line;) {
        const size_t length = strcspn(line, "\n");

        joined = apr_pstrcat(pool, joined, *joined ? ", " : "", apr_pstrmemdup(pool, line, length),
                             NULL);
        line += length + (line[length] == '\n');
    }
    return joined;
}
