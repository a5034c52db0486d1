#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
# Makes a private PostgreSQL in the new directory DIR, an absolute path, and becomes its server,
# which listens on a socket in DIR: postgres.sh DIR [-c name=value ...]
#
# The role tileseed, an ordinary one, owns the database tileseed; DIR/passfile has its password.
# DIR/admin has that of the superuser postgres. Nobody else on this machine can connect: passwords
# are drawn, and DIR and socket are closed to others. Where root starts it, nobody becomes the
# owner, because PostgreSQL refuses root, and TILESEED_POSTGRES_USER, httpd's User, may connect.
#
# The server ends with the process that has started this script, or by a signal: SIGINT is a
# shutdown, SIGQUIT a crash. Started again with the same DIR the server goes on with what is there.
# A copy of the empty cluster is kept as $TILESEED_POSTGRES_EMPTY, if that is set: to make one takes
# a second. Exits with 77 where PostgreSQL is not installed.
set -eu
umask 077

dir=$1
shift
empty=${TILESEED_POSTGRES_EMPTY:-}
user=${TILESEED_POSTGRES_USER:-$(id -un)}
bin=
for found in /usr/lib/postgresql/*/bin; do # the newest
    bin=$found
done
cd / # the owner may not go where this script was started
if [ ! -x "$bin/initdb" ]; then
    bin=$(dirname "$(command -v initdb || echo /nowhere/initdb)")
fi
[ -x "$bin/initdb" ] && [ -x "$bin/postgres" ] || exit 77

is_root() {
    [ "$(id -u)" -eq 0 ]
}

# Runs a command as the owner, who is left when this script is.
as_owner() {
    if is_root; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
    else
        "$@"
    fi
}

draw() {
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# The files of passwords go with the cluster.
make_cluster() {
    admin=$(draw)
    password=$(draw)
    printf '%s\n' "$admin" >"$dir/new"
    ! is_root || chown nobody "$dir/new"
    as_owner "$bin/initdb" -D "$dir/data" -N -A scram-sha-256 -U postgres --pwfile="$dir/new" \
        --locale=C -E UTF8 --wal-segsize=1 >"$dir/initdb.log" 2>&1 &&
        printf '%s\n' "CREATE ROLE tileseed LOGIN PASSWORD '$password'" \
            'CREATE DATABASE tileseed OWNER tileseed' |
        as_owner "$bin/postgres" --single -D "$dir/data" -c fsync=off \
            -c password_encryption=scram-sha-256 postgres >>"$dir/initdb.log" 2>&1 &&
        ! grep -q ERROR "$dir/initdb.log" || {
        cat "$dir/initdb.log" >&2
        exit 1
    }
    rm "$dir/new"
    printf '*:*:*:postgres:%s\n' "$admin" >"$dir/admin"
    printf '*:*:*:tileseed:%s\n' "$password" >"$dir/passfile"
    if [ -n "$empty" ]; then # who comes second finds it there
        mkdir "$empty.$$"
        cp -r "$dir/data" "$dir/admin" "$dir/passfile" "$empty.$$"
        mv -T "$empty.$$" "$empty" 2>/dev/null || rm -rf "$empty.$$"
    fi
}

mkdir -p "$dir"
if is_root; then
    group=$(id -gn "$user")
    chown "nobody:$group" "$dir"
    chmod 750 "$dir"
else
    chmod 700 "$dir"
fi
# Programs that were unpacked where the owner can't go are copied; they find their files from there.
if ! as_owner test -x "$bin/postgres"; then
    tree=${bin%/usr/lib/postgresql/*}
    if [ ! -d "$dir/usr" ]; then
        cp -r "$tree/usr" "$dir"
        chmod -R a+rX "$dir/usr"
    fi
    bin=$dir${bin#"$tree"}
fi
if [ ! -d "$dir/data" ]; then
    if [ -n "$empty" ] && [ -d "$empty/data" ]; then
        cp -r "$empty/data" "$empty/admin" "$empty/passfile" "$dir"
        ! is_root || chown -R nobody:nogroup "$dir/data"
    else
        make_cluster
    fi
fi

set -- "$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c fsync=off \
    -c max_connections=200 -c shared_buffers=16MB -c logging_collector=off -c jit=off "$@"
if is_root; then
    chown "$user" "$dir/passfile"
    set -- --reuid=nobody --regid=nogroup --groups "$group" "$@" \
        -c unix_socket_group="$group" -c unix_socket_permissions=0770
else
    set -- "$@" -c unix_socket_permissions=0700
fi
exec setpriv --pdeathsig QUIT "$@"
