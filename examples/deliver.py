#!/usr/bin/env python3
"""Reports the Status of a purchase order, retrying until it is confirmed: python3 deliver.py [ORDER [VERSION [FILE]]]

A delivery that cannot be sent now stays in a folder, and the next run sends it first. Needs Python 3.8 or later and nothing
else. README.md in this folder explains the environment variables and the exit statuses.
"""

import contextlib
import email.utils
import hashlib
import http.client
import json
import os
import random
import re
import secrets
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ATTEMPTS = 4
TIMEOUT_SECONDS = 20
LONGEST_RETRY_AFTER_SECONDS = 60


class NotSent(Exception):
    """The delivery stays in the spool folder. `status` is the exit status: 75 if another run may succeed without any change."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


class Refused(Exception):
    """The service refused this delivery, and would refuse it again."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the key goes to no other address."""

    def redirect_request(self, *_arguments):
        return None


opener = urllib.request.build_opener(NoRedirect)


def main(order=None, version="1", file=None):
    base_url = setting("SUPPLIER_BASE_URL").rstrip("/")
    if not re.match(r"https://|http://(127\.0\.0\.1|localhost)(:\d+)?$", base_url):
        raise NotSent("SUPPLIER_BASE_URL must begin with https://, or the key would cross the network unencrypted")
    api_key = setting("SUPPLIER_API_KEY")
    if not re.fullmatch(r"[\x21-\x7e]+", api_key):
        raise NotSent("SUPPLIER_API_KEY has characters that no key has")
    spool = Path(os.environ.get("SUPPLIER_SPOOL") or "spool")
    spool.mkdir(mode=0o700, parents=True, exist_ok=True)
    refused = spool / "refused"
    refused.mkdir(exist_ok=True)

    order = order or f"PO-{secrets.token_hex(4)}"
    example = {"OrderID": order, "Status": 2, "Products": [{"Sku": "SKU-1", "Quantity": 3}]}
    put(spool, order, version, Path(file).read_bytes() if file else json.dumps(example).encode())
    status = 0
    for path in waiting(spool):
        try:
            body = path.read_bytes()
        except FileNotFoundError:
            continue  # another run sent it, or set it aside
        try:
            print(json.dumps(deliver(f"{base_url}/Purchase/update", api_key, path.stem[9:], body)))
            path.unlink(missing_ok=True)
        except Refused as refusal:
            # Set aside, or it would hold up every delivery behind it.
            print(f"{refusal}; set aside in {refused}", file=sys.stderr)
            (refused / f"{path.name}.reason.txt").write_text(f"{refusal}\n", encoding="utf-8")
            with contextlib.suppress(FileNotFoundError):
                path.replace(refused / path.name)
            status = 1
        except NotSent as problem:
            rest = f"Deliveries waiting in {spool}: {len(waiting(spool))}. The next run sends them first."
            raise NotSent(f"{problem}\n{rest}", status or problem.status) from None
    return status


def setting(name):
    value = os.environ.get(name)
    if not value:
        raise NotSent(f"{name} is not set")
    return value


def put(spool, order, version, body):
    """Stores a delivery behind those that wait.

    Its Idempotency-Key is a hash of order and version, so it is the same in every attempt, after a crash and on any machine,
    and the service counts the delivery once. A change of the order needs a new version.
    """
    key = hashlib.sha256(f"{order}\n{version}".encode()).hexdigest()
    before = waiting(spool)
    number = int(before[-1].name[:8]) + 1 if before else 1
    path = spool / f"{number:08}-{key}.json"
    new = path.with_suffix(f".{os.getpid()}.new")
    with new.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())  # on the disk, where a power cut does not lose it
    # A rename happens completely or not at all: no run ever sees half a delivery.
    new.replace(path)
    # Windows cannot sync a folder: after a power cut there the newest delivery may be missing.
    if os.name != "nt":
        folder = os.open(spool, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def waiting(spool):
    """Returns the files in the spool folder, oldest first: NUMBER-KEY.json"""
    return sorted(spool.glob("*.json"))


def deliver(url, api_key, idempotency_key, body):
    """Returns the receipt."""
    headers = {"Content-Type": "application/json", "ApiKey": api_key, "Idempotency-Key": idempotency_key}
    for attempt in range(1, ATTEMPTS + 1):
        retry_after = 0
        try:
            request = urllib.request.Request(url, data=body, headers=headers, method="POST")
            with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                receipt = receipt_in(response)
                if receipt:
                    return receipt
                problem = f"{response.status}, and the answer is not from the service"
        except urllib.error.HTTPError as error:
            problem = describe(error)
            if error.code < 500 and error.code not in (408, 425, 429):
                # A redirect, 401 and 404 mean a wrong key or address, which every delivery would meet.
                raise (NotSent if error.code < 400 or error.code in (401, 404) else Refused)(problem) from None
            retry_after = seconds_of(error.headers.get("Retry-After"))
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            # A wrong certificate stays wrong: retrying does not help.
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise NotSent(f"no trusted certificate: {reason.verify_message}") from None
            problem = f"no answer: {reason or type(reason).__name__}"
        if attempt == ATTEMPTS or retry_after > LONGEST_RETRY_AFTER_SECONDS:
            raise NotSent(f"not confirmed after {attempt} attempts: {problem}", status=75)
        # A random part, so that clients that failed together do not come back together.
        wait = retry_after + random.random() * 2 ** (attempt - 1)
        print(f"{problem}; trying again in {wait:.1f} s", file=sys.stderr)
        time.sleep(wait)


def receipt_in(response):
    """Returns the receipt that an answer contains. The login page of a Wi-Fi network, also a 200, contains none."""
    try:
        receipt = json.load(response)["data"]
        return receipt if response.status == 200 and receipt["ReceiptID"] else None
    except (ValueError, KeyError, TypeError):
        return None


def describe(error):
    try:
        answer = json.load(error)
        return f"{error.code} {answer['errorCode']}: {answer['message']} (request {answer['requestId']})"
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return f"{error.code}, and the answer is not from the service"


def seconds_of(retry_after):
    """Reads Retry-After, which is a number of seconds or a date."""
    try:
        if retry_after.isdecimal():
            return int(retry_after)
        return max(0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (AttributeError, TypeError, ValueError):
        return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:4]))
    except (NotSent, OSError) as problem:
        print(problem, file=sys.stderr)
        sys.exit(getattr(problem, "status", 1))
