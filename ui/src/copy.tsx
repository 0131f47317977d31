// A text with a button that copies it.
import { useState } from "preact/hooks";

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

export function Copy({ text, label }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  return (
    <p class="copy">
      <code>{text}</code>
      <button type="button" aria-label={`Copy ${label ?? "the command"}`} onClick={async () => setDone(await copyText(text))}>
        {done ? "copied" : "copy"}
      </button>
    </p>
  );
}
