<?php
// Receives the webhooks of teslim: checks the signature, stores the delivery, and only then answers. Needs PHP 8.1 or later and
// nothing else. README.md in this folder explains the environment variables and what to take over. To try it:
//
//   WEBHOOK_SECRET=whsec_... php -S 127.0.0.1:8080 receive.php
declare(strict_types=1);

const TOLERANCE_SECONDS = 300;
const MOST_BYTES = 10_000_000;
const NAME = '/^[\w-][\w.-]{0,99}$/D';

/** Returns the status to answer with. */
function receive(string $body): int
{
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    if (!isSigned($id, $body)) {
        return 401;
    }
    if (!preg_match(NAME, $id)) {
        return 400;
    }
    $message = json_decode($body, true, 512, JSON_THROW_ON_ERROR);
    // A test of an operator. Other types may come in a later version: they are none of our business.
    if ($message['type'] !== 'delivery.received') {
        return 204;
    }
    // An order id is unique only within its customer: another supplier may use the same. So each customer has a folder.
    $customer = $message['data']['CustomerID'];
    if (!preg_match(NAME, $customer)) {
        return 400;
    }
    $folder = (getenv('WEBHOOK_INBOX') ?: 'inbox') . "/$customer";
    if (!is_dir("$folder/done") && !@mkdir("$folder/done", 0700, true) && !is_dir("$folder/done")) {
        throw new RuntimeException("$folder cannot be created");
    }
    // A repeat: an earlier answer was lost, or an operator asked for it.
    if (file_exists("$folder/$id.json") || file_exists("$folder/done/$id.json")) {
        return 204;
    }
    $name = "$folder/." . bin2hex(random_bytes(8));
    $file = fopen($name, 'x');
    if ($file === false || fwrite($file, $body) !== strlen($body) || !fsync($file) || !fclose($file)) {
        throw new RuntimeException("$name cannot be written");
    }
    if (!rename($name, "$folder/$id.json")) {
        throw new RuntimeException("$folder/$id.json cannot be written");
    }
    return 204;
}

/** Checks the bytes as they came: JSON that was read and written again is other bytes. */
function isSigned(string $id, string $body): bool
{
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    // An old message may have been recorded by somebody else.
    if (!preg_match('/^[0-9]{1,15}$/D', $timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    // Several while a secret is being replaced, separated by spaces.
    foreach (preg_grep('/^whsec_/', explode(' ', (string) getenv('WEBHOOK_SECRET'))) as $secret) {
        $key = base64_decode(substr($secret, 6));
        $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
        foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $sent) {
            if (hash_equals($expected, $sent)) {
                return true;
            }
        }
    }
    return false;
}

try {
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        http_response_code(405);
    } elseif (!preg_grep('/^whsec_/', explode(' ', (string) getenv('WEBHOOK_SECRET')))) {
        throw new RuntimeException('WEBHOOK_SECRET is not set: it begins with whsec_');
    } else {
        $body = (string) file_get_contents('php://input', false, null, 0, MOST_BYTES + 1);
        http_response_code(strlen($body) > MOST_BYTES ? 413 : receive($body));
    }
} catch (Throwable $error) {
    // teslim tries again later.
    error_log($error->getMessage());
    http_response_code(500);
}
