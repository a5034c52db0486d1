/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A main for fuzz targets that feeds them their corpus once and reports in TAP.
 *
 * The corpus of fuzz_x is $TSEED_FUZZ_CORPUS/x, unless files are named on the command line.
 */
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Feeds one file from a buffer of exactly its size, so that a sanitizer sees a byte too far. */
static int replay_file(const char *path)
{
    uint8_t input[1 << 17];
    uint8_t *exact;
    size_t size;
    FILE *file = fopen(path, "rb");

    if (!file) {
        return -1;
    }
    size = fread(input, 1, sizeof(input), file);
    fclose(file);
    exact = malloc(size ? size : 1);
    memcpy(exact, input, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

/* The name goes out first: it is the last word before a crash. */
static int report(int number, const char *path)
{
    int failed;

    printf("# %s\n", path);
    fflush(stdout);
    failed = replay_file(path);
    printf("%sok %d - %s\n", failed ? "not " : "", number, path);
    return failed;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_folder(const char *folder)
{
    struct dirent **entries;
    int failed = 0;
    int count = scandir(folder, &entries, is_visible, alphasort);

    if (count < 1) {
        printf("Bail out! no corpus in %s: %s\n", folder, count ? strerror(errno) : "it is empty");
        return 1;
    }
    printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        char path[8192];

        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        failed |= report(i + 1, path);
        free(entries[i]);
    }
    free(entries);
    return failed != 0;
}

/* "…/lt-fuzz_route" → "route"; libtool runs its programs under that other name. */
static const char *target_name(char *program)
{
    const char *name = basename(program);
    const char *found = strstr(name, "fuzz_");

    return found ? found + strlen("fuzz_") : name;
}

int main(int argc, char **argv)
{
    const char *corpus = getenv("TSEED_FUZZ_CORPUS");
    char folder[4096];
    int failed = 0;

    for (int i = 1; i < argc; i++) {
        failed |= report(i, argv[i]);
    }
    if (argc > 1) {
        return failed != 0;
    }
    if (!corpus) {
        fprintf(stderr, "Name files, or the folder of all corpora in TSEED_FUZZ_CORPUS.\n");
        return 2;
    }
    snprintf(folder, sizeof(folder), "%s/%s", corpus, target_name(argv[0]));
    return replay_folder(folder);
}
