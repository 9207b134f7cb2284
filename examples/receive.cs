// Receives the webhooks of teslim: checks the signature, stores the delivery, and only then answers. Needs .NET 10 (or 8 as the
// Program.cs of a web project) and nothing else. README.md in this folder explains the environment variables and what to take over.
//
//   WEBHOOK_SECRET=whsec_... PORT=8080 dotnet run receive.cs
#:sdk Microsoft.NET.Sdk.Web
using System;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

const int ToleranceSeconds = 300;
const int MostBytes = 10_000_000;

// Several while a secret is being replaced, separated by spaces.
var keys = (Environment.GetEnvironmentVariable("WEBHOOK_SECRET") ?? "").Split(' ')
    .Where(secret => secret.StartsWith("whsec_", StringComparison.Ordinal))
    .Select(secret => Convert.FromBase64String(secret["whsec_".Length..]))
    .ToArray();
if (keys.Length == 0) throw new InvalidOperationException("WEBHOOK_SECRET is not set: it begins with whsec_");
var inbox = Environment.GetEnvironmentVariable("WEBHOOK_INBOX") is { Length: > 0 } given ? given : "inbox";
var port = Environment.GetEnvironmentVariable("PORT") is { Length: > 0 } text ? text : "8080";
Directory.CreateDirectory(inbox);
var pattern = new Regex(@"\A[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}\z");

var builder = WebApplication.CreateSlimBuilder();
builder.WebHost.ConfigureKestrel(server => server.Limits.MaxRequestBodySize = MostBytes);
var app = builder.Build();
// An exception becomes a 500, and teslim tries again later.
app.MapPost("/{**path}", async (HttpRequest request) =>
{
    using var memory = new MemoryStream();
    await request.Body.CopyToAsync(memory);
    return Results.StatusCode(await Receive(request.Headers, memory.ToArray()));
});
app.Run($"http://127.0.0.1:{port}");

// Returns the status to answer with.
async Task<int> Receive(IHeaderDictionary headers, byte[] body)
{
    var id = headers["webhook-id"].ToString();
    if (!IsSigned(id, headers, body)) return 401;
    if (!pattern.IsMatch(id)) return 400;
    using var message = JsonDocument.Parse(body);
    // A test of an operator. Other types may come in a later version: they are none of our business.
    if (message.RootElement.GetProperty("type").GetString() != "delivery.received") return 204;
    // An order id is unique only within its customer: another supplier may use the same. So each customer has a folder.
    var customer = message.RootElement.GetProperty("data").GetProperty("CustomerID").GetString()!;
    if (!pattern.IsMatch(customer)) return 400;
    var folder = Path.Combine(inbox, customer);
    Directory.CreateDirectory(Path.Combine(folder, "done"));
    var name = $"{id}.json";
    // A repeat: an earlier answer was lost, or an operator asked for it.
    if (File.Exists(Path.Combine(folder, name)) || File.Exists(Path.Combine(folder, "done", name))) return 204;
    var temporary = Path.Combine(folder, $".{Guid.NewGuid()}");
    await using (var file = new FileStream(temporary, FileMode.CreateNew))
    {
        await file.WriteAsync(body);
        file.Flush(flushToDisk: true);
    }
    File.Move(temporary, Path.Combine(folder, name), overwrite: true);
    return 204;
}

// Checks the bytes as they came: JSON that was read and written again is other bytes.
bool IsSigned(string id, IHeaderDictionary headers, byte[] body)
{
    var timestamp = headers["webhook-timestamp"].ToString();
    // An old message may have been recorded by somebody else.
    if (!Regex.IsMatch(timestamp, @"\A[0-9]{1,15}\z")) return false;
    if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - long.Parse(timestamp)) > ToleranceSeconds) return false;
    var signed = Encoding.UTF8.GetBytes($"{id}.{timestamp}.").Concat(body).ToArray();
    var sent = headers["webhook-signature"].ToString().Split(' ').Select(each => Encoding.ASCII.GetBytes(each)).ToArray();
    return keys
        .Select(key => Encoding.ASCII.GetBytes("v1," + Convert.ToBase64String(HMACSHA256.HashData(key, signed))))
        .Any(expected => sent.Any(each => CryptographicOperations.FixedTimeEquals(each, expected)));
}
