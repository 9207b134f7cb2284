<?php
// Reports the Status of a purchase order, retrying until it is confirmed: php deliver.php [ORDER [VERSION [FILE]]]
// A delivery that cannot be sent now stays in a folder, and the next run sends it first. Needs PHP 7.4 or later with its curl
// extension and nothing else. README.md in this folder explains the environment variables and the exit statuses.
declare(strict_types=1);

const ATTEMPTS = 4;
const TIMEOUT_SECONDS = 20;
const LONGEST_RETRY_AFTER_SECONDS = 60;
// Errors of curl that concern certificates (51, 60, 77, 83, 90, 91). They stay: retrying does not help.
const CERTIFICATE_ERRORS = [51, 60, 77, 83, 90, 91];

/** The delivery stays in the spool folder. Its code is the exit status: 75 if another run may succeed without any change. */
class NotSent extends Exception
{
}
/** The service refused this delivery, and would refuse it again. */
class Refused extends Exception
{
}

function main(?string $order = null, string $version = '1', ?string $file = null): int
{
    if (!function_exists('curl_init')) {
        throw new NotSent('PHP lacks its curl extension', 1);
    }
    $baseUrl = rtrim(setting('SUPPLIER_BASE_URL'), '/');
    if (!preg_match('~^(https://|http://(127\.0\.0\.1|localhost)(:\d+)?$)~D', $baseUrl)) {
        throw new NotSent('SUPPLIER_BASE_URL must begin with https://, or the key would cross the network unencrypted', 1);
    }
    $apiKey = setting('SUPPLIER_API_KEY');
    if (!preg_match('/^[\x21-\x7e]+$/D', $apiKey)) {
        throw new NotSent('SUPPLIER_API_KEY has characters that no key has', 1);
    }
    $spool = getenv('SUPPLIER_SPOOL') ?: 'spool';
    if (!is_dir("$spool/refused") && !@mkdir("$spool/refused", 0700, true)) {
        throw new NotSent("$spool cannot be created", 1);
    }

    $order = $order ?? 'PO-' . bin2hex(random_bytes(4));
    $example = ['OrderID' => $order, 'Status' => 2, 'Products' => [['Sku' => 'SKU-1', 'Quantity' => 3]]];
    $body = $file === null ? json_encode($example, JSON_THROW_ON_ERROR) : @file_get_contents($file);
    if ($body === false) {
        throw new NotSent("$file cannot be read", 1);
    }
    put($spool, $order, $version, $body);
    $status = 0;
    foreach (waiting($spool) as $path) {
        $name = basename($path);
        $body = @file_get_contents($path);
        if ($body === false) {
            if (is_file($path)) {
                throw new NotSent("$path cannot be read", 1);
            }
            continue; // another run sent it, or set it aside
        }
        try {
            $receipt = deliver("$baseUrl/Purchase/update", $apiKey, substr($name, 9, -5), $body);
            echo json_encode($receipt, JSON_THROW_ON_ERROR), "\n";
            @unlink($path);
        } catch (Refused $refusal) {
            // Set aside, or it would hold up every delivery behind it.
            fwrite(STDERR, "{$refusal->getMessage()}; set aside in $spool/refused\n");
            file_put_contents("$spool/refused/$name.reason.txt", "{$refusal->getMessage()}\n");
            @rename($path, "$spool/refused/$name"); // fails if another run set it aside
            $status = 1;
        } catch (NotSent $problem) {
            $rest = "Deliveries waiting in $spool: " . count(waiting($spool)) . '. The next run sends them first.';
            throw new NotSent("{$problem->getMessage()}\n$rest", $status ?: $problem->getCode());
        }
    }
    return $status;
}

function setting(string $name): string
{
    $value = getenv($name);
    if ($value === false || $value === '') {
        throw new NotSent("$name is not set", 1);
    }
    return $value;
}

/**
 * Stores a delivery behind those that wait. Its Idempotency-Key is a hash of order and version, so it is the same in every
 * attempt, after a crash and on any machine, and the service counts the delivery once. A change of the order needs a new version.
 */
function put(string $spool, string $order, string $version, string $body): void
{
    $waiting = waiting($spool);
    $number = $waiting ? (int) basename(end($waiting)) + 1 : 1;
    $path = sprintf('%s/%08d-%s.json', $spool, $number, hash('sha256', "$order\n$version"));
    $part = $path . '.' . getmypid() . '.new';
    $file = @fopen($part, 'wb');
    // PHP older than 8.1 cannot sync a file, and no PHP a folder: after a power cut the newest delivery may be missing.
    $written = $file && fwrite($file, $body) === strlen($body) && (!function_exists('fsync') || fsync($file)) && fclose($file);
    // A rename happens completely or not at all: no run ever sees half a delivery.
    if (!$written || !rename($part, $path)) {
        throw new NotSent("$spool cannot be written", 1);
    }
}

/** Returns the files in the spool folder, oldest first: NUMBER-KEY.json */
function waiting(string $spool): array
{
    return glob("$spool/*.json") ?: [];
}

/** Returns the receipt. */
function deliver(string $url, string $apiKey, string $idempotencyKey, string $body): array
{
    $headers = ['Content-Type: application/json', "ApiKey: $apiKey", "Idempotency-Key: $idempotencyKey"];
    for ($attempt = 1; ; $attempt++) {
        $retryAfter = 0;
        $curl = curl_init($url);
        curl_setopt_array($curl, [
            CURLOPT_POSTFIELDS => $body,
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_FOLLOWLOCATION => false, // the key goes to no other address
            CURLOPT_TIMEOUT => TIMEOUT_SECONDS,
            CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$retryAfter): int {
                // A number of seconds or a date.
                if (preg_match('~^Retry-After:\s*(.+?)\s*$~i', $line, $found)) {
                    $retryAfter = max(0, ctype_digit($found[1]) ? (int) $found[1] : (int) strtotime($found[1]) - time());
                }
                return strlen($line);
            },
        ]);
        $text = curl_exec($curl);
        $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        $answer = is_string($text) ? json_decode($text, true) : null;
        // The login page of a Wi-Fi network, also a 200, contains no receipt.
        if ($status === 200 && is_string($answer['data']['ReceiptID'] ?? null)) {
            return $answer['data'];
        }
        if ($text === false) {
            if (in_array(curl_errno($curl), CERTIFICATE_ERRORS, true)) {
                throw new NotSent('no trusted certificate: ' . curl_error($curl), 1);
            }
            $problem = 'no answer: ' . curl_error($curl);
        } elseif (isset($answer['errorCode'], $answer['message'], $answer['requestId'])) {
            $problem = "$status {$answer['errorCode']}: {$answer['message']} (request {$answer['requestId']})";
        } else {
            $problem = "$status, and the answer is not from the service";
        }
        if ($text !== false && $status >= 300 && $status < 500 && !in_array($status, [408, 425, 429], true)) {
            // A redirect, 401 and 404 mean a wrong key or address, which every delivery would meet.
            throw $status < 400 || $status === 401 || $status === 404 ? new NotSent($problem, 1) : new Refused($problem);
        }
        if ($attempt === ATTEMPTS || $retryAfter > LONGEST_RETRY_AFTER_SECONDS) {
            throw new NotSent("not confirmed after $attempt attempts: $problem", 75);
        }
        // A random part, so that clients that failed together do not come back together.
        $wait = $retryAfter + mt_rand() / mt_getrandmax() * 2 ** ($attempt - 1);
        fprintf(STDERR, "%s; trying again in %.1f s\n", $problem, $wait);
        usleep((int) ($wait * 1e6));
    }
}

try {
    exit(main(...array_slice($argv, 1, 3)));
} catch (NotSent $problem) {
    fwrite(STDERR, $problem->getMessage() . "\n");
    exit($problem->getCode());
} catch (Throwable $fault) {
    // Without its message and trace, which may contain the key.
    fwrite(STDERR, get_class($fault) . "\n");
    exit(1);
}
