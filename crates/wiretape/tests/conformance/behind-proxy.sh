#!/bin/sh
# A client behind a reverse proxy of its own: starts the proxy in front of the server whose URL comes last, and the
# client with the proxy's URL instead.
#
# behind-proxy.sh HOME WIRETAPE CLIENT URL

home=$1 wiretape=$2 client=$3 url=$4
said=$(mktemp "$home/proxy.XXXXXX")
WIRETAPE_DATA_DIR=$home/data "$wiretape" proxy --upstream "$url" --listen 127.0.0.1:0 --workers 1 \
  --traces "$home/traces" 2>"$said" &
proxy=$!
trap 'kill $proxy' EXIT
until grep -q "listening on" "$said"; do
  kill -0 $proxy || exit 1
  sleep 0.05
done
origin=$(sed -n 's/.*listening on \(http[^ ]*\).*/\1/p' "$said")
"$client" "$origin/${url#http://*/}"
