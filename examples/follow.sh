#!/bin/sh
# Follows the feed as follower.js does, with curl: each delivery becomes a file INBOX/CustomerID/ReceiptID.json. Your own program
# processes the files of a customer, the oldest first, and moves each to the folder `done` beside it. README.md in this folder says more.
#
#   TESLIM_URL=http://127.0.0.1:3000 TESLIM_EMAIL=office@example.com TESLIM_PASSWORD=... sh examples/follow.sh inbox
#
# If deliveries that it has not read were removed from teslim, or some that it has read were lost there, it prints how to go on and ends
# with status 1. Decide what that means for your data, then write the cursor that was printed to INBOX/cursor, or delete that file to
# read all that is left there. Neither removes or repeats anything here.
inbox=${1:-inbox} && new=$inbox/.new.$$ && mkdir -p "$inbox" || exit 1
text() { printf %s "$1" | sed 's/[\\"]/\\&/g'; }
# Keeps $delivery, unless it is here already, and then $cursor.
keep() {
  receipt=${delivery#*'"ReceiptID":"'} && receipt=${receipt%%\"*}
  # An order id is unique only within its customer: another supplier may use the same.
  customer=${delivery#*'"CustomerID":"'} && folder=$inbox/${customer%%\"*}
  if [ ! -e "$folder/$receipt.json" ] && [ ! -e "$folder/done/$receipt.json" ]; then
    mkdir -p "$folder/done" && printf '%s\n' "$delivery" > "$new" && sync "$new" && mv "$new" "$folder/$receipt.json"
  fi && printf '%s\n' "$cursor" > "$new" && mv "$new" "$inbox/cursor"
}
until false; do
  login=$(printf '{"Email":"%s","Password":"%s"}' "$(text "$TESLIM_EMAIL")" "$(text "$TESLIM_PASSWORD")" |
    curl -sS -H 'Content-Type: application/json' -d @- "$TESLIM_URL/Login/Customer/Api/Verify")
  token=$(printf %s "$login" | sed -n 's/.*"Token":"\([^"]*\)".*/\1/p')
  [ -n "$token" ] || { echo "no login: $login" >&2 && sleep 5 && continue; }
  cursor=$(cat "$inbox/cursor" 2> /dev/null) delivery=
  printf 'Authorization: Bearer %s' "$token" |
    curl -sN -m 900 -H @- -H 'Accept: text/event-stream' "$TESLIM_URL/Purchase/feed${cursor:+?after=$cursor}" |
    while IFS= read -r line; do
      case $line in
        'id: '*) cursor=${line#id: } delivery= ;;
        'data: '*) delivery=$delivery${line#data: } ;;
        '') [ -z "$delivery" ] || keep || exit 1 && delivery= ;;
        # teslim was restored from a backup that lacks what was read here: reads all of it again, and skips what is here.
        *'"errorCode":"CURSOR_INVALID"'*) echo "$line" >&2 && rm "$inbox/cursor" ;;
        # Something is missing, and no program can decide what that means.
        *'"errorCode":"CURSOR_PURGED"'* | *'"errorCode":"DELIVERIES_LOST"'*) echo "$line" >&2 && exit 1 ;;
        '{'*) echo "$line" >&2 ;;
      esac
    done || exit 1
  sleep 5
done
