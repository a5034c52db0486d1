/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Sizes: seeders and upstreams are simulated event by event, and what the sizes choose is compared
 * with each fixed size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <math.h>

#include "savings/tseed_sizes.h"

#define PIXELS      (1024.0 * 1024) /* of a metatile of 4 x 4 tiles */
#define CONNECTIONS 4
#define TOP         4 /* 16 metatiles: 16 x 16 tiles */
#define NOBODY      (-1)

/* An upstream: how long it takes, and how many processors it has. */
typedef struct {
    double request, pixel; /* seconds */
    int processors;        /* 0: as many as requests */
    int most;              /* metatiles; more are refused, 0: any */
    double noise;          /* share by which answers differ */
} model_t;

/* One request under way. */
typedef struct {
    int step, metatiles;
    double work; /* seconds that are left of it */
    double began;
} request_t;

typedef struct {
    model_t model;
    tseed_sizes_t sizes;
    int fixed; /* step, or NOBODY */
    request_t requests[CONNECTIONS];
    int under_way;
    double now;
    double left; /* metatiles */
    int answers, refusals;
    double at_40; /* the time when the 40th answer came, … */
    double left_at_40;
    unsigned dice;
} world_t;

/* Between 0 and 1. */
static double roll(world_t *world)
{
    world->dice = world->dice * 1664525u + 1013904223u;
    return (double)(world->dice >> 8) / (1 << 24);
}

static double work_of(world_t *world, int metatiles)
{
    const model_t *model = &world->model;
    const double mean = model->request + model->pixel * PIXELS * metatiles;

    return mean * (1 + model->noise * (2 * roll(world) - 1));
}

static void ask(world_t *world)
{
    request_t *request = &world->requests[world->under_way++];
    const int step = world->fixed != NOBODY
                         ? world->fixed
                         : tseed_sizes_for_rest(&world->sizes, tseed_sizes_next(&world->sizes),
                                                world->left, CONNECTIONS);

    request->step = step;
    request->metatiles = (int)fmin(1 << step, world->left);
    request->began = world->now;
    request->work = work_of(world, request->metatiles);
    world->left -= request->metatiles;
}

/* How fast each request gets on. */
static double speed(const world_t *world)
{
    const int processors = world->model.processors;

    return processors == 0 || world->under_way <= processors
               ? 1
               : (double)processors / world->under_way;
}

static void answer(world_t *world, const request_t *request)
{
    const model_t *model = &world->model;

    world->answers++;
    if (model->most && request->metatiles > model->most) {
        world->refusals++;
        world->left += request->metatiles;
        tseed_sizes_fail(&world->sizes, request->step);
    } else {
        tseed_sizes_take(&world->sizes, request->step, request->metatiles,
                         world->now - request->began, world->under_way);
    }
    if (world->answers == 40) {
        world->at_40 = world->now;
        world->left_at_40 = world->left;
    }
}

/* The next request that ends. */
static void step_on(world_t *world)
{
    int first = 0;
    double passed;
    request_t ended;

    for (int i = 1; i < world->under_way; i++) {
        first = world->requests[i].work < world->requests[first].work ? i : first;
    }
    passed = world->requests[first].work;
    world->now += passed / speed(world);
    for (int i = 0; i < world->under_way; i++) {
        world->requests[i].work -= passed;
    }
    ended = world->requests[first];
    world->requests[first] = world->requests[--world->under_way];
    answer(world, &ended);
}

/* Runs until so many metatiles are left. */
static void run_to(world_t *world, double left)
{
    while (world->left > left || (left <= 0 && world->under_way > 0)) {
        while (world->under_way < CONNECTIONS && world->left > 0) {
            ask(world);
        }
        step_on(world);
    }
}

static world_t world_of(const model_t *model, int fixed, double metatiles)
{
    world_t world = {.model = *model, .fixed = fixed, .left = metatiles, .dice = 7};

    tseed_sizes_init(&world.sizes, TOP);
    return world;
}

static double time_of_fixed(const model_t *model, int step, double metatiles)
{
    world_t world = world_of(model, step, metatiles);

    run_to(&world, 0);
    return world.now;
}

static double best_fixed(const model_t *model, double metatiles)
{
    double best = HUGE_VAL;

    for (int step = 0; step <= TOP; step++) {
        best = fmin(best, time_of_fixed(model, step, metatiles));
    }
    return best;
}

static const double requests[] = {0.001, 0.02, 0.2}, pixels[] = {0.5e-9, 5e-9, 50e-9};
static const int processors[] = {0, 1, 2};

/* Calls for each upstream of the nine, with each number of processors. */
static void for_models(void (*call)(const model_t *model))
{
    for (int i = 0; i < 27; i++) {
        const model_t model = {.request = requests[i / 9],
                               .pixel = pixels[i / 3 % 3],
                               .processors = processors[i % 3],
                               .noise = 0.1};

        call(&model);
    }
}

/* From the 40th answer on the task goes on as fast as with the best size from there. */
static void assert_near_best(const model_t *model)
{
    world_t world = world_of(model, NOBODY, 10000);
    double rest, best;

    run_to(&world, 0);
    rest = world.now - world.at_40;
    best = best_fixed(model, 10000) * world.left_at_40 / 10000;
    if (rest > 1.1 * best) {
        fail_msg("%g s a request, %g s a pixel, %d processors: %g s, at best %g s", model->request,
                 model->pixel, model->processors, rest, best);
    }
}

static void test_sizes__are_near_the_best_from_the_40th_request_on(void **state)
{
    (void)state;
    for_models(assert_near_best);
}

/* The whole task takes hardly longer than with the best size, which nobody knew before. What trials
 * lose is a part of that. */
static void assert_little_lost(const model_t *model)
{
    const double best = best_fixed(model, 10000);

    for (unsigned dice = 7; dice < 15; dice++) {
        world_t world = world_of(model, NOBODY, 10000);

        world.dice = dice * 1000;
        run_to(&world, 0);
        if (world.now > 1.03 * best) {
            fail_msg("%g s a request, %g s a pixel, %d processors: %g s, at best %g s",
                     model->request, model->pixel, model->processors, world.now, best);
        }
    }
}

static void test_sizes__lose_less_than_three_percent_of_a_task(void **state)
{
    (void)state;
    for_models(assert_little_lost);
}

/* A pixel is everything: nothing is gained, and the memory of large requests is saved. */
static void test_sizes__stay_small_where_large_is_no_better(void **state)
{
    world_t world = world_of(&(model_t){.request = 0.0001, .pixel = 50e-9}, NOBODY, 2000);

    (void)state;
    run_to(&world, 100);
    assert_int_equal(world.sizes.chosen, 0);
}

static void test_sizes__find_what_an_upstream_refuses(void **state)
{
    world_t world = world_of(&(model_t){.request = 0.2, .pixel = 0.5e-9, .most = 4}, NOBODY, 10000);

    (void)state;
    run_to(&world, 0);
    assert_int_equal(world.sizes.chosen, 2);
    assert_true(world.refusals < 40); /* ever more seldom */
}

/* The upstream draws slowly at first, then a request is what takes its time. */
static void test_sizes__follow_an_upstream_that_changes(void **state)
{
    world_t world = world_of(&(model_t){.request = 0.0005, .pixel = 50e-9}, NOBODY, 20000);

    (void)state;
    run_to(&world, 19000);
    assert_int_equal(world.sizes.chosen, 0);
    world.model.request = 0.5;
    run_to(&world, 17000);
    assert_true(world.sizes.chosen >= 2);
    run_to(&world, 10000);
    assert_int_equal(world.sizes.chosen, 4);
}

/* Answers of a request for four metatiles, until another step is asked for. */
static int answers_of_four(tseed_sizes_t *sizes, double seconds, int most)
{
    int count = 0;

    while (count < most && tseed_sizes_next(sizes) == 2) {
        tseed_sizes_take(sizes, 2, 4, seconds, 3);
        count++;
    }
    return count;
}

/* One metatile is known to cost four times as much: no reason to wait with a trial of more. */
static void test_sizes__try_more_while_less_costs_much(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_restore(&sizes, 2, TOP, 0.25);
    sizes.steps[0].cost = 1;
    sizes.steps[4].cost = 0.25;
    assert_true(answers_of_four(&sizes, 1, 1000) < 300);
    assert_int_equal(tseed_sizes_next(&sizes), 4);
}

/* A trial that has paid is followed by the next one, without another wait. */
static void test_sizes__go_on_upwards_when_a_trial_has_paid(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_restore(&sizes, 0, TOP, 1);
    sizes.steps[2].cost = 1;
    sizes.steps[4].cost = 0.25;
    for (int i = 0; i < 1000 && tseed_sizes_next(&sizes) == 0; i++) {
        tseed_sizes_take(&sizes, 0, 1, 1, 3);
    }
    assert_int_equal(tseed_sizes_next(&sizes), 2);
    assert_true(answers_of_four(&sizes, 1, 1000) < 20);
    assert_int_equal(tseed_sizes_next(&sizes), 4);
}

/* Requests take ever so much longer at the end of a level: the next one knows that. */
static void test_sizes__follow_a_change_into_the_next_level(void **state)
{
    tseed_sizes_t first, second;

    (void)state;
    tseed_sizes_restore(&first, 2, TOP, 0.01);
    first.steps[0].cost = first.steps[4].cost = 1;
    assert_int_equal(answers_of_four(&first, 0.04, 20), 20);
    first.steps[4].cost = 0.01;
    assert_int_equal(answers_of_four(&first, 1, 30), 30);
    tseed_sizes_inherit(&second, &first, TOP);
    assert_true(answers_of_four(&second, 1, 1000) < 100);
    assert_int_equal(tseed_sizes_next(&second), 4);
}

/* Memory for large answers is known to be there only when some have come. */
static void test_sizes__climb_on_when_more_may_be_asked_for(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_init(&sizes, 1);
    assert_int_equal(tseed_sizes_next(&sizes), 1);
    for (int i = 0; i < 3; i++) {
        tseed_sizes_take(&sizes, 1, 2, 1, 3);
    }
    assert_int_equal(tseed_sizes_next(&sizes), 0);
    tseed_sizes_limit(&sizes, TOP);
    assert_int_equal(tseed_sizes_next(&sizes), 3);
}

/* The first trial has left out four metatiles: they are expected to cost more than sixteen, for two
 * cost much more. */
static void test_sizes__expect_of_a_step_what_its_neighbours_cost(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_restore(&sizes, TOP, TOP, 1);
    tseed_sizes_limit(&sizes, TOP);
    sizes.steps[1].cost = 8;
    for (int i = 0; i < 100; i++) {
        tseed_sizes_take(&sizes, 4, 16, 16, 3);
    }
    assert_int_equal(tseed_sizes_next(&sizes), 4);
    sizes.steps[1].cost = 0;
    for (int i = 0; i < 100; i++) {
        tseed_sizes_take(&sizes, 4, 16, 16, 3);
    }
    assert_int_equal(tseed_sizes_next(&sizes), 2);
}

/* Four connections, eight metatiles: two for each rather than all for one. */
static void test_sizes__use_all_connections_at_the_end(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_init(&sizes, TOP);
    for (int step = 0; step <= TOP; step++) {
        sizes.steps[step].cost = (0.02 + 0.02 * (1 << step)) / (1 << step);
    }
    assert_int_equal(tseed_sizes_for_rest(&sizes, 4, 8, 4), 1);
    assert_int_equal(tseed_sizes_for_rest(&sizes, 4, 64, 4), 4);
    assert_int_equal(tseed_sizes_for_rest(&sizes, 4, 1e6, 4), 4);
    assert_int_equal(tseed_sizes_for_rest(&sizes, 4, 1, 4), 4); /* it is one whatever the size */
    assert_int_equal(tseed_sizes_for_rest(&sizes, 4, 16, 1), 4);
}

static void test_sizes__halve_when_one_fails_and_double_again(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_init(&sizes, TOP);
    sizes.trial = -1;
    sizes.is_climbing = 0;
    sizes.chosen = 4;
    assert_true(tseed_sizes_fail(&sizes, 4));
    assert_int_equal(tseed_sizes_next(&sizes), 3);
    assert_false(tseed_sizes_fail(&sizes, 4)); /* it was under way already */
    assert_int_equal(tseed_sizes_next(&sizes), 3);
    for (int i = 0; i < 64; i++) {
        tseed_sizes_take(&sizes, 3, 8, 0.1, 3);
    }
    assert_int_equal(sizes.cap, 4);
    assert_false(tseed_sizes_fail(&sizes, 0));
}

static void test_sizes__go_on_in_the_next_level(void **state)
{
    tseed_sizes_t first, second;

    (void)state;
    tseed_sizes_init(&first, TOP);
    for (int i = 0; i < 2; i++) {
        tseed_sizes_take(&first, 2, 4, 0.2, 3);
    }
    tseed_sizes_inherit(&second, &first, TOP);
    assert_int_equal(tseed_sizes_next(&second), 2);
    tseed_sizes_take(&second, 2, 4, 0.2, 3);
    assert_int_equal(tseed_sizes_next(&second), 4);
    second.is_known = 1;
    second.chosen = 4;
    tseed_sizes_inherit(&first, &second, 3);
    assert_int_equal(tseed_sizes_next(&first), 3);
}

static void test_sizes__know_how_long_a_request_takes(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_init(&sizes, TOP);
    assert_true(tseed_sizes_weight(&sizes, 4) < 0);
    assert_true(tseed_sizes_weight(&sizes, -1) < 0);
    sizes.steps[0].cost = 0.2;
    sizes.steps[4].cost = 0.025;
    assert_true(fabs(tseed_sizes_weight(&sizes, 4) - 2) < 1e-9);
    assert_true(tseed_sizes_weight(&sizes, 0) == 1);
}

/* A request takes 2 s and a second for each of its metatiles. */
static void test_sizes__tell_what_a_request_costs(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_init(&sizes, TOP);
    assert_true(tseed_sizes_overhead(&sizes) < 0);
    sizes.chosen = 4;
    sizes.steps[4].cost = 1 + 2.0 / 16;
    assert_true(tseed_sizes_overhead(&sizes) < 0);
    sizes.steps[2].cost = 1 + 2.0 / 4;
    assert_true(tseed_sizes_overhead(&sizes) > 1.99 && tseed_sizes_overhead(&sizes) < 2.01);
    sizes.steps[2].cost = 1;
    assert_true(tseed_sizes_overhead(&sizes) == 0);
}

/* A size of which the last seeder knew that larger ones fail is tried again after a while. */
static void test_sizes__lift_a_cap_of_an_earlier_seeder(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_restore(&sizes, 3, 3, 0.1);
    tseed_sizes_limit(&sizes, TOP);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(tseed_sizes_next(&sizes), 3);
        tseed_sizes_take(&sizes, 3, 8, 0.8, 3);
    }
    assert_int_equal(sizes.cap, 4);
    assert_int_equal(tseed_sizes_next(&sizes), 4);
}

/* A level that climbs leaves its trial behind: the next one begins with what is known. */
static void test_sizes__inherit_no_trial_of_what_is_known(void **state)
{
    tseed_sizes_t first, second;

    (void)state;
    tseed_sizes_init(&first, 0);
    for (int i = 0; i < 3; i++) {
        tseed_sizes_take(&first, 0, 1, 1, 0);
    }
    tseed_sizes_limit(&first, TOP);
    assert_int_equal(tseed_sizes_next(&first), 2);
    tseed_sizes_inherit(&second, &first, TOP);
    assert_int_equal(tseed_sizes_next(&second), 0);
    assert_false(second.is_climbing);
    assert_true(second.steps[0].cost == 1 && second.steps[0].count == 0);
}

/* One metatile was all that could be asked for; four cost as much each: sixteen are not tried. */
static void test_sizes__climb_no_further_than_it_pays(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_init(&sizes, 0);
    for (int i = 0; i < 3; i++) {
        tseed_sizes_take(&sizes, 0, 1, 1, 0);
    }
    tseed_sizes_limit(&sizes, TOP);
    assert_int_equal(tseed_sizes_next(&sizes), 2);
    for (int i = 0; i < 3; i++) {
        tseed_sizes_take(&sizes, 2, 4, 4, 0);
    }
    assert_int_equal(tseed_sizes_next(&sizes), 0);
}

/* Sixteen answers of a second a metatile, then a trial of four that take three seconds. */
static double cost_of_trial(double usual)
{
    tseed_sizes_t sizes;

    tseed_sizes_restore(&sizes, 1, 1, 1);
    tseed_sizes_limit(&sizes, TOP);
    sizes.steps[1] = (tseed_size_t){.seconds = 32, .metatiles = 32, .count = 16, .cost = 1};
    sizes.steps[2] = (tseed_size_t){.seconds = 64, .metatiles = 64, .count = 16, .cost = 1};
    sizes.sides[1].usual = usual;
    sizes.wells = sizes.patience - 1;
    tseed_sizes_take(&sizes, 1, 2, 2, 0);
    assert_int_equal(tseed_sizes_next(&sizes), 2);
    for (int i = 0; i < 4; i++) {
        tseed_sizes_take(&sizes, 2, 4, 12, 0);
    }
    assert_int_equal(tseed_sizes_next(&sizes), 1);
    return sizes.steps[2].cost;
}

/* The former answers have the weight of eight, (8 x 1 + 4 x 3) / 12, and none if the times have
 * changed by more than 1.6. */
static void test_sizes__believe_old_answers_less(void **state)
{
    (void)state;
    assert_true(fabs(cost_of_trial(1) - 5 / 3.0) < 1e-9);
    assert_true(fabs(cost_of_trial(0.65) - 5 / 3.0) < 1e-9);
    assert_true(fabs(cost_of_trial(0.6) - 3) < 1e-9);
    assert_true(fabs(cost_of_trial(1.7) - 3) < 1e-9);
}

static void test_sizes__twice_the_cost_is_no_worse(void **state)
{
    tseed_sizes_t sizes;

    (void)state;
    tseed_sizes_init(&sizes, TOP);
    sizes.chosen = 2;
    sizes.steps[2] = (tseed_size_t){.count = 3, .cost = 1};
    sizes.steps[0] = (tseed_size_t){.count = 3, .cost = 2.01};
    assert_true(tseed_sizes_is_worse(&sizes, 0));
    assert_false(tseed_sizes_is_worse(&sizes, 2));
    assert_false(tseed_sizes_is_worse(&sizes, 1)); /* not known */
    sizes.steps[0].cost = 2;
    assert_false(tseed_sizes_is_worse(&sizes, 0));
    sizes.steps[0] = (tseed_size_t){.count = 2, .cost = 9};
    assert_false(tseed_sizes_is_worse(&sizes, 0));
    sizes.steps[0].count = 3;
    sizes.steps[2].count = 2;
    assert_false(tseed_sizes_is_worse(&sizes, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes__are_near_the_best_from_the_40th_request_on),
        cmocka_unit_test(test_sizes__lose_less_than_three_percent_of_a_task),
        cmocka_unit_test(test_sizes__stay_small_where_large_is_no_better),
        cmocka_unit_test(test_sizes__find_what_an_upstream_refuses),
        cmocka_unit_test(test_sizes__follow_an_upstream_that_changes),
        cmocka_unit_test(test_sizes__try_more_while_less_costs_much),
        cmocka_unit_test(test_sizes__go_on_upwards_when_a_trial_has_paid),
        cmocka_unit_test(test_sizes__follow_a_change_into_the_next_level),
        cmocka_unit_test(test_sizes__climb_on_when_more_may_be_asked_for),
        cmocka_unit_test(test_sizes__expect_of_a_step_what_its_neighbours_cost),
        cmocka_unit_test(test_sizes__use_all_connections_at_the_end),
        cmocka_unit_test(test_sizes__lift_a_cap_of_an_earlier_seeder),
        cmocka_unit_test(test_sizes__inherit_no_trial_of_what_is_known),
        cmocka_unit_test(test_sizes__climb_no_further_than_it_pays),
        cmocka_unit_test(test_sizes__believe_old_answers_less),
        cmocka_unit_test(test_sizes__twice_the_cost_is_no_worse),
        cmocka_unit_test(test_sizes__halve_when_one_fails_and_double_again),
        cmocka_unit_test(test_sizes__go_on_in_the_next_level),
        cmocka_unit_test(test_sizes__know_how_long_a_request_takes),
        cmocka_unit_test(test_sizes__tell_what_a_request_costs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
