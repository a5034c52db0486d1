/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Sizes: how many metatiles a request asks for, by what requests have taken.
 *
 * Step k asks for 2^k metatiles. Each step has a cost: the seconds that a request takes for each of
 * its metatiles, while as many requests as usual are under way. So requests that hold each other up
 * at the upstream cost more, and the step that costs least makes most tiles in sum.
 *
 *      trial     begins with four metatiles and goes on with four times as many as long as those
 *                cost less. If more never costs less, one metatile is tried as well. A request
 *                that was under way when the step changed is not measured.
 *      chosen    the smallest step that costs nearly as little as the least
 *      again     a smaller or a larger step is tried again when its trial is expected to lose less
 *                than a hundredth of the time that requests have taken since that side lost last,
 *                or less than three hundredths if the cost of the chosen step has changed.
 *                Each side has a time of its own: one side may cost much more than the other.
 *      cap       a request that fails halves the largest size. Enough good answers double it again,
 *                twice as many after each failure.
 *
 * Arithmetic over the times of its caller, no I/O. One thread at a time. */
#ifndef TSEED_SIZES_H
#define TSEED_SIZES_H

#define TSEED_SIZES_STEPS 7 /* 1 to 64 metatiles */

typedef struct {
    double cost;               /* seconds a metatile, of late; 0: not known */
    double seconds, metatiles; /* whose quotient it is; older answers fade */
    int count;                 /* answers in them */
} tseed_size_t;

/* What a side of the chosen step waits for: since a trial of it lost. */
typedef struct {
    double usual; /* cost of the chosen step at that time; 0: not known */
    double spent; /* seconds of requests since then */
} tseed_side_t;

typedef struct {
    tseed_size_t steps[TSEED_SIZES_STEPS];
    int top;               /* largest step that may be asked for */
    int cap;               /* the same after failures */
    int chosen;            /* the best step so far */
    int trial;             /* the step on trial, or -1 */
    int is_climbing;       /* in the first trial */
    int wanted;            /* answers to measure in the trial */
    int settling;          /* answers that were asked for before the step changed */
    int wells;             /* good answers at the cap since it was set */
    int patience;          /* how many of them double the cap */
    int is_known;          /* a trial has ended, here or at the level before */
    tseed_side_t sides[2]; /* below, above */
} tseed_sizes_t;

/* Sizes of which nothing is known, up to step `top`. */
void tseed_sizes_init(tseed_sizes_t *sizes, int top);

/* Sizes of a level, by what is known of another level. */
void tseed_sizes_inherit(tseed_sizes_t *sizes, const tseed_sizes_t *other, int top);

/* Sizes of which an earlier seeder has saved the chosen step, the cap and the cost. */
void tseed_sizes_restore(tseed_sizes_t *sizes, int chosen, int cap, double cost);

/* Sets the largest step that may be asked for. If the chosen step was the largest one, larger ones
 * are tried. */
void tseed_sizes_limit(tseed_sizes_t *sizes, int top);

/* The step that is asked for next. */
int tseed_sizes_next(const tseed_sizes_t *sizes);

/* The step to ask for when `rest` metatiles are left, so that `connections` requests at once are
 * through with them soonest; at most `step`. */
int tseed_sizes_for_rest(const tseed_sizes_t *sizes, int step, double rest, int connections);

/* Whether requests of another step than the chosen one cost more than twice as much. */
int tseed_sizes_is_worse(const tseed_sizes_t *sizes, int step);

/* Takes in that an answer has taken so many seconds. metatiles: how many it had, which are less
 * than those of its step at the edges of a task. under_way: requests beside it. Returns whether the
 * chosen step has changed. */
int tseed_sizes_take(tseed_sizes_t *sizes, int step, int metatiles, double seconds, int under_way);

/* Notes that a request of a step has failed for what may be its size. Returns whether that makes
 * requests smaller. */
int tseed_sizes_fail(tseed_sizes_t *sizes, int step);

/* What a request costs beyond its metatiles, in metatiles. Below 0: not known. */
double tseed_sizes_overhead(const tseed_sizes_t *sizes);

/* How much longer a request of a step takes than one for a metatile. Below 0: not known. */
double tseed_sizes_weight(const tseed_sizes_t *sizes, int step);

#endif
