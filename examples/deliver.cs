// Logs in and delivers a purchase order, trying again until it is confirmed: dotnet run deliver.cs [FILE]
// Needs .NET 10 (or 8 as the Program.cs of a project) and nothing else. README.md in this folder says what it reads from
// the environment.
using System;
using System.Collections.Generic;
using System.IO;
using System.Net.Http;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;
using System.Threading.Tasks;

const int Attempts = 6;
const int LongestRetryAfterSeconds = 60;
const string Example = """{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}""";
int[] retried = [429, 502, 503, 504];

// One for the life of the program. It checks certificates by itself, and must never hand the key to another address.
using var http = new HttpClient(new SocketsHttpHandler { AllowAutoRedirect = false }) { Timeout = TimeSpan.FromSeconds(20) };

try
{
    var baseUrl = Setting("SUPPLIER_BASE_URL").TrimEnd('/');
    if (!Regex.IsMatch(baseUrl, @"\A(https://|http://(127\.0\.0\.1|localhost)(:[0-9]+)?\z)"))
        throw new Failure("SUPPLIER_BASE_URL must begin with https://, or a password would cross the network in the clear");
    var login = new JsonObject { ["Email"] = Setting("SUPPLIER_EMAIL"), ["Password"] = Setting("SUPPLIER_PASSWORD") };
    var apiKey = Setting("SUPPLIER_API_KEY");
    if (!Regex.IsMatch(apiKey, @"\A[\x21-\x7e]+\z"))
        throw new Failure("SUPPLIER_API_KEY has characters that no key has");
    var order = args.Length > 0 ? await File.ReadAllBytesAsync(args[0]) : System.Text.Encoding.UTF8.GetBytes(Example);

    var session = await Send(
        $"{baseUrl}/Login/Customer/Api/Verify",
        new() { ["h-region-code"] = "TR" },
        System.Text.Encoding.UTF8.GetBytes(login.ToJsonString()));
    var receipt = await Send(
        $"{baseUrl}/Purchase/update",
        new()
        {
            ["ApiKey"] = apiKey,
            ["Authorization"] = $"Bearer {session["Token"]}",
            // Made once for a delivery, not for each attempt: by it the server knows a delivery that it has already. Keep it
            // with your order if your program may be restarted before the answer comes.
            ["Idempotency-Key"] = Guid.NewGuid().ToString(),
        },
        order);
    Console.WriteLine(receipt.ToJsonString());
    return 0;
}
catch (Exception error) when (error is Failure or IOException or UnauthorizedAccessException)
{
    Console.Error.WriteLine(error.Message);
    return 1;
}

static string Setting(string name) =>
    Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? value : throw new Failure($"{name} is not set");

// The `data` of the answer.
async Task<JsonNode> Send(string url, Dictionary<string, string> headers, byte[] body)
{
    for (var attempt = 1; ; attempt++)
    {
        var retryAfter = 0.0;
        string problem;
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, url) { Content = new ByteArrayContent(body) };
            request.Content.Headers.ContentType = new("application/json");
            foreach (var (name, value) in headers) request.Headers.TryAddWithoutValidation(name, value);
            using var response = await http.SendAsync(request);
            var text = await response.Content.ReadAsStringAsync();
            if (response.IsSuccessStatusCode)
                return JsonNode.Parse(text)?["data"] ?? throw new JsonException("an answer without data");
            var status = (int)response.StatusCode;
            problem = Describe(status, text);
            if (Array.IndexOf(retried, status) < 0) throw new Failure(problem);
            retryAfter = Math.Max(0, (response.Headers.RetryAfter?.Delta
                ?? response.Headers.RetryAfter?.Date - DateTimeOffset.UtcNow
                ?? TimeSpan.Zero).TotalSeconds);
        }
        // A timeout is a TaskCanceledException.
        catch (Exception error) when (error is HttpRequestException or TaskCanceledException or JsonException)
        {
            problem = $"no answer ({(error as HttpRequestException)?.HttpRequestError.ToString() ?? error.GetType().Name})";
        }
        if (attempt == Attempts || retryAfter > LongestRetryAfterSeconds)
            throw new Failure($"not confirmed after {attempt} attempts: {problem}");
        // A random part, so that all who failed together do not come back together.
        var wait = retryAfter + Random.Shared.NextDouble() * Math.Pow(2, attempt - 1);
        Console.Error.WriteLine(FormattableString.Invariant($"{problem}; trying again in {wait:F1} s"));
        await Task.Delay(TimeSpan.FromSeconds(wait));
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
        return $"{status}, and not in the service's own words";
    }
}

sealed class Failure(string message) : Exception(message);
