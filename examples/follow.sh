#!/bin/sh
# Follows the feed as follower.js does, with curl: each answer becomes a line of a file, whose last line has the cursor.
#   TESLIM_URL=http://127.0.0.1:3000 TESLIM_EMAIL=office@example.com TESLIM_PASSWORD=... sh examples/follow.sh pages.ndjson
# If deliveries that it has not read were removed from teslim, or some that it has read were lost, it ends with status 1: decide what
# that means for your data, then begin again with what is left there, in another file.
pages=${1:-pages.ndjson} && touch "$pages"
# Removes the last line where an earlier run was killed while it wrote it.
[ -z "$(tail -c 1 "$pages")" ] || { sed '$d' "$pages" > "$pages.new" && mv "$pages.new" "$pages"; }
text() { printf %s "$1" | sed 's/[\\"]/\\&/g'; }
until false; do
  login=$(printf '{"Email":"%s","Password":"%s"}' "$(text "$TESLIM_EMAIL")" "$(text "$TESLIM_PASSWORD")" |
    curl -sS -H 'Content-Type: application/json' -d @- "$TESLIM_URL/Login/Customer/Api/Verify")
  token=$(printf %s "$login" | sed -n 's/.*"Token":"\([^"]*\)".*/\1/p')
  [ -n "$token" ] || { echo "no login: $login" >&2 && sleep 5 && continue; }
  status=
  while cursor=$(tail -n 1 "$pages" | sed 's/.*"NextCursor":"\([^"]*\)"},"success":true,"message":"OK"}$/\1/') &&
    status=$(printf 'Authorization: Bearer %s' "$token" | curl -sS -H @- -o "$pages.new" -w '%{http_code}' "$TESLIM_URL/Purchase/feed?wait=30&limit=500${cursor:+&after=$cursor}") &&
    [ "$status" = 200 ]; do
    grep -q '^{"data":{"Deliveries":\[\],' "$pages.new" || { tr -d '\r\n' < "$pages.new" && echo; } >> "$pages"
  done
  [ "$status" != 410 ] || { cat "$pages.new" >&2 && exit 1; }
  sleep 5
done
