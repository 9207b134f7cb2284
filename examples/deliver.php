<?php
// Logs in and delivers a purchase order, trying again until it is confirmed: php deliver.php [FILE]
// Needs PHP 7.4 or later with OpenSSL and nothing else. README.md in this folder says what it reads from the environment.
declare(strict_types=1);

const ATTEMPTS = 6;
const TIMEOUT_SECONDS = 20;
const LONGEST_RETRY_AFTER_SECONDS = 60;
const RETRIED = [429, 502, 503, 504];
const EXAMPLE = '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}';

class Failure extends Exception
{
}

function setting(string $name): string
{
    $value = getenv($name);
    if ($value === false || $value === '') {
        throw new Failure("$name is not set");
    }
    return $value;
}

function main(array $arguments): void
{
    $baseUrl = rtrim(setting('SUPPLIER_BASE_URL'), '/');
    if (!preg_match('~^(https://|http://(127\.0\.0\.1|localhost)(:\d+)?$)~D', $baseUrl)) {
        throw new Failure('SUPPLIER_BASE_URL must begin with https://, or a password would cross the network in the clear');
    }
    $login = ['Email' => setting('SUPPLIER_EMAIL'), 'Password' => setting('SUPPLIER_PASSWORD')];
    $apiKey = setting('SUPPLIER_API_KEY');
    if (!preg_match('/^[\x21-\x7e]+$/D', $apiKey)) {
        throw new Failure('SUPPLIER_API_KEY has characters that no key has');
    }
    $order = isset($arguments[1]) ? @file_get_contents($arguments[1]) : EXAMPLE;
    if ($order === false) {
        throw new Failure("{$arguments[1]} cannot be read");
    }

    $token = send(
        "$baseUrl/Login/Customer/Api/Verify",
        ['Content-Type: application/json', 'h-region-code: TR'],
        json_encode($login, JSON_THROW_ON_ERROR)
    )['Token'];
    // Made once for a delivery, not for each attempt: by it the server knows a delivery that it has already. Keep it with
    // your order if your program may be restarted before the answer comes.
    $idempotencyKey = bin2hex(random_bytes(16));
    $receipt = send(
        "$baseUrl/Purchase/update",
        [
            'Content-Type: application/json',
            "ApiKey: $apiKey",
            "Authorization: Bearer $token",
            "Idempotency-Key: $idempotencyKey",
        ],
        $order
    );
    echo json_encode($receipt, JSON_THROW_ON_ERROR), "\n";
}

/** The `data` of the answer. */
function send(string $url, array $headers, string $body): array
{
    for ($attempt = 1; ; $attempt++) {
        [$status, $retryAfter, $text] = post($url, $headers, $body);
        $answer = json_decode($text, true);
        if ($status === 200 && is_array($answer['data'] ?? null)) {
            return $answer['data'];
        }
        if ($status === 0 || $status === 200) {
            $problem = 'no answer, or only a part of it';
        } elseif (isset($answer['errorCode'], $answer['message'], $answer['requestId'])) {
            $problem = "$status {$answer['errorCode']}: {$answer['message']} (request {$answer['requestId']})";
        } else {
            $problem = "$status, and not in the service's own words";
        }
        if ($status !== 0 && $status !== 200 && !in_array($status, RETRIED, true)) {
            throw new Failure($problem);
        }
        if ($attempt === ATTEMPTS || $retryAfter > LONGEST_RETRY_AFTER_SECONDS) {
            throw new Failure("not confirmed after $attempt attempts: $problem");
        }
        // A random part, so that all who failed together do not come back together.
        $wait = $retryAfter + mt_rand() / mt_getrandmax() * 2 ** ($attempt - 1);
        fprintf(STDERR, "%s; trying again in %.1f s\n", $problem, $wait);
        usleep((int) ($wait * 1e6));
    }
}

/** Status, seconds of Retry-After and body; status 0 when there was no answer. PHP checks certificates by itself. */
function post(string $url, array $headers, string $body): array
{
    $context = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => array_merge($headers, ['Connection: close']),
        'content' => $body,
        'protocol_version' => 1.1,
        'timeout' => TIMEOUT_SECONDS,
        'ignore_errors' => true, // answers of 400 and above are read as well
        'follow_location' => 0,  // never hand the key to another address
    ]]);
    $stream = @fopen($url, 'r', false, $context);
    if ($stream === false) {
        return [0, 0, ''];
    }
    $text = stream_get_contents($stream);
    $meta = stream_get_meta_data($stream);
    fclose($stream);
    if ($text === false || $meta['timed_out']) {
        return [0, 0, ''];
    }
    $status = 0;
    $retryAfter = 0;
    foreach ($meta['wrapper_data'] as $line) {
        if (preg_match('~^HTTP/\S+ (\d{3})~', $line, $found)) {
            $status = (int) $found[1];
        } elseif (preg_match('~^Retry-After:\s*(.+?)\s*$~i', $line, $found)) {
            $seconds = ctype_digit($found[1]) ? (int) $found[1] : (int) strtotime($found[1]) - time();
            $retryAfter = max(0, $seconds);
        }
    }
    return [$status, $retryAfter, $text];
}

try {
    main($argv);
} catch (Failure $failure) {
    fwrite(STDERR, $failure->getMessage() . "\n");
    exit(1);
} catch (Throwable $fault) {
    // Without its message and trace, which can hold what was passed on.
    fwrite(STDERR, get_class($fault) . "\n");
    exit(1);
}
