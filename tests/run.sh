#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
# Runs suites of tests and ends with "N passed, N failed, N skipped": run.sh BUILD [quick|all]
#
# BUILD is configured and built already. Without a word each test runs once. quick: unit tests,
# lints, fuzz corpora and the main path of one MPM. all: each test, and then the suites that need a
# build of their own: distcheck, with the sanitizers of addresses and undefined behaviour; the
# sanitizer of threads; coverage. The last two lie in directories below BUILD. So does the module
# without the fleet, which all but quick try.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd -P)
build=$(cd "$1" && pwd -P)
passed=0 failed=0 skipped=0
logs=()   # of the suites that failed
runner=() # what make is run by
httpd_flags=()
jobs=$((3 * $(nproc))) # tests wait most of their time
export PYTHONDONTWRITEBYTECODE=1

# Each headline tells how long the run has taken.
say() {
    printf '== %d s: %s\n' "$SECONDS" "$*"
}

# Adds one suite to the sums: LOG PASSED FAILED SKIPPED
count() {
    passed=$((passed + $2))
    failed=$((failed + $3))
    skipped=$((skipped + $4))
    if [ "$3" -ne 0 ]; then
        logs+=("$1")
    fi
}

# The number after a word in automake's report, before a word in pytest's last line
automake_number() {
    sed -n "s/^# $2: *\([0-9]*\)$/\1/p" "$1" | head -n 1
}

pytest_number() {
    tail -n 5 "$1" | grep -oE "[0-9]+ $2" | tail -n 1 | cut -d ' ' -f 1 || :
}

# A suite whose report is missing counts as one that failed: REPORT LOG
count_automake() {
    if [ -n "$(automake_number "$1" PASS 2>/dev/null)" ]; then
        count "$1" "$(automake_number "$1" PASS)" \
            $(($(automake_number "$1" FAIL) + $(automake_number "$1" ERROR) + \
                $(automake_number "$1" XPASS))) "$(automake_number "$1" SKIP)"
    else
        count "$2" 0 1 0
    fi
}

count_pytest() {
    local good bad errors skips
    good=$(pytest_number "$1" passed)
    bad=$(pytest_number "$1" failed)
    errors=$(pytest_number "$1" 'errors?')
    skips=$(pytest_number "$1" skipped)
    if [ -z "$good$bad$errors$skips" ]; then
        errors=1
    fi
    count "$1" "${good:-0}" $((${bad:-0} + ${errors:-0})) "${skips:-0}"
}

# Runs a target of automake's tests in a build: DIRECTORY TARGET [VARIABLE=VALUE...]
run_check() {
    local directory=$1 log=$1/$2.log
    shift
    rm -f "$directory/test-suite.log"
    "${runner[@]}" make -s -C "$directory" -j"$jobs" "$@" >"$log" 2>&1 || :
    grep -E '^(FAIL|ERROR|XPASS)' "$log" || :
    count_automake "$directory/test-suite.log" "$log"
}

# The folders of tests lie in memory where that has room for them and runs programs: thousands of
# files that are made and removed again cost a disk's file system a quarter of a test's time.
in_memory() {
    local bytes options
    read -r bytes options < <(findmnt -bno AVAIL,OPTIONS --target /dev/shm 2>/dev/null) || return 1
    [ "${bytes:-0}" -ge $((4 << 30)) ] && [[ ! ,$options, =~ ,noexec, ]] && [ -w /dev/shm ]
}

# The module in httpd, with variables of make
run_httpd() {
    local log=$build/check-httpd.log

    make -s -C "$build" check-httpd "$@" 2>&1 | tee "$log" || :
    count_pytest "$log"
}

# Configures a build of its own below the first: DIRECTORY FLAG... Says nothing unless it fails.
configure_below() {
    local directory=$1
    shift
    mkdir -p "$directory"
    (
        cd "$directory"
        # shellcheck disable=SC2086  # several flags may stand in the variable
        [ -e Makefile ] || "$top/configure" -q ${CONFIGURE_FLAGS:-} "$@"
    ) >"$directory/build.log" 2>&1
}

# Programs of "make check-programs" in a build of their own, which makes what they need alone:
# PROGRAMS DIRECTORY FLAG... Without PROGRAMS all.
run_programs() {
    local programs=$1 directory=$2
    shift
    if configure_below "$@"; then
        run_check "$directory" check-programs ${programs:+CHECKED="$programs"}
    else
        count "$directory/build.log" 0 1 0
    fi
}

# Whether the archive is complete and what it holds installs, and all its tests with two sanitizers.
# A sanitizer that finds something ends a test, so one build answers for both.
run_distcheck() {
    local log=$build/distcheck.log
    say "Distribution, with the sanitizers of addresses and undefined behaviour"
    if make -s -C "$build" -j"$jobs" distcheck \
        DISTCHECK_CONFIGURE_FLAGS="--enable-sanitize=address,undefined CFLAGS='-g1 -O1'" \
        >"$log" 2>&1; then
        count "$log" 1 0 0
    else
        grep -E '^(FAIL|ERROR|XPASS)' "$log" || :
        count "$log" 0 1 0
    fi
    count_automake "$log" "$log"
}

# Two tests: the floor of lines and the floor of branches
run_coverage() {
    local log=$build/coverage/coverage.log good
    say "Coverage"
    run_programs '' "$build/coverage" --enable-coverage CFLAGS=-O0
    make -s -C "$build/coverage" coverage-floors 2>&1 | tee "$log" || :
    good=$(grep -c '^ok' "$log" || :)
    count "$log" "$good" $((2 - good)) 0
}

# Whether a program with the sanitizer of threads starts here, by the present runner
threads_start() {
    local probe=$build/threads-probe
    printf 'int main(void) { return 0; }\n' | "${CC:-gcc}" -fsanitize=thread -x c -o "$probe" - &&
        "${runner[@]}" "$probe"
}

# The programs that can start a thread: no other has something to say to the sanitizer of threads.
# They are picked in the first build, where all of them are.
threaded_programs() {
    local program
    for program in "$build"/tests/unit/* "$build"/tests/fuzz/*; do
        if [ -f "$program" ] && [ -x "$program" ] &&
            [[ $(nm -u "$program" 2>&1) =~ \ (apr_thread|pthread)_create ]]; then
            printf '%s ' "${program#"$build/"}"
        fi
    done
}

# A module for one host, in a build of its own, with the programs that pass the doors of the fleet
# and what shows the module as a whole
run_alone() {
    local directory=$build/alone programs
    programs=$(printf 'tests/unit/test_%s ' board flow seeder state store task_queue)
    say "A module without the fleet"
    run_programs "$programs" "$directory" --without-fleet CFLAGS=-O0
    if ! make -s -C "$directory" -j"$jobs" mod_tileseed.la tileseedctl \
        >>"$directory/build.log" 2>&1; then
        count "$directory/build.log" 0 1 0
        return
    fi
    make -s -C "$directory" check-httpd HTTPD_JOBS=$((2 * $(nproc))) \
        PYTEST_FLAGS='-k "event and (main_path or alone) or mistake and (Host or Lease)"' 2>&1 |
        tee "$directory/check-httpd.log" || :
    count_pytest "$directory/check-httpd.log"
}

# The sanitizer of threads does not start where the kernel spreads addresses over more bits than the
# sanitizer knows. setarch ends that, where it may.
run_threads() {
    local runner=(setarch "$(uname -m)" -R)
    "${runner[@]}" true 2>/dev/null || runner=()
    if ! threads_start 2>/dev/null; then
        say "The sanitizer of threads does not start on this machine: skipped"
        count '' 0 0 1
        return
    fi
    say "The programs that start threads, with the sanitizer of threads"
    run_programs "$(threaded_programs)" "$build/sanitize-thread" \
        --enable-sanitize=thread CFLAGS='-g1 -O1'
}

# The first suite has looked at every cut of the power.
run_thorough() {
    export TSEED_QUICK=1
    run_distcheck
    run_threads
    run_coverage
}

if [ -z "${TMPDIR:-}" ] && in_memory; then
    export TMPDIR=/dev/shm
fi
if [ "${2:-}" = quick ]; then
    export TSEED_QUICK=1 # tests/unit/test_state_power.c
    httpd_flags=(PYTEST_FLAGS='-m main_path -k event' HTTPD_JOBS=$((2 * $(nproc))))
fi
say "Unit tests, fuzz corpora, lints"
run_check "$build" check
say "The module in httpd"
run_httpd "${httpd_flags[@]}"
if [ "${2:-}" = all ]; then
    run_alone
    run_thorough
fi
if [ "$failed" -ne 0 ]; then
    say "What failed is in ${logs[*]}"
fi
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
