// Content is text, never markup. What cannot be seen is shown as a chip, so that it cannot hide an order.
import { useState } from "preact/hooks";

const SHOWN = 64 * 1024;
// controls, bidi controls, zero-width, tag characters, other invisible ones, lone surrogates
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|[\u{1d173}-\u{1d17a}]|[\ud800-\udfff]/gu;
const EMOJI = /\p{Extended_Pictographic}/u;
const JOINING =
  /[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Syriac}\p{Script=Malayalam}\p{Script=Kannada}\p{Script=Telugu}\p{Script=Sinhala}\p{Script=Mongolian}\p{Script=Tamil}\p{Script=Gujarati}\p{Script=Gurmukhi}\p{Script=Khmer}]/u;

function belongs(text: string, at: number): boolean {
  const sign = text[at];
  if (sign === "\r") return text[at + 1] === "\n"; // the end of a line, as Windows writes it
  if (sign === "\u200c") return JOINING.test(text.slice(Math.max(0, at - 2), at));
  if (sign === "\u200d") {
    const before = text.slice(Math.max(0, at - 3), at);
    return JOINING.test(before) || EMOJI.test(before);
  }
  if (sign === "\ufe0f" || sign === "\ufe0e") return /[\p{Extended_Pictographic}\d#*]/u.test(text.slice(Math.max(0, at - 2), at));
  return false;
}

/** The hidden characters of a text: where they are, and which. */
export function hiddenIn(text: string): { at: number; length: number; name: string }[] {
  const found = [];
  for (const match of text.matchAll(HIDDEN)) {
    if (belongs(text, match.index)) continue;
    const point = match[0].codePointAt(0) as number;
    found.push({ at: match.index, length: match[0].length, name: `U+${point.toString(16).toUpperCase().padStart(4, "0")}` });
  }
  return found;
}

function Chips({ text }: { text: string }) {
  const parts = [];
  let from = 0;
  for (const each of hiddenIn(text)) {
    if (each.at > from) parts.push(text.slice(from, each.at));
    parts.push(
      <span class="chip hidden-char" title="a character that is not visible">
        {each.name}
      </span>,
    );
    from = each.at + each.length;
  }
  parts.push(text.slice(from));
  return <>{parts}</>;
}

/** One line of content, isolated from the text around it. */
export function Line({ text }: { text: string }) {
  return (
    <bdi class="line" dir="auto">
      <Chips text={text.replace(/\s+/g, " ")} />
    </bdi>
  );
}

/** A whole text; long ones are cut until the reader asks for all. */
export function Text({ text, label }: { text: string; label: string }) {
  const [all, setAll] = useState(false);
  const cut = !all && text.length > SHOWN;
  return (
    <div class="text">
      <pre dir="auto" tabIndex={0} role="group" aria-label={label}>
        <Chips text={cut ? text.slice(0, SHOWN) : text} />
      </pre>
      {cut && (
        <p class="note">
          The first {SHOWN.toLocaleString("en")} of {text.length.toLocaleString("en")} characters.{" "}
          <button type="button" onClick={() => setAll(true)}>
            Show all
          </button>
        </p>
      )}
    </div>
  );
}

/** Any JSON as indented text. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return <Text text={JSON.stringify(value, null, 2) ?? "null"} label={label} />;
}

/** Saves a text as a file; nothing of it is interpreted. */
export function save(name: string, parts: BlobPart[]): void {
  const href = URL.createObjectURL(new Blob(parts, { type: "text/plain" }));
  const anchor = document.createElement("a");
  anchor.href = href;
  anchor.download = name.replace(/[^A-Za-z0-9._-]/g, "_");
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
