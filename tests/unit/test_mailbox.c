/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A mailbox: each letter that was put in is taken once, in the order of their coming. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <apr_strings.h>
#include <poll.h>
#include <string.h>

#include "pool_fixture.h"
#include "work/tseed_mailbox.h"

static tseed_mailbox_t mailbox;
static char taken[16];
static tseed_letter_t *again; /* a letter that is put in once more when it is taken */

static void take(void *module, void *about)
{
    tseed_letter_t *letter = about;

    strcat(taken, module);
    if (letter && letter == again) {
        again = NULL;
        tseed_mailbox_put(&mailbox, letter);
    }
}

static int setup(void **state)
{
    (void)state;
    taken[0] = '\0';
    again = NULL;
    return tseed_mailbox_init(&mailbox);
}

static tseed_letter_t letter_of(const char *name)
{
    return (tseed_letter_t){.take = take, .module = (void *)name};
}

/* Whether the reader's poll would return. */
static int rings(void)
{
    struct pollfd look = {.fd = mailbox.wake, .events = POLLIN};

    return poll(&look, 1, 0) == 1;
}

static void assert_taken(const char *names)
{
    taken[0] = '\0';
    tseed_mailbox_take(&mailbox);
    assert_string_equal(taken, names);
    assert_false(rings() && !mailbox.first);
}

static void test_mailbox__letters_are_taken_in_their_order(void **state)
{
    tseed_letter_t a = letter_of("a"), b = letter_of("b"), c = letter_of("c");

    (void)state;
    assert_false(rings());
    assert_taken("");
    tseed_mailbox_put(&mailbox, &a);
    assert_true(rings());
    tseed_mailbox_put(&mailbox, &b);
    tseed_mailbox_put(&mailbox, &c);
    assert_taken("abc");
    assert_taken("");
    tseed_mailbox_put(&mailbox, &b);
    assert_true(rings());
    assert_taken("b");
}

/* Letters are kept and used again: the one before has pointed to others. */
static void test_mailbox__a_letter_can_be_put_in_again(void **state)
{
    tseed_letter_t a = letter_of("a"), b = letter_of("b"), c = letter_of("c");

    (void)state;
    tseed_mailbox_put(&mailbox, &a);
    tseed_mailbox_put(&mailbox, &b);
    assert_taken("ab");
    tseed_mailbox_put(&mailbox, &c);
    tseed_mailbox_put(&mailbox, &a);
    assert_taken("ca");
}

/* It comes in the next turn, after those that came with it. */
static void test_mailbox__who_takes_a_letter_may_put_it_in_again(void **state)
{
    tseed_letter_t a = letter_of("a"), b = letter_of("b");

    (void)state;
    a.about = again = &a;
    tseed_mailbox_put(&mailbox, &a);
    tseed_mailbox_put(&mailbox, &b);
    assert_taken("ab");
    assert_true(rings());
    assert_taken("a");
    assert_false(rings());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_mailbox__letters_are_taken_in_their_order, setup),
        cmocka_unit_test_setup(test_mailbox__a_letter_can_be_put_in_again, setup),
        cmocka_unit_test_setup(test_mailbox__who_takes_a_letter_may_put_it_in_again, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
