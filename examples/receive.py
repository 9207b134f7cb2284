#!/usr/bin/env python3
"""Receives the webhooks of teslim: checks the signature, stores the delivery, and only then answers.

Needs Python 3.8 or later and nothing else. README.md in this folder explains the environment variables and what to take over.

    WEBHOOK_SECRET=whsec_... PORT=8080 python3 receive.py
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
import re
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TOLERANCE_SECONDS = 300
MOST_BYTES = 10_000_000
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")

# Several while a secret is being replaced, separated by spaces.
secrets = [text for text in os.environ.get("WEBHOOK_SECRET", "").split() if text.startswith("whsec_")]
keys = [base64.b64decode(text[len("whsec_"):]) for text in secrets]
inbox = Path(os.environ.get("WEBHOOK_INBOX") or "inbox")


def receive(headers, body):
    """Returns the status to answer with."""
    identifier = headers.get("webhook-id", "")
    if not is_signed(identifier, headers, body):
        return 401
    if not NAME.fullmatch(identifier):
        return 400
    message = json.loads(body)
    # A test of an operator. Other types may come in a later version: they are none of our business.
    if message["type"] != "delivery.received":
        return 204
    # An order id is unique only within its customer: another supplier may use the same. So each customer has a folder.
    customer = message["data"]["CustomerID"]
    if not NAME.fullmatch(customer):
        return 400
    folder = inbox / customer
    (folder / "done").mkdir(mode=0o700, parents=True, exist_ok=True)
    name = identifier + ".json"
    # A repeat: an earlier answer was lost, or an operator asked for it.
    if (folder / name).exists() or (folder / "done" / name).exists():
        return 204
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, folder / name)
    return 204


def is_signed(identifier, headers, body):
    """Checks the bytes as they came: JSON that was read and written again is other bytes."""
    timestamp = headers.get("webhook-timestamp", "")
    # An old message may have been recorded by somebody else.
    if not re.fullmatch(r"[0-9]{1,15}", timestamp) or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{identifier}.{timestamp}.".encode("latin-1") + body
    expected = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    for text in headers.get("webhook-signature", "").split():
        version, _, encoded = text.partition(",")
        try:
            sent = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            continue
        if version == "v1" and any(hmac.compare_digest(sent, each) for each in expected):
            return True
    return False


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        try:
            length = int(self.headers.get("content-length", "0"))
            if length > MOST_BYTES:
                self.close_connection = True
                status = 413
            else:
                status = receive(self.headers, self.rfile.read(length))
        except Exception as error:  # teslim tries again later.
            print(error, file=sys.stderr)
            status = 500
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_arguments):
        """Answers are not logged."""


# teslim keeps up to 32 connections open: HTTPServer, which serves one after the other, would stand still.
class Server(ThreadingHTTPServer):
    request_queue_size = 128


if __name__ == "__main__":
    if not keys:
        sys.exit("WEBHOOK_SECRET is not set: it begins with whsec_")
    inbox.mkdir(mode=0o700, parents=True, exist_ok=True)
    port = int(os.environ.get("PORT") or "8080")
    server = Server(("127.0.0.1", port), Handler)
    print(f"listening on http://127.0.0.1:{port}", flush=True)
    server.serve_forever()
