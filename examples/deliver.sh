#!/bin/sh
# Logs in and delivers a purchase order, trying again until it is confirmed: sh deliver.sh [FILE]
# Needs curl 7.55 or later and nothing else. README.md in this folder says what it reads from the environment.
set -eu
umask 077

attempts=6
timeout_seconds=20
longest_retry_after_seconds=60

fail() {
  echo "$1" >&2
  exit 1
}

for name in SUPPLIER_BASE_URL SUPPLIER_EMAIL SUPPLIER_PASSWORD SUPPLIER_API_KEY; do
  eval "value=\${$name:-}"
  [ -n "$value" ] || fail "$name is not set"
  case $value in *[[:cntrl:]]*) fail "$name has a line break or another control character" ;; esac
done
case $SUPPLIER_API_KEY in *[![:graph:]]*) fail 'SUPPLIER_API_KEY has characters that no key has' ;; esac
base_url=${SUPPLIER_BASE_URL%/}
case $base_url in
  https://*) ;;
  *@*) fail 'SUPPLIER_BASE_URL must begin with https://' ;;
  http://127.0.0.1 | http://127.0.0.1:* | http://localhost | http://localhost:*) ;;
  *) fail 'SUPPLIER_BASE_URL must begin with https://, or a password would cross the network in the clear' ;;
esac

# Secrets go to curl through files that only you can read: everybody sees the arguments of a process.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# send PATH: posts $work/body with the headers in $work/headers, and leaves the answer in $work/answer.
send() {
  attempt=1
  ceiling=1
  while :; do
    : > "$work/answer-headers"
    status=$(curl --silent --show-error --max-time "$timeout_seconds" --header "@$work/headers" \
      --data-binary "@$work/body" --dump-header "$work/answer-headers" --output "$work/answer" \
      --write-out '%{http_code}' "$base_url$1") || status=000
    retry_after=0
    case $status in
      200) return ;;
      000) problem='no answer' ;;
      429 | 502 | 503 | 504)
        problem="$status $(cat "$work/answer")"
        # In seconds; a date, which is allowed too, counts as none.
        retry_after=$(tr -d '\r' < "$work/answer-headers" |
          awk -F ': *' 'tolower($1) == "retry-after" && $2 ~ /^[0-9]+$/ { found = $2 } END { print found + 0 }') ;;
      *) fail "$status $(cat "$work/answer")" ;;
    esac
    if [ "$attempt" -eq "$attempts" ] || [ "$retry_after" -gt "$longest_retry_after_seconds" ]; then
      fail "not confirmed after $attempt attempts: $problem"
    fi
    # A random part, so that all who failed together do not come back together.
    random=$(od -An -N4 -tu4 /dev/urandom)
    wait=$(awk "BEGIN { printf \"%.1f\", $retry_after + $random / 4294967296 * $ceiling }")
    echo "$problem; trying again in $wait s" >&2
    sleep "$wait"
    attempt=$((attempt + 1))
    ceiling=$((ceiling * 2))
  done
}

json_string() {
  printf %s "$1" | sed 's/[\\"]/\\&/g'
}

printf 'Content-Type: application/json\nh-region-code: TR\n' > "$work/headers"
printf '{"Email":"%s","Password":"%s"}' "$(json_string "$SUPPLIER_EMAIL")" "$(json_string "$SUPPLIER_PASSWORD")" > "$work/body"
send /Login/Customer/Api/Verify
token=$(sed -n 's/.*"Token":"\([^"]*\)".*/\1/p' "$work/answer")

if [ $# -gt 0 ]; then
  cat "$1" > "$work/body"
else
  printf '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}' > "$work/body"
fi
# The Idempotency-Key is made once for a delivery, not for each attempt: by it the server knows a delivery that it has
# already. Keep it with your order if your program may be restarted before the answer comes.
cat > "$work/headers" << END
Content-Type: application/json
ApiKey: $SUPPLIER_API_KEY
Authorization: Bearer $token
Idempotency-Key: $(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
END
send /Purchase/update
sed 's/^{"data":\(.*\),"success":true.*$/\1/' "$work/answer"
echo
