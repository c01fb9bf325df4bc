// Made from the types of the API by `cargo test -p wiretape-view api`; don't edit.

/**
 * The start page: all traces.
 */
export type Home = { 
/**
 * The version of Wiretape.
 */
version: string, 
/**
 * The matching traces: those being recorded first, then the newest; at most 500.
 */
traces: Array<TraceCard>, 
/**
 * The number of matching traces.
 */
found: number, 
/**
 * The number of all traces.
 */
total: number, 
/**
 * Whether there is a store.
 */
hasStore: boolean, 
/**
 * The keys of the traces named on the command line, which are opened at once.
 */
given: Array<string>, 
/**
 * Messages about files that are named like traces and can't be read.
 */
unreadable: Array<string>, };

/**
 * A trace in a list.
 */
export type TraceCard = { 
/**
 * The key that identifies it in URLs.
 */
key: string, 
/**
 * A short name for people.
 */
label: string, 
/**
 * The name of its file.
 */
file: string, 
/**
 * The client's name and version, once known.
 */
client: string | null, 
/**
 * The server's name and version, once known.
 */
server: string | null, 
/**
 * When the recording began; unknown if no line has a time.
 */
startedUs: number | null, 
/**
 * Its duration, so far.
 */
durationUs: number | null, 
/**
 * The number of calls; unknown until they are counted.
 */
calls: number | null, 
/**
 * The number of failed calls.
 */
errors: number | null, 
/**
 * The number of messages in both directions.
 */
messages: number | null, 
/**
 * The size of the file in bytes.
 */
bytes: number, 
/**
 * Whether it has ended, continues, or is being recorded.
 */
state: "ended" | "rotated" | "running" | "no-end", 
/**
 * The state in a few words, such as `exit 1`.
 */
stateText: string, 
/**
 * How the server failed, if it did.
 */
failure: ServerFailure | null, };

/**
 * A call in flight in a running recording.
 */
export type PendingRow = { 
/**
 * The key of the trace with its request.
 */
trace: string, 
/**
 * The label of the trace.
 */
label: string, 
/**
 * Its number in the trace.
 */
call: number, 
/**
 * When the request was sent.
 */
atUs: number, 
/**
 * The time since then.
 */
ageUs: number | null, 
/**
 * The direction of the request.
 */
direction: Dir, 
/**
 * The JSON-RPC method.
 */
method: string, 
/**
 * The tool of a `tools/call`.
 */
tool: string | null, 
/**
 * The session's id.
 */
session: string | null, 
/**
 * The number of its progress notifications.
 */
progress: number, };

/**
 * A server that crashed or could not be started.
 */
export type ServerFailure = { 
/**
 * The exit code; unknown after some signals.
 */
exitCode: number | null, 
/**
 * The number of the client's calls that were in flight.
 */
openCalls: number, 
/**
 * The server's last lines on standard error, oldest first.
 */
lastStderr: Array<string>, };

/**
 * The traces named by a URL.
 */
export type TraceSet = { 
/**
 * The traces, in the order of the URL.
 */
traces: Array<TraceInfo>, 
/**
 * When the first of them began.
 */
fromUs: number, 
/**
 * When the last line of all of them was observed.
 */
toUs: number, 
/**
 * Whether this is a report, in which secrets were redacted once more.
 */
isReport: boolean, };

/**
 * A trace, as far as it is indexed.
 */
export type TraceInfo = { 
/**
 * The key that identifies it in URLs.
 */
key: string, 
/**
 * A short name for people.
 */
label: string, 
/**
 * The name of its file.
 */
file: string, 
/**
 * The client's name and version, once known.
 */
client: string | null, 
/**
 * The server's name and version, once known.
 */
server: string | null, 
/**
 * The MCP revision that was agreed on.
 */
revision: string | null, 
/**
 * The transport: `stdio`, `http` …
 */
transport: string | null, 
/**
 * The server's command or URL.
 */
command: string | null, 
/**
 * When the recording began; 0 if no line has a time.
 */
startedUs: number, 
/**
 * When its last line was observed.
 */
lastUs: number, 
/**
 * Whether it has ended, continues, or is being recorded.
 */
state: "ended" | "rotated" | "running" | "no-end", 
/**
 * The state in a few words, such as `exit 1`.
 */
stateText: string, 
/**
 * How the server failed, if it did.
 */
failure: ServerFailure | null, 
/**
 * Remarks: damaged lines, lines of an unknown type, a missing end.
 */
notices: Array<string>, 
/**
 * The number of indexed lines.
 */
lines: number, 
/**
 * The number of messages.
 */
messages: number, 
/**
 * The number of calls.
 */
calls: number, 
/**
 * The number of failed calls.
 */
errors: number, 
/**
 * How much of it is indexed.
 */
progress: Progress, };

/**
 * The progress of reading something.
 */
export type Progress = { 
/**
 * The bytes read so far.
 */
done: number, 
/**
 * The bytes to read.
 */
total: number, 
/**
 * Whether everything was read.
 */
isComplete: boolean, };

/**
 * A change, sent by `/api/watch`.
 */
export type Change = { 
/**
 * Increases with each change of the list of traces.
 */
home: number, 
/**
 * One for each trace of the set, in order.
 */
traces: Array<TraceChange>, };

/**
 * The current extent of a trace.
 */
export type TraceChange = { 
/**
 * The number of lines.
 */
lines: number, 
/**
 * The number of calls.
 */
calls: number, 
/**
 * Increases with every change, for example when a call is answered.
 */
version: number, 
/**
 * How much of it is indexed.
 */
progress: Progress, 
/**
 * The progress of the linter, once it was requested.
 */
lint: Progress | null, 
/**
 * The progress of counting tokens, once it was requested.
 */
tokens: Progress | null, 
/**
 * Whether it has ended, continues, or is being recorded.
 */
state: "ended" | "rotated" | "running" | "no-end", };

/**
 * A page of the calls that match a filter.
 */
export type CallPage = { 
/**
 * The number of matching calls.
 */
total: number, 
/**
 * The number of all calls.
 */
all: number, 
/**
 * The index of the first row, from 0.
 */
from: number, 
/**
 * The rows of this page.
 */
rows: Array<CallRow>, };

/**
 * A call in a list.
 */
export type CallRow = { 
/**
 * The index of its trace in the set.
 */
trace: number, 
/**
 * Its number in the trace: requests are counted from 1.
 */
call: number, 
/**
 * The line of the request, from 1.
 */
line: number, 
/**
 * The line of the response, from 1.
 */
responseLine: number | null, 
/**
 * When the request was sent.
 */
atUs: number, 
/**
 * The direction of the request.
 */
direction: Dir, 
/**
 * The request's id, as text.
 */
id: string | null, 
/**
 * The `Mcp-Session-Id` of the request; none over stdio.
 */
session: string | null, 
/**
 * The JSON-RPC method, such as `tools/call`.
 */
method: string, 
/**
 * The tool of a `tools/call`.
 */
tool: string | null, 
/**
 * The name of the outcome, see `docs/calls.md`.
 */
status: string, 
/**
 * Whether the outcome is a failure.
 */
isError: boolean, 
/**
 * Whether the call is open in a recording that is still running.
 */
isOpen: boolean, 
/**
 * The JSON-RPC error code, or the HTTP status.
 */
code: number | null, 
/**
 * From the request to its outcome: the response, the cancellation, or the end of the exchange.
 */
latencyUs: number | null, 
/**
 * The part of the latency during which the client waited for the user.
 */
personUs: number, 
/**
 * The part of the latency during which the client handled other requests of the server.
 */
clientUs: number, 
/**
 * The size of the request in bytes.
 */
requestBytes: number, 
/**
 * The size of the response in bytes.
 */
responseBytes: number | null, 
/**
 * The number of its progress notifications.
 */
progress: number, 
/**
 * The number of requests that the other side sent during it.
 */
nested: number, 
/**
 * The call during which the other side sent this one.
 */
parent: number | null, 
/**
 * The first call of the operation it belongs to.
 */
operation: number | null, 
/**
 * A one-line summary of the request.
 */
about: string, };

/**
 * The direction of a message.
 */
export type Dir = "in" | "out" | "unknown";

/**
 * The calls in a range of the timeline.
 */
export type Timeline = { 
/**
 * The calls in the order of their time; if there are too many, failed and long ones first.
 */
bars: Array<Bar>, 
/**
 * The number of calls in the range.
 */
total: number, };

/**
 * A call on the timeline.
 */
export type Bar = { 
/**
 * The index of its trace in the set.
 */
trace: number, 
/**
 * Its number in the trace.
 */
call: number, 
/**
 * When the request was sent.
 */
atUs: number, 
/**
 * Its duration; unknown if it was not answered.
 */
latencyUs: number | null, 
/**
 * The name of the outcome.
 */
status: string, 
/**
 * Whether the outcome is a failure.
 */
isError: boolean, 
/**
 * The direction of the request.
 */
direction: Dir, 
/**
 * The tool, or the method.
 */
name: string, 
/**
 * The call during which the other side sent this one.
 */
parent: number | null, 
/**
 * The number of its progress notifications.
 */
progress: number, };

/**
 * Activity over time: the map above the timeline.
 */
export type Density = { 
/**
 * When the first bucket begins.
 */
fromUs: number, 
/**
 * When the last bucket ends.
 */
toUs: number, 
/**
 * The number of calls that began, by bucket.
 */
calls: Array<number>, 
/**
 * The number of these that failed, by bucket.
 */
errors: Array<number>, 
/**
 * The number of stderr lines, by bucket.
 */
stderr: Array<number>, };

/**
 * A page of the lines that match a filter.
 */
export type MessagePage = { 
/**
 * The number of matching lines.
 */
total: number, 
/**
 * The number of all lines.
 */
all: number, 
/**
 * The index of the first row, from 0.
 */
from: number, 
/**
 * The rows of this page.
 */
rows: Array<MessageRow>, };

/**
 * A line of a trace.
 */
export type MessageRow = { 
/**
 * The index of its trace in the set.
 */
trace: number, 
/**
 * Its number in the trace, from 1.
 */
line: number, 
/**
 * When it was observed.
 */
atUs: number, 
/**
 * The direction of the message.
 */
direction: Dir, 
/**
 * The kind of line.
 */
kind: LineKind, 
/**
 * The method; for a response, that of its request.
 */
method: string | null, 
/**
 * The tool; for a response, that of its request.
 */
tool: string | null, 
/**
 * The request's id, as text.
 */
id: string | null, 
/**
 * The call that it belongs to.
 */
call: number | null, 
/**
 * For a response, the outcome of its call.
 */
status: string | null, 
/**
 * Whether the outcome is a failure.
 */
isError: boolean, 
/**
 * The size of the line in bytes.
 */
bytes: number, 
/**
 * A one-line summary of the content.
 */
about: string, };

/**
 * The kind of a line.
 */
export type LineKind = "meta" | "request" | "response" | "notification" | "batch" | "odd" | "text" | "stderr" | "http" | "gap" | "rotated" | "end" | "unknown" | "damaged" | "stream";

/**
 * Everything about one call.
 */
export type CallDetail = { 
/**
 * The call, as in a list.
 */
row: CallRow, 
/**
 * The request's JSON, and its line.
 */
request: Payload, 
/**
 * The response's JSON, and its line; none if there was no response.
 */
response: Payload | null, 
/**
 * What happened during the call, in order.
 */
meanwhile: Array<Meanwhile>, 
/**
 * The number of further entries, which are left out.
 */
more: number, 
/**
 * The requests that the other side sent during the call.
 */
nested: Array<CallRow>, 
/**
 * The operation that it belongs to.
 */
operation: OperationView | null, 
/**
 * The linter's findings on its lines; empty until the linter, which this request starts, is done.
 */
findings: Array<Finding>, 
/**
 * The HTTP exchange, if it was sent over HTTP.
 */
http: HttpView | null, 
/**
 * The request as a curl command line, if it was sent over HTTP.
 */
curl: string | null, 
/**
 * The number of the previous call in the trace.
 */
previous: number | null, 
/**
 * The number of the next call in the trace.
 */
next: number | null, };

/**
 * The JSON of a message.
 */
export type Payload = { 
/**
 * The number of its line.
 */
line: number, 
/**
 * The JSON as it was on the wire; only the beginning if it is very long.
 */
text: string, 
/**
 * The full length in bytes.
 */
bytes: number, 
/**
 * Whether `text` is only the beginning.
 */
isCut: boolean, };

/**
 * Something that happened during a call.
 */
export type Meanwhile = { 
/**
 * The number of its line.
 */
line: number, 
/**
 * The time since the request.
 */
afterUs: number | null, 
/**
 * The kind of entry.
 */
kind: MeanwhileKind, 
/**
 * The call that a request or a response belongs to.
 */
call: number | null, 
/**
 * The entry in one line, for the list.
 */
about: string, };

/**
 * What happened during a call.
 */
export type MeanwhileKind = "progress" | "cancellation" | "request" | "answer" | "stderr";

/**
 * Calls that belong together.
 */
export type OperationView = { 
/**
 * The number of the first call.
 */
first: number, 
/**
 * The calls, in order.
 */
calls: Array<CallRow>, };

/**
 * The HTTP exchange of a call.
 */
export type HttpView = { 
/**
 * The HTTP method; unknown if the trace does not have the head of the request.
 */
method: string | null, 
/**
 * The URL of the request.
 */
url: string | null, 
/**
 * The HTTP status code.
 */
status: number | null, 
/**
 * The headers of the request.
 */
requestHeaders: Array<HeaderField>, 
/**
 * The headers of the response.
 */
responseHeaders: Array<HeaderField>, };

/**
 * A header field of a request or a response.
 */
export type HeaderField = { 
/**
 * The name, in lower case.
 */
name: string, 
/**
 * The value, with secrets redacted.
 */
value: string, };

/**
 * Lines of the file, unchanged.
 */
export type RawPage = { 
/**
 * The number of all lines.
 */
total: number, 
/**
 * The requested lines, in the order of the file.
 */
lines: Array<RawLine>, };

/**
 * A line of the file, unchanged.
 */
export type RawLine = { 
/**
 * Its number, from 1.
 */
line: number, 
/**
 * The text; only the beginning if it is very long.
 */
text: string, 
/**
 * The full length in bytes.
 */
bytes: number, 
/**
 * Whether `text` is only the beginning.
 */
isCut: boolean, };

/**
 * The tools and methods of a set of traces.
 */
export type ToolsReport = { 
/**
 * The tools, the most called first, unused ones last.
 */
tools: Array<ToolRow>, 
/**
 * The other methods, the most called first.
 */
methods: Array<ToolRow>, 
/**
 * The name of the encoding that tokens are counted with.
 */
encoding: string, 
/**
 * The progress of counting tokens in results.
 */
tokens: Progress, 
/**
 * The upper bounds of the histograms' buckets, in microseconds; the last bucket has none.
 */
bucketsUs: Array<number>, };

/**
 * A tool or a method.
 */
export type ToolRow = { 
/**
 * The index of its trace in the set.
 */
trace: number, 
/**
 * The name of the tool or method.
 */
name: string, 
/**
 * The direction of its requests.
 */
direction: Dir, 
/**
 * The number of calls.
 */
calls: number, 
/**
 * The share of all calls, from 0 to 1.
 */
share: number, 
/**
 * The number of failed calls.
 */
errors: number, 
/**
 * The number of calls without a response.
 */
unanswered: number, 
/**
 * The mean latency of the calls with a response.
 */
meanUs: number | null, 
/**
 * The median latency of the calls with a response.
 */
p50Us: number | null, 
/**
 * The 95th percentile of the latency.
 */
p95Us: number | null, 
/**
 * The 99th percentile of the latency.
 */
p99Us: number | null, 
/**
 * The longest latency of the calls with a response.
 */
maxUs: number | null, 
/**
 * The number of calls by latency, see `buckets_us`.
 */
histogram: Array<number>, 
/**
 * The number of calls over time, in equal parts of the whole.
 */
sparkline: Array<number>, 
/**
 * The total size of the requests in bytes.
 */
requestBytes: number, 
/**
 * The total size of the responses in bytes.
 */
responseBytes: number, 
/**
 * The number of tokens of the definition, if it was listed.
 */
definitionTokens: number | null, 
/**
 * The number of tokens of all results, once they are counted.
 */
resultTokens: number | null, 
/**
 * The definition's JSON as it was on the wire, if it was listed.
 */
definition: string | null, };

/**
 * A session of a set of traces.
 */
export type SessionRow = { 
/**
 * The index of its trace in the set.
 */
trace: number, 
/**
 * The session's id, if it has one.
 */
session: string | null, 
/**
 * The client's name and version.
 */
client: string | null, 
/**
 * The server's name and version.
 */
server: string | null, 
/**
 * The MCP revision that was agreed on.
 */
revision: string | null, 
/**
 * When it began: its first line, or its `initialize`.
 */
fromUs: number, 
/**
 * When something last happened in it; for the only session of a trace, the last line.
 */
toUs: number, 
/**
 * The number of calls.
 */
calls: number, 
/**
 * The number of failed calls.
 */
errors: number, 
/**
 * The number of calls without a response.
 */
unanswered: number, };

/**
 * The linter's findings, as far as it has read the traces.
 */
export type LintReport = { 
/**
 * The progress of the linter.
 */
progress: Progress, 
/**
 * The violated rules, the most severe first.
 */
rules: Array<RuleFindings>, 
/**
 * The number of errors.
 */
errors: number, 
/**
 * The number of warnings.
 */
warnings: number, 
/**
 * The number of informational findings.
 */
infos: number, };

/**
 * A violated rule, with its findings.
 */
export type RuleFindings = { 
/**
 * The rule's code, such as `M003`.
 */
code: string, 
/**
 * The rule's name, such as `id-null`.
 */
name: string, 
/**
 * The group that the rule belongs to.
 */
family: string, 
/**
 * `error`, `warning` or `info`.
 */
severity: string, 
/**
 * What the rule checks.
 */
what: string, 
/**
 * Why the rule exists, in a sentence or two.
 */
why: string, 
/**
 * How to fix a violation.
 */
fix: string, 
/**
 * The title of the specification's section.
 */
section: string, 
/**
 * The URL of the specification's section.
 */
url: string, 
/**
 * The number of findings.
 */
count: number, 
/**
 * The findings; at most some hundred.
 */
findings: Array<Finding>, };

/**
 * One violation of a rule.
 */
export type Finding = { 
/**
 * The index of its trace in the set.
 */
trace: number, 
/**
 * The rule's code, such as `M003`.
 */
code: string, 
/**
 * The rule's name, such as `id-null`.
 */
rule: string, 
/**
 * `error`, `warning` or `info`.
 */
severity: string, 
/**
 * The number of the line.
 */
line: number, 
/**
 * The call that the line belongs to.
 */
call: number | null, 
/**
 * A JSON pointer into the line's message.
 */
pointer: string, 
/**
 * What is wrong here.
 */
message: string, 
/**
 * How to fix it.
 */
fix: string, 
/**
 * The text before the marked part.
 */
before: string, 
/**
 * The part of the JSON that the finding is about.
 */
marked: string, 
/**
 * The text after the marked part.
 */
after: string, };

/**
 * The comparison of two traces.
 */
export type DiffReport = { 
/**
 * How much of both traces is indexed. There are rows only when both are complete.
 */
progress: Progress, 
/**
 * The number of calls that are equal in both.
 */
same: number, 
/**
 * The number of calls that differ.
 */
changed: number, 
/**
 * The number of calls only in the first trace.
 */
removed: number, 
/**
 * The number of calls only in the second trace.
 */
added: number, 
/**
 * The number of calls that are slower in the second trace.
 */
slower: number, 
/**
 * The number of calls that are faster in the second trace.
 */
faster: number, 
/**
 * The differences between the definitions.
 */
definitions: Array<DefinitionChange>, 
/**
 * The number of matching rows.
 */
total: number, 
/**
 * The index of the first row, from 0.
 */
from: number, 
/**
 * The rows of this page.
 */
rows: Array<DiffRow>, };

/**
 * A change in a server's definitions.
 */
export type DefinitionChange = { 
/**
 * What is defined: `tool`, `prompt` …
 */
of: string, 
/**
 * The name of the definition.
 */
name: string, 
/**
 * The kind of change: `added`, `removed`, `renamed`, `description` …
 */
change: string, 
/**
 * The effect on users: `breaking` …
 */
effect: string, 
/**
 * A JSON pointer into the definition.
 */
pointer: string, 
/**
 * A description of the change.
 */
message: string, 
/**
 * What to do about it.
 */
advice: string, 
/**
 * The old value as JSON; none if it was added.
 */
before: string | null, 
/**
 * The new value as JSON; none if it was removed.
 */
after: string | null, };

/**
 * A row of a comparison: a call of one trace, or a pair.
 */
export type DiffRow = { 
/**
 * Its index among all rows, from 0, for `/api/diff/row`.
 */
row: number, 
/**
 * `same`, `changed`, `removed` or `added`.
 */
status: string, 
/**
 * `slower` or `faster`, if the difference is significant.
 */
pace: string | null, 
/**
 * The direction of the request.
 */
direction: Dir, 
/**
 * The JSON-RPC method, such as `tools/call`.
 */
method: string, 
/**
 * The name of the tool or prompt.
 */
name: string | null, 
/**
 * The call in the first trace.
 */
a: DiffSide | null, 
/**
 * The call in the second trace.
 */
b: DiffSide | null, };

/**
 * One side of a pair of calls.
 */
export type DiffSide = { 
/**
 * The call's number in its trace.
 */
call: number, 
/**
 * The line of its request.
 */
line: number, 
/**
 * The name of the outcome.
 */
status: string, 
/**
 * Whether the outcome is a failure.
 */
isError: boolean, 
/**
 * The duration without the time that the responding side waited for the user or the other side.
 */
tookUs: number | null, 
/**
 * A one-line summary of the request.
 */
about: string, };

/**
 * The differences between two calls.
 */
export type DiffDetail = { 
/**
 * The values that differ, in the order of the message.
 */
differences: Array<DifferenceView>, 
/**
 * Whether there are more, which are left out.
 */
hasMore: boolean, };

/**
 * A value that differs between two traces.
 */
export type DifferenceView = { 
/**
 * The part of the message: `params`, `result` or `error`.
 */
part: string, 
/**
 * A JSON pointer into the part.
 */
pointer: string, 
/**
 * The JSON in the first trace, if the value exists there.
 */
before: string | null, 
/**
 * The JSON in the second trace, if the value exists there.
 */
after: string | null, 
/**
 * If the value is a text that contains JSON: the differences within that.
 */
inside: Array<DifferenceView>, };

/**
 * The Activity view: what the store knows.
 */
export type StoreReport = { 
/**
 * Call rates in the last minutes, the newest last.
 */
rates: Array<StoreRate>, 
/**
 * The number of calls in the requested time.
 */
calls: number, 
/**
 * The number of failed calls.
 */
errors: number, 
/**
 * Statistics by server and tool or method.
 */
rows: Array<StoreStat>, 
/**
 * The slowest calls, slowest first.
 */
slow: Array<StoreCall>, 
/**
 * The newest calls, newest first.
 */
newest: Array<StoreCall>, 
/**
 * The clients, most recently active first.
 */
clients: Array<StoreClient>, 
/**
 * Changes of servers' definitions, the newest first.
 */
changes: Array<StoreChange>, };

/**
 * The calls in one interval.
 */
export type StoreRate = { 
/**
 * When the interval begins, in milliseconds since 1970.
 */
atMs: number, 
/**
 * The number of calls.
 */
calls: number, 
/**
 * The number of failed calls.
 */
errors: number, };

/**
 * Statistics of one tool or method on one server.
 */
export type StoreStat = { 
/**
 * The name of the server.
 */
server: string, 
/**
 * The JSON-RPC method, such as `tools/call`.
 */
method: string, 
/**
 * The name of the tool, if one is called.
 */
tool: string | null, 
/**
 * The number of calls.
 */
calls: number, 
/**
 * The number of failed calls.
 */
errors: number, 
/**
 * The median latency of the calls with a response.
 */
p50Us: number | null, 
/**
 * The 95th percentile of the latency.
 */
p95Us: number | null, 
/**
 * The longest latency of the calls with a response.
 */
maxUs: number | null, };

/**
 * A call in the store.
 */
export type StoreCall = { 
/**
 * When it began, in milliseconds since 1970.
 */
atMs: number, 
/**
 * The name of the server.
 */
server: string, 
/**
 * The JSON-RPC method, such as `tools/call`.
 */
method: string, 
/**
 * The name of the tool, if one is called.
 */
tool: string | null, 
/**
 * The request's id, as text.
 */
id: string, 
/**
 * The name of the outcome.
 */
status: string, 
/**
 * Whether the outcome is a failure.
 */
isError: boolean, 
/**
 * The error message, truncated; none if the call succeeded.
 */
error: string | null, 
/**
 * From the request to the end of the response, or until the call was abandoned.
 */
latencyUs: number | null, 
/**
 * The id of its session, as in `wiretape sessions`.
 */
session: string | null, 
/**
 * The key of the trace it is recorded in, if this server can open it.
 */
trace: string | null, };

/**
 * A client in the store.
 */
export type StoreClient = { 
/**
 * The name in the client's `clientInfo`.
 */
name: string, 
/**
 * The version in the client's `clientInfo`.
 */
version: string | null, 
/**
 * The number of sessions.
 */
sessions: number, 
/**
 * The number of calls.
 */
calls: number, 
/**
 * The number of failed calls.
 */
errors: number, 
/**
 * When it was last seen, in milliseconds since 1970.
 */
lastMs: number, };

/**
 * A change of a server's definitions.
 */
export type StoreChange = { 
/**
 * When it was observed, in milliseconds since 1970.
 */
atMs: number, 
/**
 * The name of the server.
 */
server: string, 
/**
 * The method that lists the definition.
 */
method: string, 
/**
 * How it changed: `initial`, `added`, `modified` or `removed`.
 */
change: string, 
/**
 * The name of the changed definition.
 */
name: string | null, };

/**
 * A trace that was opened from the page: dropped, from a URL, or from a live recorder.
 */
export type Opened = { 
/**
 * The key that identifies it in URLs.
 */
key: string, };

/**
 * A request to connect to a live recorder.
 */
export type LiveRequest = { 
/**
 * The recorder's address on this machine: `ws://127.0.0.1:PORT/…`.
 */
url: string, };

/**
 * A report: traces with everything that the page needs.
 */
export type Report = { 
/**
 * The version of Wiretape.
 */
version: string, 
/**
 * When it was created, in milliseconds since 1970.
 */
createdMs: number, 
/**
 * The number of lines in which secrets were redacted for the report.
 */
redacted: number, 
/**
 * The traces of the report.
 */
set: TraceSet, 
/**
 * All calls, in the order of their time.
 */
calls: Array<CallRow>, 
/**
 * All lines, in the order of their time.
 */
messages: Array<MessageRow>, 
/**
 * Further facts about each call.
 */
details: Array<ReportDetail>, 
/**
 * The tools and methods.
 */
tools: ToolsReport, 
/**
 * The sessions in all traces.
 */
sessions: Array<SessionRow>, 
/**
 * The findings of the linter, which has read everything.
 */
lint: LintReport, };

/**
 * Facts about a call that are not in its row or lines.
 */
export type ReportDetail = { 
/**
 * The index of its trace in the set.
 */
trace: number, 
/**
 * The call's number in its trace.
 */
call: number, 
/**
 * The index of the request in its batch, from 0; unknown if it is not in a batch.
 */
requestIndex: number | null, 
/**
 * The index of the response in its batch, from 0.
 */
responseIndex: number | null, 
/**
 * What happened during the call.
 */
meanwhile: Array<Meanwhile>, 
/**
 * The number of further entries, which are left out.
 */
more: number, 
/**
 * The HTTP exchange, if it was sent over HTTP.
 */
http: HttpView | null, 
/**
 * The request as a curl command line.
 */
curl: string | null, };

/**
 * A compressed chunk of a trace's lines.
 */
export type ReportLines = { 
/**
 * The number of its first line.
 */
first: number, 
/**
 * The lines, each with a newline: gzip in base64.
 */
data: string, };

/**
 * Why a request was refused.
 */
export type Problem = { 
/**
 * What is wrong, as a sentence for people.
 */
error: string, 
/**
 * What to do about it.
 */
hint: string | null, 
/**
 * If the filter is invalid: the byte range of the error in it.
 */
span: [number, number] | null, };
