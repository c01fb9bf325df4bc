// Markdown as elements of the page. HTML in it is shown as text, and images are not fetched.

import type { ComponentChildren, JSX } from "preact";
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { useMemo } from "preact/hooks";
import { safePieces } from "../text/safe-text";
import { TraceLink } from "./link";
import { isTame } from "./tame";

/** The tokens of a text, or null if it should be shown as plain text. */
export function markdownTokens(text: string): Token[] | null {
  if (!isTame(text)) return null;
  try {
    return new Lexer({ gfm: true, breaks: false }).lex(text);
  } catch {
    return null;
  }
}

export function Markdown({ text }: { text: string }): JSX.Element {
  const tokens = useMemo(() => markdownTokens(text), [text]);
  if (tokens === null) return <pre class="plain-text">{safePieces(text, "keep")}</pre>;
  return <div class="markdown">{blocks(tokens)}</div>;
}

function blocks(tokens: readonly Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map((token, index) => <Block key={index} token={token as MarkedToken} />);
}

function Block({ token }: { token: MarkedToken }): JSX.Element | null {
  switch (token.type) {
    case "heading":
      return <Heading token={token} />;
    case "paragraph":
      return <p>{blocks(token.tokens)}</p>;
    case "blockquote":
      return <blockquote>{blocks(token.tokens)}</blockquote>;
    case "code":
      return (
        <pre class="code">
          <code>{safePieces(token.text, "keep")}</code>
        </pre>
      );
    case "list":
      return <List token={token} />;
    case "table":
      return <Table token={token} />;
    case "hr":
      return <hr />;
    case "space":
    case "def":
      return null;
    default:
      return <Inline token={token} />;
  }
}

function Inline({ token }: { token: MarkedToken }): JSX.Element {
  switch (token.type) {
    case "strong":
      return <strong>{blocks(token.tokens)}</strong>;
    case "em":
      return <em>{blocks(token.tokens)}</em>;
    case "del":
      return <del>{blocks(token.tokens)}</del>;
    case "codespan":
      return <code>{safePieces(token.text, "escape")}</code>;
    case "br":
      return <br />;
    case "link":
      return <TraceLink address={token.href} words={token.text} />;
    case "image":
      return (
        <span class="picture-link">
          {"image: "}
          <TraceLink address={token.href} words={token.text} />
        </span>
      );
    case "text":
      return <>{token.tokens ? blocks(token.tokens) : safePieces(token.text, "keep")}</>;
    case "escape":
      return <>{safePieces(token.text, "keep")}</>;
    case "checkbox":
      return <input type="checkbox" checked={token.checked} disabled aria-label={token.checked ? "done" : "not done"} />;
    default:
      return <>{safePieces(token.raw, "keep")}</>;
  }
}

// Styled paragraphs, not heading elements, so that the outline of the page stays its own.
function Heading({ token }: { token: Tokens.Heading }): JSX.Element {
  return <p class={`md-heading md-heading-${token.depth}`}>{blocks(token.tokens)}</p>;
}

function List({ token }: { token: Tokens.List }): JSX.Element {
  const items = token.items.map((item, index) => <li key={index}>{blocks(item.tokens)}</li>);
  if (!token.ordered) return <ul>{items}</ul>;
  return <ol start={typeof token.start === "number" ? token.start : 1}>{items}</ol>;
}

function Table({ token }: { token: Tokens.Table }): JSX.Element {
  return (
    <div class="md-table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index} style={{ textAlign: cell.align ?? "left" }}>
                {blocks(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} style={{ textAlign: cell.align ?? "left" }}>
                  {blocks(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
