// Names with `*` and `?`, as the server reads them: by bytes, with classes `[a-z]`, choices `{a,b}` and `**` between slashes.
// Matching simulates all branches at once, so that no pattern takes exponential time.

export class GlobError extends Error {}

type Step =
  | { kind: "byte"; accepts: (byte: number) => boolean; next: number }
  | { kind: "split"; ways: number[] }
  | { kind: "end" };

export type Glob = { steps: Step[]; start: number };

const SLASH = 0x2f;
const utf8 = new TextEncoder();

type Node =
  | { kind: "byte"; accepts: (byte: number) => boolean }
  | { kind: "many" }
  | { kind: "choice"; ways: Node[][] };

const slash: Node = { kind: "byte", accepts: (byte) => byte === SLASH };
const many: Node = { kind: "many" };

export function parseGlob(pattern: string): Glob {
  const nodes = new GlobParser(pattern).parse();
  const steps: Step[] = [{ kind: "end" }];
  const start = compile(nodes, 0, steps);
  return { steps, start };
}

export function globMatches(glob: Glob, text: string): boolean {
  let now = reach(glob, [glob.start]);
  for (const byte of utf8.encode(text)) {
    const next: number[] = [];
    for (const at of now) {
      const step = glob.steps[at];
      if (step?.kind === "byte" && step.accepts(byte)) next.push(step.next);
    }
    now = reach(glob, next);
    if (now.size === 0) return false;
  }
  return now.has(0);
}

/** All steps reachable without consuming a byte. */
function reach(glob: Glob, from: number[]): Set<number> {
  const found = new Set<number>();
  const open = [...from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (found.has(at)) continue;
    found.add(at);
    const step = glob.steps[at];
    if (step?.kind === "split") open.push(...step.ways);
  }
  return found;
}

/** Adds the steps of some nodes, from last to first, and returns the first. */
function compile(nodes: Node[], end: number, steps: Step[]): number {
  let next = end;
  for (const node of nodes.toReversed()) next = compileOne(node, next, steps);
  return next;
}

function compileOne(node: Node, next: number, steps: Step[]): number {
  if (node.kind === "byte") return steps.push({ kind: "byte", accepts: node.accepts, next }) - 1;
  if (node.kind === "choice") {
    const ways = node.ways.map((way) => compile(way, next, steps));
    return steps.push({ kind: "split", ways }) - 1;
  }
  const split = steps.length;
  steps.push({ kind: "split", ways: [split + 1, next] });
  steps.push({ kind: "byte", accepts: () => true, next: split });
  return split;
}

class GlobParser {
  private readonly chars: string[];
  private at = 0;

  constructor(private readonly pattern: string) {
    this.chars = Array.from(pattern);
  }

  parse(): Node[] {
    return this.sequence(0);
  }

  /** Nodes up to the end, or to the comma or brace that ends a way of a choice. */
  private sequence(depth: number): Node[] {
    const nodes: Node[] = [];
    while (this.at < this.chars.length) {
      const c = this.chars[this.at] ?? "";
      if (depth > 0 && (c === "," || c === "}")) return nodes;
      this.at += 1;
      if (c === "}") this.fail("unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)");
      else if (c === "?") nodes.push({ kind: "byte", accepts: () => true });
      else if (c === "*") this.star(nodes, depth);
      else if (c === "[") nodes.push(this.charClass());
      else if (c === "{") nodes.push(this.choice(depth));
      else nodes.push(...literal(c === "\\" ? this.escaped() : c));
    }
    return nodes;
  }

  private escaped(): string {
    const c = this.chars[this.at];
    if (c === undefined) return this.fail("dangling '\\'");
    this.at += 1;
    return c;
  }

  private choice(depth: number): Node {
    const ways: Node[][] = [];
    for (;;) {
      ways.push(this.sequence(depth + 1));
      const c = this.chars[this.at];
      if (c === undefined) this.fail("unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
      this.at += 1;
      if (c === "}") return { kind: "choice", ways };
    }
  }

  /** One star is anything; two between slashes are any folders, none included. */
  private star(nodes: Node[], depth: number): void {
    if (this.chars[this.at] !== "*") {
      nodes.push(many);
      return;
    }
    this.at += 1;
    const after = this.chars[this.at];
    const isFirst = nodes.length === 0 && depth === 0;
    const isAfterSlash = !isFirst && this.chars[this.at - 3] === "/";
    if (isFirst && (after === undefined || after === "/")) {
      if (after === "/") this.at += 1;
      nodes.push({ kind: "choice", ways: [[], [slash], [many, slash]] });
      if (after === undefined) nodes.push(many);
    } else if (isAfterSlash && after === "/") {
      this.at += 1;
      nodes.pop();
      nodes.push({ kind: "choice", ways: [[slash], [slash, many, slash]] });
    } else {
      // Behind a slash at the end, two stars are what one is: anything.
      nodes.push(many);
    }
  }

  private charClass(): Node {
    const ranges: [string, string][] = [];
    const negated = this.chars[this.at] === "!" || this.chars[this.at] === "^";
    if (negated) this.at += 1;
    let isRange = false;
    for (let first = true; ; first = false) {
      const c = this.chars[this.at];
      if (c === undefined) return this.fail("unclosed character class; missing ']'");
      this.at += 1;
      if (c === "]" && !first) break;
      const last = ranges.at(-1);
      if (isRange && last !== undefined) {
        if (last[0] > c) this.fail(`invalid range; '${last[0]}' > '${c}'`);
        last[1] = c;
        isRange = false;
      } else if (c === "-" && !first && this.chars[this.at] !== "]") isRange = true;
      else ranges.push([c, c]);
    }
    const bytes = ranges.map(([from, to]) => [utf8.encode(from)[0] ?? 0, utf8.encode(to).at(-1) ?? 0] as const);
    return { kind: "byte", accepts: (byte) => bytes.some(([from, to]) => from <= byte && byte <= to) !== negated };
  }

  private fail(what: string): never {
    throw new GlobError(`error parsing glob '${this.pattern}': ${what}`);
  }
}

function literal(char: string): Node[] {
  return Array.from(utf8.encode(char), (wanted): Node => ({ kind: "byte", accepts: (byte) => byte === wanted }));
}
