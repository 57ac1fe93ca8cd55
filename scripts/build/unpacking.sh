#!/bin/sh
# The command line of Quarterdeck. The program follows the last line, compressed; its first start unpacks it into the user's cache.
set -u
stop() {
  printf 'quarterdeck: %s\n' "$1" >&2
  exit 10
}

case ${XDG_CACHE_HOME:-} in
/*) cache=$XDG_CACHE_HOME ;;
*) [ -n "${HOME:-}" ] && cache=$HOME/.cache || stop 'set HOME to a directory of yours; the program is unpacked there once, into .cache' ;;
esac
folder=$cache/quarterdeck
program=$folder/program-@digest@/quarterdeck
elsewhere='set XDG_CACHE_HOME to a directory of yours'

unpack() {
  [ -t 2 ] && printf 'Unpacking the program into %s, once …\n' "$folder" >&2
  (umask 077 && mkdir -p "${program%/*}") 2>/dev/null || stop "$folder cannot be written; $elsewhere"
  # Of two that unpack at once each has a file of its own, and either may be the last to rename it.
  made=${program%/*}/unpacked.$$
  trap 'rm -f "$made"' EXIT
  trap 'exit 130' HUP INT TERM
  (umask 077 && tail -n +@line@ "$0" | gzip -dc >"$made") ||
    stop "the program could not be unpacked into $folder; make room there, or fetch this file again if it was cut"
  chmod 700 "$made"
  "$made" --version >/dev/null || stop "programs cannot be run in $folder; $elsewhere"
  mv -f "$made" "$program" || stop "$folder cannot be written; $elsewhere"
  trap - EXIT HUP INT TERM
  for other in "$folder"/program-*; do
    [ "$other" = "${program%/*}" ] || rm -rf "$other"
  done
}

[ -x "$program" ] || unpack
# Another user who may write there could leave a program of theirs.
[ -O "$program" ] || stop "$program belongs to somebody else; $elsewhere"
exec "$program" "$@"
