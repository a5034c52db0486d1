#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
# Makes a private PostgreSQL in the new directory DIR, an absolute path, and becomes its server,
# which listens on a socket in DIR: postgres.sh DIR [-c name=value ...]
#
# Everybody on this machine may connect as tileseed. The server ends with the process that has
# started this script, or by a signal: SIGINT is a shutdown, SIGQUIT a crash. Started again with the
# same DIR the server goes on with what is there. Root makes nobody its owner, because PostgreSQL
# refuses root. A copy of the empty cluster is kept as $TILESEED_POSTGRES_EMPTY, if that is set: to
# make one takes a second. Exits with 77 where PostgreSQL is not installed.
set -eu

dir=$1
shift
empty=${TILESEED_POSTGRES_EMPTY:-}
bin=
for found in /usr/lib/postgresql/*/bin; do # the newest
    bin=$found
done
cd / # the owner may not go where this script was started
if [ ! -x "$bin/initdb" ]; then
    bin=$(dirname "$(command -v initdb || echo /nowhere/initdb)")
fi
[ -x "$bin/initdb" ] && [ -x "$bin/postgres" ] || exit 77

# Runs a command as the owner, who is left when this script is.
as_owner() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
    else
        "$@"
    fi
}

make_cluster() {
    as_owner "$bin/initdb" -D "$dir/data" -N -A trust -U tileseed --locale=C -E UTF8 \
        --wal-segsize=1 >"$dir/initdb.log" 2>&1 || {
        cat "$dir/initdb.log" >&2
        exit 1
    }
    if [ -n "$empty" ]; then # who comes second finds it there
        cp -r "$dir/data" "$empty.$$"
        mv -T "$empty.$$" "$empty" 2>/dev/null || rm -rf "$empty.$$"
    fi
}

mkdir -p "$dir"
chmod 755 "$dir"
[ "$(id -u)" -ne 0 ] || chown nobody:nogroup "$dir"
# Programs that were unpacked where the owner can't go are copied; they find their files from there.
if ! as_owner test -x "$bin/postgres"; then
    tree=${bin%/usr/lib/postgresql/*}
    [ -d "$dir/usr" ] || cp -r "$tree/usr" "$dir"
    bin=$dir${bin#"$tree"}
fi
if [ ! -d "$dir/data" ]; then
    if [ -n "$empty" ] && [ -d "$empty" ]; then
        cp -r "$empty" "$dir/data"
        [ "$(id -u)" -ne 0 ] || chown -R nobody:nogroup "$dir/data"
    else
        make_cluster
    fi
fi

set -- "$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c fsync=off \
    -c max_connections=200 -c shared_buffers=16MB -c logging_collector=off -c jit=off "$@"
if [ "$(id -u)" -eq 0 ]; then
    set -- --reuid=nobody --regid=nogroup --clear-groups "$@"
fi
exec setpriv --pdeathsig QUIT "$@"
