#!/usr/bin/env python3
"""Logs in and delivers a purchase order, trying again until it is confirmed: python3 deliver.py [FILE]

Needs Python 3.8 or later and nothing else. README.md in this folder says what it reads from the environment.
"""

import email.utils
import http.client
import json
import os
import random
import re
import sys
import time
import urllib.error
import urllib.request
import uuid

ATTEMPTS = 6
TIMEOUT_SECONDS = 20
LONGEST_RETRY_AFTER_SECONDS = 60
RETRIED = (429, 502, 503, 504)
EXAMPLE = b'{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}'


class Failure(Exception):
    pass


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Never hand the key to another address."""

    def redirect_request(self, *_arguments):
        return None


opener = urllib.request.build_opener(NoRedirect)


def setting(name):
    value = os.environ.get(name)
    if not value:
        raise Failure(f"{name} is not set")
    return value


def main():
    base_url = setting("SUPPLIER_BASE_URL").rstrip("/")
    if not re.match(r"https://|http://(127\.0\.0\.1|localhost)(:\d+)?$", base_url):
        raise Failure("SUPPLIER_BASE_URL must begin with https://, or a password would cross the network in the clear")
    login = {"Email": setting("SUPPLIER_EMAIL"), "Password": setting("SUPPLIER_PASSWORD")}
    api_key = setting("SUPPLIER_API_KEY")
    if not re.fullmatch(r"[\x21-\x7e]+", api_key):
        raise Failure("SUPPLIER_API_KEY has characters that no key has")
    order = EXAMPLE
    if len(sys.argv) > 1:
        with open(sys.argv[1], "rb") as file:
            order = file.read()

    token = send(
        f"{base_url}/Login/Customer/Api/Verify",
        {"Content-Type": "application/json", "h-region-code": "TR"},
        json.dumps(login).encode(),
    )["Token"]
    receipt = send(
        f"{base_url}/Purchase/update",
        {
            "Content-Type": "application/json",
            "ApiKey": api_key,
            "Authorization": f"Bearer {token}",
            # Made once for a delivery, not for each attempt: by it the server knows a delivery that it has already.
            # Keep it with your order if your program may be restarted before the answer comes.
            "Idempotency-Key": str(uuid.uuid4()),
        },
        order,
    )
    print(json.dumps(receipt))


def send(url, headers, body):
    """Returns the `data` of the answer."""
    for attempt in range(1, ATTEMPTS + 1):
        retry_after = 0
        try:
            request = urllib.request.Request(url, data=body, headers=headers, method="POST")
            with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            problem = describe(error)
            if error.code not in RETRIED:
                raise Failure(problem) from None
            retry_after = seconds_of(error.headers.get("Retry-After"))
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
            problem = f"no answer ({getattr(error, 'reason', None) or type(error).__name__})"
        if attempt == ATTEMPTS or retry_after > LONGEST_RETRY_AFTER_SECONDS:
            raise Failure(f"not confirmed after {attempt} attempts: {problem}")
        # A random part, so that all who failed together do not come back together.
        wait = retry_after + random.random() * 2 ** (attempt - 1)
        print(f"{problem}; trying again in {wait:.1f} s", file=sys.stderr)
        time.sleep(wait)


def describe(error):
    try:
        answer = json.load(error)
        return f"{error.code} {answer['errorCode']}: {answer['message']} (request {answer['requestId']})"
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return f"{error.code}, and not in the service's own words"


def seconds_of(retry_after):
    """Of a Retry-After header, which is a number of seconds or a date."""
    try:
        if retry_after.isdecimal():
            return int(retry_after)
        return max(0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (AttributeError, TypeError, ValueError):
        return 0


if __name__ == "__main__":
    try:
        main()
    except (Failure, OSError) as failure:
        sys.exit(str(failure))
