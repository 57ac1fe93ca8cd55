#!/bin/sh
# The command line of Quarterdeck. The program follows the last line, compressed; its first start unpacks it into the user's cache.
set -u
stop() {
  printf 'quarterdeck: %s\n' "$1" >&2
  exit 10
}

case $0 in
*/*) self=$0 ;;
*) [ -f "./$0" ] && self=./$0 || self=$(command -v "$0") ;;
esac
case ${XDG_CACHE_HOME:-} in
/*) cache=$XDG_CACHE_HOME ;;
*) [ -n "${HOME:-}" ] && cache=$HOME/.cache || stop 'set HOME to a directory of yours; the program is unpacked there once, into .cache' ;;
esac
folder=$cache/quarterdeck
place=$folder/program-@digest@
program=$place/quarterdeck
elsewhere='set XDG_CACHE_HOME to a directory of yours'

# Whoever else may write on the way to the program could have one of theirs run.
require_ours() {
  for each in "$cache" "$folder" "$place"; do
    [ -O "$each" ] || stop "$each belongs to somebody else; $elsewhere"
  done
  [ ! -L "$folder" ] && [ ! -L "$place" ] && [ -z "$(find -H "$cache" "$folder" "$place" -prune -perm -002)" ] ||
    stop "others may write to $folder, or above it; $elsewhere"
}

# A machine that lost its power may have kept a part of it.
is_whole() { [ -O "$program" ] && [ -n "$(find "$program" -prune -type f -size @bytes@c -perm -100)" ]; }

unpack() {
  [ -r "$self" ] || stop "$self cannot be read; start it by its path"
  [ -t 2 ] && printf 'Unpacking the program into %s, once …\n' "$folder" >&2
  parent=$cache
  until [ -e "${parent:=/}" ]; do parent=${parent%/*}; done
  # As with `sudo`, which may keep the user's HOME: what root makes there the user cannot write to.
  [ -O "$parent" ] || [ -k "$parent" ] || stop "$parent belongs to somebody else; $elsewhere"
  (umask 077 && mkdir -p "$place") 2>/dev/null || stop "$folder cannot be written; $elsewhere"
  require_ours
  made=$(mktemp "$place/unpacked.XXXXXX") || stop "$folder cannot be written; $elsewhere"
  trap 'rm -f "$made"' EXIT
  trap 'exit 130' HUP INT TERM
  tail -n +@line@ "$self" | gzip -dc >"$made" ||
    stop "the program could not be unpacked into $folder; make room there, or fetch this file again if it was cut"
  chmod 700 "$made"
  sync "$made" 2>/dev/null || sync
  "$made" --version >/dev/null || stop "programs cannot be run in $folder; $elsewhere"
  mv -f "$made" "$program" || stop "$folder cannot be written; $elsewhere"
  trap - EXIT HUP INT TERM
  # What a kill left, and versions of a month ago.
  find "$place" -name 'unpacked.*' -mmin +60 -exec rm -f {} +
  find "$folder"/program-* -prune ! -path "$place" -mtime +30 -exec rm -rf {} +
}

if [ -d "$place" ]; then require_ours; fi
is_whole 2>/dev/null || unpack
exec "$program" "$@"
