#!/bin/sh
# Reports the Status of a purchase order, retrying until it is confirmed: sh deliver.sh [ORDER [VERSION [FILE]]]
# A delivery that cannot be sent now stays in a folder, and the next run sends it first. Needs curl 7.55 or later, and sha256sum
# or shasum. README.md in this folder explains the environment variables and the exit statuses.
set -eu
umask 077

attempts=4
timeout_seconds=20
longest_retry_after_seconds=60

fail() {
  echo "$1" >&2
  exit 1
}

for name in SUPPLIER_BASE_URL SUPPLIER_API_KEY; do
  eval "value=\${$name:-}"
  [ -n "$value" ] || fail "$name is not set"
done
case $SUPPLIER_API_KEY in *[![:graph:]]*) fail 'SUPPLIER_API_KEY has characters that no key has' ;; esac
base_url=${SUPPLIER_BASE_URL%/}
case $base_url in
  https://*) ;;
  *@*) fail 'SUPPLIER_BASE_URL must begin with https://' ;;
  http://127.0.0.1 | http://127.0.0.1:* | http://localhost | http://localhost:*) ;;
  *) fail 'SUPPLIER_BASE_URL must begin with https://, or the key would cross the network unencrypted' ;;
esac
spool=${SUPPLIER_SPOOL:-spool}
mkdir -p "$spool/refused"

# The key goes to curl through a file that only you can read: everybody sees the arguments of a process.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Sets $last to the name of the newest delivery in the spool folder, and $count to their number: NUMBER-KEY.json
look() {
  last=0
  count=0
  for file in "$spool"/*.json; do
    [ -e "$file" ] || continue
    last=${file##*/}
    count=$((count + 1))
  done
}

# stop MESSAGE STATUS: leaves what is not confirmed in the spool folder.
stop() {
  look
  echo "$1" >&2
  echo "Deliveries waiting in $spool: $count. The next run sends them first." >&2
  [ "$exit_status" -ne 0 ] || exit_status=$2
  exit "$exit_status"
}

# describe STATUS: prints the reason in a refusal, which $work/answer has.
describe() {
  reason=$(sed -n 's/.*"message":"\([^"]*\)","errorCode":"\([^"]*\)".*"requestId":"\([^"]*\)".*/\2: \1 (request \3)/p' "$work/answer")
  if [ -n "$reason" ]; then echo "$1 $reason"; else echo "$1, and the answer is not from the service"; fi
}

# deliver KEY: sends $work/body and leaves the answer in $work/answer. Fails if the service refused the delivery; $problem is the reason then.
deliver() {
  printf 'Content-Type: application/json\nApiKey: %s\nIdempotency-Key: %s\n' "$SUPPLIER_API_KEY" "$1" > "$work/headers"
  attempt=1
  ceiling=1
  while :; do
    : > "$work/answer" && : > "$work/answer-headers"
    curl_status=0
    status=$(curl --silent --show-error --max-time "$timeout_seconds" --header "@$work/headers" --data-binary "@$work/body" \
      --dump-header "$work/answer-headers" --output "$work/answer" --write-out '%{http_code}' \
      "$base_url/Purchase/update" 2> "$work/error") || curl_status=$?
    problem=$(describe "$status")
    [ "$curl_status" -eq 0 ] || problem="no answer: $(cat "$work/error")"
    # The login page of a Wi-Fi network, also a 200, contains no receipt.
    case $curl_status,$status,$(head -c 21 "$work/answer") in
      '0,200,{"data":{"ReceiptID":') return 0 ;;
    esac
    case $curl_status,$status in
      # A wrong certificate stays wrong: retrying does not help.
      51,* | 60,* | 77,* | 83,* | 90,* | 91,*) stop "no trusted certificate: $(cat "$work/error")" 1 ;;
      0,2?? | 0,408 | 0,425 | 0,429 | 0,5?? | [1-9]*) ;;
      # A wrong key or address, which every delivery would meet.
      0,3?? | 0,401 | 0,404) stop "$problem" 1 ;;
      *) return 1 ;;
    esac
    # In seconds; a date, which is allowed too, counts as none.
    retry_after=$(tr -d '\r' < "$work/answer-headers" |
      awk -F ': *' 'tolower($1) == "retry-after" && $2 ~ /^[0-9]+$/ { found = $2 } END { print found + 0 }')
    if [ "$attempt" -eq "$attempts" ] || [ "$retry_after" -gt "$longest_retry_after_seconds" ]; then
      stop "not confirmed after $attempt attempts: $problem" 75
    fi
    # A random part, so that clients that failed together do not come back together.
    random=$(od -An -N4 -tu4 /dev/urandom)
    wait=$(awk "BEGIN { printf \"%.1f\", $retry_after + $random / 4294967296 * $ceiling }")
    echo "$problem; trying again in $wait s" >&2
    sleep "$wait"
    attempt=$((attempt + 1))
    ceiling=$((ceiling * 2))
  done
}

order=${1:-PO-$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')}
if [ $# -gt 2 ]; then
  cat "$3" > "$work/new"
else
  case $order in *[[:cntrl:]]*) fail 'the order has a line break or another control character' ;; esac
  printf '{"OrderID":"%s","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}' \
    "$(printf %s "$order" | sed 's/[\\"]/\\&/g')" > "$work/new"
fi

# The Idempotency-Key is a hash of order and version, so it is the same in every attempt, after a crash and on any machine, and
# the service counts the delivery once. A change of the order needs a new version.
key=$(printf '%s\n%s' "$order" "${2:-1}" | { sha256sum 2> /dev/null || shasum -a 256; } | cut -c 1-64)
look
name=$(printf '%08d' "$(expr "${last%%-*}" + 1)")-$key.json
cp "$work/new" "$spool/$name.$$.new"
# On the disk a power cut does not lose it.
sync "$spool/$name.$$.new"
# A rename happens completely or not at all: no run ever sees half a delivery.
mv "$spool/$name.$$.new" "$spool/$name"
sync "$spool"

exit_status=0
for file in "$spool"/*.json; do
  # A file that is gone was sent or set aside by another run.
  cp "$file" "$work/body" 2> "$work/error" || { [ ! -e "$file" ] || fail "$(cat "$work/error")"; continue; }
  key=${file##*-}
  if deliver "${key%.json}"; then
    printf '%s\n' "$(sed 's/^{"data":\(.*\),"success":true.*$/\1/' "$work/answer")"
    rm -f "$file"
  else
    # Set aside, or it would hold up every delivery behind it.
    echo "$problem; set aside in $spool/refused" >&2
    echo "$problem" > "$spool/refused/${file##*/}.reason.txt"
    mv "$file" "$spool/refused/" 2> "$work/error" || [ ! -e "$file" ] || fail "$(cat "$work/error")"
    exit_status=1
  fi
done
exit "$exit_status"
