// The words that differ between two texts, by the longest common sequence.

export interface Part {
  text: string;
  only: "both" | "before" | "after";
}

const MOST = 1500;

/** Marks the words that only one text has; texts of very many words are given as wholes. */
export function wordDiff(before: string, after: string): Part[] {
  const a = before.match(/\s+|[^\s]+/g) ?? [];
  const b = after.match(/\s+|[^\s]+/g) ?? [];
  if (a.length > MOST || b.length > MOST) {
    return [
      { text: before, only: "before" },
      { text: after, only: "after" },
    ];
  }
  const wide = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * wide + j] =
        a[i] === b[j] ? lengths[(i + 1) * wide + j + 1] + 1 : Math.max(lengths[(i + 1) * wide + j], lengths[i * wide + j + 1]);
    }
  }
  const parts: Part[] = [];
  const add = (text: string, only: Part["only"]) => {
    const last = parts.at(-1);
    if (last?.only === only) last.text += text;
    else parts.push({ text, only });
  };
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      add(a[i++], "both");
      j++;
    } else if (lengths[(i + 1) * wide + j] >= lengths[i * wide + j + 1]) add(a[i++], "before");
    else add(b[j++], "after");
  }
  while (i < a.length) add(a[i++], "before");
  while (j < b.length) add(b[j++], "after");
  return parts;
}
