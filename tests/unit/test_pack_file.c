/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Files of packs: one host writes, another reads once, and what somebody else has put into the
 * store is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/tseed_deadline.h"
#include "fleet/tseed_pack.h"
#include "layers_fixture.h"
#include "pool_fixture.h"
#include "store/tseed_layout.h"

#define TEXT      "tiles, as good as any"
#define LENGTH    strlen(TEXT)
#define MANY      70 /* roots */
#define TIMEOUT   60 /* seconds */
#define FILE_NAME "3-7-2"

static const tseed_pack_name_t name = {3, 7, 2};

static char dir[64];
static tseed_store_config_t store;
static tseed_transfer_t transfer;

/* ---- the store and what is in it ---- */

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/tileseed-pack-XXXXXX");
    store = (tseed_store_config_t){.root = dir, .mode = 0644, .dirmode = 0755};
    transfer = (tseed_transfer_t){0};
    tseed_deadline_clear();
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    tseed_deadline_clear();
    free(transfer.body);
    return system(apr_pstrcat(pool, "rm -rf ", dir, NULL));
}

static const char *below(const char *path)
{
    return apr_pstrcat(pool, dir, "/", path, NULL);
}

static const char *pack(const char *file)
{
    return apr_pstrcat(pool, dir, "/" TSEED_PACKS "/", file, NULL);
}

static int exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static void make_folder(const char *path)
{
    assert_int_equal(mkdir(path, 0755), 0);
}

static void make_folders(void)
{
    make_folder(below(TSEED_HIDDEN));
    make_folder(below(TSEED_PACKS));
}

static void make_file(const char *path, const char *text)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
}

static void assert_content(const char *path, const char *text)
{
    char content[256];
    const int file = open(path, O_RDONLY);
    ssize_t length;

    assert_true(file >= 0);
    length = read(file, content, sizeof(content));
    close(file);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(content, text, strlen(text));
}

static apr_status_t write_text(void)
{
    return tseed_pack_file_write(&store, &name, (const unsigned char *)TEXT, LENGTH, pool);
}

static apr_status_t read_it(void)
{
    return tseed_pack_file_read(&transfer, &store, &name, pool);
}

static void assert_no_success(apr_status_t rv)
{
    assert_int_not_equal(rv, APR_SUCCESS);
    assert_false(APR_STATUS_IS_ENOENT(rv));
    assert_int_equal(transfer.length, 0);
}

/* ---- writing and reading ---- */

static void test_pack_file__is_read_once(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(write_text(), APR_SUCCESS);
    assert_int_equal(stat(pack(FILE_NAME), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(read_it(), APR_SUCCESS);
    assert_int_equal(transfer.length, LENGTH);
    assert_memory_equal(transfer.body, TEXT, LENGTH);
    assert_false(exists(pack(FILE_NAME)));
    assert_true(APR_STATUS_IS_ENOENT(read_it()));
}

static void test_pack_file__has_the_name_of_its_request(void **state)
{
    const tseed_pack_name_t last = {INT64_MAX, INT64_MAX, INT32_MAX};

    (void)state;
    assert_int_equal(
        tseed_pack_file_write(&store, &last, (const unsigned char *)TEXT, LENGTH, pool),
        APR_SUCCESS);
    assert_content(pack("9223372036854775807-9223372036854775807-2147483647"), TEXT);
}

/* The body of a transfer serves many answers. */
static void test_pack_file__is_read_into_a_body_that_grows(void **state)
{
    (void)state;
    transfer.body = malloc(4);
    transfer.capacity = 4;
    transfer.most = 1; /* of an answer, not of a pack */
    assert_int_equal(write_text(), APR_SUCCESS);
    assert_int_equal(read_it(), APR_SUCCESS);
    assert_int_equal(transfer.capacity, LENGTH);
    make_file(pack(FILE_NAME), "short");
    assert_int_equal(read_it(), APR_SUCCESS);
    assert_int_equal(transfer.length, strlen("short"));
    assert_memory_equal(transfer.body, "short", strlen("short"));
    assert_int_equal(transfer.capacity, LENGTH);
}

static void test_pack_file__takes_the_place_of_an_older_one(void **state)
{
    (void)state;
    make_folders();
    make_file(pack(FILE_NAME), "what a host that died has left, longer than the new file");
    assert_int_equal(write_text(), APR_SUCCESS);
    assert_content(pack(FILE_NAME), TEXT);
}

static void test_pack_file__can_be_removed(void **state)
{
    (void)state;
    tseed_pack_file_remove(&store, &name, pool);
    assert_int_equal(write_text(), APR_SUCCESS);
    tseed_pack_file_remove(&store, &name, pool);
    assert_false(exists(pack(FILE_NAME)));
    tseed_pack_file_remove(&store, &name, pool);
}

/* ---- folders ---- */

static void test_pack_file__makes_its_folders(void **state)
{
    const mode_t umask_before = umask(077);
    struct stat st;

    (void)state;
    store.dirmode = 02775;
    assert_int_equal(write_text(), APR_SUCCESS);
    umask(umask_before);
    assert_int_equal(stat(below(TSEED_HIDDEN), &st), 0);
    assert_int_equal(st.st_mode & 07777, 02775);
    assert_int_equal(stat(below(TSEED_PACKS), &st), 0);
    assert_int_equal(st.st_mode & 07777, 02775);
}

static void test_pack_file__leaves_folders_that_are_there(void **state)
{
    struct stat st;

    (void)state;
    make_folders();
    chmod(below(TSEED_PACKS), 0700);
    assert_int_equal(write_text(), APR_SUCCESS);
    assert_int_equal(stat(below(TSEED_PACKS), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void test_pack_file__makes_nothing_to_read(void **state)
{
    (void)state;
    assert_true(APR_STATUS_IS_ENOENT(read_it()));
    tseed_pack_file_remove(&store, &name, pool);
    assert_false(exists(below(TSEED_HIDDEN)));
}

/* The store is not mounted, say. */
static void test_pack_file__makes_no_root(void **state)
{
    (void)state;
    store.root = below("none");
    assert_true(APR_STATUS_IS_ENOENT(write_text()));
    assert_true(APR_STATUS_IS_ENOENT(read_it()));
    assert_false(exists(below("none")));
}

/* The administrator says where the root is. */
static void test_pack_file__follows_the_link_that_is_the_root(void **state)
{
    (void)state;
    make_folder(below("far"));
    assert_int_equal(symlink(below("far"), below("root")), 0);
    store.root = below("root");
    assert_int_equal(write_text(), APR_SUCCESS);
    assert_content(below("far/" TSEED_PACKS "/" FILE_NAME), TEXT);
    assert_int_equal(read_it(), APR_SUCCESS);
}

/* ---- what somebody else has put there ---- */

static int refuse(void *baton, const tseed_pack_name_t *found)
{
    (void)found;
    ++*(int *)baton;
    return 0;
}

static tseed_catalog_t *catalog_of(const char *root)
{
    tseed_catalog_t *catalog = tseed_catalog_create(pool);

    layers_add(catalog, "layer", pool)->store.root = root;
    return catalog;
}

/* Cleans the store when nobody wants anything, and returns how many files were asked for. */
static int clean(void)
{
    int asked = 0;

    tseed_pack_files_clean(catalog_of(store.root), refuse, &asked, pool);
    return asked;
}

/* A link stands for one of the two folders: the files behind it stay as they are. */
static void assert_not_followed(const char *link, const char *target, const char *file)
{
    assert_int_equal(symlink(target, link), 0);
    make_file(file, "precious");
    assert_no_success(write_text());
    assert_no_success(read_it());
    tseed_pack_file_remove(&store, &name, pool);
    assert_int_equal(clean(), 0);
    assert_content(file, "precious");
}

static void test_pack_file__does_not_follow_a_link_to_packs(void **state)
{
    (void)state;
    make_folder(below(TSEED_HIDDEN));
    make_folder(below("far"));
    assert_not_followed(below(TSEED_PACKS), below("far"), below("far/" FILE_NAME));
}

static void test_pack_file__does_not_follow_a_link_to_the_hidden_folder(void **state)
{
    (void)state;
    make_folder(below("far"));
    make_folder(below("far/packs"));
    assert_not_followed(below(TSEED_HIDDEN), below("far"), below("far/packs/" FILE_NAME));
}

/* Nor makes it what a link names that leads nowhere. */
static void test_pack_file__does_not_follow_a_link_to_nothing(void **state)
{
    (void)state;
    assert_int_equal(symlink(below("far"), below(TSEED_HIDDEN)), 0);
    assert_no_success(write_text());
    assert_no_success(read_it());
    assert_false(exists(below("far")));
    assert_int_equal(unlink(below(TSEED_HIDDEN)), 0);
    make_folder(below(TSEED_HIDDEN));
    assert_int_equal(symlink(below("far"), below(TSEED_PACKS)), 0);
    assert_no_success(write_text());
    assert_no_success(read_it());
    assert_false(exists(below("far")));
}

static void test_pack_file__does_not_follow_a_link_to_a_file(void **state)
{
    (void)state;
    make_folders();
    make_file(below("precious"), "precious");
    assert_int_equal(symlink(below("precious"), pack(FILE_NAME)), 0);
    assert_no_success(read_it());
    assert_int_equal(clean(), 0);
    assert_true(exists(pack(FILE_NAME)));
    assert_int_equal(write_text(), APR_SUCCESS); /* the link goes, its target stays */
    assert_content(below("precious"), "precious");
    assert_int_equal(read_it(), APR_SUCCESS);
}

/* Nobody writes into the pipe, so a reader that opens it as a file would wait for ever. */
static void test_pack_file__does_not_wait_for_a_pipe(void **state)
{
    (void)state;
    make_folders();
    assert_int_equal(mkfifo(pack(FILE_NAME), 0600), 0);
    alarm(TIMEOUT);
    assert_int_equal(read_it(), EINVAL);
    alarm(0);
    assert_int_equal(clean(), 0);
    assert_true(exists(pack(FILE_NAME)));
    assert_int_equal(write_text(), APR_SUCCESS);
    assert_content(pack(FILE_NAME), TEXT);
}

static void test_pack_file__is_no_folder(void **state)
{
    (void)state;
    make_folders();
    make_folder(pack(FILE_NAME));
    assert_int_equal(read_it(), EINVAL);
    assert_true(APR_STATUS_IS_EEXIST(write_text()));
    tseed_pack_file_remove(&store, &name, pool);
    assert_int_equal(clean(), 0);
    assert_true(exists(pack(FILE_NAME)));
}

/* ---- sizes ---- */

/* The file has no blocks. */
static void make_long(off_t size)
{
    make_file(pack(FILE_NAME), "");
    assert_int_equal(truncate(pack(FILE_NAME), size), 0);
}

static void test_pack_file__that_is_too_long_is_not_read(void **state)
{
    (void)state;
    make_folders();
    make_long((off_t)TSEED_PACK_MOST + 1);
    assert_int_equal(read_it(), EFBIG);
    assert_null(transfer.body);
    make_long((off_t)1 << 40);
    assert_int_equal(read_it(), EFBIG);
    assert_true(exists(pack(FILE_NAME)));
}

static void test_pack_file__that_is_too_long_is_not_written(void **state)
{
    const unsigned char byte = 0;

    (void)state;
    assert_int_equal(tseed_pack_file_write(&store, &name, &byte, TSEED_PACK_MOST + 1, pool), EFBIG);
    assert_false(exists(pack(FILE_NAME)));
}

static void test_pack_file__that_is_empty_is_not_read(void **state)
{
    (void)state;
    make_folders();
    make_file(pack(FILE_NAME), "");
    assert_true(APR_STATUS_IS_EOF(read_it()));
    assert_true(exists(pack(FILE_NAME)));
}

/* A limit of this process stands for a full disk: it lets a part be written, too. */
static void test_pack_file__leaves_nothing_on_a_full_disk(void **state)
{
    static const unsigned char bytes[5000];
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small;
    apr_status_t rv;

    (void)state;
    make_folders();
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 1000;
    setrlimit(RLIMIT_FSIZE, &small);
    rv = tseed_pack_file_write(&store, &name, bytes, sizeof(bytes), pool);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(rv, EFBIG);
    assert_false(exists(pack(FILE_NAME)));
}

/* ---- what nobody wants ---- */

static const char *const foreign[] = {
    "README",
    "3-7",
    "3-7-2-1",
    "3-7-2.tmp",
    "-3-7-2",
    "3--7-2",
    "3-7--2",
    "3-7-",
    "-7-2",
    "--",
    "03-7-2",
    "3-07-2",
    "3-7-02",
    "-0-7-2",
    "+3-7-2",
    " 3-7-2",
    "3- 7-2",
    "3-7-2 ",
    "3_7_2",
    "3-7-a",
    "0x3-7-2",
    "9223372036854775808-7-2",
    "3-9223372036854775808-2",
    "3-7-2147483648",
    "3-7-4294967298", /* 2, when 32 bits are taken of it */
    "99999999999999999999999999999999-7-2",
};

static void test_pack_file__of_another_name_stays(void **state)
{
    (void)state;
    make_folders();
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        make_file(pack(foreign[i]), TEXT);
    }
    assert_int_equal(clean(), 0);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        assert_content(pack(foreign[i]), TEXT);
    }
}

static int wants_the_seventh_row(void *baton, const tseed_pack_name_t *found)
{
    (void)baton;
    return found->giver == 3 && found->number == 7;
}

static void test_pack_file__that_is_wanted_stays(void **state)
{
    static const char *const wanted[] = {"3-7-0", "3-7-2147483647"};
    static const char *const unwanted[] = {"3-8-0", "0-0-0", "7-3-7",
                                           "9223372036854775807-9223372036854775807-1"};

    (void)state;
    make_folders();
    for (int i = 0; i < 2; i++) {
        make_file(pack(wanted[i]), TEXT);
    }
    for (int i = 0; i < 4; i++) {
        make_file(pack(unwanted[i]), TEXT);
    }
    tseed_pack_files_clean(catalog_of(dir), wants_the_seventh_row, NULL, pool);
    for (int i = 0; i < 2; i++) {
        assert_content(pack(wanted[i]), TEXT);
    }
    for (int i = 0; i < 4; i++) {
        assert_false(exists(pack(unwanted[i])));
    }
}

static void test_pack_file__is_removed_from_all_stores(void **state)
{
    tseed_catalog_t *catalog = tseed_catalog_create(pool);
    int asked = 0;

    (void)state;
    tseed_pack_files_clean(catalog, refuse, &asked, pool);
    for (int i = 0; i < MANY; i++) {
        store.root = below(apr_itoa(pool, i));
        layers_add(catalog, store.root, pool)->store.root = store.root;
        if (i % 2 == 0) { /* the others have nothing, not even a root */
            make_folder(store.root);
            assert_int_equal(write_text(), APR_SUCCESS);
        }
    }
    tseed_pack_files_clean(catalog, refuse, &asked, pool);
    assert_int_equal(asked, MANY / 2);
    for (int i = 0; i < MANY; i++) {
        store.root = below(apr_itoa(pool, i));
        assert_true(APR_STATUS_IS_ENOENT(read_it()));
    }
}

static void test_pack_file__stays_after_the_deadline(void **state)
{
    (void)state;
    assert_int_equal(write_text(), APR_SUCCESS);
    tseed_deadline_pass();
    assert_int_equal(clean(), 0);
    assert_content(pack(FILE_NAME), TEXT);
}

static int refuse_and_pass_deadline(void *baton, const tseed_pack_name_t *found)
{
    refuse(baton, found);
    tseed_deadline_pass();
    return 0;
}

/* The deadline passes amid a look at the files: the others stay. */
static void test_pack_file__stays_from_the_deadline_on(void **state)
{
    int asked = 0;

    (void)state;
    make_folders();
    make_file(pack("1-1-1"), TEXT);
    make_file(pack("1-1-2"), TEXT);
    tseed_pack_files_clean(catalog_of(dir), refuse_and_pass_deadline, &asked, pool);
    assert_int_equal(asked, 1);
    assert_true(exists(pack("1-1-1")));
    assert_true(exists(pack("1-1-2")));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test_pack_file__##test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_read_once),
        TEST(has_the_name_of_its_request),
        TEST(is_read_into_a_body_that_grows),
        TEST(takes_the_place_of_an_older_one),
        TEST(can_be_removed),
        TEST(makes_its_folders),
        TEST(leaves_folders_that_are_there),
        TEST(makes_nothing_to_read),
        TEST(makes_no_root),
        TEST(follows_the_link_that_is_the_root),
        TEST(does_not_follow_a_link_to_packs),
        TEST(does_not_follow_a_link_to_the_hidden_folder),
        TEST(does_not_follow_a_link_to_nothing),
        TEST(does_not_follow_a_link_to_a_file),
        TEST(does_not_wait_for_a_pipe),
        TEST(is_no_folder),
        TEST(that_is_too_long_is_not_read),
        TEST(that_is_too_long_is_not_written),
        TEST(that_is_empty_is_not_read),
        TEST(leaves_nothing_on_a_full_disk),
        TEST(of_another_name_stays),
        TEST(that_is_wanted_stays),
        TEST(is_removed_from_all_stores),
        TEST(stays_after_the_deadline),
        TEST(stays_from_the_deadline_on),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
