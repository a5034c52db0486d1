# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_atlas.c \
	%D%/tseed_atlas.h \
	%D%/tseed_folders.c \
	%D%/tseed_folders.h \
	%D%/tseed_layout.c \
	%D%/tseed_layout.h \
	%D%/tseed_leftover.c \
	%D%/tseed_leftover.h \
	%D%/tseed_names.c \
	%D%/tseed_names.h \
	%D%/tseed_owners.c \
	%D%/tseed_owners.h \
	%D%/tseed_store.c \
	%D%/tseed_store.h \
	%D%/tseed_store_check.c \
	%D%/tseed_store_detach.c \
	%D%/tseed_store_hashes.c \
	%D%/tseed_store_read.c \
	%D%/tseed_store_remove.c \
	%D%/tseed_store_share.c \
	%D%/tseed_store_view.c \
	%D%/tseed_store_view.h
