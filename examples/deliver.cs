// Reports the Status of a purchase order, retrying until it is confirmed: dotnet run deliver.cs [ORDER [VERSION [FILE]]]
// A delivery that cannot be sent now stays in a folder, and the next run sends it first. Needs .NET 10 (or 8 as the Program.cs of
// a project) and nothing else. README.md in this folder explains the environment variables and the exit statuses.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;
using System.Threading.Tasks;

const int Attempts = 4;
const int LongestRetryAfterSeconds = 60;

// One for the life of the program. It checks certificates, and follows no redirect: the key goes to no other address.
using var http = new HttpClient(new SocketsHttpHandler { AllowAutoRedirect = false }) { Timeout = TimeSpan.FromSeconds(20) };

try
{
    var baseUrl = Setting("SUPPLIER_BASE_URL").TrimEnd('/');
    if (!Regex.IsMatch(baseUrl, @"\A(https://|http://(127\.0\.0\.1|localhost)(:[0-9]+)?\z)"))
        throw new NotSent("SUPPLIER_BASE_URL must begin with https://, or the key would cross the network unencrypted");
    var apiKey = Setting("SUPPLIER_API_KEY");
    if (!Regex.IsMatch(apiKey, @"\A[\x21-\x7e]+\z"))
        throw new NotSent("SUPPLIER_API_KEY has characters that no key has");
    var spool = Environment.GetEnvironmentVariable("SUPPLIER_SPOOL") is { Length: > 0 } folder ? folder : "spool";
    var refused = Directory.CreateDirectory(Path.Combine(spool, "refused")).FullName;

    var order = args.Length > 0 ? args[0] : "PO-" + Convert.ToHexString(RandomNumberGenerator.GetBytes(4)).ToLowerInvariant();
    var example = new JsonObject
    {
        ["OrderID"] = order,
        ["Status"] = 2,
        ["Products"] = new JsonArray(new JsonObject { ["Sku"] = "SKU-1", ["Quantity"] = 3 }),
    };
    Put(spool, order, args.Length > 1 ? args[1] : "1",
        args.Length > 2 ? File.ReadAllBytes(args[2]) : Encoding.UTF8.GetBytes(example.ToJsonString()));
    var status = 0;
    foreach (var path in Waiting(spool))
    {
        try
        {
            var key = Path.GetFileNameWithoutExtension(path)[9..];
            var body = File.ReadAllBytes(path);
            Console.WriteLine((await Deliver($"{baseUrl}/Purchase/update", apiKey, key, body)).ToJsonString());
            File.Delete(path);
        }
        catch (FileNotFoundException)
        {
            // Another run sent it, or set it aside.
        }
        catch (Refused refusal)
        {
            // Set aside, or it would hold up every delivery behind it.
            Console.Error.WriteLine($"{refusal.Message}; set aside in {Path.Combine(spool, "refused")}");
            var aside = Path.Combine(refused, Path.GetFileName(path));
            File.WriteAllText($"{aside}.reason.txt", $"{refusal.Message}\n");
            try
            {
                File.Move(path, aside, overwrite: true);
            }
            catch (FileNotFoundException)
            {
                // Another run set it aside.
            }
            status = 1;
        }
        catch (NotSent problem)
        {
            var rest = $"Deliveries waiting in {spool}: {Waiting(spool).Length}. The next run sends them first.";
            throw new NotSent($"{problem.Message}\n{rest}", status != 0 ? status : problem.Status);
        }
    }
    return status;
}
catch (Exception error) when (error is NotSent or IOException or UnauthorizedAccessException)
{
    Console.Error.WriteLine(error.Message);
    return error is NotSent { Status: var status } ? status : 1;
}

static string Setting(string name) =>
    Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? value : throw new NotSent($"{name} is not set");

// Stores a delivery behind those that wait. Its Idempotency-Key is a hash of order and version, so it is the same in every
// attempt, after a crash and on any machine, and the service counts the delivery once. A change of the order needs a new version.
static void Put(string spool, string order, string version, byte[] body)
{
    var key = Convert.ToHexString(SHA256.HashData(Encoding.UTF8.GetBytes($"{order}\n{version}"))).ToLowerInvariant();
    var number = Waiting(spool) is [.., var last] ? int.Parse(Path.GetFileName(last)[..8]) + 1 : 1;
    var path = Path.Combine(spool, $"{number:D8}-{key}.json");
    var part = $"{path}.{Environment.ProcessId}.new";
    using (var file = File.Create(part))
    {
        file.Write(body);
        // .NET cannot sync a folder: after a power cut the newest delivery may be missing, but none is cut off.
        file.Flush(flushToDisk: true);
    }
    // A rename happens completely or not at all: no run ever sees half a delivery.
    File.Move(part, path, overwrite: true);
}

// Returns the files in the spool folder, oldest first: NUMBER-KEY.json
static string[] Waiting(string spool) =>
    Directory.GetFiles(spool, "*.json").OrderBy(path => path, StringComparer.Ordinal).ToArray();

// Returns the receipt.
async Task<JsonNode> Deliver(string url, string apiKey, string idempotencyKey, byte[] body)
{
    for (var attempt = 1; ; attempt++)
    {
        var retryAfter = 0.0;
        string problem;
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, url) { Content = new ByteArrayContent(body) };
            request.Content.Headers.ContentType = new("application/json");
            request.Headers.TryAddWithoutValidation("ApiKey", apiKey);
            request.Headers.TryAddWithoutValidation("Idempotency-Key", idempotencyKey);
            using var response = await http.SendAsync(request);
            var text = await response.Content.ReadAsStringAsync();
            if (response.StatusCode == HttpStatusCode.OK && ReceiptIn(text) is { } receipt) return receipt;
            var status = (int)response.StatusCode;
            problem = Describe(status, text);
            // A redirect, 401 and 404 mean a wrong key or address, which every delivery would meet.
            if (status is (>= 300 and < 400) or 401 or 404) throw new NotSent(problem);
            if (status is >= 400 and < 500 and not (408 or 425 or 429)) throw new Refused(problem);
            retryAfter = Math.Max(0, (response.Headers.RetryAfter?.Delta
                ?? response.Headers.RetryAfter?.Date - DateTimeOffset.UtcNow
                ?? TimeSpan.Zero).TotalSeconds);
        }
        // A wrong certificate stays wrong: retrying does not help.
        catch (HttpRequestException error) when (error.InnerException is AuthenticationException)
        {
            throw new NotSent($"no trusted certificate: {error.InnerException.Message}");
        }
        // A timeout is a TaskCanceledException.
        catch (Exception error) when (error is HttpRequestException or TaskCanceledException)
        {
            problem = $"no answer: {error.Message}";
        }
        if (attempt == Attempts || retryAfter > LongestRetryAfterSeconds)
            throw new NotSent($"not confirmed after {attempt} attempts: {problem}", 75);
        // A random part, so that clients that failed together do not come back together.
        var wait = retryAfter + Random.Shared.NextDouble() * Math.Pow(2, attempt - 1);
        Console.Error.WriteLine(FormattableString.Invariant($"{problem}; trying again in {wait:F1} s"));
        await Task.Delay(TimeSpan.FromSeconds(wait));
    }
}

// Returns the receipt that an answer contains. The login page of a Wi-Fi network, also a 200, contains none.
static JsonNode? ReceiptIn(string text)
{
    try
    {
        return JsonNode.Parse(text) is JsonObject answer && answer["data"] is JsonObject receipt && receipt["ReceiptID"] is not null
            ? receipt
            : null;
    }
    catch (JsonException)
    {
        return null;
    }
}

static string Describe(int status, string text)
{
    try
    {
        using var answer = JsonDocument.Parse(text);
        var (code, message, request) = (answer.RootElement.GetProperty("errorCode"),
            answer.RootElement.GetProperty("message"), answer.RootElement.GetProperty("requestId"));
        return $"{status} {code}: {message} (request {request})";
    }
    catch (Exception error) when (error is JsonException or KeyNotFoundException or InvalidOperationException)
    {
        return $"{status}, and the answer is not from the service";
    }
}

// The delivery stays in the spool folder. `Status` is the exit status: 75 if another run may succeed without any change.
sealed class NotSent(string message, int status = 1) : Exception(message)
{
    public int Status => status;
}

// The service refused this delivery, and would refuse it again.
sealed class Refused(string message) : Exception(message);
