/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Sizes: costs, trials and caps. */
#include "savings/tseed_sizes.h"

#include <math.h>
#include <string.h>

#define STRIDE         2  /* steps: a trial goes on with four times the metatiles */
#define CLIMB_ANSWERS  3  /* measured of each step in the first trial, … */
#define TRIAL_ANSWERS  4  /* … and in later ones */
#define SETTLING_MOST  4  /* answers that are not measured when the step has changed */
#define MEAN_OF        16 /* answers */
#define KEPT           8  /* of its answers when a step is tried again, unless times have changed */
#define CHEAPER        0.97 /* of the cost before: so much less is worth a larger size */
#define TRIAL_SHARE    0.01 /* of the time since a side lost may be lost by its next trial, … */
#define CHANGED_SHARE  0.03 /* … and if times have changed */
#define CHANGED        1.6  /* times as much, or as little */
#define UNKNOWN_FACTOR 1.25 /* an unknown size is expected to cost so much more */
#define WORSE          2    /* times the cost of the chosen step: no reason to keep to a size */
#define SECONDS_LEAST  1e-6 /* of an answer: a cost is more than 0 */
#define OVERHEAD_MOST  64   /* metatiles, of a request that costs nearly nothing else */
#define PATIENCE_FIRST 16
#define PATIENCE_MOST  1024

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int limit_of(const tseed_sizes_t *sizes)
{
    return least(sizes->top, sizes->cap);
}

static double metatiles_of(int step)
{
    return ldexp(1, step);
}

static int is_measured(const tseed_sizes_t *sizes, int step)
{
    return sizes->steps[step].count >= CLIMB_ANSWERS;
}

/* ---- trials ---- */

static int has_changed(const tseed_sizes_t *sizes, int is_above)
{
    const double now = sizes->steps[sizes->chosen].cost, usual = sizes->sides[is_above].usual;

    return is_measured(sizes, sizes->chosen) && usual > 0 &&
           (now > CHANGED * usual || now * CHANGED < usual);
}

static int is_known_above(const tseed_sizes_t *sizes, int step)
{
    while (++step <= limit_of(sizes)) {
        if (sizes->steps[step].cost > 0) {
            return 1;
        }
    }
    return 0;
}

/* Gives the answers so far the weight of so many. */
static void fade(tseed_size_t *size, int answers)
{
    if (size->count > answers) {
        size->seconds *= (double)answers / size->count;
        size->metatiles *= (double)answers / size->count;
        size->count = answers;
    }
}

/* The few answers of one trial differ by chance. */
static void try_step(tseed_sizes_t *sizes, int step)
{
    sizes->trial = step;
    sizes->wanted = sizes->is_climbing ? CLIMB_ANSWERS : TRIAL_ANSWERS;
    sizes->settling = -1; /* set by the next answer, which tells how many are under way */
    fade(&sizes->steps[step], has_changed(sizes, step > sizes->chosen) ? 0 : KEPT);
}

/* What was the best because more was not possible goes on when more is. */
static void climb_on(tseed_sizes_t *sizes)
{
    if (sizes->chosen < limit_of(sizes) && !is_known_above(sizes, sizes->chosen)) {
        sizes->is_climbing = 1;
        try_step(sizes, least(sizes->chosen + STRIDE, limit_of(sizes)));
    }
}

void tseed_sizes_init(tseed_sizes_t *sizes, int top)
{
    memset(sizes, 0, sizeof(*sizes));
    sizes->top = sizes->cap = least(top, TSEED_SIZES_STEPS - 1);
    sizes->patience = PATIENCE_FIRST;
    sizes->is_climbing = 1;
    try_step(sizes, least(STRIDE, sizes->top));
    sizes->settling = 0; /* nothing is under way */
}

/* Small levels have too few metatiles for a trial of their own: it goes on in the next level. The
 * costs of another level are a beginning, which one answer of each step replaces. A change of times
 * that nothing has come of yet is not forgotten. */
void tseed_sizes_inherit(tseed_sizes_t *sizes, const tseed_sizes_t *other, int top)
{
    *sizes = *other;
    tseed_sizes_limit(sizes, top);
    if (!other->is_known) {
        return;
    }
    sizes->trial = -1;
    sizes->is_climbing = 0;
    for (int step = 0; step < TSEED_SIZES_STEPS; step++) {
        sizes->steps[step] = (tseed_size_t){.cost = other->steps[step].cost};
    }
}

void tseed_sizes_restore(tseed_sizes_t *sizes, int chosen, int cap, double cost)
{
    tseed_sizes_init(sizes, TSEED_SIZES_STEPS - 1);
    sizes->cap = cap;
    sizes->chosen = chosen;
    sizes->steps[chosen].cost = cost;
    sizes->trial = -1;
    sizes->is_climbing = 0;
    sizes->is_known = 1;
}

/* The step on trial may not be asked for any more. */
static void cut_trial(tseed_sizes_t *sizes)
{
    if (sizes->is_known) {
        sizes->trial = -1;
        sizes->is_climbing = 0;
    } else {
        try_step(sizes, limit_of(sizes));
    }
}

void tseed_sizes_limit(tseed_sizes_t *sizes, int top)
{
    const int before = limit_of(sizes);

    sizes->cap = sizes->cap == sizes->top ? top : sizes->cap;
    sizes->top = top;
    sizes->cap = least(sizes->cap, top);
    sizes->chosen = least(sizes->chosen, limit_of(sizes));
    if (sizes->trial > limit_of(sizes)) {
        cut_trial(sizes);
    } else if (sizes->is_known && sizes->trial < 0 && limit_of(sizes) > before) {
        climb_on(sizes);
    } else if (sizes->is_climbing && sizes->trial < before && limit_of(sizes) > before &&
               is_measured(sizes, before)) {
        try_step(sizes, least(before + STRIDE, limit_of(sizes))); /* instead of one metatile */
    }
}

int tseed_sizes_next(const tseed_sizes_t *sizes)
{
    return least(sizes->trial >= 0 ? sizes->trial : sizes->chosen, limit_of(sizes));
}

/* The smallest step that costs nearly as little as the least. */
static int best_of(const tseed_sizes_t *sizes)
{
    double lowest = HUGE_VAL;

    for (int step = 0; step <= limit_of(sizes); step++) {
        if (is_measured(sizes, step) && sizes->steps[step].cost < lowest) {
            lowest = sizes->steps[step].cost;
        }
    }
    for (int step = 0; step <= limit_of(sizes); step++) {
        if (is_measured(sizes, step) && sizes->steps[step].cost * CHEAPER <= lowest) {
            return step;
        }
    }
    return sizes->chosen;
}

/* The side that has lost waits again; after the first trial, both do. A side that has won does not.
 */
static void wait_again(tseed_sizes_t *sizes, int tried, int before, int was_known)
{
    const tseed_side_t anew = {.usual = sizes->steps[sizes->chosen].cost};
    const int has_lost_above = sizes->chosen == before ? tried > before : sizes->chosen < before;

    sizes->sides[has_lost_above] = anew;
    if (!was_known) {
        sizes->sides[!has_lost_above] = anew;
    }
}

/* Ends a trial. Returns whether the chosen step has changed. */
static int choose(tseed_sizes_t *sizes)
{
    const int before = sizes->chosen, was_known = sizes->is_known, tried = sizes->trial;

    sizes->trial = -1;
    sizes->is_climbing = 0;
    sizes->is_known = 1;
    sizes->chosen = least(best_of(sizes), limit_of(sizes));
    wait_again(sizes, tried, before, was_known);
    climb_on(sizes);
    return !was_known || before != sizes->chosen;
}

/* The next smaller step that has been measured, or -1. */
static int measured_below(const tseed_sizes_t *sizes, int step)
{
    do {
        step--;
    } while (step >= 0 && !is_measured(sizes, step));
    return step;
}

/* The step with which the first trial goes on, or -1: upwards as long as that is cheaper. If it
 * never was, one metatile may cost as little. */
static int climb(const tseed_sizes_t *sizes)
{
    const int step = sizes->trial, next = least(step + STRIDE, limit_of(sizes));
    const int before = measured_below(sizes, step);

    if (step == 0) {
        return -1;
    }
    if (before < 0 || sizes->steps[step].cost < CHEAPER * sizes->steps[before].cost) {
        return next > step ? next : before < 0 ? 0 : -1;
    }
    return before == STRIDE && !is_measured(sizes, 0) ? 0 : -1;
}

/* The trial of a step is through. */
static int end_trial(tseed_sizes_t *sizes)
{
    const int next = sizes->is_climbing ? climb(sizes) : -1;

    if (next >= 0) {
        try_step(sizes, next);
        return 0;
    }
    return choose(sizes);
}

/* What a step may cost: a step between two known ones lies between them in cost as well. */
static double expected_cost(const tseed_sizes_t *sizes, int step)
{
    int below = step, above = step;

    while (below >= 0 && sizes->steps[below].cost <= 0) {
        below--;
    }
    while (above < TSEED_SIZES_STEPS && sizes->steps[above].cost <= 0) {
        above++;
    }
    return below >= 0 && above < TSEED_SIZES_STEPS
               ? sqrt(sizes->steps[below].cost * sizes->steps[above].cost)
               : UNKNOWN_FACTOR * sizes->steps[sizes->chosen].cost;
}

/* What a trial of a step loses, in seconds of requests. */
static double loss_of(const tseed_sizes_t *sizes, int step, int under_way)
{
    const double now = sizes->steps[sizes->chosen].cost;
    const double then = expected_cost(sizes, step);

    return fmax(then - now, now / 10) * metatiles_of(step) *
           (TRIAL_ANSWERS + least(under_way, SETTLING_MOST));
}

/* Whether it is time for the trial of a neighbour. */
static int is_time_for(const tseed_sizes_t *sizes, int step, int under_way)
{
    const int is_above = step > sizes->chosen;
    const double share = has_changed(sizes, is_above) ? CHANGED_SHARE : TRIAL_SHARE;

    return step != sizes->chosen &&
           loss_of(sizes, step, under_way) < share * sizes->sides[is_above].spent;
}

/* Begins the trial of a neighbour when it is time. */
static void try_again(tseed_sizes_t *sizes, int under_way)
{
    const int above = least(sizes->chosen + STRIDE, limit_of(sizes));
    const int below = sizes->chosen > STRIDE ? sizes->chosen - STRIDE : 0;

    if (is_time_for(sizes, below, under_way)) {
        try_step(sizes, below);
    } else if (is_time_for(sizes, above, under_way)) {
        try_step(sizes, above);
    }
}

/* ---- answers ---- */

static void measure(tseed_size_t *size, int metatiles, double seconds)
{
    if (size->count == MEAN_OF) {
        size->seconds -= size->seconds / MEAN_OF;
        size->metatiles -= size->metatiles / MEAN_OF;
    }
    size->count += size->count < MEAN_OF;
    size->seconds += seconds;
    size->metatiles += metatiles;
    size->cost = size->seconds / size->metatiles;
}

/* A cap that has held for long enough is lifted, and the next size tried. */
static void lift_cap(tseed_sizes_t *sizes, int step)
{
    if (sizes->cap >= sizes->top || step < sizes->cap || ++sizes->wells < sizes->patience) {
        return;
    }
    sizes->wells = 0;
    sizes->cap++;
    if (!sizes->is_climbing) {
        try_step(sizes, sizes->cap);
    }
}

/* Whether an answer was asked for before the trial began. */
static int is_settling(tseed_sizes_t *sizes, int under_way)
{
    if (sizes->settling < 0) {
        sizes->settling = least(under_way, SETTLING_MOST);
    }
    return sizes->settling > 0 && sizes->settling-- > 0;
}

/* Whether an answer belongs to the trial, if there is one. */
static int is_to_measure(tseed_sizes_t *sizes, int step, int under_way)
{
    return sizes->trial < 0 || (step == sizes->trial && !is_settling(sizes, under_way));
}

static void spend(tseed_sizes_t *sizes, double seconds)
{
    sizes->sides[0].spent += seconds;
    sizes->sides[1].spent += seconds;
}

/* What is usual is not known when the chosen step is one of an earlier seeder. */
static void begin_sides(tseed_sizes_t *sizes, double cost)
{
    for (int i = 0; i < 2; i++) {
        sizes->sides[i].usual = sizes->sides[i].usual > 0 ? sizes->sides[i].usual : cost;
    }
}

int tseed_sizes_take(tseed_sizes_t *sizes, int step, int metatiles, double seconds, int under_way)
{
    int is_other = 0;

    spend(sizes, seconds);
    if (is_to_measure(sizes, step, under_way)) {
        measure(&sizes->steps[step], metatiles, fmax(seconds, SECONDS_LEAST));
        if (sizes->trial < 0 && step == sizes->chosen) {
            begin_sides(sizes, sizes->steps[step].cost);
            try_again(sizes, under_way);
        } else if (sizes->trial >= 0 && --sizes->wanted == 0) {
            is_other = end_trial(sizes);
        }
    }
    lift_cap(sizes, step);
    return is_other;
}

int tseed_sizes_is_worse(const tseed_sizes_t *sizes, int step)
{
    return is_measured(sizes, step) && is_measured(sizes, sizes->chosen) &&
           sizes->steps[step].cost > WORSE * sizes->steps[sizes->chosen].cost;
}

int tseed_sizes_fail(tseed_sizes_t *sizes, int step)
{
    if (step <= 0 || step > limit_of(sizes)) {
        return 0;
    }
    sizes->cap = step - 1;
    sizes->wells = 0;
    sizes->patience = least(2 * sizes->patience, PATIENCE_MOST);
    if (sizes->trial > sizes->cap) {
        choose(sizes);
    }
    sizes->chosen = least(sizes->chosen, sizes->cap);
    return 1;
}

/* ---- what is expected ---- */

/* The cost of a step, or the cost of the nearest step that is known. 0: none is. */
static double cost_near(const tseed_sizes_t *sizes, int step)
{
    for (int far = 0; far < TSEED_SIZES_STEPS; far++) {
        if (step + far < TSEED_SIZES_STEPS && sizes->steps[step + far].cost > 0) {
            return sizes->steps[step + far].cost;
        }
        if (step >= far && sizes->steps[step - far].cost > 0) {
            return sizes->steps[step - far].cost;
        }
    }
    return 0;
}

/* How long requests of a step take for `rest` metatiles, as many at once as there are connections.
 */
static double time_of(const tseed_sizes_t *sizes, int step, double rest, int connections)
{
    const double requests = ceil(rest / metatiles_of(step));

    return ceil(requests / connections) * cost_near(sizes, step) * fmin(metatiles_of(step), rest);
}

int tseed_sizes_for_rest(const tseed_sizes_t *sizes, int step, double rest, int connections)
{
    int best = step;

    if (rest >= 4 * connections * metatiles_of(step)) {
        return step;
    }
    for (int other = step - 1; other >= 0; other--) {
        if (time_of(sizes, other, rest, connections) <
            CHEAPER * time_of(sizes, best, rest, connections)) {
            best = other;
        }
    }
    return best;
}

/* A request for n metatiles takes overhead + n x cost: two known steps say both. */
double tseed_sizes_overhead(const tseed_sizes_t *sizes)
{
    const int known = sizes->chosen;
    const double cost = sizes->steps[known].cost;
    double overhead, each;
    int other = 0;

    while (other < TSEED_SIZES_STEPS && (other == known || sizes->steps[other].cost <= 0)) {
        other++;
    }
    if (other == TSEED_SIZES_STEPS || cost <= 0) {
        return -1;
    }
    overhead =
        (sizes->steps[other].cost - cost) / (1 / metatiles_of(other) - 1 / metatiles_of(known));
    each = cost - overhead / metatiles_of(known);
    if (overhead <= 0) {
        return 0;
    }
    return each > 0 ? overhead / each : OVERHEAD_MOST;
}

double tseed_sizes_weight(const tseed_sizes_t *sizes, int step)
{
    if (step == 0) {
        return 1;
    }
    if (step < 0 || sizes->steps[0].cost <= 0 || sizes->steps[step].cost <= 0) {
        return -1;
    }
    return metatiles_of(step) * sizes->steps[step].cost / sizes->steps[0].cost;
}
