// Made from the types of the API by `cargo test -p wiretape-view api`; don't edit.

/**
 * The first page: what there is to look at.
 */
export type Home = { 
/**
 * The version of the program.
 */
version: string, 
/**
 * The traces that were found, those that are being recorded first, then the newest; 500 at most.
 */
traces: Array<TraceCard>, 
/**
 * How many were found.
 */
found: number, 
/**
 * How many traces there are.
 */
total: number, 
/**
 * Whether there is a store of events.
 */
hasStore: boolean, 
/**
 * The traces that the program was started with; they are to be opened at once.
 */
given: Array<string>, 
/**
 * Files that are named like traces and can't be read, in words.
 */
unreadable: Array<string>, };

/**
 * One trace among others.
 */
export type TraceCard = { 
/**
 * What it goes by in URLs.
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
 * The client's name and version, once they are known.
 */
client: string | null, 
/**
 * The server's name and version, once they are known.
 */
server: string | null, 
/**
 * When it began.
 */
startedUs: number | null, 
/**
 * How long it took, or has taken so far.
 */
durationUs: number | null, 
/**
 * How many calls it has; unknown until somebody has counted.
 */
calls: number | null, 
/**
 * How many of these failed.
 */
errors: number | null, 
/**
 * How many messages it has.
 */
messages: number | null, 
/**
 * The size of the file.
 */
bytes: number, 
/**
 * Where it stands.
 */
state: "ended" | "rotated" | "running" | "no-end", 
/**
 * The same in a few words, as `exit 1`.
 */
stateText: string, };

/**
 * The traces that a URL names.
 */
export type TraceSet = { 
/**
 * In the order of the URL.
 */
traces: Array<TraceInfo>, 
/**
 * When the first of them began.
 */
fromUs: number, 
/**
 * When the last line of all was seen.
 */
toUs: number, 
/**
 * Whether secrets were taken out again, as in a report.
 */
isReport: boolean, };

/**
 * One trace, as far as it was read.
 */
export type TraceInfo = { 
/**
 * What it goes by in URLs.
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
 * The client's name and version.
 */
client: string | null, 
/**
 * The server's name and version.
 */
server: string | null, 
/**
 * The revision of the protocol that was agreed on.
 */
revision: string | null, 
/**
 * `stdio`, `http` …
 */
transport: string | null, 
/**
 * The command or the URL of the server.
 */
command: string | null, 
/**
 * When it began.
 */
startedUs: number, 
/**
 * When its last line was seen.
 */
lastUs: number, 
/**
 * Where it stands.
 */
state: "ended" | "rotated" | "running" | "no-end", 
/**
 * The same in a few words.
 */
stateText: string, 
/**
 * What is worth telling: damaged lines, lines of an unknown type, a missing end.
 */
notices: Array<string>, 
/**
 * How many lines were read.
 */
lines: number, 
/**
 * How many messages.
 */
messages: number, 
/**
 * How many calls.
 */
calls: number, 
/**
 * How many of these failed.
 */
errors: number, 
/**
 * How far it was read.
 */
progress: Progress, };

/**
 * How far something was read.
 */
export type Progress = { 
/**
 * Bytes that were read.
 */
done: number, 
/**
 * Bytes that there are.
 */
total: number, 
/**
 * Whether all that is there was read.
 */
isComplete: boolean, };

/**
 * Something has changed: sent by `/api/watch`.
 */
export type Change = { 
/**
 * Grows with each change of the list of traces.
 */
home: number, 
/**
 * For each trace of the set, in order.
 */
traces: Array<TraceChange>, };

/**
 * How far a trace is.
 */
export type TraceChange = { 
/**
 * How many lines there are.
 */
lines: number, 
/**
 * How many calls there are.
 */
calls: number, 
/**
 * Grows with everything that changes, as when a call is answered.
 */
version: number, 
/**
 * How far it was read.
 */
progress: Progress, 
/**
 * How far the check is, once somebody asked for it.
 */
lint: Progress | null, 
/**
 * How far the counting of tokens is, once somebody asked for it.
 */
tokens: Progress | null, 
/**
 * Where it stands.
 */
state: "ended" | "rotated" | "running" | "no-end", };

/**
 * Some of the calls that pass a filter.
 */
export type CallPage = { 
/**
 * How many pass.
 */
total: number, 
/**
 * How many calls there are in all.
 */
all: number, 
/**
 * The number of the first row, from 0.
 */
from: number, 
/**
 * The rows.
 */
rows: Array<CallRow>, };

/**
 * A call.
 */
export type CallRow = { 
/**
 * Which trace of the set.
 */
trace: number, 
/**
 * Counts the requests of the trace from 1.
 */
call: number, 
/**
 * The line of the request.
 */
line: number, 
/**
 * The line of the response.
 */
responseLine: number | null, 
/**
 * When it was asked.
 */
atUs: number, 
/**
 * Who asked.
 */
direction: Dir, 
/**
 * The request's id, as text.
 */
id: string | null, 
/**
 * The session.
 */
session: string | null, 
/**
 * The method.
 */
method: string, 
/**
 * The tool of a `tools/call`.
 */
tool: string | null, 
/**
 * What became of it: `ok`, `tool-error`, `protocol-error`, `http-error`, `cancelled`, `timed-out`, `late`,
 * `disconnected`, `no-response`, `abandoned`.
 */
status: string, 
/**
 * Whether that is a failure.
 */
isError: boolean, 
/**
 * Whether the call is still open in a recording that goes on.
 */
isOpen: boolean, 
/**
 * The code of a protocol error, or the HTTP status.
 */
code: number | null, 
/**
 * From request to response.
 */
latencyUs: number | null, 
/**
 * The part of it during which a person was asked.
 */
personUs: number, 
/**
 * The part of it during which the client answered requests of the server.
 */
clientUs: number, 
/**
 * The size of the request.
 */
requestBytes: number, 
/**
 * The size of the response.
 */
responseBytes: number | null, 
/**
 * How many progress notifications it has.
 */
progress: number, 
/**
 * How many requests the other side made during it.
 */
nested: number, 
/**
 * The call during which the other side made this one.
 */
parent: number | null, 
/**
 * The first call of the operation that it belongs to.
 */
operation: number | null, 
/**
 * What it asks, in a few words.
 */
about: string, };

/**
 * Who said something.
 */
export type Dir = "in" | "out" | "unknown";

/**
 * The calls of a part of the timeline.
 */
export type Timeline = { 
/**
 * The calls, in the order of their time; of too many those that took longest.
 */
bars: Array<Bar>, 
/**
 * How many there are in that part.
 */
total: number, };

/**
 * A call on the timeline.
 */
export type Bar = { 
/**
 * Which trace of the set.
 */
trace: number, 
/**
 * The call.
 */
call: number, 
/**
 * When it was asked.
 */
atUs: number, 
/**
 * How long it took; unknown if it was not answered.
 */
latencyUs: number | null, 
/**
 * What became of it.
 */
status: string, 
/**
 * Whether that is a failure.
 */
isError: boolean, 
/**
 * Who asked.
 */
direction: Dir, 
/**
 * The tool, or the method.
 */
name: string, 
/**
 * The call during which the other side made this one.
 */
parent: number | null, 
/**
 * How many progress notifications it has.
 */
progress: number, };

/**
 * How much happened when: the map above the timeline.
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
 * Calls that began, by bucket.
 */
calls: Array<number>, 
/**
 * Those of them that failed.
 */
errors: Array<number>, 
/**
 * Lines of standard error, by bucket.
 */
stderr: Array<number>, };

/**
 * Some of the lines that pass a filter.
 */
export type MessagePage = { 
/**
 * How many pass.
 */
total: number, 
/**
 * How many lines there are in all.
 */
all: number, 
/**
 * The number of the first row, from 0.
 */
from: number, 
/**
 * The rows.
 */
rows: Array<MessageRow>, };

/**
 * A line of a trace.
 */
export type MessageRow = { 
/**
 * Which trace of the set.
 */
trace: number, 
/**
 * The line, from 1.
 */
line: number, 
/**
 * When it was seen.
 */
atUs: number, 
/**
 * Who said it.
 */
direction: Dir, 
/**
 * What it is.
 */
kind: LineKind, 
/**
 * The method; a response's is that of its request.
 */
method: string | null, 
/**
 * The tool; a response's is that of its request.
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
 * What a response says of its call.
 */
status: string | null, 
/**
 * Whether that is a failure.
 */
isError: boolean, 
/**
 * The size of the line.
 */
bytes: number, 
/**
 * What it says, in a few words.
 */
about: string, };

/**
 * What a line is.
 */
export type LineKind = "meta" | "request" | "response" | "notification" | "batch" | "odd" | "text" | "stderr" | "http" | "gap" | "rotated" | "end" | "unknown" | "damaged" | "stream";

/**
 * One call whole.
 */
export type CallDetail = { 
/**
 * The call.
 */
row: CallRow, 
/**
 * What was asked.
 */
request: Payload, 
/**
 * What was answered.
 */
response: Payload | null, 
/**
 * What came in between, in order.
 */
meanwhile: Array<Meanwhile>, 
/**
 * How much more came in between.
 */
more: number, 
/**
 * The requests that the other side made during it.
 */
nested: Array<CallRow>, 
/**
 * The operation that it belongs to.
 */
operation: OperationView | null, 
/**
 * What the check finds on its lines; empty until the check, which asking for a call begins, is complete.
 */
findings: Array<Finding>, 
/**
 * The HTTP exchange, if it went over HTTP.
 */
http: HttpView | null, 
/**
 * The request as a command line for curl, if it went over HTTP.
 */
curl: string | null, 
/**
 * The call before it in the trace.
 */
previous: number | null, 
/**
 * The call after it in the trace.
 */
next: number | null, };

/**
 * The JSON of a message.
 */
export type Payload = { 
/**
 * The line that it stands in.
 */
line: number, 
/**
 * Its text, as it was written; the beginning only if it is very long.
 */
text: string, 
/**
 * How many bytes it has.
 */
bytes: number, 
/**
 * Whether `text` is only its beginning.
 */
isCut: boolean, };

/**
 * Something that came while a call was open.
 */
export type Meanwhile = { 
/**
 * The line.
 */
line: number, 
/**
 * How long after the request.
 */
afterUs: number | null, 
/**
 * What it is.
 */
kind: MeanwhileKind, 
/**
 * The call that a request or an answer belongs to.
 */
call: number | null, 
/**
 * What it says, in a few words.
 */
about: string, };

/**
 * What came while a call was open.
 */
export type MeanwhileKind = "progress" | "cancellation" | "request" | "answer" | "stderr";

/**
 * Calls that belong together.
 */
export type OperationView = { 
/**
 * The number of its first call.
 */
first: number, 
/**
 * Its calls, in order.
 */
calls: Array<CallRow>, };

/**
 * The HTTP exchange of a call.
 */
export type HttpView = { 
/**
 * The HTTP method.
 */
method: string | null, 
/**
 * The address.
 */
url: string | null, 
/**
 * The status.
 */
status: number | null, 
/**
 * The request's header fields.
 */
requestHeaders: Array<HeaderField>, 
/**
 * The response's.
 */
responseHeaders: Array<HeaderField>, };

/**
 * A header field.
 */
export type HeaderField = { 
/**
 * Its name.
 */
name: string, 
/**
 * Its value.
 */
value: string, };

/**
 * Lines of a file, as they are.
 */
export type RawPage = { 
/**
 * How many lines there are.
 */
total: number, 
/**
 * The lines.
 */
lines: Array<RawLine>, };

/**
 * A line of a file, as it is.
 */
export type RawLine = { 
/**
 * Counts from 1.
 */
line: number, 
/**
 * Its text; the beginning only if it is very long.
 */
text: string, 
/**
 * How many bytes it has.
 */
bytes: number, 
/**
 * Whether `text` is only its beginning.
 */
isCut: boolean, };

/**
 * The tools and the methods of a set of traces.
 */
export type ToolsReport = { 
/**
 * Tools, the most called first, those that nobody called last.
 */
tools: Array<ToolRow>, 
/**
 * Other methods.
 */
methods: Array<ToolRow>, 
/**
 * The encoding by which tokens are counted.
 */
encoding: string, 
/**
 * How far the counting of tokens in results is.
 */
tokens: Progress, 
/**
 * The upper bounds of the buckets of histograms, in microseconds; the last bucket has none.
 */
bucketsUs: Array<number>, };

/**
 * A tool, or a method.
 */
export type ToolRow = { 
/**
 * Which trace of the set.
 */
trace: number, 
/**
 * Its name.
 */
name: string, 
/**
 * Who calls it.
 */
direction: Dir, 
/**
 * How often it was called.
 */
calls: number, 
/**
 * Of all calls, from 0 to 1.
 */
share: number, 
/**
 * How many of the calls failed.
 */
errors: number, 
/**
 * How many were not answered.
 */
unanswered: number, 
/**
 * The mean latency.
 */
meanUs: number | null, 
/**
 * Half of the calls took no longer.
 */
p50Us: number | null, 
/**
 * 95 of 100 took no longer.
 */
p95Us: number | null, 
/**
 * 99 of 100 took no longer.
 */
p99Us: number | null, 
/**
 * The longest.
 */
maxUs: number | null, 
/**
 * How many calls took how long, by bucket.
 */
histogram: Array<number>, 
/**
 * How many calls there were when, in equal parts of the whole time.
 */
sparkline: Array<number>, 
/**
 * The size of all requests.
 */
requestBytes: number, 
/**
 * The size of all responses.
 */
responseBytes: number, 
/**
 * How many tokens the definition has, if it was listed.
 */
definitionTokens: number | null, 
/**
 * How many tokens all results have, once they are counted.
 */
resultTokens: number | null, 
/**
 * The definition's JSON, as it was written, if it was listed.
 */
definition: string | null, };

/**
 * The sessions of a set of traces.
 */
export type SessionRow = { 
/**
 * Which trace of the set.
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
 * The revision that was agreed on.
 */
revision: string | null, 
/**
 * When its first call was.
 */
fromUs: number, 
/**
 * When its last call was.
 */
toUs: number, 
/**
 * How many calls it has.
 */
calls: number, 
/**
 * How many of these failed.
 */
errors: number, 
/**
 * How many were not answered.
 */
unanswered: number, };

/**
 * What departs from the specification.
 */
export type LintReport = { 
/**
 * How far the check is.
 */
progress: Progress, 
/**
 * The rules that are broken, the worst first.
 */
rules: Array<RuleFindings>, 
/**
 * How many errors.
 */
errors: number, 
/**
 * How many warnings.
 */
warnings: number, 
/**
 * How many remarks.
 */
infos: number, };

/**
 * A rule that is broken, and where.
 */
export type RuleFindings = { 
/**
 * Its code.
 */
code: string, 
/**
 * Its name.
 */
name: string, 
/**
 * What it is about.
 */
family: string, 
/**
 * `error`, `warning` or `info`.
 */
severity: string, 
/**
 * What is found.
 */
what: string, 
/**
 * Why it matters.
 */
why: string, 
/**
 * What to do about it.
 */
fix: string, 
/**
 * The title of the section of the specification.
 */
section: string, 
/**
 * Where it is read.
 */
url: string, 
/**
 * How often it is broken.
 */
count: number, 
/**
 * Where; no more than some hundred.
 */
findings: Array<Finding>, };

/**
 * A place where a rule is broken.
 */
export type Finding = { 
/**
 * Which trace of the set.
 */
trace: number, 
/**
 * The rule's code.
 */
code: string, 
/**
 * The rule's name.
 */
rule: string, 
/**
 * `error`, `warning` or `info`.
 */
severity: string, 
/**
 * The line.
 */
line: number, 
/**
 * The call that the line belongs to.
 */
call: number | null, 
/**
 * A JSON pointer into that line.
 */
pointer: string, 
/**
 * What is wrong here.
 */
message: string, 
/**
 * What to do about it.
 */
fix: string, 
/**
 * What stands before what is meant.
 */
before: string, 
/**
 * What is meant.
 */
marked: string, 
/**
 * What stands after it.
 */
after: string, };

/**
 * Two traces side by side.
 */
export type DiffReport = { 
/**
 * How far both traces were read; there are rows only when both are complete.
 */
progress: Progress, 
/**
 * Calls that are the same in both.
 */
same: number, 
/**
 * Calls in both that are not the same.
 */
changed: number, 
/**
 * Calls in the first only.
 */
removed: number, 
/**
 * Calls in the second only.
 */
added: number, 
/**
 * Calls that are slower in the second.
 */
slower: number, 
/**
 * Calls that are faster in the second.
 */
faster: number, 
/**
 * How the definitions differ.
 */
definitions: Array<DefinitionChange>, 
/**
 * How many rows pass.
 */
total: number, 
/**
 * The number of the first row, from 0.
 */
from: number, 
/**
 * The rows.
 */
rows: Array<DiffRow>, };

/**
 * A definition that has changed.
 */
export type DefinitionChange = { 
/**
 * What it is: `tool`, `prompt` …
 */
of: string, 
/**
 * Its name.
 */
name: string, 
/**
 * What became of it.
 */
change: string, 
/**
 * Whom it hurts: `breaking` …
 */
effect: string, 
/**
 * Where in the definition.
 */
pointer: string, 
/**
 * What has changed.
 */
message: string, 
/**
 * What to do about it.
 */
advice: string, 
/**
 * What it was.
 */
before: string | null, 
/**
 * What it is.
 */
after: string | null, };

/**
 * A call of either trace, or one of each.
 */
export type DiffRow = { 
/**
 * Counts all rows from 0; `/api/diff/row` takes it.
 */
row: number, 
/**
 * `same`, `changed`, `removed` or `added`.
 */
status: string, 
/**
 * `slower` or `faster`, if it is much so.
 */
pace: string | null, 
/**
 * Who asked.
 */
direction: Dir, 
/**
 * The method.
 */
method: string, 
/**
 * The tool or prompt.
 */
name: string | null, 
/**
 * The call of the first trace.
 */
a: DiffSide | null, 
/**
 * The call of the second.
 */
b: DiffSide | null, };

/**
 * One of two calls.
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
 * What became of it.
 */
status: string, 
/**
 * Whether that is a failure.
 */
isError: boolean, 
/**
 * How long the side that was asked took.
 */
tookUs: number | null, 
/**
 * What it asks, in a few words.
 */
about: string, };

/**
 * How two calls differ.
 */
export type DiffDetail = { 
/**
 * The differences.
 */
differences: Array<DifferenceView>, 
/**
 * Whether there are more.
 */
hasMore: boolean, };

/**
 * A value that is another in the second trace.
 */
export type DifferenceView = { 
/**
 * `params`, `result` or `error`.
 */
part: string, 
/**
 * A JSON pointer into that part.
 */
pointer: string, 
/**
 * The value's JSON in the first trace, if it is there.
 */
before: string | null, 
/**
 * The value's JSON in the second, if it is there.
 */
after: string | null, 
/**
 * Where a text is JSON in itself: how that differs.
 */
inside: Array<DifferenceView>, };

/**
 * What the store tells.
 */
export type StoreReport = { 
/**
 * Calls per second in the last minutes, the newest last.
 */
rates: Array<StoreRate>, 
/**
 * All calls of the time that was asked for.
 */
calls: number, 
/**
 * Those that failed.
 */
errors: number, 
/**
 * By server and tool or method.
 */
rows: Array<StoreStat>, 
/**
 * The slowest calls.
 */
slow: Array<StoreCall>, 
/**
 * The newest calls.
 */
newest: Array<StoreCall>, 
/**
 * The clients.
 */
clients: Array<StoreClient>, 
/**
 * What servers have changed in what they offer, the newest first.
 */
changes: Array<StoreChange>, };

/**
 * Calls in a piece of time.
 */
export type StoreRate = { 
/**
 * When it begins, in milliseconds since 1970.
 */
atMs: number, 
/**
 * Calls.
 */
calls: number, 
/**
 * Those that failed.
 */
errors: number, };

/**
 * The calls of one kind that the store knows of.
 */
export type StoreStat = { 
/**
 * The server.
 */
server: string, 
/**
 * The method.
 */
method: string, 
/**
 * The tool.
 */
tool: string | null, 
/**
 * How many.
 */
calls: number, 
/**
 * How many failed.
 */
errors: number, 
/**
 * Half took no longer.
 */
p50Us: number | null, 
/**
 * 95 of 100 took no longer.
 */
p95Us: number | null, 
/**
 * The longest.
 */
maxUs: number | null, };

/**
 * A call that the store knows of.
 */
export type StoreCall = { 
/**
 * When, in milliseconds since 1970.
 */
atMs: number, 
/**
 * The server.
 */
server: string, 
/**
 * The method.
 */
method: string, 
/**
 * The tool.
 */
tool: string | null, 
/**
 * The request's id.
 */
id: string, 
/**
 * What became of it.
 */
status: string, 
/**
 * Whether that is a failure.
 */
isError: boolean, 
/**
 * The error's words.
 */
error: string | null, 
/**
 * How long it took.
 */
latencyUs: number | null, 
/**
 * The session.
 */
session: string | null, 
/**
 * The trace that it is in, if this program can open it: the key for the URL.
 */
trace: string | null, };

/**
 * A client that the store knows of.
 */
export type StoreClient = { 
/**
 * Its name.
 */
name: string, 
/**
 * Its version.
 */
version: string | null, 
/**
 * How many sessions it had.
 */
sessions: number, 
/**
 * How many calls it made.
 */
calls: number, 
/**
 * How many of these failed.
 */
errors: number, 
/**
 * When it was last seen, in milliseconds since 1970.
 */
lastMs: number, };

/**
 * A change in what a server offers.
 */
export type StoreChange = { 
/**
 * When, in milliseconds since 1970.
 */
atMs: number, 
/**
 * The server.
 */
server: string, 
/**
 * What it is about.
 */
method: string, 
/**
 * What became of it.
 */
change: string, 
/**
 * The name of what has changed.
 */
name: string | null, };

/**
 * A trace that was brought in: by a drop, a URL, or a live recorder.
 */
export type Opened = { 
/**
 * What it goes by in URLs.
 */
key: string, };

/**
 * A live recorder to be listened to.
 */
export type LiveRequest = { 
/**
 * Its address, on this machine: `ws://127.0.0.1:PORT/…`.
 */
url: string, };

/**
 * A trace and all that is known of it, as a report carries it.
 */
export type Report = { 
/**
 * The version of the program.
 */
version: string, 
/**
 * When it was made, in milliseconds since 1970.
 */
createdMs: number, 
/**
 * In how many lines something secret was taken out on the way.
 */
redacted: number, 
/**
 * The traces.
 */
set: TraceSet, 
/**
 * Their calls, in the order of time.
 */
calls: Array<CallRow>, 
/**
 * Their lines, in the order of time.
 */
messages: Array<MessageRow>, 
/**
 * What else is known of each call.
 */
details: Array<ReportDetail>, 
/**
 * Their tools.
 */
tools: ToolsReport, 
/**
 * Their sessions.
 */
sessions: Array<SessionRow>, 
/**
 * What departs from the specification.
 */
lint: LintReport, };

/**
 * What is known of a call beside its row and its lines.
 */
export type ReportDetail = { 
/**
 * Which trace of the set.
 */
trace: number, 
/**
 * The call.
 */
call: number, 
/**
 * Which message of a batch the request is, from 0; unknown if its line has one message.
 */
requestIndex: number | null, 
/**
 * Which message of a batch the response is.
 */
responseIndex: number | null, 
/**
 * What came in between.
 */
meanwhile: Array<Meanwhile>, 
/**
 * How much more came in between.
 */
more: number, 
/**
 * The HTTP exchange.
 */
http: HttpView | null, 
/**
 * The request as a command line for curl.
 */
curl: string | null, };

/**
 * Some lines of a trace, packed.
 */
export type ReportLines = { 
/**
 * The number of the first.
 */
first: number, 
/**
 * The lines, each ended by a newline: gzip, in base64.
 */
data: string, };

/**
 * Why something was refused.
 */
export type Problem = { 
/**
 * What is wrong.
 */
error: string, 
/**
 * What to do about it.
 */
hint: string | null, 
/**
 * Where in the filter, if that is wrong: the first byte, and the one after the last.
 */
span: [number, number] | null, };
