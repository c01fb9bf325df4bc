// Which texts are Markdown, and which of them are cheap to lex.
//
// The Markdown lexer backtracks: some runs of marks cost it seconds, and deep quotes its stack. Such texts are shown as plain text.

const MAX_LENGTH = 30_000;
const MAX_WORD = 1_500;
const MAX_PARAGRAPH = 8_000;
const MAX_NESTING = 12;
/** The lexer searches the rest of the paragraph for each mark, so a paragraph costs the square of its marks. */
const MAX_COST = 120_000;

/** Whether the lexer handles a text quickly. */
export function isTame(text: string): boolean {
  if (text.length > MAX_LENGTH) return false;
  let cost = 0;
  let marks = 0;
  let length = 0;
  for (const line of text.split("\n")) {
    if (beginsAnew(line)) {
      marks = 0;
      length = 0;
    }
    const more = marksIn(line);
    cost += (marks + more) ** 2 - marks ** 2;
    marks += more;
    length += line.length;
    if (cost > MAX_COST || length > MAX_PARAGRAPH) return false;
    if (nesting(line) > MAX_NESTING || longestWord(line) > MAX_WORD) return false;
  }
  return true;
}

/** Whether a line starts a new paragraph. */
function beginsAnew(line: string): boolean {
  return line.trim() === "" || /^\s{0,8}(?:[-*+]|\d{1,3}[.)]|#{1,6}|\||```)(?:\s|$)/.test(line.slice(0, 20));
}

function marksIn(line: string): number {
  let marks = 0;
  for (let at = 0; at < line.length; at += 1) if ("*_~`[]<!".includes(line.charAt(at))) marks += 1;
  return marks;
}

/** How many quotes and lists a line begins with. */
function nesting(line: string): number {
  let depth = 0;
  for (let at = 0; at < line.length; at += 1) {
    const letter = line.charAt(at);
    if (letter === ">" || letter === ")" || letter === "." || "-+*".includes(letter)) depth += 1;
    else if (letter !== " " && letter !== "\t" && (letter < "0" || letter > "9")) break;
  }
  return /^\s*[-*_=]{3,}\s*$/.test(line.slice(0, 200)) ? 0 : depth;
}

function longestWord(line: string): number {
  let longest = 0;
  let from = 0;
  for (let at = 0; at <= line.length; at += 1) {
    if (at < line.length && line.charAt(at) !== " ") continue;
    longest = Math.max(longest, at - from);
    from = at + 1;
  }
  return longest;
}

const SIGNS = [/^ {0,3}#{1,6} \S/, /^ {0,3}```/, /^ {0,3}[-*+] \S/, /^ {0,3}\d{1,3}[.)] \S/, /^\|[ :|-]+\|\s*$/, /\*\*[^*\s][^*]{0,80}\*\*/, /\]\(https?:\/\//];

/** Lines that only programs print: places in files, stack frames, code frames, headers of diffs. Markdown would join or drop them. */
const PROGRAM_LINES = [
  /^\s*(?:at |File ")?[\w./\\@-]*\w\.\w{1,5}(?:", line |:|\()\d+/,
  /^\s+at \S.*[:(]\d+/,
  /^[\s>]*\d+ [|│]/,
  /^(?:\+\+\+|---) \S/,
  /^@@ /,
];

/** Whether a text is the output of a compiler, a test runner or a diff. */
function isProgramOutput(lines: readonly string[]): boolean {
  // Markdown's lists have one kind of bullet.
  const isDiff = lines.some((line) => /^\s*- \S/.test(line)) && lines.some((line) => /^\s*\+ \S/.test(line));
  return isDiff || lines.some((line) => PROGRAM_LINES.some((sign) => sign.test(line.slice(0, 400))));
}

/** Whether a text is likely to be meant as Markdown. */
export function looksLikeMarkdown(text: string): boolean {
  const lines = text.slice(0, 5_000).split("\n");
  if (isProgramOutput(lines)) return false;
  const signs = lines.filter((line) => SIGNS.some((sign) => sign.test(line.slice(0, 400)))).length;
  return signs >= 2 || (signs === 1 && /^ {0,3}(#{1,6} |```)/m.test(text.slice(0, 5_000)));
}

/** Whether a text is a JSON object or array. */
export function looksLikeJson(text: string): boolean {
  const trimmed = text.trimStart().charAt(0);
  const last = text.trimEnd().slice(-1);
  return (trimmed === "{" && last === "}") || (trimmed === "[" && last === "]");
}
